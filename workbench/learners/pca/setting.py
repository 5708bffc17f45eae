"""What a fit of PCA asks: shares of ε, grid and sensitivities, all of them from public facts and earlier answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property

from workbench.data.schema import Attribute
from workbench.learners.base import discrete_laplace_variance, split_epsilon
from workbench.learners.encoding import Encoding, grid_of
from workbench.learners.pca.parameters import PcaParameters
from workbench.learners.plain import FitSetting
from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact, floor_double

UNIT = 1 << 15
"""Whole numbers of one row in the scatter."""

MEAN, SCATTER, PRODUCTS = "mean", "scatter", "products"
_WEIGHTS = {MEAN: 0.15, SCATTER: 0.05, PRODUCTS: 0.8}
_MEAN_SHARE = 0.5
"""A row whose values add up to more than this part of the largest possible counts for less in the mean."""

LEAST_SCATTER, MOST_SCATTER = 0.03, 0.6
_MOST_COLUMNS = 1000
_PEAK = 1.5  # root mean square of a row's distances from the mean, as a multiple of their mean


def require_width(attributes: Sequence[Attribute]) -> None:
    """Raise :class:`ParameterError` where there are more columns than a matrix of their products can have."""
    width = len(Encoding(tuple(attributes)).labels)
    if width > _MOST_COLUMNS:
        raise ParameterError(
            f"PCA works on {_MOST_COLUMNS} columns at most, and these attributes make {width}: a category makes one "
            "for each of its values",
            hint=("drop the attributes with many values", "drop columns"),
        )


class Setting(FitSetting[PcaParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    @cached_property
    def components(self) -> int:
        """k, how many components are made."""
        return min(self.parameters.components, self.width)

    @cached_property
    def shares(self) -> tuple[tuple[str, Decimal], ...]:
        """Return label and share of ε of each query; the shares sum to ε exactly."""
        if not self.private:
            return ()
        return tuple(zip(_WEIGHTS, split_epsilon(exact(self.epsilon), list(_WEIGHTS.values())), strict=True))

    def budget(self, label: str) -> float:
        """Return ε of a query; infinite without noise."""
        return floor_double(dict(self.shares)[label]) if self.private else math.inf

    def limit(self, scatter: float) -> float:
        """Return the largest L1 norm of a row's products, in half-ranges².

        Args:
            scatter: the rows' mean distance from the mean in one column.
        """
        if not self.private:
            return ((2 * self.width) ** 2 + 4 * self.width) / 2
        reach = self.parameters.reach * scatter
        return ((reach * self.width) ** 2 + (_PEAK * reach) ** 2 * self.width) / 2

    @cached_property
    def size(self) -> int:
        """K of the grid; a row less the mean lies within [−2K, 2K], hence four times the rows."""
        least = min(self.budget(label) for label in _WEIGHTS)
        return grid_of(4 * self.rows, max(self.limit(MOST_SCATTER), self.width), least)

    @cached_property
    def mean_limit(self) -> int:
        """L1 sensitivity of the sum of the rows in whole numbers: the largest L1 norm of one."""
        share = max(1.0, self.width * _MEAN_SHARE) if self.private else self.width
        return math.floor(share * self.size)

    def product_limit(self, scatter: float) -> int:
        """Return the L1 sensitivity of the sums of products in whole numbers."""
        return max(1, math.floor(self.limit(scatter) * self.size**2))

    def length(self, label: str) -> int:
        """Return how many whole numbers a query releases."""
        return {MEAN: self.width, SCATTER: 1, PRODUCTS: self.width * (self.width + 1) // 2}[label]

    def deviation(self, label: str, sensitivity: int) -> float:
        """Return the standard deviation of the noise of each number of a query, in whole numbers."""
        epsilon = self.budget(label)
        return 0.0 if epsilon == math.inf else math.sqrt(discrete_laplace_variance(sensitivity, epsilon))
