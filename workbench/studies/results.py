"""Results as tidy rows, and their summaries over repeats."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

HEADER = "regime,epsilon,repeat,metric,value"


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """One figure of one run."""

    regime: str  # the way of training, as the person named it
    epsilon: float  # ε of a whole row; a regime without privacy repeats its figure at every ε
    repeat: int  # number of the split, from 0
    metric: str  # the name of the metric
    value: float  # the figure


@dataclass(frozen=True, slots=True)
class Point:
    """The summary of the repeats of one regime at one ε."""

    regime: str  # the way of training
    epsilon: float  # ε of a whole row
    metric: str  # the name of the metric
    count: int  # number of repeats
    mean: float  # mean over the repeats
    sd: float  # standard deviation over the repeats (n − 1); 0 of a single one

    @property
    def standard_error(self) -> float:
        """Standard error of the mean. Splits share rows, so it is a little too small (Nadeau & Bengio 2003)."""
        return self.sd / math.sqrt(self.count)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the two-sided Student interval of the mean; (−∞, ∞) of a single repeat with any spread unknown."""
        if self.count < 2:
            return -math.inf, math.inf
        from scipy.special import stdtrit

        reach = float(stdtrit(self.count - 1, (1 + level) / 2)) * self.standard_error
        return self.mean - reach, self.mean + reach


class Tally:
    """Summaries of rows that arrive one by one; reading them does not depend on the number of rows.

    Mean and spread grow with each row (Welford 1962, "Note on a method for calculating corrected sums of squares and
    products", Technometrics 4(3), equation I).
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._sums: dict[tuple[str, float, str], tuple[int, float, float]] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take one more row."""
        key = row.regime, row.epsilon, row.metric
        count, mean, squares = self._sums.get(key, (0, 0.0, 0.0))
        off = row.value - mean
        mean += off / (count + 1)
        self._sums[key] = count + 1, mean, squares + off * (row.value - mean)

    def points(self) -> tuple[Point, ...]:
        """Return one point for each regime, ε and metric, in the order in which they first occurred."""
        return tuple(
            Point(*key, count, mean, math.sqrt(squares / (count - 1)) if count > 1 else 0.0)
            for key, (count, mean, squares) in self._sums.items()
        )


def to_csv(rows: Iterable[Row]) -> str:
    """Return the rows as CSV with the header :data:`HEADER`."""
    lines = [HEADER]
    lines += [f"{r.regime},{r.epsilon:.12g},{r.repeat},{r.metric},{r.value!r}" for r in rows]
    return "\n".join(lines) + "\n"
