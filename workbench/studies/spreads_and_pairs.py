"""A table before and after release: the distribution of each column, and associations between columns.

Everything here is computed from the rows as given: it is private if they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.grid import Grid
from workbench.signals import CancelToken, Emit, Progress
from workbench.studies.association import Variable, associations

BARS = 30
PAIR_COLUMNS = 40  # most columns that are compared with each other


@dataclass(frozen=True, eq=False, kw_only=True)
class Spread:
    """How one column is spread before and after one draw. Private."""

    name: str  # the column
    numeric: bool  # whether the bars are ranges of numbers in order
    labels: tuple[str, ...]  # what each bar counts
    original: tuple[int, ...]  # rows in each bar
    sanitised: tuple[int, ...]  # rows in each bar after the draw


@dataclass(frozen=True, eq=False)
class Pairs:
    """How strongly columns go together before and after one draw. Private."""

    names: tuple[str, ...]  # the columns, k of them
    numeric: tuple[bool, ...]  # whether each holds numbers
    original: NDArray[np.float64]  # (k, k) associations of the original rows; NaN where there is none to be computed
    sanitised: NDArray[np.float64]  # the same after the draw
    rows: int  # rows they were computed from
    of_rows: int  # rows of the table
    left_out: int = 0  # columns that were not compared

    @classmethod
    def of(
        cls,
        before: Sequence[Variable],
        after: Sequence[Variable],
        rows: tuple[int, int],
        left_out: int,
        emit: Emit,
        cancel: CancelToken,
    ) -> Pairs:
        """Compare the same columns before and after; ``rows`` is how many were taken, and of how many."""
        emit(Progress(0, 2, "correlations"))
        original = associations(before, cancel)
        emit(Progress(1, 2, "correlations"))
        names, numeric = tuple(v.name for v in before), tuple(v.numeric for v in before)
        return cls(names, numeric, original, associations(after, cancel), *rows, left_out)


def bar_width(cells: int) -> int:
    """Return how many neighbouring cells of so many are in one bar."""
    return -(-cells // BARS)


def spread_of(grid: Grid, firsts: Sequence[int], before: NDArray[np.int64], after: NDArray[np.int64]) -> Spread:
    """Return how a column is spread.

    Args:
        grid: its public grid.
        firsts: (c + 1,) the first cell of the grid in each cell that was counted and, last, the number of its cells.
        before: rows in each counted cell, (c,), and of missing values last where there may be some.
        after: the same after the draw.
    """
    bars = _ranges(grid, firsts) if grid.cells.numeric else _names(grid, before)
    return Spread(
        name=grid.attribute.name,
        numeric=grid.cells.numeric,
        labels=tuple(words for words, _ in bars),
        original=tuple(int(before[cells].sum()) for _, cells in bars),
        sanitised=tuple(int(after[cells].sum()) for _, cells in bars),
    )


def _ranges(grid: Grid, firsts: Sequence[int]) -> list[tuple[str, list[int]]]:
    """Return at most BARS ranges of neighbouring cells, and one bar for the missing one where there is one."""
    # Every bar holds equally many cells (the last may hold fewer), so that heights compare.
    cells = len(firsts) - 1
    width, made = bar_width(cells), []
    for start in range(0, cells, width):
        stop = min(start + width, cells)
        low, high = grid.labels[firsts[start]], grid.labels[firsts[stop] - 1]
        made.append((low if low == high else f"{low} – {high}", list(range(start, stop))))
    return [*made, ("missing", [cells])] if grid.cells.missing else made


def _names(grid: Grid, before: NDArray[np.int64]) -> list[tuple[str, list[int]]]:
    labels, common = [*grid.labels, "missing"], np.argsort(-before, kind="stable")[:BARS]
    return [(labels[i], [int(i)]) for i in (sorted(common) if len(before) <= BARS else common)]
