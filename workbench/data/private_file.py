"""Temporary files that no other user can read and that disappear when this process ends, even after a crash."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from workbench.params import InputError


def path_of(descriptor: int) -> Path | None:
    """Return where processes of this user open the file behind a descriptor; ``None`` where the system has no place."""
    if sys.platform != "linux":
        return None
    path = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    return path if os.path.exists(path) else None


@contextlib.contextmanager
def private_file() -> Iterator[tuple[IO[bytes], Path]]:
    """Give a new file to write, and where other processes open it during the block.

    On Linux it has no name, so that not even a kill leaves it behind; elsewhere it has one for as long as the block.
    """
    with tempfile.TemporaryFile() as file:
        path = path_of(file.fileno())
        if path is not None:
            yield file, path
            return
    opened, name = tempfile.mkstemp(prefix="workbench-")
    try:
        with os.fdopen(opened, "w+b") as named:
            yield named, Path(name)
    finally:
        os.unlink(name)


def write_private(file: IO[bytes], content: bytes, source: str) -> None:
    """Write to a private file.

    Raises:
        InputError: the disk refuses.
    """
    try:
        file.write(content)
    except OSError as error:
        what = f"the rows cannot be stored temporarily: {(error.strerror or 'the disk reports an error').lower()}"
        raise InputError(what, source, "free some space in the folder of temporary files") from None
