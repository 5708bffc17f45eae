"""The bytes of a file that may be compressed, never more than are expected of it."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from workbench.data.images.pixels import MOST_BYTES
from workbench.data.images.room import require_room
from workbench.params import InputError

GZIP = ".gz"
_AT_ONCE = 1 << 26


def content(file: Path, most: int = MOST_BYTES) -> bytearray:
    """Return the bytes of ``file``, unpacked if its name ends in ``.gz``.

    Raises:
        InputError: it cannot be read, is damaged, or holds more than ``most`` bytes or than there is memory for.
    """
    source, found = str(file), bytearray()
    try:
        if not file.is_file():
            raise InputError("there is no such file", source, "check the path")
        with gzip.open(file) if file.name.endswith(GZIP) else file.open("rb") as stream:
            while len(found) <= most and (part := stream.read(min(_AT_ONCE, most + 1 - len(found)))):
                found += part
                if len(part) == _AT_ONCE:  # a small file may unfold into gigabytes: as much again must be free
                    require_room(len(found), "the contents of the file", source)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError("the compressed file is damaged or cut short", source, "fetch it again") from None
    except OSError as error:
        raise InputError(
            f"the file cannot be read: {error.strerror}", source, "check the path and its rights"
        ) from None
    if len(found) > most:
        raise InputError(f"the file holds more than {most / 2**30:.3g} GiB", source, "give it in parts")
    return found
