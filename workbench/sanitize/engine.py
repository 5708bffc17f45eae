"""The engine for one machine: rows in, sanitised rows out, in random order.

It only draws. ``release`` charges and writes, in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.source_types import is_lossless
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.field import did_you_mean
from workbench.privacy.accounting.event import PureDp
from workbench.privacy.entropy import Entropy, permutation
from workbench.privacy.local.cells import CellArray
from workbench.sanitize.calibrated_columns import ProtectedColumn, protected_columns
from workbench.sanitize.plan import Plan
from workbench.signals import Progress
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore
from workbench.work.ask import Ask
from workbench.work.noise import RowStudy
from workbench.work.work import cost_of

_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of a sanitised table, as cells."""

    plan: Plan
    columns: tuple[ProtectedColumn, ...]
    cells: dict[str, CellArray]  # (n,) output cells by column name, rows already in the order of the release
    kept: dict[str, pl.Series]  # text of the columns published as they are, in the same order of rows
    # The types those columns have in the source, if every cell can be given back its type.
    kept_types: dict[str, pl.DataType]
    names: tuple[str, ...]  # the released columns, in the order of the original table
    rows: int
    releasable: bool  # whether the randomness was cryptographic

    def frame(self, start: int = 0, stop: int | None = None) -> pl.DataFrame:
        """Return rows ``start`` to ``stop`` as released text."""
        window = slice(start, self.rows if stop is None else stop)
        grids = {c.column.name: c.grid for c in self.columns}
        return pl.DataFrame(
            [
                grids[n].decode(self.cells[n][window]) if n in grids else self.kept[n][window].alias(n)
                for n in self.names
            ]
        )


def check_columns(plan: Plan, table: Table) -> None:
    """Raise :class:`InputError` unless plan and table name the same columns.

    A column the plan does not mention is an error, not a default: forgetting one must not publish it. One whose values
    are no cells, such as lists, can only be dropped, or not be mentioned.
    """
    plan.require_joined(table)
    planned = [c.name for c in plan.columns]
    for column in plan.columns:
        name = column.name
        if name in table.left_out and name not in table.names:
            if column.action != "drop":
                raise table.not_cells(name, "drop it in the plan")
        elif name not in table.names:
            raise InputError(
                f"the plan's column {name!r} is not in the table{did_you_mean(name, table.names)}",
                table.source,
                "rename it in the plan or remove it",
                code="unknown-column",
            )
    for name in table.names:
        if name not in planned:
            raise InputError(
                f"the plan does not say what to do with the column {name!r}",
                table.source,
                'add a [[column]] with action = "protect", "drop" or "keep"',
                code="unplanned-column",
            )


def draw(plan: Plan, table: Table, entropy: Entropy, emit: Emit = ignore, cancel: CancelToken = NEVER) -> Draw:
    """Sanitise ``table``: each protected value through its column's table, rows in random order.

    ``entropy`` is the seeded stream of a preview or a study; what is drawn by it cannot be released.

    Raises:
        InputError: plan and table do not fit, or a value cannot be put on its column's grid (never if the plan
            replaces invalid values).
    """
    check_columns(plan, table)
    rows = plan.rows_of(table, entropy)
    columns = protected_columns(plan)
    ask = RowStudy(entropy).ask(cost_of(events_of(columns), 1))
    return draw_prepared(plan, columns, rows, ask, emit, cancel)


def events_of(columns: Sequence[ProtectedColumn]) -> tuple[PureDp, ...]:
    """Return what a draw of calibrated columns costs one row, one event a column."""
    return tuple(PureDp(column.share, column.column.name) for column in columns)


def draw_prepared(
    plan: Plan,
    columns: tuple[ProtectedColumn, ...],
    table: Table,
    ask: Ask,
    emit: Emit,
    cancel: CancelToken,
) -> Draw:
    """Return what :func:`draw` does, of calibrated columns and of a table that fits its plan and is read by it.

    A column is drawn with the random bits of its own event, which is refused where its table has more ε than that.

    Raises:
        InputError: a value cannot be put on its column's grid.
        CancelledError: ``cancel`` was set.
    """
    total = len(columns) + 1
    order = None if plan.keep_order else permutation(table.rows, ask.coins)
    cells: dict[str, CellArray] = {}
    for done, column in enumerate(columns):
        emit(Progress(done, total, f"column {column.column.name}"))
        cancel.check()
        encoded = column.grid.encode(table)
        coins = ask.local(column.column.name, column.randomiser.exact_epsilon)
        cells[column.column.name] = sampled(column, encoded, order, coins, cancel)
    emit(Progress(len(columns), total, "order of rows"))
    kept = {c.name: _reordered(table.column(c.name), order) for c in plan.columns if c.action == "keep"}
    dropped = {c.name for c in plan.columns if c.action == "drop"}
    emit(Progress(total, total, "sanitised"))
    return Draw(
        plan=plan,
        columns=columns,
        cells=cells,
        kept=kept,
        kept_types={
            n: table.types[n] for n, cells in kept.items() if n in table.types and is_lossless(cells, table.types[n])
        },
        names=tuple(n for n in table.names if n not in dropped),
        rows=table.rows,
        releasable=ask.releasable,
    )


def sampled(
    column: ProtectedColumn, cells: CellArray, order: NDArray[np.int64] | None, entropy: Entropy, cancel: CancelToken
) -> CellArray:
    """Return a draw of the encoded ``cells`` of one column, in ``order`` if there is one, shape (n,)."""
    if order is not None:
        cells = cells[order]
    out = np.empty_like(cells)
    for start in range(0, cells.size, _ROWS_AT_ONCE):
        cancel.check()
        window = slice(start, start + _ROWS_AT_ONCE)
        out[window] = column.randomiser.sample(cells[window], entropy)
    return out


def _reordered(series: pl.Series, order: NDArray[np.int64] | None) -> pl.Series:
    return series if order is None else series.gather(pl.Series(order.astype(np.uint32)))
