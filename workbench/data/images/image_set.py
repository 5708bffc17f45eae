"""A set of images with their classes, and the two columns of text by which the ledger knows it.

What its owner may see at a glance (how many each class has, and a few of them, made small) is private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.images.pixels import MOST_SIDE, Images, Mark, mark
from workbench.data.images.room import BYTES_PER_IMAGE, require_room
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError, ParameterError

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
            raise ParameterError("the shape of the images is not one", where, "give the file as it was written")
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

    Attributes:
        images: the pixels.
        classes: the public names of the classes.
        taken: public facts that nobody declared and that were taken from the files, in words; often empty.
        files: names of the files of images without classes, which are to be predicted for; private.
    """

    images: Images = field(default_factory=lambda: np.empty((0, 1, 1, 1), np.uint8))
    classes: tuple[str, ...] = ()
    taken: str = ""
    files: tuple[str, ...] = ()

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
        stated = list(marks) if marks is not None else [mark(image) for image in images]
        halves = {name: [both[k] for both in stated] for k, name in enumerate((IMAGE, _REST))}
        frame = pl.DataFrame({**halves, CLASS: names}, schema=dict.fromkeys((IMAGE, _REST, CLASS), pl.String))
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


EXAMPLES = 24
"""Images of a class that are kept."""

SIDE = 64
"""Pixels that a side of a small image has, at most nearly twice of it."""

MOST_CLASSES = 40
"""Classes of which images are kept; the others are counted."""


@dataclass(frozen=True, eq=False)
class ClassSeen:
    """One class: its name is public where it was declared; all else is private.

    Attributes:
        name: of the class.
        images: how many it has.
        examples: some of them, small, in the order of the file; each (c, h, w).
    """

    name: str
    images: int
    examples: tuple[Images, ...]


def overview(images: ImageSet, check: Callable[[], None] = lambda: None) -> tuple[ClassSeen, ...]:
    """Return what each class of ``images`` has, in the order of the classes; ``check`` may stop it."""
    names = images.frame[CLASS].to_numpy()
    found = []
    for place, name in enumerate(images.classes):
        check()
        there = np.flatnonzero(names == name)
        step = max(1, len(there) // EXAMPLES)
        shown = there[::step][:EXAMPLES] if place < MOST_CLASSES else there[:0]
        found.append(ClassSeen(name, len(there), tuple(small(images.images[at]) for at in shown)))
    return tuple(found)


def small(image: Images, side: int = SIDE) -> Images:
    """Return ``image`` (c, h, w) with every k-th pixel of every k-th line, so that it takes little room."""
    step = max(1, max(image.shape[1:]) // side)
    return np.ascontiguousarray(image[:, ::step, ::step])
