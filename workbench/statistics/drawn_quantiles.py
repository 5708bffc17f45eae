"""Quantiles by the exponential mechanism on a fine grid, with intervals from counts of nearby bins.

Half of the share pays for drawing a cell for each quantile (:mod:`workbench.privacy.central.quantile_choice`). What was
drawn is released, so that bins may be placed by it: each drawn cell is a bin, and bins on both sides of it are twice as
long as the one before. The other half pays for one histogram of these bins; a row is in one bin at most. Its noise is
independent of the draws, so that intervals read from it hold wherever the draws fell, for any rows.

A public lattice of a numeric column, finer than the noise, and the values that each of its cells represents.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.central.exponential import EPSILON_LEAST
from workbench.privacy.central.quantile_choice import Held, depths, simple
from workbench.privacy.central.share import Share
from workbench.sanitize.plan import Column
from workbench.statistics.interval_widths import Widths
from workbench.work.ask import Ask

LEAST_CELLS, MOST_CELLS = 1 << 10, 1 << 24  # cells of a lattice; whole numbers may leave fewer

_CELLS_OF_A_ROW = 64  # cells for each row that the noise cannot separate from the next, values being spread evenly

_EXACT = 1 << 51  # multiples up to here and halves of them are exact as doubles

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lattice:
    """Multiples of a public step; a value belongs to the nearest one."""

    lower: float
    upper: float
    times: int  # the step is `times`/`parts`
    parts: int  # a power of ten, or 1
    whole: bool  # whether values are whole numbers

    @classmethod
    def of(cls, column: Column, strength: float) -> Lattice:
        """Return the lattice for noise of 1/``strength`` of the rows; its step is 1, 2 or 5 times 10^k."""
        lower, upper = column.bounds()
        wanted = min(max(_CELLS_OF_A_ROW * strength, LEAST_CELLS), MOST_CELLS)
        # Not finer than doubles of this size are.
        step = max((upper - lower) / wanted, max(abs(lower), abs(upper)) / _EXACT * 10)
        power = Decimal(step).adjusted()
        times = next(m for m in (5, 2, 1) if Decimal(m).scaleb(power) <= Decimal(step))
        whole = column.kind != "real"
        if power >= 0:
            return cls(lower, upper, times * 10**power, 1, whole)
        return cls(lower, upper, 1, 1, whole) if whole else cls(lower, upper, times, 10**-power, whole)

    @property
    def origin(self) -> int:
        """The multiple of the step that is cell 0."""
        return self._nearest(self.lower)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self._nearest(self.upper) - self.origin + 1

    def _nearest(self, value: float) -> int:
        return int(self._codes(np.array([value]))[0])

    def _codes(self, x: Floats) -> NDArray[np.int64]:
        found = np.floor(x / float(self.times) * float(self.parts) + 0.5).astype(np.int64)
        # The rounding of a quotient must not put a value beyond the border that is written.
        found -= x < self._border(found)
        found += x >= self._border(found + 1)
        return found

    def _border(self, multiple: NDArray[np.int64]) -> Floats:
        """Return the border between a multiple of the step and the one before."""
        return np.asarray((2 * multiple - 1) * float(self.times) / (2.0 * self.parts))

    def codes(self, x: Floats) -> NDArray[np.int64]:
        """Return the cell of each value; those outside the bounds are clamped."""
        return self._codes(np.clip(x, self.lower, self.upper)) - self.origin

    def value(self, cell: int) -> float:
        """Return the value that a cell is written as."""
        return float(np.clip((cell + self.origin) * self.times / self.parts, self.lower, self.upper))

    def ends(self, first: int, last: int) -> tuple[float, float]:
        """Return the least and the largest value that cells ``first`` to ``last`` can hold."""
        low, beyond = (float(b) for b in self._border(np.array([first, last + 1]) + self.origin))
        if self.whole:
            low, beyond = math.ceil(low), math.ceil(beyond) - 1
        return max(low, self.lower), min(beyond, self.upper)


_SHORTEST = 4
"""The shortest bin beside a drawn cell is one part in this many of what noise hides of even values, per quantile."""

_AS_THEY_ARE = 1 << 22  # values that are kept as they are before those of one cell are counted

_RISK = 0.05
_CARRIED = 1.3
"""By how much the errors of the draws before make those of several quantiles longer; measured on even values."""


@dataclass(frozen=True)
class DrawnQuantiles:
    """How the quantiles of one query are drawn."""

    lattice: Lattice  # of its column
    shares: tuple[Fraction, ...]  # each q, sorted
    paid: Share  # the query's share of the budget
    shortest: int  # cells of the shortest bin beside a drawn cell

    @classmethod
    def of(cls, column: Column, at: Sequence[float], paid: Share, rows: float) -> DrawnQuantiles:
        """Return how quantiles of about ``rows`` rows of ``column`` are drawn."""
        lattice = Lattice.of(column, rows * paid.strength)
        chosen = tuple(sorted({simple(q) for q in at}))
        shortest = int(lattice.cells * len(chosen) / (_SHORTEST * max(rows * paid.strength, 1.0)))
        return cls(lattice, chosen, paid, 1 << max(min(shortest, lattice.cells).bit_length() - 1, 0))

    @property
    def widths(self) -> Widths:
        """How wide intervals are that are read from the counts."""
        return Widths(self.paid.part(1, 2))

    @property
    def distances(self) -> list[int]:
        """How far from a drawn cell bins end."""
        found = [1]
        while found[-1] < self.lattice.cells:
            found.append(max(2 * found[-1], self.shortest))
        return found[:-1]

    @property
    def length(self) -> int:
        """How many whole numbers a group has: the drawn cells, and counts of as many bins as there may be."""
        return len(self.shares) + 1 + 2 * len(self.shares) * len(self.distances)

    def expected(self, rows: float) -> float:
        """Return half of the mean interval's length if ``rows`` values are even between the bounds.

        Each quantile is drawn at its place, and its interval ends where bins do: those that noise reaches from there.
        """
        cells, lengths = self.lattice.cells, 0.0
        places = [min(int(q * cells), cells - 1) for q in self.shares]
        borders = self.borders(places)
        for q, cell in zip(map(float, self.shares), places, strict=True):
            upto = bisect_right(borders, cell)
            off = self.widths.sum(((1 - q, upto), (q, len(borders) - upto))) / rows * cells
            first = borders[bisect_right(borders, max(cell - off, 0)) - 1]
            last = [*borders, cells][bisect_right(borders, min(cell + off, cells - 1))] - 1
            low, high = self.lattice.ends(first, last)
            lengths += high - low
        return lengths / 2 / len(places)

    def noisy(self, ask: Ask, label: str, groups: Sequence[Held]) -> list[int]:
        """Return the drawn cells of each group (its values are lattice cells) and noisy counts of the bins around."""
        ask = ask.divided(label, {"draws": (1, 2), "counts": (1, 2)})
        drawn = ask.quantiles("draws", groups, 0, self.lattice.cells - 1, self.shares)
        counts = [
            held.counts([*self.borders(chosen), self.lattice.cells]) for held, chosen in zip(groups, drawn, strict=True)
        ]
        noisy = iter(ask("counts", [c for group in counts for c in group], 1))
        found = []
        for chosen, bins in zip(drawn, counts, strict=True):
            stated = list(itertools.islice(noisy, len(bins)))
            found += [*chosen, *stated, *[0] * (self.length - len(chosen) - len(stated))]
        return found

    def borders(self, drawn: Sequence[int]) -> list[int]:
        """Return the first cell of each bin around ``drawn`` cells, in order."""
        last = self.lattice.cells - 1
        distances, found = self.distances, {0}
        for before, cell, after in zip((-1, *drawn), drawn, (*drawn[1:], last + 1), strict=False):
            # Between two drawn cells each has the nearer half.
            reach_down = cell - before if before < 0 else (cell - before) // 2
            reach_up = after - cell if after > last else (after - cell) // 2
            found.add(cell)
            found |= {cell - d + 1 for d in distances if d <= reach_down}
            found |= {cell + d for d in distances if d <= reach_up}
        return sorted(c for c in found if 0 <= c <= last)

    def read(self, answer: Sequence[float]) -> tuple[list[int], list[int], NDArray[np.float64]]:
        """Return the drawn cells, the first cell of each bin, and the noisy counts, of one group's numbers.

        Raises:
            ParameterError: the numbers are not of such a query.
        """
        drawn = [int(v) for v in answer[: len(self.shares)]]
        if sorted(drawn) != drawn or not 0 <= drawn[0] <= drawn[-1] < self.lattice.cells:
            raise ParameterError(f"the drawn cells are not in order or not of {self.lattice.cells:,} cells")
        borders = self.borders(drawn)
        counts = np.asarray(answer[len(drawn) : len(drawn) + len(borders)], dtype=np.float64)
        if any(answer[len(drawn) + len(borders) :]):
            raise ParameterError(f"there are more counts than {len(borders)} bins")
        return drawn, borders, counts


class GroupValues:
    """The values of rows that are read part by part, as cells of a lattice, for each group.

    Of rows in one cell only the number is kept; the last ones that came are kept as they are until they are as many.
    """

    def __init__(self, drawn: DrawnQuantiles, groups: int) -> None:
        self._cells, self._groups = drawn.lattice.cells, groups
        small = self._cells * groups <= np.iinfo(np.int32).max
        self._kind: type[np.signedinteger[Any]] = np.int32 if small else np.int64
        self._lattice = drawn.lattice
        self._keys: NDArray[Any] = np.empty(0, self._kind)
        self._counts = np.empty(0, np.int64)
        self._new: list[NDArray[Any]] = []

    def of(self, x: Floats, groups: NDArray[np.int64] | None) -> NDArray[Any]:
        """Return the cell of each value in its group; can be called in threads."""
        found = self._lattice.codes(x)
        return (found if groups is None else groups * self._cells + found).astype(self._kind)

    def add(self, cells: NDArray[Any]) -> None:
        """Add what :meth:`of` returned."""
        self._new.append(cells)
        if sum(map(len, self._new)) > max(_AS_THEY_ARE, len(self._keys)):
            self._count()

    def _count(self) -> None:
        keys, counts = np.unique(np.concatenate([*self._new, self._keys[:0]]), return_counts=True)
        self._new = []
        if len(self._keys):
            both = np.concatenate([self._keys, keys])
            order = np.argsort(both, kind="stable")
            both, each = both[order], np.concatenate([self._counts, counts])[order]
            first = np.flatnonzero(np.append(True, np.diff(both) != 0))
            keys, counts = both[first], np.add.reduceat(each, first)
        self._keys, self._counts = keys, counts

    def held(self) -> list[Held]:
        """Return the values of each group."""
        self._count()
        upto = np.append(0, np.cumsum(self._counts))
        edges = np.searchsorted(self._keys, np.arange(self._groups + 1, dtype=np.int64) * self._cells)
        return [
            Held(self._keys[first:last].astype(np.int64) - group * self._cells, upto[first : last + 1])
            for group, (first, last) in enumerate(itertools.pairwise(edges.tolist()))
        ]


def _epsilon(paid: Share, count: int) -> float:
    return paid.part(1, 2 * depths(count)).choice_epsilon


def drawn_error(paid: Share, count: int, rows: float) -> float:
    """Return by which part of the rows a draw may be off, in 95 % of them; ∞ where ε is too small to draw."""
    epsilon = _epsilon(paid, count)
    if epsilon < 2 * EPSILON_LEAST:
        return math.inf
    return -math.log(_RISK) / (epsilon * rows) * (_CARRIED if count > 1 else 1.0)
