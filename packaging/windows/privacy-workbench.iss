; Inno Setup: an installer from the folder that `python packaging\dev.py bundle` makes on Windows.
;   iscc /DVersion=0.1.0 packaging\windows\privacy-workbench.iss
; Untested: nobody has run this, or the bundle, on Windows yet.

#ifndef Version
  #error Give the version: iscc /DVersion=0.1.0 privacy-workbench.iss
#endif

[Setup]
AppId=privacy-workbench
AppName=Privacy workbench
AppVersion={#Version}
DefaultDirName={autopf}\Privacy workbench
PrivilegesRequired=lowest
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
LicenseFile=..\..\LICENSE
OutputDir=..\..\dist
OutputBaseFilename=privacy-workbench-{#Version}-setup
SolidCompression=yes
ChangesAssociations=yes
UninstallDisplayIcon={app}\workbench.exe

[Files]
Source: "..\..\dist\privacy-workbench\*"; DestDir: "{app}"; Flags: recursesubdirs ignoreversion

[Icons]
Name: "{autoprograms}\Privacy workbench"; Filename: "{app}\workbench.exe"; Parameters: "gui"

[Registry]
; Windows looks at the last suffix alone, so projects (*.workbench.toml) are offered under "Open with" for .toml files.
Root: HKA; Subkey: "Software\Classes\Applications\workbench.exe\shell\open\command"; ValueType: string; ValueData: """{app}\workbench.exe"" gui ""%1"""; Flags: uninsdeletekey
Root: HKA; Subkey: "Software\Classes\.toml\OpenWithList\workbench.exe"; Flags: uninsdeletekey
