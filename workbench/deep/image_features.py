"""The inputs of a network from images: pixels scaled from 0…255 to [−1, 1]; nothing from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.images.image_set import BRIGHTEST, ImageSet, ImageShape, class_attribute, pixel_attribute
from workbench.data.table import Table
from workbench.deep.features import Features
from workbench.deep.networks.images import Pixels
from workbench.learners.tasks import classes_of
from workbench.params import InputError


@dataclass(frozen=True)
class ImageFeatures(Features):
    """The public map from an image to a network's inputs.

    Attributes:
        shape: of every image.
    """

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
