"""Synthetic rows compared with the original: distributions, associations and an overall score. All private."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.data.table import Table
from workbench.privacy.local.cells import CellArray
from workbench.sanitize.plan import Plan
from workbench.sanitize.realisation import SPACED_ROWS
from workbench.signals import NEVER, CancelToken, Emit, Progress
from workbench.studies.association import variable, way_distances
from workbench.studies.spreads_and_pairs import PAIR_COLUMNS, Pairs, Spread, spread_of
from workbench.studies.train_on_released import ModelComparison, model_comparison
from workbench.synth.columns import CoarseColumn, Codes, coded


@dataclass(frozen=True)
class TableQuality:
    """Distances between 0 (alike) and 1 (nothing in common). Private."""

    one_way: float  # mean over the columns
    two_way: float  # mean over the pairs that were compared; NaN where there is none
    worst: int  # place of the column that is farthest off
    worst_distance: float
    columns: int  # number of columns
    pairs: int  # pairs that were compared
    of_pairs: int  # pairs there are

    @property
    def mean(self) -> float:
        """Mean over all 1- and 2-way marginals, the pairs that were compared representing all of them."""
        if not self.of_pairs:
            return self.one_way
        return (self.columns * self.one_way + self.of_pairs * self.two_way) / (self.columns + self.of_pairs)


def table_quality(
    original: Codes,
    drawn: Codes,
    sizes: Sequence[int],
    cancel: CancelToken = NEVER,
    on_pair: Callable[[int, int], None] = lambda done, of: None,
) -> TableQuality:
    """Compare two tables of the same columns.

    ``original`` (n, d) and ``drawn`` (m, d) are coarse cells, of ``sizes`` in each column; ``on_pair`` gets how many
    pairs of how many are done.
    """
    alone = [found for _, found in way_distances(original, drawn, sizes, 1, cancel)]
    together = [found for _, found in way_distances(original, drawn, sizes, 2, cancel, on_pair)]
    worst = int(np.argmax(alone))
    return TableQuality(
        one_way=float(np.mean(alone)),
        two_way=float(np.mean(together)) if together else math.nan,
        worst=worst,
        worst_distance=alone[worst],
        columns=len(sizes),
        pairs=len(together),
        of_pairs=math.comb(len(sizes), 2),
    )


@dataclass(frozen=True, eq=False)
class Compared:
    """A synthetic table beside the original. Private."""

    quality: TableQuality  # one figure for all tables of one and two columns
    worst: str  # the column that is farthest off
    spreads: tuple[Spread, ...]  # each column's rows by coarse cell
    pairs: Pairs  # how columns go together
    rows: int  # rows that were drawn
    learned: ModelComparison | None = None  # what a model of the target learns from them; `None` without a target


def compared(
    columns: Sequence[CoarseColumn],
    table: Table,
    fine: Callable[[CoarseColumn], CellArray],
    target: str | None,
    plan: Plan,
    emit: Emit,
    cancel: CancelToken,
) -> Compared:
    """Compare synthetic rows with the original.

    Both are counted on the cuts of ``columns``, which do not depend on how the rows were made; ``fine`` returns the
    (m,) fine cells of a column of the synthetic rows. The target is among the columns whose correlations are compared.
    """
    sizes = [column.size for column in columns]
    original = coded(columns, table, cancel).codes
    cells = []
    for column in columns:
        cancel.check()
        cells.append(fine(column))
    drawn = np.column_stack([column.coarse(found) for column, found in zip(columns, cells, strict=True)])

    def stated(done: int, of: int) -> None:
        if done % 20 == 0:
            emit(Progress(done, of, "comparing pairs of columns"))

    quality = table_quality(original, drawn, sizes, cancel, stated)
    spreads = []
    for place, column in enumerate(columns):
        cancel.check()
        spreads.append(_spread(column, original[:, place], drawn[:, place]))
    return Compared(
        quality,
        columns[quality.worst].name,
        tuple(spreads),
        _pairs(columns, table, cells, target, emit, cancel),
        len(drawn),
        model_comparison(plan, table, target, {c.name: one for c, one in zip(columns, cells, strict=True)}, cancel),
    )


def _spread(column: CoarseColumn, original: Codes, drawn: Codes) -> Spread:
    before, after = (np.bincount(codes, minlength=column.size) for codes in (original, drawn))
    return spread_of(column.grid, column.firsts().tolist(), before, after)


def _pairs(
    columns: Sequence[CoarseColumn],
    table: Table,
    cells: Sequence[CellArray],
    target: str | None,
    emit: Emit,
    cancel: CancelToken,
) -> Pairs:
    chosen = sorted(sorted(range(len(columns)), key=lambda place: columns[place].name != target)[:PAIR_COLUMNS])
    step, drawn_step = (max(1, -(-rows // SPACED_ROWS)) for rows in (table.rows, len(cells[0])))
    spaced = table
    if step > 1:
        spaced = dataclasses.replace(table, frame=table.frame.gather_every(step), first_line=None)
    before, after = [], []
    for place in chosen:
        cancel.check()
        grid = columns[place].grid
        before.append(variable(grid, grid.encode(spaced)))
        after.append(variable(grid, cells[place][::drawn_step]))
    return Pairs.of(before, after, (spaced.rows, table.rows), len(columns) - len(chosen), emit, cancel)
