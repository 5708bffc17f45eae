"""Versions of files: whether one was changed while it was read, or has changed since."""

from __future__ import annotations

import hashlib
import os

from workbench.gui.session.open_images import OpenImages, Stamp
from workbench.gui.session.session import OpenTable
from workbench.gui.style.language import tr
from workbench.params import InputError


def stamp_of(source: str) -> Stamp | None:
    """Return what differs between versions of a file or folder; ``None`` of a sample and of what is gone."""
    if source.startswith("sample:"):
        return None
    try:
        found = os.stat(source)
        if not os.path.isdir(source):
            return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)
        below = [(path, os.stat(os.path.join(source, path))) for path in _images_below(source)]
    except OSError:
        return None
    stated = "".join(f"{path}\0{one.st_size}\0{one.st_mtime_ns}\0" for path, one in below)
    digest = hashlib.sha256(os.fsencode(stated)).digest()
    return Stamp(found.st_ino, sum(one.st_size for _, one in below), int.from_bytes(digest[:8], "big"))


def _images_below(folder: str) -> list[str]:
    """Return the relative paths of the images in a folder: what else lies there, such as a project, is none of them."""
    from workbench.data.images.read import PACKED_OR_PICTURES

    found = [os.path.join(inside, name) for inside, _, names in os.walk(folder) for name in names]
    return sorted(os.path.relpath(path, folder) for path in found if path.lower().endswith(PACKED_OR_PICTURES))


def require_unchanged(source: str, before: Stamp | None) -> None:
    """Raise :class:`InputError` where a file was changed while it was read: the rows may be of two versions."""
    if stamp_of(source) != before:
        raise InputError(tr("the file was changed while it was read"), source, tr("open it again once it is complete"))


def changed_since(opened: OpenTable | OpenImages) -> str:
    """Return a clause on what became of the files since they were read, empty where they are as they were."""
    files = [(opened.source, opened.stamp)]
    if isinstance(opened, OpenTable):
        files.append((opened.second, opened.second_stamp))
    return ". ".join(filter(None, (_changed(*file) for file in files)))


def _changed(source: str, opened: Stamp | None) -> str:
    now = stamp_of(source)
    if opened is None or now == opened:
        return ""
    name = os.path.basename(source)
    if now is None:
        return tr("{name} is no longer there. The release is made from the version that was opened", name=name)
    return tr(
        "{name} has changed on the disk since it was opened. The release is made from the version that was opened",
        name=name,
    )
