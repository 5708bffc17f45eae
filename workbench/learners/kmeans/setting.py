"""What a k-means fit asks: rounds, shares of ε and sensitivities, all of them from public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from workbench.learners.base import discrete_laplace_variance, split_epsilon
from workbench.learners.encoding import Encoding, grid_of
from workbench.learners.kmeans.parameters import KMeansParameters
from workbench.learners.plain import Facts
from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact, floor_double

UNIT = 1 << 15
"""Whole numbers of one row in the scatter and in the losses of the starts."""

_INFORMED_FROM = 5.0  # n·ε for each coordinate of a centre from which the start is paid for
_ROUNDS_UNTIL = ((15.0, 1), (50.0, 2), (200.0, 3), (1000.0, 5), (math.inf, 8))
_ROUNDS_WITHOUT_NOISE = 50
_PARTS = {"mean": 0.24, "scatter": 0.06, "choice of start": 0.1}


@dataclass(frozen=True)
class Setting:
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities.

    Attributes:
        facts: columns, parameters and public n.
    """

    facts: Facts[KMeansParameters]

    @property
    def parameters(self) -> KMeansParameters:
        """The declared parameters."""
        return self.facts.parameters

    @property
    def rows(self) -> int:
        """Public n."""
        return self.facts.rows

    @property
    def private(self) -> bool:
        """Whether there is noise."""
        return self.facts.private

    @property
    def encoding(self) -> Encoding:
        """How the columns are encoded."""
        return Encoding(self.facts.attributes)

    @property
    def width(self) -> int:
        """D, the number of encoded columns."""
        return len(self.encoding.labels)

    @property
    def groups(self) -> int:
        """K."""
        return self.parameters.groups or len(self.facts.target.values())

    @property
    def epsilon(self) -> float:
        """ε of the fit; infinite without noise."""
        if not self.private:
            return math.inf
        if self.parameters.epsilon is None:
            raise ParameterError("epsilon is not given", mend="give epsilon = NUMBER above 0")
        return self.parameters.epsilon

    @property
    def known(self) -> float:
        """n·ε for each coordinate of a centre: what decides how much can be asked."""
        return self.rows * self.epsilon / (self.groups * self.width)

    @property
    def informed(self) -> bool:
        """Whether the start is chosen from the rows."""
        return self.known >= _INFORMED_FROM

    @property
    def rounds(self) -> int:
        """How often the centres move."""
        if self.parameters.rounds is not None:
            return self.parameters.rounds
        if not self.private:
            return _ROUNDS_WITHOUT_NOISE
        return next(rounds for until, rounds in _ROUNDS_UNTIL if self.known < until)

    @property
    def labels(self) -> tuple[str, ...]:
        """The queries in order."""
        start = tuple(_PARTS) if self.informed else ()
        return (*start, *(f"round {i + 1}" for i in range(self.rounds)))

    def shares(self) -> tuple[tuple[str, Decimal], ...]:
        """Return label and share of ε of each query; the shares sum to ε exactly."""
        if not self.private:
            return ()
        rest = 1 - sum(_PARTS.values()) if self.informed else 1.0
        weights = [_PARTS.get(label, rest / self.rounds) for label in self.labels]
        return tuple(zip(self.labels, split_epsilon(exact(self.epsilon), weights), strict=True))

    def budget(self, label: str) -> float:
        """Return ε of a query; infinite without noise."""
        return floor_double(dict(self.shares())[label]) if self.private else math.inf

    @property
    def limit(self) -> float:
        """The largest L1 norm of a row in units of K."""
        return max(1.0, self.width * self.parameters.norm_share) if self.private else float(self.width)

    @property
    def size(self) -> int:
        """K."""
        least = min((self.budget(label) for label in self.labels), default=math.inf)
        return grid_of(self.rows, self.limit + 1, least)

    def sensitivity(self, label: str) -> int:
        """Return the L1 sensitivity of a query in whole numbers."""
        if label in ("scatter", "choice of start"):
            return UNIT
        whole = math.floor(self.limit * self.size)
        return whole if label == "mean" else whole + self.size

    def length(self, label: str) -> int:
        """Return how many whole numbers a query releases."""
        return {"mean": self.width, "scatter": 1, "choice of start": 1}.get(label, self.groups * (self.width + 1))

    def deviation(self, label: str) -> float:
        """Return the standard deviation of the noise of each number of a query, in units of a row."""
        epsilon = self.budget(label)
        if epsilon == math.inf:
            return 0.0
        unit = UNIT if label in ("scatter", "choice of start") else self.size
        return math.sqrt(discrete_laplace_variance(self.sensitivity(label), epsilon)) / unit
