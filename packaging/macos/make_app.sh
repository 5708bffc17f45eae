#!/bin/sh
# Make dist/Privacy workbench.app and a disk image of it, after `python3 packaging/dev.py bundle` on a Mac:
#   packaging/macos/make_app.sh 0.1.0
# Untested: nobody has run this, or the bundle, on a Mac yet. The app is not signed, so a Mac that did not make it asks
# before it opens it.
set -eu
version=${1:?give the version, such as 0.1.0}
here=$(cd "$(dirname "$0")" && pwd)
dist=$(cd "$here/../../dist" && pwd)
app="$dist/Privacy workbench.app"

rm -rf "$app"
cp -R "$here/../../build/bundle/workbench.app" "$app"
sed "s/VERSION/$version/" "$here/Info.plist" > "$app/Contents/Info.plist"
sips -s format icns "$dist/privacy-workbench/privacy-workbench.png" \
    --out "$app/Contents/Resources/privacy-workbench.icns"
cp "$dist/privacy-workbench/LICENSE" "$dist/licences.txt" "$dist/sbom.json" "$app/Contents/Resources/"
codesign --force --deep --sign - "$app"
plutil -lint "$app/Contents/Info.plist"
hdiutil create -volname "Privacy workbench" -srcfolder "$app" -ov -format UDZO \
    "$dist/privacy-workbench-$version-macos.dmg"
