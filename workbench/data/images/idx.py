"""Images of MNIST (IDX) and of CIFAR-10 (binary batches), packed by gzip or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.data.images.archive_contents import GZIP, StoredFile, file_content, file_contents, require_possible
from workbench.data.images.image_set import BYTES_PER_IMAGE, MOST_BYTES, MOST_SIDE, ImageSet, require_room
from workbench.params import InputError
from workbench.signals.cancel import NEVER, CancelToken

ENDINGS = ("-ubyte", "-ubyte.gz")
DIGITS = tuple("0123456789")
_IMAGES, _LABELS = 0x0803, 0x0801
_NAMES = (("images-idx3", "labels-idx1"), ("images.idx3", "labels.idx1"))


def read_idx(file: Path, classes: tuple[str, ...] | None = None, cancel: CancelToken = NEVER) -> ImageSet:
    """Return the images of ``file`` with the labels of the file beside it; the classes are 0 to 9 unless declared.

    Raises:
        InputError: a file is missing or damaged, or they do not belong together.
    """
    source = str(file)
    labels = _labels_beside(file)
    stated = (_File(file, _IMAGES, 3, "images"), _File(labels, _LABELS, 1, "labels"))

    def judge(heads: Sequence[bytes]) -> list[tuple[int, int]]:
        shapes = [one.shape(head) for one, head in zip(stated, heads, strict=True)]
        if shapes[0][0] != shapes[1][0]:
            raise InputError(
                f"there are {shapes[0][0]} images and {shapes[1][0]} labels",
                f"{source}, {labels.name}",
                "give matching files",
            )
        pixels = math.prod(shapes[0])
        require_room(pixels + BYTES_PER_IMAGE * shapes[0][0], f"the {shapes[0][0]:,} images of the file", source)
        found.extend(shapes)
        return [(one.begin, math.prod(shape)) for one, shape in zip(stated, shapes, strict=True)]

    found: list[tuple[int, ...]] = []
    images, codes = file_contents([StoredFile(file), StoredFile(labels)], judge, cancel)
    return ImageSet.of(
        images.reshape(found[0])[:, None], codes.astype(np.int64), classes or DIGITS, source, cancel=cancel
    )


def _labels_beside(file: Path) -> Path:
    plain = file.name.removesuffix(GZIP)
    for images, labels in _NAMES:
        if labels in plain:
            raise InputError("this is the file of labels", str(file), "give the file of images from the same folder")
        if images in plain:
            name = plain.replace(images, labels)
            for found in (file.with_name(name), file.with_name(name + GZIP)):
                if found.is_file():
                    return found
            raise InputError(f"the labels {name} are not beside the images", str(file), "put them into the same folder")
    raise InputError("the name does not say where the labels are", str(file), "name it …images-idx3-ubyte")


@dataclass(frozen=True)
class _File:
    """One of the two files, and what its header has to be."""

    file: Path
    magic: int
    dimensions: int
    what: str

    @property
    def begin(self) -> int:
        """Where the numbers begin."""
        return 4 + 4 * self.dimensions

    def shape(self, head: bytes) -> tuple[int, ...]:
        """Return the shape that a header promises, after comparing it with what the file can hold."""
        source = str(self.file)
        if len(head) < self.begin or int.from_bytes(head[:4], "big") != self.magic:
            raise InputError(f"this is not an IDX file of {self.what}", source, "give MNIST's files, or another format")
        shape = tuple(int.from_bytes(head[k : k + 4], "big") for k in range(4, self.begin, 4))
        size = math.prod(shape)
        if size > MOST_BYTES or any(side > MOST_SIDE for side in shape[1:]):
            raise InputError("the header declares more data than can be read", source, "fetch the file again")
        if size == 0:
            raise InputError(f"the file holds no {self.what}", source, "give a file with rows")
        require_possible(size, self.file, source)
        return shape


CIFAR_ENDINGS = (".bin", ".bin.gz")
NAMES = "batches.meta.txt"
_SIDE = 32
_RECORD = 1 + 3 * _SIDE * _SIDE
_LONGEST = 1 << 16


def read_cifar(
    files: Sequence[Path], source: str, classes: tuple[str, ...] | None = None, cancel: CancelToken = NEVER
) -> ImageSet:
    """Return the records of ``files``, one after the other.

    The classes are those of ``batches.meta.txt`` beside the first file, else 0 to 9, unless they are declared.

    Raises:
        InputError: a file is damaged or of another format.
    """
    records = np.concatenate([_records(file, cancel) for file in files])
    images = records[:, 1:].reshape(-1, 3, _SIDE, _SIDE)
    return ImageSet.of(
        images, records[:, 0].astype(np.int64), classes or _names_beside(files[0]), source, cancel=cancel
    )


def _records(file: Path, cancel: CancelToken) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    data = file_content(file, cancel=cancel)
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
    stated = file_content(beside, _LONGEST).decode("utf-8", "replace").split()
    if len(set(stated)) != len(DIGITS) or len(stated) != len(DIGITS):
        raise InputError("these are not the names of ten classes", str(beside), "write one name on each line")
    return tuple(stated)
