"""What a fit of logistic regression asks: method, rounds, shares of ε and sensitivities, all from public facts."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cached_property

from workbench.learners.base import discrete_laplace_variance, split_epsilon
from workbench.learners.encoding import grid_of
from workbench.learners.logistic_regression.parameters import BY_SIZE, SUMS, LogisticRegressionParameters
from workbench.learners.logistic_regression.search import MOST_CANDIDATES, Pattern
from workbench.learners.plain import FitSetting
from workbench.privacy.accounting.event import exact, floor_double

SUMS_LABEL = "sums"

# All of these were chosen on generated tables and on scikit-learn's diabetes, iris and breast cancer. n·ε decides.
_PAIRS_FROM = 30.0
_STEPS_FROM = ((1_000.0, 3), (250.0, 2))
_HANDICAP = 5.0  # what the best of many noises would be taken for, in 1/ε: where there is nothing else, one class wins
_FIRST_WEIGHT = 2.0  # of the first round of a search, to 1 of each later one
_SUMS_FROM = {2: 300.0, 3: 150.0}  # n·ε for each weight from which sums are better than the search
_SUMS_FROM_MORE = 8.0  # with more classes than one direction tells apart
_COLUMNS_RATE = 0.08
_SELECTION_SHARE = 0.3
_ROUNDS_FROM = ((300_000.0, 40), (3_000.0, 10), (500.0, 4))  # n·ε for each weight
_ROUNDS_SHARE = 0.5
_ROUNDS_WITHOUT_NOISE = 300
_NORM_SHARE = 0.5


class Setting(FitSetting[LogisticRegressionParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    @cached_property
    def classes(self) -> int:
        """K, the number of declared classes."""
        return len(self.facts.target.values())

    @property
    def known(self) -> float:
        """n·ε, which decides how much can be asked."""
        return min(self.rows * self.epsilon, 1e15)

    @property
    def _known_each(self) -> float:
        """n·ε for each weight."""
        return self.known / (self.classes * (self.width + 1))

    @cached_property
    def searches(self) -> bool:
        """Whether the model is found by search, and not from sums."""
        if not self.private or self.parameters.weights_from == SUMS:
            return False
        if self.parameters.weights_from != BY_SIZE:
            return True
        enough = self._known_each >= _SUMS_FROM.get(self.classes, _SUMS_FROM_MORE)
        return not enough and self.pattern.size * self.width <= MOST_CANDIDATES

    @cached_property
    def steps(self) -> int:
        """How many rounds of the search follow the first."""
        return next((steps for least, steps in _STEPS_FROM if self.known >= least), 0)

    @cached_property
    def pattern(self) -> Pattern:
        """How the directions of a search are cut."""
        fine = self.steps > 0
        if self.classes == 2:
            return Pattern(2, 2, 32 if fine else 16)
        three = Pattern(self.classes, 3, 12 if fine else 8)
        return three if three.size * (6 * self.width + 1) <= MOST_CANDIDATES else Pattern(self.classes, 2, 16)

    @property
    def pairs(self) -> bool:
        """Whether the first round tries sums and differences of two columns, too."""
        share = _FIRST_WEIGHT / (_FIRST_WEIGHT + self.steps)
        return self.known * share >= _PAIRS_FROM and self.pattern.size * self.width**2 <= MOST_CANDIDATES

    @cached_property
    def used(self) -> int:
        """How many encoded columns the sums are asked for."""
        if not self.private:
            return self.width
        asked = self.parameters.columns or max(1, math.floor(_COLUMNS_RATE * math.sqrt(self.known)))
        return min(asked, self.width)

    @property
    def selects(self) -> bool:
        """Whether the columns of the sums are chosen from the rows."""
        return self.used < self.width

    @cached_property
    def rounds(self) -> int:
        """How often the weights move along the noisy gradient."""
        if not self.private:
            return _ROUNDS_WITHOUT_NOISE
        return next((rounds for least, rounds in _ROUNDS_FROM if self._known_each >= least), 0)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The queries that release an index: rounds of the search, or the choice of columns."""
        if self.searches:
            return tuple(f"choice of weights {i + 1}" for i in range(1 + self.steps))
        return tuple(f"choice of column {i + 1}" for i in range(self.used if self.selects else 0))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The queries in order."""
        if self.searches:
            return self.choices
        return (*self.choices, SUMS_LABEL, *(f"round {i + 1}" for i in range(self.rounds)))

    @cached_property
    def _shares(self) -> dict[str, Decimal]:
        if not self.private:
            return {}
        if self.searches:
            weights = [_FIRST_WEIGHT, *[1.0] * self.steps]
        else:
            weights = [_SELECTION_SHARE / self.used] * len(self.choices)
            rest = 1 - sum(weights)
            moved = _ROUNDS_SHARE * rest if self.rounds else 0.0
            weights += [rest - moved, *[moved / max(self.rounds, 1)] * self.rounds]
        return dict(zip(self.labels, split_epsilon(exact(self.epsilon), weights), strict=True))

    def shares(self) -> tuple[tuple[str, Decimal], ...]:
        """Return label and share of ε of each query; the shares sum to ε exactly."""
        return tuple(self._shares.items())

    def budget(self, label: str) -> float:
        """Return ε of a query; infinite without noise."""
        return floor_double(self._shares[label]) if self.private else math.inf

    def handicap(self, label: str) -> float:
        """Return how many rows better than the best class a direction of a search has to be."""
        return _HANDICAP / self.budget(label)

    @property
    def largest_norm(self) -> int:
        """The largest L1 norm of a row's part in the sums, in units of K²."""
        return 1 + self.used + self.used * (self.used - 1) // 2

    def limit(self, label: str) -> float:
        """Return the public limit of the L1 norm of a row's part in the sums (in K²) or in a round (in K)."""
        largest = float(self.largest_norm) if label == SUMS_LABEL else 2.0 * (1 + self.used)
        return 1 + (largest - 1) * _NORM_SHARE if self.private else largest

    def size(self, label: str) -> int:
        """Return K of the sums or of a round."""
        return grid_of(self.rows, self.limit(label), self.budget(label))

    def sensitivity(self, label: str) -> int:
        """Return the L1 sensitivity of the sums or of a round in whole numbers."""
        size = self.size(label)
        return math.floor(self.limit(label) * (size**2 if label == SUMS_LABEL else size))

    def length(self, label: str) -> int:
        """Return how many whole numbers a query releases."""
        if label in self.choices:
            return 1
        k, m = self.classes, self.used
        return k * (m + 1) + (m * (m + 1) // 2 if label == SUMS_LABEL else 0)

    def deviation(self, label: str) -> float:
        """Return the standard deviation of the noise of each sum, in units of a row."""
        epsilon = self.budget(label)
        if epsilon == math.inf:
            return 0.0
        unit = self.size(label) ** 2 if label == SUMS_LABEL else self.size(label)
        return math.sqrt(discrete_laplace_variance(self.sensitivity(label), epsilon)) / unit
