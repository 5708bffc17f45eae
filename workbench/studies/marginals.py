"""Total-variation distances of the tables of counts of some columns (marginals), of two tables of rows.

The total-variation distance of two tables of counts, ½ · Σ |p − q| over their cells, is the share of rows that would
have to move to another cell to turn one into the other. Both tables are counted on the same cells. Everything here is
computed from the rows as given: it is private if they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import CancelToken

MOST_TABLES = 2000
MOST_CODES = 400_000_000
"""Most rows times tables that are counted: of more, evenly spaced tables stand for all."""

LEAST_TABLES = 100
_DENSE = 1 << 22
"""Most cells of a table that is counted in full; of a larger one only cells that occur."""

Codes = NDArray[np.integer]


def total_variation(p: NDArray[np.int64], q: NDArray[np.int64]) -> float:
    """Return ½ · Σ |p/Σp − q/Σq| of two tables of counts of the same shape, each with at least one row."""
    return float(np.abs(p / p.sum() - q / q.sum()).sum()) / 2


def distance(a: NDArray[np.int64], b: NDArray[np.int64], cells: int) -> float:
    """Return the distance of the counts of two arrays of codes from 0 and below ``cells``."""
    if cells > _DENSE:
        known, places = np.unique(np.concatenate([a, b]), return_inverse=True)
        a, b, cells = places[: len(a)], places[len(a) :], len(known)
    return total_variation(np.bincount(a, minlength=cells), np.bincount(b, minlength=cells))


def way_distances(
    one: Codes,
    other: Codes,
    sizes: Sequence[int],
    order: int,
    cancel: CancelToken,
    on_table: Callable[[int, int], None] = lambda done, of: None,
) -> list[tuple[tuple[int, ...], float]]:
    """Return the distance of each table of ``order`` columns, or of evenly spaced ones where there are too many.

    Args:
        one: (n, d) cells, n at least 1.
        other: (m, d) cells, m at least 1.
        sizes: number of cells of each column.
        order: columns of a table.
        cancel: looked at between tables.
        on_table: is called with how many tables of how many are done.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    first, second = ([np.ascontiguousarray(s[:, j], dtype=np.int64) for j in range(len(sizes))] for s in (one, other))
    most = min(MOST_TABLES, max(LEAST_TABLES, MOST_CODES // (len(one) + len(other))))
    chosen = spaced(len(sizes), order, most)
    found = []
    for done, columns in enumerate(chosen, start=1):
        cancel.check()
        a, b = (_joined([side[j] for j in columns], [sizes[j] for j in columns]) for side in (first, second))
        found.append((columns, distance(a, b, math.prod(sizes[j] for j in columns))))
        on_table(done, len(chosen))
    return found


def spaced(columns: int, order: int, most: int) -> list[tuple[int, ...]]:
    """Return all choices of ``order`` of the columns, or ``most`` of them, evenly spaced."""
    every, count = itertools.combinations(range(columns), order), math.comb(columns, order)
    if count <= most:
        return list(every)
    wanted = {round(k) for k in np.linspace(0, count - 1, most)}
    return [chosen for place, chosen in enumerate(every) if place in wanted]


def _joined(codes: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.int64]:
    joint = codes[0]
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        joint = joint * size + column
    return joint
