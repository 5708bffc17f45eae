"""A set of images with their classes, and the two columns of text by which the ledger knows it.

What its owner may see at a glance (how many each class has, and a few of them, made small) is private.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.signals.cancel import NEVER, CancelToken

SHARE = 0.75  # of the memory that is free: so much may be taken

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
            "close other programs, or split it into parts",
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


Images = NDArray[np.uint8]  # shape (n, channels, height, width); 0 to 255, as all formats read here hold them

Mark = tuple[str, str]

MOST_BYTES = 4 * 2**30  # bytes of all pixels of a set

MOST_SIDE = 4096


def mark(image: Images) -> Mark:
    """Return a hash of an image (c, h, w) that does not depend on how it was stored; grey stored as colour is grey."""
    if len(image) == 3 and np.array_equal(image[0], image[1]) and np.array_equal(image[0], image[2]):
        image = image[:1]
    digest = hashlib.blake2b(repr(image.shape).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(image).data)
    stated = digest.hexdigest()
    return f"image {stated[:16]}", f"image {stated[16:]}"  # a word in front: no digest is mistaken for a number


IMAGE, CLASS = "image", "class"
_REST = "image, second half"
DARKEST, BRIGHTEST = 0, 255
_MANY = 200_000


@dataclass(frozen=True)
class ImageShape:
    """The public shape of every image of a set: 1 channel (grey) or 3 (red, green, blue)."""

    channels: int
    height: int
    width: int

    @property
    def numbers(self) -> int:
        """How many numbers an image has."""
        return self.channels * self.height * self.width

    @property
    def square(self) -> bool:
        """Whether both sides are as long."""
        return self.height == self.width

    def to_plain(self) -> dict[str, int]:
        """Return the shape as JSON holds it."""
        return {"channels": self.channels, "height": self.height, "width": self.width}

    @classmethod
    def from_plain(cls, stated: Any, where: str) -> Self:
        """Return the shape that :meth:`to_plain` wrote; raise :class:`ParameterError` for anything else."""
        names = ("channels", "height", "width")
        sides = (
            [stated[name] for name in names if isinstance(stated.get(name), int)] if isinstance(stated, dict) else []
        )
        if len(sides) != 3 or sides[0] not in (1, 3) or not all(1 <= side <= MOST_SIDE for side in sides):
            raise ParameterError("the shape of the images is not valid", where, "give the original file")
        return cls(*sides)

    def __str__(self) -> str:
        """Return the shape in words: ``28 × 28 grey``."""
        return f"{self.height} × {self.width} {'grey' if self.channels == 1 else 'colour'}"


@dataclass(frozen=True, eq=False)
class ImageSet(Table):
    """Images and their classes; everything in it but the shape, the classes' names and the number of rows is private.

    As a table it has three columns: two halves of a hash of each image's pixels, and the name of its class. So the
    ledger knows it again under any file name, compression or order, and a set with most images in common as a version
    of it, also under other classes (two columns that are both keys show that this is no chance).
    """

    images: Images = field(default_factory=lambda: np.empty((0, 1, 1, 1), np.uint8))  # the pixels
    classes: tuple[str, ...] = ()  # the public names of the classes
    taken: str = ""  # public facts that nobody declared and that were taken from the files, in words; often empty
    files: tuple[str, ...] = ()  # names of the files of images without classes, which are to be predicted for; private

    @classmethod
    def unlabelled(cls, images: Images, source: str, files: Sequence[str]) -> Self:
        """Return images without classes: nothing can be learned from them, and no ledger knows them."""
        frame = pl.DataFrame({IMAGE: [mark(image)[0] for image in images]}, schema={IMAGE: pl.String})
        return cls(frame, source, images=images, files=tuple(files))

    @classmethod
    def of(
        cls,
        images: Images,
        labels: NDArray[np.int64],
        classes: Sequence[str],
        source: str,
        *,
        marks: Sequence[Mark] | None = None,
        taken: str = "",
        cancel: CancelToken = NEVER,
    ) -> Self:
        """Return the set of ``images`` whose classes have the codes ``labels`` (n,).

        Raises:
            InputError: a label has no class; its row is named. Or there is no room for so many images.
        """
        if len(images) > _MANY:
            require_room(BYTES_PER_IMAGE * len(images), f"the table of {len(images):,} images", source)
        beyond = np.flatnonzero((labels < 0) | (labels >= len(classes)))
        if len(beyond):
            raise InputError(
                f"the label {labels[beyond[0]]} of image {beyond[0] + 1} is none of the {len(classes)} classes",
                source,
                "declare all classes with --classes A,B,…",
            )
        names = np.array(classes, dtype=object)[labels].tolist()
        stated = list(marks or ())
        for image in images[len(stated) :]:
            cancel.check()
            stated.append(mark(image))
        halves = {name: [both[k] for both in stated] for k, name in enumerate((IMAGE, _REST))}
        frame = pl.DataFrame({**halves, CLASS: names}, schema=dict.fromkeys((IMAGE, _REST, CLASS), pl.String))
        cancel.check()
        return cls(frame, source, images=images, classes=tuple(classes), taken=taken)

    @property
    def labelled(self) -> bool:
        """Whether each image has a class."""
        return CLASS in self.frame.columns

    @property
    def shape(self) -> ImageShape:
        """The shape of every image."""
        return ImageShape(*self.images.shape[1:])

    @property
    def attributes(self) -> tuple[Attribute, Attribute]:
        """The public facts: the range of a pixel and the classes."""
        return pixel_attribute(), class_attribute(self.classes)


def pixel_attribute() -> Attribute:
    """Return what is public of a pixel: its range, which every format has."""
    return Attribute(name=IMAGE, kind="integer", lower=DARKEST, upper=BRIGHTEST)


def class_attribute(classes: Sequence[str]) -> Attribute:
    """Return what is public of the classes: their names."""
    return Attribute(name=CLASS, kind="category", domain=tuple(classes))


EXAMPLES = 24  # images of a class that are kept

SIDE = 64  # pixels that a side of a small image has, at most nearly twice of it

MOST_CLASSES = 40  # classes of which images are kept; the others are counted


@dataclass(frozen=True, eq=False)
class ClassOverview:
    """One class: its name is public where it was declared; all else is private."""

    name: str  # of the class
    images: int  # how many it has
    examples: tuple[Images, ...]  # some of them, small, in the order of the file; each (c, h, w)


def overview(images: ImageSet, check: Callable[[], None] = lambda: None) -> tuple[ClassOverview, ...]:
    """Return what each class of ``images`` has, in the order of the classes; ``check`` may stop it."""
    names = images.frame[CLASS].to_numpy()
    found = []
    for place, name in enumerate(images.classes):
        check()
        there = np.flatnonzero(names == name)
        step = max(1, len(there) // EXAMPLES)
        shown = there[::step][:EXAMPLES] if place < MOST_CLASSES else there[:0]
        found.append(ClassOverview(name, len(there), tuple(thumbnail(images.images[at]) for at in shown)))
    return tuple(found)


def thumbnail(image: Images, side: int = SIDE) -> Images:
    """Return ``image`` (c, h, w) with every k-th pixel of every k-th line, so that it takes little room."""
    step = max(1, max(image.shape[1:]) // side)
    return np.ascontiguousarray(image[:, ::step, ::step])
