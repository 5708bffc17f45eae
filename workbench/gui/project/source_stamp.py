"""Whether the file that was opened is still as it was read; the table in memory does not follow it."""

from __future__ import annotations

import os

from workbench.gui.session.file_stamp import Stamp
from workbench.params import InputError


def stamp_of(source: str) -> Stamp | None:
    """Return what tells one version of a file from another; ``None`` of a sample and of a file that is gone."""
    if source.startswith("sample:"):
        return None
    try:
        found = os.stat(source)
    except OSError:
        return None
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def require_unchanged(source: str, before: Stamp | None) -> None:
    """Raise :class:`InputError` where a file was changed while it was read: the rows may be of two versions."""
    if stamp_of(source) != before:
        raise InputError("the file was changed while it was read", source, "open it again once it is complete")


def changed_since(source: str, opened: Stamp | None) -> str:
    """Return a sentence on what became of the file since it was read, empty where it is as it was."""
    now = stamp_of(source)
    if opened is None or now == opened:
        return ""
    what = "is no longer there" if now is None else "has changed on the disk since it was opened"
    return f"{os.path.basename(source)} {what}. What is released is the table as it was opened"
