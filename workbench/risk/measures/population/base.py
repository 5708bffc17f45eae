"""What a population model reads of a table, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sample:
    """The classes of a sample.

    Attributes:
        sizes: the sizes that occur, ascending.
        counts: how many classes have each.
        fraction: the share π of the population that was sampled, below 1.
    """

    sizes: np.ndarray
    counts: np.ndarray
    fraction: float

    @property
    def rows(self) -> int:
        """The number of rows, n."""
        return int((self.sizes * self.counts).sum())

    @property
    def number(self) -> int:
        """The number of classes, u."""
        return int(self.counts.sum())

    @property
    def people(self) -> float:
        """The size of the population, N = n / π."""
        return self.rows / self.fraction

    def of_size(self, size: int) -> int:
        """Return the number of classes of ``size`` rows."""
        return int(self.counts[self.sizes == size].sum())


@dataclass(frozen=True)
class Estimate:
    """People of the population who are alone in their class, and the parameters of the model by their symbols."""

    unique: float
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class PopulationModel:
    """A way to estimate how many people of a population are unique; ``None`` where it does not fit the sample."""

    name: str
    title: str
    estimate: Callable[[Sample], Estimate | None]
