"""MNIST's format (IDX): a file of images and beside it a file of labels, both of bytes behind a short header."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.data.images.image_set import ImageSet
from workbench.data.images.packed import GZIP, content
from workbench.data.images.pixels import MOST_BYTES, MOST_SIDE
from workbench.params import InputError

ENDINGS = ("-ubyte", "-ubyte.gz")
DIGITS = tuple("0123456789")
_IMAGES, _LABELS = 0x0803, 0x0801
_NAMES = (("images-idx3", "labels-idx1"), ("images.idx3", "labels.idx1"))


def read_idx(file: Path, classes: tuple[str, ...] | None = None) -> ImageSet:
    """Return the images of ``file`` with the labels of the file beside it; the classes are 0 to 9 unless declared.

    Raises:
        InputError: a file is missing or damaged, or they do not belong together.
    """
    source = str(file)
    labels = _labels_beside(file)
    images = _array(content(file), _IMAGES, 3, source, "images")
    codes = _array(content(labels), _LABELS, 1, str(labels), "labels")
    if len(images) != len(codes):
        raise InputError(
            f"there are {len(images)} images and {len(codes)} labels", f"{source}, {labels.name}", "give matching files"
        )
    return ImageSet.of(images[:, None], codes.astype(np.int64), classes or DIGITS, source)


def _labels_beside(file: Path) -> Path:
    plain = file.name.removesuffix(GZIP)
    for images, labels in _NAMES:
        if labels in plain:
            raise InputError("this is the file of labels", str(file), "name the file of images, which is beside it")
        if images in plain:
            name = plain.replace(images, labels)
            for found in (file.with_name(name), file.with_name(name + GZIP)):
                if found.is_file():
                    return found
            raise InputError(f"the labels {name} are not beside the images", str(file), "put them into the same folder")
    raise InputError("the name does not tell where the labels are", str(file), "name it …images-idx3-ubyte")


def _array(data: bytearray, magic: int, dimensions: int, source: str, what: str) -> NDArray[np.uint8]:
    start = 4 + 4 * dimensions
    if len(data) < start or int.from_bytes(data[:4], "big") != magic:
        raise InputError(f"this is no IDX file of {what}", source, "give MNIST's files, or another format")
    shape = tuple(int.from_bytes(data[k : k + 4], "big") for k in range(4, start, 4))
    size = 1
    for side in shape:
        size *= side
    if size > MOST_BYTES or any(side > MOST_SIDE for side in shape[1:]):
        raise InputError("the header promises more than can be read", source, "fetch the file again")
    if size == 0:
        raise InputError(f"the file holds no {what}", source, "give a file with rows")
    if len(data) - start != size:
        raise InputError(
            f"the header promises {size:,} bytes of {what} and {len(data) - start:,} follow",
            source,
            "the file was cut short or changed: fetch it again",
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)
