"""Covariance, correlation and regression from noisy sums of products of columns.

With s and t, two values as parts of the way from their lower to their upper bounds, a row is spread over (d+1)² whole
numbers that sum to K: the products of the d+1 Bernstein polynomials of s with those of t, rounded. d is 1 for a
covariance and 2 where more is asked for. So one row adds K, whatever its values, and the sums say how many
rows there are, Σs, Σt and Σst, with d = 2 also Σs² and Σt². A row that has not all values adds nothing.

More columns, for a regression, are spread the same way where that is best: without δ, and up to four of them. Else
with z = −1 … 1 between the bounds the sums of z, of 1 − z² and of the products of every two z are asked for by
themselves, and how many rows there are unless it is public. With z ∈ [−K, K] in whole numbers z and (K² − z²)/2K
together have an L1 norm of at most K, z and (K² − z²)/K an L2 norm of at most K, and every product is at most K.

**Intervals** of covariance and correlation. Let f = (s−a)(t−b) − v·q with q = 1, v the covariance, or q = ((s−a)²/c +
c·(t−b)²)/2, v the correlation. At the true means a and b and the true ratio c of the standard deviations Σf is exactly
0, so that the noisy Σf is noise alone: v is kept where it is no farther from 0 than that noise reaches (Fieller 1940).
The true a, b and c are known up to intervals of their own, read from the same numbers. With estimates da, db (of the
means) and g (of ln c) away, Σf is off by at most n·(da·db + |v|·((da²/c + c·db²)/2 + σs·σt·(cosh g − 1))), and its
noise by da, db or e^g − 1 times noise that is bounded already: all of second order, and added to the reach. Σf holds
in 96 % of releases, each of the others (at most five) in 99.8 %.

**Coefficients of a regression**, by least squares. The sums of a sample are the noisy ones less their noise, whose law
is public. So the release says as much of the coefficients as many draws of that noise do, each taken off the sums and
followed by least squares, and, as the rows are a sample themselves, by a draw of what least squares is off in samples
(Student's t, errors of one variance). From the draws come 95 % intervals of the coefficients of the population: for
one coefficient without an intercept and no other error this is Fieller's interval (1940), exact in finite samples. The
draws are always the same, in an order from SHAKE-256 of nothing secret, so that a file follows from its answers.

A draw whose sums are those of no table (a matrix that is not positive definite) leaves the coefficients open, on either
side alike. Where more than one in fifty are such, no interval is stated: the coefficients are not determined.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.central.sums import grid_size, on_grid, scaled
from workbench.statistics.bins import Bins
from workbench.statistics.figure import UNKNOWN, Figure, Source
from workbench.statistics.interval_widths import ratio_interval
from workbench.statistics.request import CORRELATION, COVARIANCE, REGRESSION, Statistic

Floats = NDArray[np.float64]

_MAIN, _OTHER = 0.04, 0.002
_FINE = 401
_TINY, _MOST_G = 1e-12, 50.0
_MOST_SPREAD = 4


def bernstein(x: Floats, column: Bins, degree: int) -> Floats:
    """Return the Bernstein polynomials of a column's values, (degree + 1, rows): none below 0, and they sum to 1."""
    t = (scaled(x, *column.column.bounds()) + 1) / 2
    return np.stack([math.comb(degree, i) * t**i * (1 - t) ** (degree - i) for i in range(degree + 1)])


def whole_parts(parts: Floats, size: int) -> NDArray[np.int64]:
    """Return ``size`` times ``parts``, (numbers, rows), as whole numbers not below 0; each row's sum to ``size``."""
    upto = np.clip(np.rint(size * np.cumsum(parts, axis=0)), 0, size).astype(np.int64)
    upto[-1] = size  # differences of rounded sums: none is below 0, and nothing is lost
    return np.diff(upto, axis=0, prepend=0)


def summed(
    query: Source, parts: Floats, rows: float, weights: Floats, ratios: Floats, risk: float
) -> tuple[float, Floats]:
    """Return a weighted sum of one group's numbers, and how far the noise of (it − ratio·rows) reaches at each ratio.

    Where the number of rows is public, what all noises have in common is taken off.
    """
    common = weights.mean() if query.known_total else 0.0
    left = weights - common - (0 if query.known_total else 1) * ratios[:, None]
    reach = query.widths.joint(np.linalg.norm(left, axis=1), risk)
    return float((weights - common) @ parts + common * rows), reach


@dataclass(frozen=True, eq=False)
class Products:
    """The sums of products of columns."""

    columns: tuple[Bins, ...]  # the one that is named first at the front
    degree: int  # d; 0 where sums are asked for by themselves
    known: bool  # whether the number of rows is public
    gaussian: bool  # whether the norm is L2

    @classmethod
    def of(cls, columns: tuple[Bins, ...], *, squares: bool, known: bool, gaussian: bool) -> Products:
        """Return what is asked of so many columns: with their squares or without."""
        spread = len(columns) == 2 or (not gaussian and len(columns) <= _MOST_SPREAD)
        return cls(columns, (1 + squares) if spread else 0, known, gaussian)

    @property
    def length(self) -> int:
        """How many numbers a group has."""
        m = len(self.columns)
        return (self.degree + 1) ** m if self.degree else m * (m + 3) // 2 + (not self.known)

    @property
    def _norm(self) -> float:
        """The norm of what a row adds, in units of K."""
        norm = 1 if self.degree else self.length - len(self.columns)
        return math.sqrt(norm) if self.gaussian else norm

    def sensitivity(self, rows: int, strength: float) -> int:
        """Return the norm of what a row adds in whole numbers, of the finest grid for a share of such strength."""
        size = max(2, grid_size(rows, strength / self._norm))
        return math.isqrt(round(self._norm**2) * size * size - 1) + 1 if self.gaussian else round(self._norm) * size

    def unit(self, query: Source) -> int:
        """Return K."""
        return 1 << round(math.log2(query.size / self._norm))

    def added(self, x: list[Floats], size: int) -> NDArray[np.int64]:
        """Return what each row adds, (numbers, rows), of the values of each column and K."""
        if self.degree:
            parts = np.ones((1, len(x[0])))
            for values, column in zip(x, self.columns, strict=True):
                own = bernstein(values, column, self.degree)
                parts = (parts[:, None] * own[None]).reshape(-1, len(values))
            return whole_parts(parts, size)
        z = [on_grid(values, *column.column.bounds(), size) for values, column in zip(x, self.columns, strict=True)]
        squares = [(size * size - i * i) // (size * self._halves) for i in z]
        return np.stack(
            [
                *z,
                *squares,
                *(i * j // size for i, j in itertools.combinations(z, 2)),
                *([] if self.known else [np.full(len(x[0]), size)]),
            ]
        )

    @property
    def _halves(self) -> int:
        return 1 if self.gaussian else 2

    def moments(self) -> tuple[Floats, Floats]:
        """Return how the sums Σ z_i·z_j (i ≤ j, z₀ = 1) follow: the weight of each number over K, and what a row adds.

        Where the number of rows is public, what all noises of spread values have in common is taken off.
        """
        m = len(self.columns)
        pairs = list(itertools.combinations_with_replacement(range(m + 1), 2))
        weights, beside = np.zeros((len(pairs), self.length)), np.zeros(len(pairs))
        if self.degree:
            powers = np.ones(3), np.array([-1.0, 0.0, 1.0]), np.array([1.0, -1.0, 1.0])
            for row, (i, j) in enumerate(pairs):
                weights[row] = reduce(np.kron, [powers[(k == i) + (k == j)] for k in range(1, m + 1)])
            if self.known:
                beside = weights.mean(axis=1)
                weights -= beside[:, None]
            return weights, beside
        products = itertools.count(2 * m)
        for row, (i, j) in enumerate(pairs):
            if j == 0:
                weights[row, -1], beside[row] = (0.0, 1.0) if self.known else (1.0, 0.0)
            elif i == 0:
                weights[row, j - 1] = 1.0
            elif i == j:  # n less the complement
                weights[row] = weights[0]
                weights[row, m + j - 1], beside[row] = -float(self._halves), beside[0]
            else:
                weights[row, next(products)] = 1.0
        return weights, beside

    def figures(self, query: Source, answer: Floats) -> Iterator[Figure]:
        """Yield what is asked, of each group."""
        names = " and ".join(b.column.name for b in self.columns)
        few = query.widths.joint(self.degree + 1)
        for group, parts in zip(
            query.groups.labels(), (answer / self.unit(query)).reshape(self.length, -1).T, strict=True
        ):
            rows = float(query.rows) if query.known_total else float(parts.sum())
            for ask in query.asks:
                if ask.statistic == REGRESSION:
                    yield from Regression(query, self, ask).figures(group, parts)
                    continue
                found = self._read(query, parts, rows, ask.statistic)
                mid, low, high = (v * self._area if ask.statistic == COVARIANCE else v for v in found)
                sparse = query.rows == 0 if query.known_total else rows <= few
                yield Figure(ask.statistic, names, group, "", mid, low, high, sparse, query.label)

    @property
    def _area(self) -> float:
        """The unit of a covariance of s and t."""
        return math.prod(upper - lower for lower, upper in (b.column.bounds() for b in self.columns))

    def expected(self, query: Source, ask: Statistic, rows: float) -> tuple[float, str]:
        """Return half of an interval to expect of ``rows`` even and independent values, and its unit."""
        if ask.statistic == REGRESSION:
            return Regression(query, self, ask).expected(rows)
        even = np.full(self.length, rows / self.length)
        _, low, high = self._read(query, even, rows, ask.statistic)
        if ask.statistic == CORRELATION:
            return (high - low) / 2, ""
        one, other = (b.column.name for b in self.columns)
        return (high - low) / 2 * self._area, f"units of {one} times {other}"

    def _read(self, query: Source, parts: Floats, rows: float, statistic: str) -> tuple[float, float, float]:
        """Return the covariance of s and t, or their correlation, with its interval."""
        most = 0.25 if statistic == COVARIANCE else 1.0
        d, widths = self.degree, query.widths
        unsure = 0.0 if query.known_total else widths.joint(d + 1.0, _OTHER)
        if rows <= 0:
            return 0.0, -most, most
        flat, line = np.ones(d + 1), np.arange(d + 1) / d

        def ratio(weights: Floats, more: float = 0.0) -> _Part:
            grid = np.linspace(0, 1, _FINE)
            total, reach = summed(query, parts, rows, weights.ravel(), grid, _OTHER)
            least, upto = ratio_interval(total, rows, 0.0, 1.0, reach + more)
            return _Part(float(np.clip(total / rows, least, upto)), least, upto, float(reach.max()) + more)

        mean_s, mean_t = ratio(np.outer(line, flat)), ratio(np.outer(flat, line))
        a, b, da, db = mean_s.middle, mean_t.middle, mean_s.off, mean_t.off
        noise = 2 * (da * mean_t.noise + db * mean_s.noise + da * db * unsure)
        bias, scale = da * db, np.ones((d + 1, d + 1))
        more_noise = more_bias = 0.0
        if statistic == CORRELATION:
            square = np.array([0.0, 0.0, 1.0])
            squares = [square - 2 * m * line + m * m for m in (a, b)]
            # What a mean that is off changes in the noise, and in how wide it is.
            moved = [2 * (2 * p.off * p.noise + p.off**2 * unsure) for p in (mean_s, mean_t)]
            s, t = ratio(np.outer(squares[0], flat), moved[0]), ratio(np.outer(flat, squares[1]), moved[1])
            least_s, least_t = s.least - da * da, t.least - db * db
            c = math.sqrt(max(s.middle, _TINY) / max(t.middle, _TINY))
            # Where a column may have no spread at all, every correlation is possible.
            ends = (s.upto / least_t, t.upto / least_s) if min(least_s, least_t) > 0 else (math.inf, math.inf)
            g = min(max(math.log(ends[0]) / 2 - math.log(c), math.log(ends[1]) / 2 + math.log(c)), _MOST_G)
            scale = (np.outer(squares[0], flat) / c + c * np.outer(flat, squares[1])) / 2
            more_noise = (moved[0] / c + c * moved[1]) / 2 + math.expm1(g) * (s.noise / c + c * t.noise)
            more_bias = (da * da / c + c * db * db) / 2 + math.sqrt(s.upto * t.upto) * (math.cosh(g) - 1)
        weights = np.outer(line - a, line - b).ravel()
        top, _ = summed(query, parts, rows, weights, np.zeros(1), _MAIN)
        below, _ = summed(query, parts, rows, scale.ravel(), np.zeros(1), _MAIN)
        v = np.linspace(-most, most, _FINE)
        left = weights - v[:, None] * scale.ravel()
        left = left - left.mean(axis=1, keepdims=True) if query.known_total else left
        reach = widths.joint(np.linalg.norm(left, axis=1), _MAIN) + noise + np.abs(v) * more_noise
        reach += (rows + unsure) * (bias + np.abs(v) * more_bias)
        low, high = ratio_interval(top, below, -most, most, reach)
        return float(np.clip(top / below if below > 0 else 0.0, low, high)), low, high


@dataclass(frozen=True)
class _Part:
    """A mean that an interval hangs on: its middle and ends, and how far the noise of its sum reaches."""

    middle: float
    least: float
    upto: float
    noise: float

    @property
    def off(self) -> float:
        return max(self.middle - self.least, self.upto - self.middle)


INTERCEPT = "(intercept)"
_DRAWS = 4000
_TAIL, _MOST_OPEN = 0.025, 0.02
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression that is asked for."""

    query: Source  # what it is read from
    own: Products  # the sums that this asks for
    ask: Statistic  # names the column that is explained, and those that explain it

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
        shut = ends[:, 0] > _SINGULAR * np.abs(ends[:, -1])
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
