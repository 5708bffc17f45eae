"""What adds noise to whole numbers, as central queries are given it, and the exact answer in its place.

That which draws is in :mod:`workbench.privacy.central.laplace`, and is made by :mod:`workbench.work.noise` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class CentralNoise(Protocol):
    """Adds noise to a vector of integers; the interface that learners use."""

    releasable: bool

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        """Return the noisy vector.

        Args:
            values: exact integers (counts, or sums on a public integer grid).
            sensitivity: L1 sensitivity of the whole vector under zero-out neighbours, in grid units.
            epsilon: the share of ε of this query.

        Raises:
            ParameterError: sensitivity < 1 or ε not in (0, ∞).
        """
        ...

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        """Return the vector with discrete Gaussian noise, σ² = Δ²/(2ρ).

        Args:
            values: exact integers.
            sensitivity: L2 sensitivity Δ of the whole vector under zero-out neighbours, in grid units.
            rho: the share of ρ of this query.

        Raises:
            ParameterError: sensitivity < 1 or ρ not in (0, ∞).
        """
        ...

    def below(self, total: int) -> int:
        """Return a uniform whole number 0 … ``total`` − 1, exactly: by it, one of many is drawn by its weight."""
        ...

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` uniform words of 64 bits."""
        ...


class NoNoise:
    """The exact values: the regime without privacy, and never releasable."""

    releasable = False

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        """Return ``values`` unchanged."""
        return [int(v) for v in values]

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        """Return ``values`` unchanged."""
        return [int(v) for v in values]

    def below(self, total: int) -> int:
        """Nothing is drawn where there is no noise: a caller asks before it weighs."""
        raise AssertionError("a draw by weights has no version without noise")

    def words(self, count: int) -> NDArray[np.uint64]:
        """As :meth:`below`."""
        return np.zeros(self.below(count), np.uint64)
