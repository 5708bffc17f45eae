"""Rows for a trainer that are arrays already."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.deep.features import Features
from workbench.learners.checks import checked_classes, table_shape


@dataclass(frozen=True, eq=False)
class ArrayData:
    """Rows that are arrays already, as :meth:`Features.encode` takes them."""

    features: Features
    X: ArrayLike
    y: ArrayLike

    @property
    def rows(self) -> int:
        """The public number of rows, from the shapes alone."""
        return table_shape(self.X, self.y, self.features.attributes)

    def load(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return inputs and classes."""
        return self.features.encode(self.X), checked_classes(self.y, self.features.target)
