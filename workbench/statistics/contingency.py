"""Contingency tables and their margins, from one query.

The workload is the sets of columns whose counts are released. What is asked of the rows is chosen for it from public
facts (the matrix mechanism: Li, Miklau, Hay, McGregor & Rastogi 2015). A set is asked for by the counts of its
combinations, times a whole weight. Its columns can be *centred*: two counts become their difference, more counts each
the number of them times itself, less their sum. A row changes one count of each set, so that the norm of what it adds
to all numbers, which share their noise, is known: in L1 the sum of the weights, with a δ the L2 norm.

*With a δ* all columns are centred. Sets then hold nothing in common, and the weights with the least squared error over
all released figures have a closed form that no other Gaussian noise beats (Xiao, He, Zhang & Kifer 2023, "An optimal
and scalable matrix mechanism for noisy marginals under convex loss functions"). *Without* it columns of two values are
centred (Barak et al. 2007) or none is, and weights fall to a minimum of the error from several starts, as the marginals
of HDMM do (McKenna, Miklau, Hay & Machanavajjhala 2018). One set of all columns is a plain table of counts.

*Least squares.* A table is a sum of parts, one for each set of columns, which sum to 0 along each of these and are the
same along all others. What is asked multiplies each part by one number, so that estimates and variances are sums over
sets, whatever the number of cells. From the estimate follows the nearest table that could be the true one, no cell
below 0 and the sum public or as estimated, where the distance counts each part by how well it is known (Lee, Wang &
Kifer 2015). Margins are its sums. Intervals are those of the least-squares estimates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.statistics.figure import MISSING, Figure, Source, clipped_figure
from workbench.statistics.request import COUNT, TABLE, Statistic

MARGIN = "margin"

MOST_COLUMNS = 15  # columns of a table at most

Floats = NDArray[np.float64]
OfSets = NDArray[Any]  # a number for each set of columns, (2, 2, …): at 1 along the columns that are in it

_DESCENTS = 50
_CLEARLY = 0.5  # part of a plain table's squared error below which other questions are asked without δ; by measurements
_SMALL = 0.02, 1e-3  # parts of the largest weight below which sets are left out, whichever is better

_LEAST_WEIGHT = 16
_SINGLE = 0.05
_PROJECTIONS, _NEAR = 300, 1e-9


def projected(noisy: Floats, total: float) -> Floats:
    """Return the nearest numbers, none below 0, that sum to ``total``: what is above a common threshold, less it."""
    falling = np.sort(noisy)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(noisy) + 1)
    last = np.flatnonzero(falling - over > 0)
    return np.maximum(noisy - over[last[-1]], 0.0) if len(last) else np.zeros(len(noisy))


def _along(values: OfSets, matrices: Sequence[Floats]) -> Floats:
    """Return what a matrix (2, 2) of each column makes of the numbers of sets, along its axis."""
    for axis, matrix in enumerate(matrices):
        values = np.moveaxis(np.tensordot(matrix, values, (1, axis)), 0, axis)
    return values


def _product(pairs: Sequence[tuple[int, int]]) -> OfSets:
    """Return for each set a product over all columns: of the second numbers of those in it, the first of the others."""
    return reduce(np.multiply.outer, [np.array(pair, dtype=np.int64) for pair in pairs])


@dataclass(frozen=True, eq=False)
class Workload:
    """The sets of columns whose counts are released."""

    sizes: tuple[int, ...]  # how many values each column has
    ways: tuple[int, ...]  # how many columns the sets have
    known: bool  # whether the number of all rows in the table is public

    @cached_property
    def released(self) -> OfSets:
        """Which sets."""
        return np.isin(np.indices((2,) * len(self.sizes)).sum(axis=0), self.ways)

    @property
    def figures(self) -> int:
        """How many counts."""
        return int(self.cells[self.released].sum())

    @cached_property
    def cells(self) -> OfSets:
        """How many combinations each set has."""
        return _product([(1, n) for n in self.sizes])

    @cached_property
    def _sums(self) -> list[Floats]:
        """Of each column: what the variance of a part (its column) adds to that of a count (its row)."""
        return [np.array([[1, 0], [1 / n**2, 1 - 1 / n]]) for n in self.sizes]

    @cached_property
    def wanted(self) -> Floats:
        """How much the variance of each part adds to that of all figures together."""
        found = _along(self.released * self.cells, [m.T for m in self._sums])
        if self.known:
            found[(0,) * found.ndim] = 0.0
        return found

    def variances(self, precisions: Floats) -> Floats:
        """Return the variance of a count of each released set, and of the number of rows."""
        found = np.divide(1.0, precisions, where=self.wanted > 0, out=np.zeros_like(precisions))
        return _along(found, self._sums)


@dataclass(frozen=True, eq=False)
class Margins:
    """What is asked for to release a workload."""

    workload: Workload  # what is released
    gaussian: bool  # whether the norm is L2
    centred: tuple[bool, ...]  # which columns are centred
    weights: OfSets  # of each set; whole numbers, or any while they are sought

    @classmethod
    def of(cls, workload: Workload, most: int, *, gaussian: bool) -> Margins:
        """Return the question with the least squared error over all figures, of at most ``most`` numbers."""
        return _best(workload.sizes, workload.ways, workload.known, gaussian, most)

    @cached_property
    def _columns(self) -> list[tuple[int, bool]]:
        return list(zip(self.workload.sizes, self.centred, strict=True))

    @cached_property
    def _asked(self) -> list[Floats]:
        """Of each column: how well a set (its column) gives a part (its row)."""
        return [
            np.array([[1, 0 if c else 1 / n], [0, 1 if not c else 2 if n == 2 else n * n]]) for n, c in self._columns
        ]

    @cached_property
    def _squares(self) -> OfSets:
        """The squared L2 norm of what a row adds to a set of weight 1; where nothing of three is centred L1, too."""
        return _product([(1, n * (n - 1) if c and n > 2 else 1) for n, c in self._columns])

    @property
    def precisions(self) -> Floats:
        """One over the variance of each part's estimate, in units of one number's."""
        return _along(np.square(self.weights, dtype=np.float64), self._asked)

    def _cost(self, weights: OfSets) -> float:
        return float(np.sqrt((weights**2 * self._squares).sum()) if self.gaussian else weights.sum())

    @property
    def error(self) -> float:
        """Return the sum of squared errors of all figures, in units of the variance of one count with all of ε or ρ."""
        wanted, known = self.workload.wanted, self.precisions
        if (known[wanted > 0] <= 0).any():
            return math.inf
        return float((wanted[wanted > 0] / known[wanted > 0]).sum()) * self._cost(self.weights) ** 2

    def minimised(self) -> Margins:
        """Return the question with weights at a minimum of the error.

        With shares of the precision of each part, the error is at most a sum over sets, which has its minimum in closed
        form; shares and minimum in turn never let it rise. With Gaussian noise sets have nothing in common: one turn is
        enough.
        """
        weights, wanted = self.weights.astype(np.float64), self.workload.wanted
        power = 2 if self.gaussian else 1
        norms = np.sqrt(self._squares) ** power
        for _ in range(1 if self.gaussian else _DESCENTS):
            known = _along(weights**2, self._asked)
            pull = np.divide(wanted, known**2, where=wanted > 0, out=np.zeros_like(wanted))
            found = (weights**4 * _along(pull, [m.T for m in self._asked]) / norms) ** (1 / (2 + power))
            weights = found / self._cost(found)
        return Margins(self.workload, self.gaussian, self.centred, weights)

    def whole(self, least: float = 0.0) -> Margins:
        """Return it with whole weights, without the sets whose weight is below this part of the largest."""
        kept = np.where(self.weights > least * self.weights.max(), self.weights, 0.0)
        found = np.rint(kept * (_LEAST_WEIGHT / kept[kept > 0].min())).astype(np.int64)
        return Margins(self.workload, self.gaussian, self.centred, found // np.gcd.reduce(found.ravel()))

    @property
    def length(self) -> int:
        """How many numbers it has."""
        each = _product([(1, 1 if c and n == 2 else n) for n, c in self._columns])
        return int(each[self.weights > 0].sum())

    @cached_property
    def sensitivity(self) -> int:
        """The norm of what a row adds."""
        used = self.weights > 0
        weights = self.weights[used].tolist()
        if not self.gaussian:
            return sum(weights)
        return math.isqrt(sum(w * w * s for w, s in zip(weights, self._squares[used].tolist(), strict=True)) - 1) + 1

    def _sets(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield the columns and the weight of each set that is asked for."""
        for at in np.argwhere(self.weights > 0):
            yield tuple(np.flatnonzero(at).tolist()), int(self.weights[tuple(at)])

    def numbers(self, counts: Sequence[int]) -> list[int]:
        """Return what is asked for, of the counts of all cells."""
        table: NDArray[np.int64] = np.array(counts, dtype=np.int64).reshape(self.workload.sizes)
        found: list[int] = []
        for kept, weight in self._sets():
            part = table.sum(axis=tuple(a for a in range(table.ndim) if a not in kept), keepdims=True)
            for axis in (a for a in kept if self.centred[a]):
                n = part.shape[axis]
                part = -np.diff(part, axis=axis) if n == 2 else n * part - part.sum(axis=axis, keepdims=True)
            found += (weight * part).ravel().tolist()
        return found

    def least_squares(self, answer: Floats, rows: int) -> Floats:
        """Return the table whose numbers are nearest to the answer; parts that are not asked for are 0."""
        sizes, at = self.workload.sizes, 0
        table = np.zeros(sizes)
        for kept, weight in self._sets():
            shape = [1 if a not in kept or (c and n == 2) else n for a, (n, c) in enumerate(self._columns)]
            part = weight * answer[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)
            for axis in (a for a in kept if self.centred[a]):
                n = sizes[axis]
                part = np.concatenate([part, -part], axis) if n == 2 else n * part - part.sum(axis=axis, keepdims=True)
            table = table + part
        parts = _in_parts(table) * np.divide(1, self._factors, where=self._factors > 0, out=np.zeros(sizes))
        if self.workload.known:
            parts[(0,) * parts.ndim] = rows / parts.size
        return _from_parts(parts)

    @cached_property
    def _factors(self) -> Floats:
        """The number by which each part is multiplied in what is asked for, laid out as :func:`_in_parts` does."""
        factors = self.precisions * _product([(n, 1) for n in self.workload.sizes])
        return np.asarray(factors[np.ix_(*(np.minimum(np.arange(n), 1) for n in self.workload.sizes))])

    def nearest(self, estimate: Floats, total: float) -> Floats:
        """Return the nearest table that could be one (FISTA: Beck & Teboulle 2009)."""
        steps = self._factors.copy()
        steps[(0,) * steps.ndim] = 0.0  # the sum is held by the projection
        steps /= max(float(steps.max()), 1e-300)
        found = ahead = projected(estimate.ravel(), total)
        pace = 1.0
        for _ in range(_PROJECTIONS):
            off = ahead.reshape(estimate.shape) - estimate
            new = projected(ahead - _from_parts(_in_parts(off) * steps).ravel(), total)
            next_pace = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
            ahead = new + (pace - 1) / next_pace * (new - found)
            settled = float(np.abs(new - found).max(initial=0.0)) <= _NEAR * max(total, 1.0)
            found, pace = new, next_pace
            if settled:
                break
        return found.reshape(estimate.shape)

    def figures(self, query: Source, answer: Floats) -> Iterator[Figure]:
        """Yield the counts of all groups where they are asked for, then those of the table, larger sets first."""
        by, wanted = query.groups.by, [ask.statistic for ask in query.asks]
        raw = self.least_squares(answer, query.rows)
        total = float(query.rows) if self.workload.known else float(np.clip(raw.sum(), 0, query.rows))
        widths, limits = self._widths(query), (0, query.rows)
        whole = float(widths[(1,) * len(by)])
        for group, value in zip(query.groups.labels(), raw.ravel().tolist(), strict=True) if COUNT in wanted else ():
            yield clipped_figure(query, COUNT, group, "", value, whole, limits, sparse=value <= whole)
        if TABLE in wanted:
            most = next(ask.ways for ask in query.asks if ask.statistic == TABLE) or raw.ndim
            yield from _table(query, raw, self.nearest(raw, total), most, lambda kept: float(widths[kept]))
        if not query.complete:
            left, width = query.rows - float(raw.sum()), float(widths[(0,) * len(by)])
            yield clipped_figure(
                query, MISSING, "", "in no group, or without a value", left, width, limits, sparse=left <= width
            )

    def _widths(self, query: Source) -> OfSets:
        """Return the half-widths of a count of each released set; half of a step is added for the noise being whole."""
        norms = np.sqrt(self.workload.variances(self.precisions))
        step = 0.5 / float(self.weights[self.weights > 0].min())
        return np.asarray(query.widths.joint(self.sensitivity * norms, _SINGLE) + step)

    def expected(self, query: Source, ask: Statistic, _rows: float) -> tuple[float, str]:
        """Return the half-width of a typical count (the root mean square), the same for any rows, and its unit."""
        widths, load = self._widths(query), self.workload
        if ask.statistic == COUNT:
            return float(widths[(1,) * widths.ndim]), "rows"
        squares = (widths**2 * load.cells)[load.released].sum() / load.figures
        return math.sqrt(squares), "rows"


def plain_table(query: Source, answer: Floats) -> Iterator[Figure]:
    """Yield the figures of a table whose cells were asked for by themselves, as earlier versions did."""
    sizes, cells = [b.count for b in query.groups.by], len(answer)
    total = float(query.rows) if query.complete else float(np.clip(answer.sum(), 0, query.rows))
    raw = answer + (total - answer.sum()) / cells if query.complete else answer

    def width(kept: tuple[int, ...]) -> float:
        summed = math.prod(n for n, k in zip(sizes, kept, strict=True) if not k)
        weights = ((1 - summed / cells, summed), (summed / cells, cells - summed))
        return query.widths.sum(weights if query.complete else ((1.0, summed),))

    yield from _table(query, raw.reshape(sizes), projected(answer, total).reshape(sizes), len(sizes), width)


def _table(
    query: Source, raw: Floats, table: Floats, most: int, width_of: Callable[[tuple[int, ...]], float]
) -> Iterator[Figure]:
    axes = range(raw.ndim)
    names = [[f"{b.column.name}={label}" for label in b.labels()] for b in query.groups.by]
    for kept in (k for size in range(min(most, raw.ndim), 0, -1) for k in itertools.combinations(axes, size)):
        others, width = tuple(a for a in axes if a not in kept), width_of(tuple(int(a in kept) for a in axes))
        labels = (", ".join(parts) for parts in itertools.product(*(names[a] for a in kept)))
        for label, value, middle in zip(
            labels, table.sum(axis=others).ravel().tolist(), raw.sum(axis=others).ravel().tolist(), strict=True
        ):
            low, high = (float(np.clip(v, 0, query.rows)) for v in (middle - width, middle + width))
            ends = min(low, value), max(high, value)
            yield Figure(MARGIN if others else TABLE, "", label, "", value, *ends, value <= width, query.label)


def _in_parts(table: Floats) -> Floats:
    """Return the parts of a table, as many numbers: along each axis the mean, then what all but the first differ by."""
    for axis in range(table.ndim):
        mean = table.mean(axis=axis, keepdims=True)
        table = np.concatenate([mean, np.delete(table, 0, axis) - mean], axis)
    return table


def _from_parts(parts: Floats) -> Floats:
    """Return the table of these parts."""
    for axis in range(parts.ndim):
        mean, rest = np.split(parts, [1], axis)
        parts = np.concatenate([mean - rest.sum(axis=axis, keepdims=True), mean + rest], axis)
    return parts


@lru_cache(maxsize=64)
def _best(sizes: tuple[int, ...], ways: tuple[int, ...], known: bool, gaussian: bool, most: int) -> Margins:
    load, none = Workload(sizes, ways, known), (False,) * len(sizes)
    columns = np.indices((2,) * len(sizes)).sum(axis=0)
    if not load.wanted.any():  # every column has one value, and the number of rows is public
        return Margins(load, gaussian, none, columns == 0)
    if gaussian:
        return Margins(load, True, (True,) * len(sizes), load.wanted > 0).minimised().whole()
    most_ways, every = max(ways), len(sizes)
    starts = [columns <= size for size in sorted({most_ways, min(most_ways + 1, every), every})]
    starts += [columns == size for size in sorted({most_ways, every})]
    found = []
    for centred in dict.fromkeys((tuple(n == 2 for n in sizes), none)):
        for start in starts:
            begun = Margins(load, False, centred, start)
            if begun.length <= most and begun.error < math.inf:
                found += [begun.minimised().whole(least) for least in _SMALL]
    # The last one is the plain table: cells that have to be above 0 help it most, as most tables have many empty ones.
    best = min(found, key=lambda one: one.error)
    return best if best.error < _CLEARLY * found[-1].error else found[-1]
