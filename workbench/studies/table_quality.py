"""How far a synthetic table is from the original: the mean total-variation distance of its 1- and 2-way marginals.

The total-variation distance of two tables of counts, ½ · Σ |p − q| over their cells, is the share of rows that would
have to move to another cell to turn one into the other. Both tables are counted on the same public coarse cells.
Everything here is computed from the rows as given: it is private if they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import CancelToken

MOST_PAIRS = 2000
MOST_CODES = 400_000_000
"""Most rows times pairs that are counted: of more, evenly spaced pairs stand for all."""

LEAST_PAIRS = 100
_DENSE = 1 << 22
"""Most cells of a table that is counted in full; of a larger one only cells that occur."""

Codes = NDArray[np.integer]


@dataclass(frozen=True)
class TableQuality:
    """Distances between 0 (alike) and 1 (nothing in common). Private.

    Attributes:
        one_way: mean over the columns.
        two_way: mean over the pairs that were compared; NaN where there is none.
        worst: place of the column that is farthest off.
        worst_distance: its distance.
        columns: number of columns.
        pairs: pairs that were compared.
        of_pairs: pairs there are.
    """

    one_way: float
    two_way: float
    worst: int
    worst_distance: float
    columns: int
    pairs: int
    of_pairs: int

    @property
    def mean(self) -> float:
        """Mean over all 1- and 2-way marginals, the pairs that were compared standing for all of them."""
        if not self.of_pairs:
            return self.one_way
        return (self.columns * self.one_way + self.of_pairs * self.two_way) / (self.columns + self.of_pairs)


def total_variation(p: NDArray[np.int64], q: NDArray[np.int64]) -> float:
    """Return ½ · Σ |p/Σp − q/Σq| of two tables of counts of the same shape, each with at least one row."""
    return float(np.abs(p / p.sum() - q / q.sum()).sum()) / 2


def table_quality(
    original: Codes,
    drawn: Codes,
    sizes: Sequence[int],
    cancel: CancelToken | None = None,
    on_pair: Callable[[int, int], None] = lambda done, of: None,
) -> TableQuality:
    """Compare two tables of the same columns.

    Args:
        original: (n, d) coarse cells, n at least 1.
        drawn: (m, d) coarse cells, m at least 1.
        sizes: number of cells of each column.
        cancel: looked at between tables.
        on_pair: is called with how many pairs of how many are done.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    cancel = cancel or CancelToken()
    first = [np.ascontiguousarray(original[:, j], dtype=np.int64) for j in range(len(sizes))]
    second = [np.ascontiguousarray(drawn[:, j], dtype=np.int64) for j in range(len(sizes))]
    alone = []
    for a, b, size in zip(first, second, sizes, strict=True):
        cancel.check()
        alone.append(_distance(a, b, size))
    of_pairs = math.comb(len(sizes), 2)
    pairs = _spaced(of_pairs, min(MOST_PAIRS, max(LEAST_PAIRS, MOST_CODES // (len(original) + len(drawn)))), len(sizes))
    together = []
    for done, (i, j) in enumerate(pairs, start=1):
        cancel.check()
        a, b = first[i] * sizes[j] + first[j], second[i] * sizes[j] + second[j]
        together.append(_distance(a, b, sizes[i] * sizes[j]))
        on_pair(done, len(pairs))
    worst = int(np.argmax(alone))
    return TableQuality(
        one_way=float(np.mean(alone)),
        two_way=float(np.mean(together)) if together else math.nan,
        worst=worst,
        worst_distance=alone[worst],
        columns=len(sizes),
        pairs=len(pairs),
        of_pairs=of_pairs,
    )


def _spaced(of_pairs: int, most: int, columns: int) -> list[tuple[int, int]]:
    """Return all pairs of columns, or ``most`` of them, evenly spaced."""
    every = itertools.combinations(range(columns), 2)
    if of_pairs <= most:
        return list(every)
    wanted = {round(k) for k in np.linspace(0, of_pairs - 1, most)}
    return [pair for place, pair in enumerate(every) if place in wanted]


def _distance(a: NDArray[np.int64], b: NDArray[np.int64], cells: int) -> float:
    if cells > _DENSE:
        known, places = np.unique(np.concatenate([a, b]), return_inverse=True)
        a, b, cells = places[: len(a)], places[len(a) :], len(known)
    return total_variation(np.bincount(a, minlength=cells), np.bincount(b, minlength=cells))
