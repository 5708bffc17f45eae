"""The bytes of a file that may be compressed, never more than are expected of it."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from workbench.data.images.pixels import MOST_BYTES
from workbench.params import InputError

GZIP = ".gz"


def content(file: Path, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of ``file``, unpacked if its name ends in ``.gz``.

    Raises:
        InputError: it cannot be read, is damaged, or holds more than ``most`` bytes.
    """
    source = str(file)
    try:
        if not file.is_file():
            raise InputError("there is no such file", source, "check the path")
        with gzip.open(file) if file.name.endswith(GZIP) else file.open("rb") as stream:
            found = stream.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError("the compressed file is damaged or cut short", source, "fetch it again") from None
    except OSError as error:
        raise InputError(
            f"the file cannot be read: {error.strerror}", source, "check the path and its rights"
        ) from None
    if len(found) > most:
        raise InputError(f"the file holds more than {most / 2**30:.3g} GiB", source, "give it in parts")
    return found
