"""Whether there is room for what a file says it holds: asked before any of it is read into this process.

A small archive can unfold into gigabytes, and reading happens in the window's own process. What its header promises is
compared with the memory that is free, so that a file that does not fit is a sentence and not the end of the program.
"""

from __future__ import annotations

import os
import struct
import zipfile
from pathlib import Path
from typing import BinaryIO

from workbench.params import InputError

SHARE = 0.75
"""Of the memory that is free: so much may be taken."""

BYTES_PER_IMAGE = 1_000
"""What an image takes besides its pixels, at most: two hashes and a class as text, and the table's columns of them."""

BYTES_PER_DIRECTORY_BYTE = 20
"""What the list of an archive takes for each byte of it: an entry of 46 bytes becomes an object of some 700."""

_END, _LOCATOR, _END_64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
_END_SIZE, _LOCATOR_SIZE, _END_64_SIZE, _LONGEST_COMMENT = 22, 20, 56, 1 << 16
_IN_64 = 0xFFFFFFFF


def free_memory() -> int:
    """Return how many bytes of memory the system has left."""
    import psutil

    return int(psutil.virtual_memory().available)


def require_room(needed: int, what: str, source: str) -> None:
    """Refuse to read what would take more memory than there is.

    Args:
        needed: bytes.
        what: what would take them, in words that begin the sentence.
        source: the file.

    Raises:
        InputError: they are more than :data:`SHARE` of what is free.
    """
    free = free_memory()
    if needed > SHARE * free:
        raise InputError(
            f"{what} would take {needed / 2**30:.3g} GiB of memory, and only {SHARE * free / 2**30:.3g} is available",
            source,
            "close other programs, or give it in parts",
        )


def open_archive(file: Path, source: str) -> zipfile.ZipFile:
    """Open a zip archive whose list of files fits into memory.

    Raises:
        InputError: it does not.
        OSError: the file cannot be read.
        zipfile.BadZipFile: it is no archive.
    """
    with file.open("rb") as stream:
        listed = _size_of_list(stream)
    require_room(BYTES_PER_DIRECTORY_BYTE * listed, "the list of the files in the archive", source)
    return zipfile.ZipFile(file)


def _size_of_list(stream: BinaryIO) -> int:
    """Return the bytes of the archive's list, found at its end as :mod:`zipfile` finds it; 0 where there is none."""
    length = stream.seek(0, os.SEEK_END)
    begin = max(0, length - _END_SIZE - _LONGEST_COMMENT)
    stream.seek(begin)
    tail = stream.read()
    # One without a comment ends with the record; else the last one in the tail counts.
    plain = tail[-_END_SIZE:]
    at = len(tail) - _END_SIZE if plain.startswith(_END) and plain.endswith(b"\0\0") else tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        return 0
    size = int(struct.unpack_from("<L", tail, at + 12)[0])
    place = begin + at - _LOCATOR_SIZE
    if place < _END_64_SIZE:
        return size
    stream.seek(place - _END_64_SIZE)
    record, locator = stream.read(_END_64_SIZE), stream.read(_LOCATOR_SIZE)
    if not (record.startswith(_END_64) and locator.startswith(_LOCATOR)):
        return size
    large = int(struct.unpack_from("<Q", record, 40)[0])
    return large if size == _IN_64 else max(size, large)
