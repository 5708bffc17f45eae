"""What a k-means fit asks: rounds, shares of ε and sensitivities, all of them from public facts."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cached_property

from workbench.learners.base import discrete_laplace_variance, split_epsilon
from workbench.learners.encoding import grid_of
from workbench.learners.kmeans.parameters import KMeansParameters
from workbench.learners.plain import FitSetting
from workbench.privacy.accounting.event import exact, floor_double

UNIT = 1 << 15
"""Whole numbers of one row in the scatter and in the losses of the starts."""

_ROUNDS_UNTIL = ((5.0, 0), (15.0, 1), (50.0, 2), (200.0, 3), (1000.0, 5), (math.inf, 8))
_FIGURE_FROM = 50.0  # n·ε for each coordinate of a centre from which the start is a figure and not a line
_ROUNDS_WITHOUT_NOISE = 50
PLACE, WIDTH, MEAN, SCATTER, CHOICE = "place on the diagonal", "width on the diagonal", "mean", "scatter", "choice"
_LINE = {PLACE: 0.2, WIDTH: 0.2}
_STILL = {PLACE: 0.75, WIDTH: 0.25}  # where the centres stay on the line; two groups part at its middle, however wide
_REACH = {PLACE: 0.6, WIDTH: 0.4}
"""What a row can add at most to these two, in half-ranges: means of several columns seldom lie further out."""
_SINGLE = (PLACE, WIDTH, SCATTER, CHOICE)  # one number, to which a row adds at most UNIT
_FIGURE = {MEAN: 0.24, SCATTER: 0.06, CHOICE: 0.1}


class Setting(FitSetting[KMeansParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    @cached_property
    def groups(self) -> int:
        """k, the number of groups."""
        return self.parameters.groups or len(self.facts.target.values())

    @cached_property
    def known(self) -> float:
        """n·ε for each coordinate of a centre: what decides how much can be asked."""
        return self.rows * self.epsilon / (self.groups * self.width)

    @cached_property
    def chooses_figure(self) -> bool:
        """Whether the centres start from a figure about the mean, and not from a line along the diagonal."""
        return self.known >= _FIGURE_FROM

    @cached_property
    def _start(self) -> dict[str, float]:
        """The shares of ε of the queries for the start; all of ε where the centres do not move."""
        if not self.rounds:
            return _STILL if self.groups > 2 else {PLACE: 1.0}
        return _FIGURE if self.chooses_figure else _LINE

    @cached_property
    def rounds(self) -> int:
        """How often the centres move."""
        if self.parameters.rounds is not None:
            return self.parameters.rounds
        if not self.private:
            return _ROUNDS_WITHOUT_NOISE
        return next(rounds for until, rounds in _ROUNDS_UNTIL if self.known < until)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The queries in order."""
        return (*self._start, *(f"round {i + 1}" for i in range(self.rounds)))

    @cached_property
    def shares(self) -> tuple[tuple[str, Decimal], ...]:
        """Return label and share of ε of each query; the shares sum to ε exactly."""
        if not self.private:
            return ()
        start = self._start
        rest = (1 - sum(start.values())) / max(self.rounds, 1)
        weights = [start.get(label, rest) for label in self.labels]
        return tuple(zip(self.labels, split_epsilon(exact(self.epsilon), weights), strict=True))

    def budget(self, label: str) -> float:
        """Return ε of a query; infinite without noise."""
        return floor_double(dict(self.shares)[label]) if self.private else math.inf

    @cached_property
    def limit(self) -> float:
        """The largest L1 norm of a row in units of K."""
        return max(1.0, self.width * self.parameters.norm_share) if self.private else float(self.width)

    @cached_property
    def size(self) -> int:
        """k, the number of groups."""
        least = min((self.budget(label) for label in self.labels), default=math.inf)
        return grid_of(self.rows, self.limit + 1, least)

    def sensitivity(self, label: str) -> int:
        """Return the L1 sensitivity of a query in whole numbers."""
        if label in _SINGLE:
            return UNIT
        whole = math.floor(self.limit * self.size)
        return whole if label == MEAN else whole + self.size

    @staticmethod
    def reach(label: str) -> float:
        """Return what a row adds at most to a query that releases one number, which is then ``UNIT`` of it."""
        return _REACH.get(label, 1.0)

    def length(self, label: str) -> int:
        """Return how many whole numbers a query releases."""
        if label in _SINGLE:
            return 1
        return self.width if label == MEAN else self.groups * (self.width + 1)

    def deviation(self, label: str) -> float:
        """Return the standard deviation of the noise of each number of a query, in units of a row."""
        epsilon = self.budget(label)
        if epsilon == math.inf:
            return 0.0
        unit = UNIT / self.reach(label) if label in _SINGLE else self.size
        return math.sqrt(discrete_laplace_variance(self.sensitivity(label), epsilon)) / unit
