"""The inputs of a network, by public declarations alone: nothing is learned from the data.

Numbers are scaled by declared bounds, categories are indicators, pixels are scaled from 0…255 to [−1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.columns.grid import matrix
from workbench.data.columns.missing import with_codes
from workbench.data.images.image_set import BRIGHTEST, ImageSet, ImageShape, class_attribute, pixel_attribute
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.deep.networks.images import Pixels
from workbench.learners.checks import checked_classes, checked_columns, checked_schema
from workbench.learners.tasks import classes_of
from workbench.params import InputError

_DOUBLE = 8
_COLUMNS_AT_ONCE = 10  # columns of doubles that live beside the matrix while one of them is read, checked and scaled


@dataclass(frozen=True)
class Features:
    """The public map from a row's values to a network's inputs and classes.

    A number is clamped to its declared bounds and scaled linearly to [−1, 1]; a category is one indicator for each
    value of its declared domain. Where a missing value is a value of its own it has an indicator, and a missing
    number is 0 beside it.
    """

    attributes: tuple[Attribute, ...]
    target: Attribute

    def __post_init__(self) -> None:
        """Refuse columns without declared bounds or domains."""
        checked_schema(self.attributes, self.target)

    @property
    def width(self) -> int:
        """The number of inputs of a network."""
        return sum(_width(a) for a in self.attributes)

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared classes, in the order of their codes."""
        return self.target.values()

    def encode(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the inputs (n, width) of X (n, d): numbers (NaN where missing) and codes 0 … k−1 (k where missing).

        Raises:
            InputError: a value is none of its column; the message names row and column.
        """
        columns = checked_columns(X, self.attributes)
        out = np.zeros((len(columns), self.width), dtype=np.float32)
        start = 0
        for attribute, column in zip(self.attributes, columns.T, strict=True):
            width = _width(attribute)
            part = out[:, start : start + width]
            if attribute.numeric:
                lower, upper = attribute.bounds()
                missing = np.isnan(column)
                # Halves first: upper − lower can overflow where neither bound does.
                scaled = (np.clip(column, lower, upper) / 2 - lower / 2) / (upper / 2 - lower / 2) * 2 - 1
                part[:, 0] = np.where(missing, 0.0, scaled)
                if width == 2:
                    part[:, 1] = missing
            else:
                part[np.arange(len(columns)), column.astype(np.int64)] = 1.0
            start += width
        return out

    def blank(self, rows: int) -> NDArray[np.float32]:
        """Return rows of zeros, to try a network on."""
        return np.zeros((rows, self.width), np.float32)

    def reading_bytes(self, rows: int) -> int:
        """Return the most bytes in use while ``rows`` rows are read, without those of what is read."""
        return _DOUBLE * rows * (len(self.attributes) + _COLUMNS_AT_ONCE)

    def facts(self) -> dict[str, Any]:
        """Return what a card must say beside the columns; all public."""
        return {}

    def with_codes(self, table: Table) -> Table:
        """Return a table of raw rows in which what the columns declare missing is missing."""
        return with_codes(table, (*self.attributes, self.target))

    def inputs(self, table: Table) -> NDArray[Any]:
        """Return X of a table, as :meth:`encode` takes it.

        Raises:
            InputError: a column is absent, or a value is none of its column; the message names row and column.
        """
        table.require([a.name for a in self.attributes])
        return matrix(table, self.attributes)

    def read(self, table: Table) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return X (n, d) and y (n,) of a table; y is −1 for an empty row, which has no class.

        Raises:
            InputError: a column is absent, or a value is none of its column; the message names row and column.
        """
        table.require([a.name for a in (*self.attributes, self.target)])
        return self.inputs(table), classes_of(table, self.target)


class TrainingData(Protocol):
    """Rows that a trainer may read once they are charged.

    Attributes:
        rows: the number of rows, public under zero-out neighbours.
        features: the public map from rows to inputs.
    """

    @property
    def rows(self) -> int:
        """The public number of rows."""
        ...

    @property
    def features(self) -> Features:
        """The public map from rows to inputs."""
        ...

    def load(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Read the rows: inputs (n, width) and classes (n,), −1 for an empty row. Called once, after the charge."""
        ...


@dataclass(frozen=True, eq=False)
class TableData:
    """Rows of a table."""

    features: Features
    table: Table

    @property
    def rows(self) -> int:
        """The public number of rows."""
        return self.table.rows

    def load(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return inputs and classes."""
        X, y = self.features.read(self.table)
        return self.features.encode(X), checked_classes(y, self.features.target)


def _width(attribute: Attribute) -> int:
    own = attribute.missing == "own-value"
    return 1 + own if attribute.numeric else len(attribute.values()) + own


@dataclass(frozen=True)
class ImageFeatures(Features):
    """The public map from an image to a network's inputs."""

    shape: ImageShape

    @classmethod
    def of(cls, images: ImageSet) -> Self:
        """Return the map for sets like ``images``: their shape and classes, both public."""
        return cls((pixel_attribute(),), class_attribute(images.classes), images.shape)

    @property
    def width(self) -> Pixels:
        """The number of inputs of a network, which knows their shape."""
        return Pixels(self.shape.channels, self.shape.height, self.shape.width)

    def reading_bytes(self, rows: int) -> int:
        """Return 0: pixels are scaled in place while they are read."""
        return 0

    def facts(self) -> dict[str, Any]:
        """Return what a card says beside the columns: the shape."""
        return {"images": self.shape.to_plain()}

    def blank(self, rows: int) -> NDArray[np.float32]:
        """Return grey images, to try a network on."""
        return np.zeros((rows, *self.width.shape), np.float32)

    def encode(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the inputs (n, c, h, w) of images X (n, c, h, w) of bytes."""
        pixels = np.asarray(X)
        if pixels.dtype != np.uint8 or pixels.shape[1:] != self.width.shape:
            raise InputError(
                f"the network reads images of {self.shape}, not an array {pixels.shape[1:]} of {pixels.dtype}",
                hint="give images of that shape",
            )
        scaled = pixels.astype(np.float32)
        scaled *= np.float32(2 / BRIGHTEST)
        scaled -= np.float32(1)
        return scaled

    def inputs(self, table: Table) -> NDArray[np.uint8]:
        """Return the images of a set.

        Raises:
            InputError: it is a table, or its images have another shape.
        """
        if not isinstance(table, ImageSet):
            raise InputError("the network was trained on images, and this is a table", table.source, "give images")
        if table.shape != self.shape:
            raise InputError(
                f"the images are {table.shape}, the network reads {self.shape}", table.source, "give images like those"
            )
        return table.images

    def read(self, table: Table) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the images (n, c, h, w) and the codes of their classes (n,)."""
        return self.inputs(table), classes_of(table, self.target)
