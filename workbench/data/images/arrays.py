"""Numpy archives (``.npz``): an array of images and one of labels; nothing in them is ever unpickled."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.data.images.archive_contents import StoredFile, file_contents
from workbench.data.images.idx import DIGITS
from workbench.data.images.image_set import BYTES_PER_IMAGE, MOST_BYTES, MOST_SIDE, ImageSet, open_archive, require_room
from workbench.params import InputError
from workbench.signals.cancel import NEVER, CancelToken

ENDINGS = (".npz",)
TRAIN, TEST = "train", "test"
PAIRS = (("x", "y"), ("X", "y"), ("images", "labels"), ("data", "labels"))
_HEADER = 10_000
_COPIES, _OF_LABELS = 2, 6
"""What reading takes of the pixels, which other orders of the axes copy; and of labels, whose codes are larger."""


def read_arrays(
    file: Path, classes: tuple[str, ...] | None = None, part: str = TRAIN, cancel: CancelToken = NEVER
) -> ImageSet:
    """Return the images and labels of an archive.

    They are its arrays ``x`` and ``y``, or ``images`` and ``labels``; ``x_train`` and ``y_train`` (``part`` is
    ``test``: ``x_test`` and ``y_test``) come first. Images have the shape (n, h, w), (n, h, w, c) or (n, c, h, w) and
    bytes; labels are codes of the classes, which are 0 to 9 unless declared, or their names.

    Raises:
        InputError: the archive is damaged, or holds other arrays.
    """
    source = str(file)
    try:
        with open_archive(file, source) as archive:
            members = {info.filename: info for info in archive.infolist()}
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        raise InputError(
            "the archive is damaged or cannot be read", source, "write it again with numpy.savez"
        ) from None
    there = {name.removesuffix(".npy") for name in members}
    wanted = [(f"{x}_{part}", f"{y}_{part}") for x, y in PAIRS] + [(f"{part}_{x}", f"{part}_{y}") for x, y in PAIRS]
    pair = next((p for p in (*wanted, *PAIRS) if there.issuperset(p)), None)
    if pair is None:
        raise InputError("the archive has no arrays x and y", source, "name them x and y, or images and labels")
    infos = [members[f"{name}.npy"] for name in pair]
    for info in infos:
        if info.file_size > MOST_BYTES:
            what = f"the array {info.filename} is larger than {MOST_BYTES / 2**30:.3g} GiB"
            raise InputError(what, source, "split it into parts")
    found: list[_Header] = []

    def judge(heads: Sequence[bytes]) -> list[tuple[int, int]]:
        found.extend(_header(info, head, source) for info, head in zip(infos, heads, strict=True))
        _require_fit(found[0], found[1], source)
        return [(one.begin, one.bytes) for one in found]

    numbers = file_contents([StoredFile(file, info.filename) for info in infos], judge, cancel)
    images, labels = (_array(stated, data, source) for stated, data in zip(found, numbers, strict=True))
    planes = _planes(images, source)
    names = classes or DIGITS
    return ImageSet.of(planes, _codes(labels.reshape(-1), names, source), names, source, cancel=cancel)


@dataclass(frozen=True)
class _Header:
    """What an array in the archive says of itself: its name, shape, type, order of the axes, and where it begins."""

    name: str
    shape: tuple[int, ...]
    kind: np.dtype[np.generic]
    columns_first: bool
    begin: int

    @property
    def bytes(self) -> int:
        """How many bytes its numbers take."""
        return math.prod(self.shape) * self.kind.itemsize


def _header(info: zipfile.ZipInfo, head: bytes, source: str) -> _Header:
    """Return what one array says of itself in its first bytes, checked against its length."""
    name, stream = info.filename, io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, columns_first, kind = read(stream, max_header_size=_HEADER)
        found = _Header(name, shape, kind, columns_first, stream.tell())
        if kind.hasobject:
            raise InputError(f"the array {name} holds Python objects", source, "save numbers or text")
        if not kind.itemsize or min(shape, default=0) < 0 or found.bytes != info.file_size - found.begin:
            raise ValueError
    except (ValueError, SyntaxError, TypeError):
        raise _damaged(name, source) from None
    return found


def _require_fit(images: _Header, labels: _Header, source: str) -> None:
    """Refuse arrays that do not belong together or for which there is no room, before room is made for them."""
    count = images.shape[0] if images.shape else 0
    if labels.shape not in ((count,), (count, 1)):
        raise InputError(
            f"there are {count} images and labels of shape {labels.shape}", source, "give one label per image"
        )
    needed = _COPIES * images.bytes + _OF_LABELS * labels.bytes + BYTES_PER_IMAGE * count
    require_room(needed, f"the {count:,} images of the archive", source)


def _array(stated: _Header, data: NDArray[np.uint8], source: str) -> NDArray[np.generic]:
    order = stated.shape[::-1] if stated.columns_first else stated.shape
    try:
        values: NDArray[np.generic] = data.view(stated.kind).reshape(order)
    except (ValueError, TypeError):  # a type of several numbers
        raise _damaged(stated.name, source) from None
    return values.T if stated.columns_first else values


def _damaged(name: str, source: str) -> InputError:
    return InputError(f"the array {name} is damaged", source, "write it again with numpy.savez")


def _planes(images: NDArray[np.generic], source: str) -> NDArray[np.uint8]:
    """Return the images as (n, c, h, w)."""
    if images.dtype != np.uint8:
        raise InputError(f"the pixels are {images.dtype}, not bytes from 0 to 255", source, "save them as numpy.uint8")
    pixels: NDArray[np.uint8] = images.astype(np.uint8, copy=False)
    if pixels.ndim == 3:
        pixels = pixels[:, None]
    elif pixels.ndim == 4 and pixels.shape[1] not in (1, 3) and pixels.shape[3] in (1, 3):
        pixels = pixels.transpose(0, 3, 1, 2)
    sides = pixels.shape[1:]
    if pixels.ndim != 4 or sides[0] not in (1, 3) or not len(pixels) or not all(0 < s <= MOST_SIDE for s in sides):
        raise InputError(
            f"an array of shape {images.shape} contains no images",
            source,
            "give the shape (n, height, width) or (n, height, width, 3)",
        )
    return np.ascontiguousarray(pixels)


def _codes(labels: NDArray[np.generic], classes: tuple[str, ...], source: str) -> NDArray[np.int64]:
    if labels.dtype.kind in "iub":
        return labels.astype(np.int64)
    if labels.dtype.kind == "U":
        known = {name: code for code, name in enumerate(classes)}
        codes = np.array([known.get(str(label), -1) for label in labels], np.int64)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            raise InputError(
                f"the class of image {unknown[0] + 1} is not declared", source, "declare all with --classes A,B,…"
            )
        return codes
    raise InputError(f"the labels are {labels.dtype}, neither whole numbers nor text", source, "save codes or names")
