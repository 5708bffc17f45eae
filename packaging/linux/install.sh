#!/bin/sh
# Put the workbench of this folder into your menu and your PATH, for you alone: links to this folder, no copies.
# `./install.sh --remove` takes them away again; your ledger and your tables are not touched.
set -eu
here=$(dirname "$(readlink -f "$0")")
data=${XDG_DATA_HOME:-$HOME/.local/share}
program=$HOME/.local/bin/workbench
entry=$data/applications/privacy-workbench.desktop
icon=$data/icons/hicolor/scalable/apps/privacy-workbench.svg
mime=$data/mime/packages/privacy-workbench.xml

refresh() {
    if command -v update-mime-database >/dev/null; then update-mime-database "$data/mime"; fi
    if command -v update-desktop-database >/dev/null; then update-desktop-database "$data/applications"; fi
}

if [ "${1:-}" = --remove ]; then
    rm -f "$program" "$entry" "$icon" "$mime"
    refresh
    echo "Removed from menu and PATH; the program itself is still in $here"
    exit
fi
mkdir -p "$(dirname "$program")" "$(dirname "$entry")" "$(dirname "$icon")" "$(dirname "$mime")"
ln -sf "$here/workbench" "$program"
ln -sf "$here/share/icons/hicolor/scalable/apps/privacy-workbench.svg" "$icon"
ln -sf "$here/share/mime/packages/privacy-workbench.xml" "$mime"
# The menu's PATH often lacks ~/.local/bin, so the entry names the program by its whole path.
sed -e "s|^Exec=workbench|Exec=\"$here/workbench\"|" -e "s|^TryExec=.*|TryExec=$here/workbench|" \
    "$here/share/applications/privacy-workbench.desktop" > "$entry"
refresh
echo "Installed: $program, and \"Privacy workbench\" in the menu"
