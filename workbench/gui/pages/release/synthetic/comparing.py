"""Synthetic rows beside the original: each column's spread, how columns go together, and one figure. All private."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.data.table import Table
from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets.compared import Pairs, Spread
from workbench.gui.widgets.formatting import plain
from workbench.privacy.local.cells import CellArray
from workbench.sanitize.plan import Plan
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.studies.association import associations, variable
from workbench.studies.learned_from import LearnedFrom, learned_from
from workbench.studies.table_quality import TableQuality, table_quality
from workbench.synth.columns import CoarseColumn, CodedRows, Codes, coded

BARS = 30
PAIR_COLUMNS = 40
INVENTED = 0.1
"""A correlation that is stronger than the original's by more than this is reported."""
SPACED_ROWS = 100_000
"""Most rows, evenly spaced, from which correlations are computed: enough for two decimals."""


@dataclass(frozen=True, eq=False)
class Compared:
    """A synthetic table beside the original. Private.

    Attributes:
        quality: one figure for all tables of one and two columns.
        worst: the column that is farthest off.
        spreads: each column's rows by coarse cell.
        pairs: how columns go together.
        rows: rows that were drawn.
        learned: what a model of the target learns from them; ``None`` without a target.
    """

    quality: TableQuality
    worst: str
    spreads: tuple[Spread, ...]
    pairs: Pairs
    rows: int
    learned: LearnedFrom | None = None

    @property
    def words(self) -> str:
        """The figure in words."""
        quality, worst, distance = self.quality, self.worst, percent(self.quality.worst_distance)
        if not quality.of_pairs:
            return tr(
                "of the rows, on average, would have to move for the tables to agree: {worst} is farthest off, by "
                "{distance}.",
                worst=worst,
                distance=distance,
            )
        one, two = percent(quality.one_way), percent(quality.two_way)
        if quality.pairs == quality.of_pairs:
            return tr(
                "of the rows, on average, would have to move for the tables to agree: {one} for one column, {two} for "
                "two; {worst} is farthest off, by {distance}.",
                one=one,
                two=two,
                worst=worst,
                distance=distance,
            )
        return tr(
            "of the rows, on average, would have to move for the tables to agree: {one} for one column, {two} for two "
            "({pairs} pairs were counted); {worst} is farthest off, by {distance}.",
            one=one,
            two=two,
            pairs=tr_number(quality.pairs, ","),
            worst=worst,
            distance=distance,
        )

    @property
    def invented(self) -> str:
        """A pair that goes together in these rows and not in the original, in words; empty where there is none."""
        size = len(self.pairs.names)
        found = [(self.pairs.sanitised[i][j], self.pairs.original[i][j], i, j) for i in range(size) for j in range(i)]
        odd = [(abs(after) - abs(before), before, after, i, j) for after, before, i, j in found]
        odd = [one for one in odd if one[0] > INVENTED]
        if not odd:
            return ""
        _, before, after, i, j = max(odd)
        return tr(
            "⚠ {one} and {other} go together more in these rows ({after}) than in the original "
            "({before}): a table of both may not have been counted. Another method may count it.",
            one=self.pairs.names[j],
            other=self.pairs.names[i],
            after=tr_number(after, ".2f"),
            before=tr_number(before, ".2f"),
        )


def percent(share: float) -> str:
    """Return a share of rows with two significant digits."""
    return f"{plain(float(f'{100 * share:.2g}'))} %"


def coded_rows(columns: Sequence[CoarseColumn], table: Table, cancel: CancelToken) -> CodedRows:
    """Return the rows as coarse cells, column by column, so that it can be cancelled.

    Raises:
        InputError: a value does not fit its column.
        CancelledError: ``cancel`` was set.
    """
    parts = []
    for column in columns:
        cancel.check()
        parts.append(coded((column,), table))
    codes = np.column_stack([part.codes[:, 0] for part in parts])
    return CodedRows(codes, np.logical_or.reduce([part.present for part in parts]))


def coarse(column: CoarseColumn, fine: CellArray) -> Codes:
    """Return the coarse cell of each fine one, (n,)."""
    size = column.grid.cells.size
    return np.where(fine == size, column.cuts, fine.astype(np.int64) * column.cuts // size).astype(np.int32)


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

    Args:
        columns: the columns with the cuts that both are counted on, which do not depend on how the rows were made.
        table: the original rows.
        fine: the (m,) fine cells of a column of the synthetic rows.
        target: is among the columns whose correlations are compared, and is what a model of the rows predicts.
        plan: the public facts of the columns.
        emit: receives progress.
        cancel: looked at between tables.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    sizes = [column.size for column in columns]
    original = coded_rows(columns, table, cancel).codes
    cells = []
    for column in columns:
        cancel.check()
        cells.append(fine(column))
    drawn = np.column_stack([coarse(column, found) for column, found in zip(columns, cells, strict=True)])

    def stated(done: int, of: int) -> None:
        if done % 20 == 0:
            emit(Progress(done, of, tr("comparing pairs of columns")))

    quality = table_quality(original, drawn, sizes, cancel, stated)
    spreads = []
    for place, column in enumerate(columns):
        cancel.check()
        spreads.append(_spread(column, original[:, place], drawn[:, place]))
    return Compared(
        quality,
        columns[quality.worst].name,
        tuple(spreads),
        _pairs(columns, table, cells, target, cancel),
        len(drawn),
        learned_from(plan, table, target, {c.name: one for c, one in zip(columns, cells, strict=True)}, cancel),
    )


def _spread(column: CoarseColumn, original: Codes, drawn: Codes) -> Spread:
    counts = [np.bincount(codes, minlength=column.size) for codes in (original, drawn)]
    bars = _ranges(column) if column.ordered else _names(column, counts[0])
    return Spread(
        name=column.name,
        numeric=column.ordered,
        labels=tuple(words for words, _ in bars),
        original=tuple(int(counts[0][cells].sum()) for _, cells in bars),
        sanitised=tuple(int(counts[1][cells].sum()) for _, cells in bars),
    )


def _ranges(column: CoarseColumn) -> list[tuple[str, list[int]]]:
    """Return at most BARS ranges of neighbouring coarse cells, and one bar for the missing one where there is one."""
    labels, firsts, width = column.grid.labels, column.firsts(), -(-column.cuts // BARS)
    made = []
    for start in range(0, column.cuts, width):
        stop = min(start + width, column.cuts)
        low, high = labels[firsts[start]], labels[firsts[stop] - 1]
        made.append((low if low == high else f"{low} – {high}", list(range(start, stop))))
    return [*made, ("missing", [column.cuts])] if column.size > column.cuts else made


def _names(column: CoarseColumn, counts: Any) -> list[tuple[str, list[int]]]:
    """Return the most frequent names of the original, at most BARS."""
    labels = [*column.grid.labels, "missing"][: column.size]
    common = np.argsort(-counts, kind="stable")[:BARS]
    return [(labels[i], [int(i)]) for i in (sorted(common) if column.size <= BARS else common)]


def _pairs(
    columns: Sequence[CoarseColumn],
    table: Table,
    cells: Sequence[CellArray],
    target: str | None,
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
    return Pairs(
        names=tuple(one.name for one in before),
        numeric=tuple(one.numeric for one in before),
        original=associations(before, cancel),
        sanitised=associations(after, cancel),
        rows=spaced.rows,
        of_rows=table.rows,
        left_out=len(columns) - len(chosen),
    )
