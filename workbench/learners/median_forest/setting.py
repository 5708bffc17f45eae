"""What follows from the public facts of a fit: the number of blocks, and the public grid of the answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.encoding import grid_of
from workbench.learners.median_forest.expected_median import expected_medians
from workbench.learners.median_forest.parameters import MedianParameters
from workbench.learners.plain import FitSetting
from workbench.learners.sums import scaled
from workbench.privacy.accounting.event import exact, floor_double

_SURE, _RANKS = 3.0, 28.0
_LEAST_BLOCKS, _MOST_DEFAULT = 5, 300
_LEAST_ROWS = 4

# Where there are rows enough: three times as many ranks, so that the answer is hardly ever outside the blocks' answers.
# Chosen on taxi rides, where a block of 60 rows is still a fair model: at ε = 0.3 R² is .80 with them, .46 without.
_MORE_RANKS, _MOST_OF_MANY, _MANY_ROWS = 80.0, 800, 60

MIDDLE = 0.5
"""What a block without a row answers, as a share of the target's range."""


class Setting(FitSetting[MedianParameters]):
    """The public facts of a fit."""

    @property
    def blocks(self) -> int:
        """B, the number of blocks, each of at least one row.

        By default about 3 + 28/ε, as an answer is drawn among the ranks within a few 1/ε of the median's, while the
        blocks have a few rows each; up to 3 + 80/ε as long as they have many.
        """
        asked = self.parameters.blocks
        if asked is None:
            few = min(max(_SURE + _RANKS / self.epsilon, _LEAST_BLOCKS), _MOST_DEFAULT)
            many = min(_SURE + _MORE_RANKS / self.epsilon, _MOST_OF_MANY, self.rows // _MANY_ROWS)
            asked = max(1, min(round(few), self.rows // _LEAST_ROWS), round(many))
        return min(asked, self.rows)

    @property
    def scale(self) -> int:
        """K of the encoding of the columns: numbers lie on a grid of 2K + 1 places within their bounds."""
        return grid_of(1)

    @property
    def share(self) -> float:
        """ε of each prediction, as a double that is not above it."""
        return floor_double(exact(self.epsilon))

    @property
    def cells(self) -> int:
        """The number of values that an answer can have."""
        return self.parameters.cells

    def to_cells(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the cell of each share of the target's range, clamped to it; any shape. NaN gets the middle."""
        clamped = np.clip(np.nan_to_num(shares, nan=MIDDLE), 0.0, 1.0)
        return np.rint(clamped * (self.cells - 1)).astype(np.int64)

    def to_numbers(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the number that each answer stands for, within the bounds: with noise, the expected median."""
        if not self.private:
            return to_numbers(cells / (self.cells - 1), self.facts.target)
        shares = expected_medians(self.parameters.aggregate, self.blocks, self.cells, self.share)
        return to_numbers(shares[cells], self.facts.target)


def to_shares(numbers: NDArray[np.float64], target: Attribute) -> NDArray[np.float64]:
    """Return the place of each number in the target's range, 0 at the lower bound and 1 at the upper; NaN stays."""
    return (scaled(numbers, *target.bounds()) + 1) / 2


def to_numbers(shares: NDArray[np.float64], target: Attribute) -> NDArray[np.float64]:
    """Return the number at each place of the target's range, clamped to it."""
    lower, upper = target.bounds()
    inside = np.clip(shares, 0.0, 1.0)
    return np.asarray(np.clip(lower * (1 - inside) + upper * inside, lower, upper))
