"""CIFAR-10's binary format: records of one byte for the class and 3 × 32 × 32 for the image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.data.images.idx import DIGITS
from workbench.data.images.image_set import ImageSet
from workbench.data.images.packed import content
from workbench.params import InputError

ENDINGS = (".bin", ".bin.gz")
NAMES = "batches.meta.txt"
_SIDE = 32
_RECORD = 1 + 3 * _SIDE * _SIDE
_LONGEST = 1 << 16


def read_cifar(files: Sequence[Path], source: str, classes: tuple[str, ...] | None = None) -> ImageSet:
    """Return the records of ``files``, one after the other.

    The classes are those of ``batches.meta.txt`` beside the first file, else 0 to 9, unless they are declared.

    Raises:
        InputError: a file is damaged or of another format.
    """
    records = np.concatenate([_records(file) for file in files])
    images = records[:, 1:].reshape(-1, 3, _SIDE, _SIDE)
    return ImageSet.of(images, records[:, 0].astype(np.int64), classes or _names_beside(files[0]), source)


def _records(file: Path) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    data = content(file)
    if not data or len(data) % _RECORD:
        raise InputError(
            f"{len(data):,} bytes are not a whole number of CIFAR-10's records of {_RECORD:,}",
            str(file),
            "the file was cut short or is of another format: fetch it again",
        )
    return np.frombuffer(data, np.uint8).reshape(-1, _RECORD)


def _names_beside(file: Path) -> tuple[str, ...]:
    """Return the names of the classes that are published with the format."""
    beside = file.with_name(NAMES)
    if not beside.is_file():
        return DIGITS
    stated = content(beside, _LONGEST).decode("utf-8", "replace").split()
    if len(set(stated)) != len(DIGITS) or len(stated) != len(DIGITS):
        raise InputError("these are not the names of ten classes", str(beside), "write one name on each line")
    return tuple(stated)
