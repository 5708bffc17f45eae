"""Qt's plugins without GTK's theme: it would load this system's GTK on top of the older libraries of the bundle."""

from PyInstaller.utils.hooks.qt import add_qt6_dependencies

hiddenimports, binaries, datas = add_qt6_dependencies(__file__)
binaries = [entry for entry in binaries if "qgtk3" not in entry[0]]
