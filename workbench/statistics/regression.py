"""Coefficients of a linear regression by least squares, read from noisy sums of products, with their intervals.

The sums of a sample are the noisy ones less their noise, whose law is public. So the release says as much of the
coefficients as many draws of that noise do, each taken off the sums and followed by least squares, and, as the rows are
a sample themselves, by a draw of what least squares is off in samples (Student's t, errors of one variance). From the
draws come 95 % intervals of the coefficients of the population: for one coefficient without an intercept and no other
error this is Fieller's interval (1940), exact in finite samples. The draws are always the same, in an order
from SHAKE-256 of nothing secret, so that a file follows from its answers.

A draw whose sums are those of no table (a matrix that is not positive definite) leaves the coefficients open, on either
side alike. Where more than one in fifty are such, no interval is stated: the coefficients are not determined.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.statistics.asked import Statistic
from workbench.statistics.bins import Bins
from workbench.statistics.figure import UNKNOWN, Figure, Source

Floats = NDArray[np.float64]

INTERCEPT = "(intercept)"
_DRAWS = 4000
_TAIL, _MOST_OPEN = 0.025, 0.02
_TINY = 1e-9


class Sums(Protocol):
    """Noisy sums of products of columns (:mod:`workbench.statistics.products`)."""

    @property
    def columns(self) -> tuple[Bins, ...]:
        """The columns."""

    @property
    def length(self) -> int:
        """How many numbers a group has."""

    def unit(self, query: Source) -> int:
        """Return the number that is 1 in these."""

    def moments(self) -> tuple[Floats, Floats]:
        """Return how sums of products of heights follow: the weight of each number, and what a row adds."""


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression that is asked for.

    Attributes:
        query: what it is read from.
        own: the sums that this asks for.
        ask: names the column that is explained, and those that explain it.
    """

    query: Source
    own: Sums
    ask: Statistic

    def figures(self, group: str, parts: Floats) -> Iterator[Figure]:
        """Yield the coefficients of one group, the intercept first."""
        found, column = self._read(parts), self.ask.columns[0]
        for at, name in enumerate((INTERCEPT, *self.ask.columns[1:])):
            middle, low, high = (UNKNOWN,) * 3 if found is None else found[:, at].tolist()
            yield Figure(self.ask.statistic, column, group, name, middle, low, high, found is None, self.query.label)

    def expected(self, rows: float) -> tuple[float, str]:
        """Return half of an interval to expect of a coefficient for even, independent values, and its unit."""
        heights = np.diag([1.0, *(1 / 3 for _ in self.own.columns)])[np.triu_indices(len(self.own.columns) + 1)]
        found = self._of_sums(heights * rows, np.eye(len(self.ask.columns)), 0.0)
        lower, upper = self._bounds[0]
        half = math.inf if found is None else float(found[2, 1] - found[1, 1]) / 2
        unit = f"units of {self.ask.columns[0]} over the whole range of another column"
        return min(half, 1.0) * (upper - lower), unit

    @cached_property
    def _bounds(self) -> list[tuple[float, float]]:
        bounds = {b.column.name: b.column.bounds() for b in self.own.columns}
        return [bounds[name] for name in self.ask.columns]

    def _read(self, parts: Floats) -> Floats | None:
        """Return the coefficients, with the ends of their intervals below them; ``None`` where noise hides them."""
        weights, beside = self.own.moments()
        centres = [lower / 2 + upper / 2 for lower, upper in self._bounds]
        halves = [upper / 2 - lower / 2 for lower, upper in self._bounds]
        units = np.diag([halves[0], *(halves[0] / half for half in halves[1:])])
        units[0, 1:] = [-slope * c for slope, c in zip(np.diag(units)[1:], centres[1:], strict=True)]
        return self._of_sums(weights @ parts + beside * self.query.rows, units, centres[0])

    def _of_sums(self, sums: Floats, units: Floats, start: float) -> Floats | None:
        """Return the same of the sums of products, and what coefficients are in other units than heights."""
        from scipy.special import stdtrit

        names = [b.column.name for b in self.own.columns]
        order = [0, *(names.index(name) + 1 for name in (*self.ask.columns[1:], self.ask.columns[0]))]
        weights, _ = self.own.moments()
        noise, uniform = _draws(self.own.length, self.query.paid.gaussian)
        scale = self.query.paid.scale * self.query.size / self.own.unit(self.query)
        drawn = sums - scale * noise @ weights.T
        first, second = np.triu_indices(len(names) + 1)
        found = np.empty((len(drawn) + 1, len(order), len(order)))
        found[:, first, second] = found[:, second, first] = np.vstack([sums, drawn])
        found = found[:, order][:, :, order]
        left, right, squares = found[:, :-1, :-1], found[:, :-1, -1:], found[:, -1, -1]
        ends = np.linalg.eigvalsh(left)
        shut = ends[:, 0] > _TINY * np.abs(ends[:, -1])
        open_part = 1 - float(shut[1:].mean())
        spare = self.query.rows - len(units)
        if open_part > _MOST_OPEN or not shut[0] or spare < 1:
            return None
        left, right, squares = left[shut], right[shut], squares[shut]
        inverse = np.linalg.inv(left)
        line = inverse @ right
        rows = np.maximum(left[:, 0, 0] - len(units), 1.0)
        error = np.maximum(squares - (right * line).sum(axis=(1, 2)), 0.0) / rows
        spread = np.sqrt(error[:, None] * np.einsum("ij,njk,ik->ni", units, inverse, units).clip(0))
        line = (line[:, :, 0] @ units.T) + np.eye(1, len(units)) * start
        moved = line[1:] + spread[1:] * stdtrit(spare, uniform[shut[1:]])[:, None]
        tail = (_TAIL - open_part / 2) / (1 - open_part)
        low, high = np.quantile(moved, [tail, 1 - tail], axis=0)
        return np.stack([line[0], np.minimum(low, line[0]), np.maximum(high, line[0])])


@lru_cache(maxsize=8)
def _draws(numbers: int, gaussian: bool) -> tuple[Floats, Floats]:
    """Return draws of noise of scale 1, (draws, numbers), and a uniform number beside each."""
    from scipy.special import ndtri

    data = hashlib.shake_256(b"privacy workbench: draws").digest(8 * _DRAWS * (numbers + 1))
    # In each column the ranks of random numbers, so that its quantiles are exact (a Latin hypercube).
    order = np.frombuffer(data, "<u8").reshape(_DRAWS, numbers + 1).argsort(axis=0, kind="stable")
    uniform = (order.argsort(axis=0, kind="stable") + 0.5) / _DRAWS
    middle = uniform[:, 1:] - 0.5
    noise: Floats = ndtri(uniform[:, 1:]) if gaussian else -np.sign(middle) * np.log1p(-2 * np.abs(middle))
    return noise, np.asarray(uniform[:, 0])
