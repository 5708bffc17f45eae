"""What a fit of linear regression asks: columns, shares of ε and sensitivities, all of them from public facts."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cached_property

from workbench.learners.base import discrete_laplace_variance, split_epsilon
from workbench.learners.encoding import grid_of
from workbench.learners.linear_regression.parameters import FUNCTIONAL, LinearRegressionParameters
from workbench.learners.linear_regression.statistics import functional_sensitivity, largest_norm
from workbench.learners.plain import FitSetting
from workbench.privacy.accounting.event import exact, floor_double

_COLUMNS_RATE = 0.06
"""With n·ε = 1,100 two columns are used, with 10,000 six (chosen on generated tables)."""

_LEAST_KNOWN = 100
"""With less n·ε than this every column would be lost in noise, and none is used."""


class Setting(FitSetting[LinearRegressionParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    @cached_property
    def functional(self) -> bool:
        """Whether the functional mechanism is asked for."""
        return self.parameters.method == FUNCTIONAL

    @cached_property
    def used(self) -> int:
        """How many encoded columns are used; with none of them the prediction is the noisy mean."""
        every = len(self.encoding.labels)
        if self.functional or not self.private:
            return every
        asked, known = self.parameters.columns, min(self.rows * self.epsilon, 1e12)
        if asked is None:
            asked = max(1, math.floor(_COLUMNS_RATE * math.sqrt(known))) if known >= _LEAST_KNOWN else 0
        return min(asked, every)

    @cached_property
    def selects(self) -> bool:
        """Whether columns are chosen from the rows."""
        return 0 < self.used < len(self.encoding.labels)

    @cached_property
    def shares(self) -> tuple[tuple[str, Decimal], ...]:
        """Return label and share of ε of each query; the shares sum to ε exactly."""
        if not self.private:
            return ()
        rounds = self.used if self.selects else 0
        part = self.parameters.selection_share
        labels = [f"choice of column {i + 1}" for i in range(rounds)] + ["sums"]
        weights = [part / rounds] * rounds + [1 - part] if rounds else [1.0]
        return tuple(zip(labels, split_epsilon(exact(self.epsilon), weights), strict=True))

    @cached_property
    def budgets(self) -> list[float]:
        """Return ε of each round of the choice, then of the sums; infinite without noise."""
        return [floor_double(share) for _, share in self.shares] or [math.inf]

    @cached_property
    def limit(self) -> float:
        """The largest L1 norm of one row's part in the sums, in units of K²."""
        if self.functional:
            return float(functional_sensitivity(self.used + 1))
        largest = largest_norm(self.used + 1)
        return 1 + (largest - 1) * self.parameters.norm_share if self.private else float(largest)

    @cached_property
    def size(self) -> int:
        """K of the sums."""
        return grid_of(self.rows, self.limit, self.budgets[-1])

    @cached_property
    def sensitivity(self) -> int:
        """L1 sensitivity of the sums in whole numbers."""
        return math.floor(self.limit * self.size**2)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the noise of each sum, in units of one."""
        epsilon = self.budgets[-1]
        if epsilon == math.inf:
            return 0.0
        return math.sqrt(discrete_laplace_variance(self.sensitivity, epsilon)) / self.size**2
