"""Draw a preview: what a release could look like. Seeded, never released, and not to be copied."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from workbench.gui.bridge import JobCenter, JobHandle
from workbench.gui.draft import DraftPlan
from workbench.jobs import Job
from workbench.params import ParameterError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from workbench.data.grid import Grid
    from workbench.data.table import Table
    from workbench.sanitize.plan import Column, Plan
    from workbench.studies.association import Variable

ROWS_SHOWN = 2000
BARS = 30
PAIR_ROWS = 100_000
"""Rows of a large table, evenly spaced, from which correlations are computed: enough for two decimals."""

PAIR_COLUMNS = 40
LONG_COLUMNS = 20
"""Columns beyond which comparing them takes seconds, so that it is listed among the jobs and can be cancelled."""

KEY_ROWS = "preview-rows"
KEY_COLUMN = "preview-column"
KEY_PAIRS = "preview-pairs"


@dataclass(frozen=True, eq=False)
class PreviewRows:
    """The first rows before and after one draw. Private.

    Attributes:
        original: the columns that would leave, as they are, shape (rows, columns).
        sanitised: the same rows after the draw.
        changed: (rows,) by protected column: whether the cell became another one.
        rows: how many rows the table has in all.
    """

    original: pl.DataFrame
    sanitised: pl.DataFrame
    changed: dict[str, NDArray[np.bool_]]
    rows: int


@dataclass(frozen=True)
class PreviewColumn:
    """How one column is spread before and after one draw over all rows. Private.

    Attributes:
        name: the column.
        numeric: whether the bars are ranges of numbers in order.
        labels: what each bar stands for.
        original: rows in each bar.
        sanitised: rows in each bar after the draw.
        changed: rows whose cell became another one.
        rows: number of rows.
    """

    name: str
    numeric: bool
    labels: tuple[str, ...]
    original: tuple[int, ...]
    sanitised: tuple[int, ...]
    changed: int
    rows: int


@dataclass(frozen=True, eq=False)
class PreviewPairs:
    """How strongly the columns that leave go together before and after one draw. Private.

    Attributes:
        names: the columns, k of them.
        numeric: whether each holds numbers.
        original: (k, k) associations of the original rows; NaN where there is none to be computed.
        sanitised: the same after the draw.
        rows: rows they were computed from.
        of_rows: rows of the table.
        left_out: columns beyond the first :data:`PAIR_COLUMNS`.
    """

    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    original: NDArray[np.float64]
    sanitised: NDArray[np.float64]
    rows: int
    of_rows: int
    left_out: int = 0


def preview_rows(
    table: Table, draft: DraftPlan, seed: int, jobs: JobCenter, apply: Callable[[PreviewRows], None], **told: Any
) -> JobHandle:
    """Draw the first rows; only the newest request counts. ``seed`` numbers the draw."""
    plan = draft.plan()
    job = Job("Drawing a preview", lambda emit, cancel: draw_rows(table, plan, seed, cancel))
    return jobs.start(job, key=KEY_ROWS, shown=False, on_result=apply, **told)


def preview_column(
    table: Table,
    draft: DraftPlan,
    name: str,
    seed: int,
    jobs: JobCenter,
    apply: Callable[[PreviewColumn], None],
    **told: Any,
) -> JobHandle:
    """Draw one protected column over all rows; only the newest request counts."""
    plan = draft.plan()
    job = Job("Drawing a preview", lambda emit, cancel: draw_column(table, plan, name, seed, cancel))
    return jobs.start(job, key=KEY_COLUMN, shown=False, on_result=apply, **told)


def preview_pairs(
    table: Table, draft: DraftPlan, seed: int, jobs: JobCenter, apply: Callable[[PreviewPairs], None], **told: Any
) -> JobHandle:
    """Draw all columns and compare how they go together; only the newest request counts."""
    plan = draft.plan()
    job = Job("Comparing correlations", lambda emit, cancel: draw_pairs(table, plan, seed, emit, cancel))
    long = len(plan.columns) > LONG_COLUMNS and table.rows > PAIR_ROWS // 10
    return jobs.start(job, key=KEY_PAIRS, shown=long, on_result=apply, **told)


def draw_rows(table: Table, plan: Plan, seed: int, cancel: CancelToken) -> PreviewRows:
    """Return the first rows before and after a seeded draw; runs in a worker."""
    from workbench.privacy.entropy import SeededEntropy
    from workbench.sanitize.engine import draw

    head = dataclasses.replace(table, frame=table.frame.head(ROWS_SHOWN))
    # A release shuffles the rows; here each stands beside itself.
    made = draw(dataclasses.replace(plan, keep_order=True), head, SeededEntropy(seed), cancel=cancel)
    changed = {c.column.name: made.cells[c.column.name] != c.grid.encode(head) for c in made.columns}
    return PreviewRows(head.frame.select(made.names), made.frame(), changed, table.rows)


def draw_column(table: Table, plan: Plan, name: str, seed: int, cancel: CancelToken) -> PreviewColumn:
    """Return the spread of one protected column before and after a seeded draw; runs in a worker."""
    import numpy as np

    from workbench.privacy.entropy import SeededEntropy
    from workbench.sanitize.allocate import shares
    from workbench.sanitize.engine import sampled
    from workbench.sanitize.randomisers import protected_columns

    column = plan.column(name)
    if column.action != "protect":
        raise ParameterError("only a protected column is drawn", f"column {name}")
    share: Decimal = shares(plan)[name]
    alone = dataclasses.replace(
        plan, epsilon=float(share), keep_order=True, columns=(dataclasses.replace(column, epsilon=None),)
    )
    one = dataclasses.replace(table, frame=table.frame.select(name))
    (drawn,) = protected_columns(alone)
    grid = drawn.grid
    before = grid.encode(one)  # once for both sides: in a long table this is most of the wait
    after = sampled(drawn, before, None, SeededEntropy(seed), cancel)
    total = grid.cells.total
    counts = [np.bincount(cells, minlength=total) for cells in (before, after)]
    labels = [*grid.labels, "missing"][:total]
    if column.numeric:
        bars = _ranges(grid.cells.size, total, labels)
    else:
        common = np.argsort(-counts[0], kind="stable")[:BARS]
        bars = [(labels[i], [int(i)]) for i in (sorted(common) if total <= BARS else common)]
    return PreviewColumn(
        name=name,
        numeric=bool(column.numeric),
        labels=tuple(words for words, _ in bars),
        original=tuple(int(counts[0][cells].sum()) for _, cells in bars),
        sanitised=tuple(int(counts[1][cells].sum()) for _, cells in bars),
        changed=int(np.count_nonzero(before != after)),
        rows=table.rows,
    )


def draw_pairs(table: Table, plan: Plan, seed: int, emit: Emit, cancel: CancelToken) -> PreviewPairs:
    """Return the associations of the columns before and after a seeded draw; runs in a worker."""
    from workbench.privacy.entropy import SeededEntropy
    from workbench.sanitize.engine import draw
    from workbench.studies.association import associations

    leaving = [c for c in plan.columns if c.action != "drop"]
    chosen = sorted(leaving, key=lambda c: c.action != "protect")[:PAIR_COLUMNS]  # those that change come first
    chosen = [c for c in plan.columns if c in chosen]
    every = max(1, -(-table.rows // PAIR_ROWS))
    frame = table.frame.gather_every(every) if every > 1 else table.frame
    some = dataclasses.replace(table, frame=frame, first_line=None if every > 1 else table.first_line)
    made = draw(dataclasses.replace(plan, keep_order=True), some, SeededEntropy(seed), cancel=cancel)
    before, after = [], []
    grids = {c.column.name: c.grid for c in made.columns}
    for column in chosen:
        if column.name in grids:
            grid = grids[column.name]
            before.append(_variable(grid, grid.encode(some)))
            after.append(_variable(grid, made.cells[column.name]))
        else:
            before.append(_kept_variable(some, column))
            after.append(before[-1])
    emit(Progress(0, 2, "correlations"))
    original = associations(before, cancel)
    emit(Progress(1, 2, "correlations"))
    return PreviewPairs(
        names=tuple(v.name for v in before),
        numeric=tuple(v.numeric for v in before),
        original=original,
        sanitised=associations(after, cancel),
        rows=some.rows,
        of_rows=table.rows,
        left_out=len(leaving) - len(chosen),
    )


def _variable(grid: Grid, cells: Any) -> Variable:
    """Return the cells of a grid as numbers, or as codes with −1 for a missing value."""
    import numpy as np

    from workbench.studies.association import Variable

    if grid.cells.values is not None:
        return Variable(grid.attribute.name, grid.numbers_of(cells), numeric=True)
    codes = cells.astype(np.int64)
    return Variable(grid.attribute.name, np.where(codes == grid.cells.size, -1, codes), numeric=False)


def _kept_variable(table: Table, column: Column) -> Variable:
    """Return a column that is published as it is: numbers where it reads as such, else its different texts."""
    import polars as pl

    from workbench.data.values import numbers
    from workbench.params import InputError
    from workbench.studies.association import Variable

    if column.numeric:
        try:
            values = numbers(table, dataclasses.replace(column.facts(), missing="own-value"))
            return Variable(column.name, values, numeric=True)
        except InputError:
            pass  # nobody has to be able to read a column that is copied: its texts are compared
    codes = table.column(column.name).rank("dense").cast(pl.Int64).fill_null(0) - 1
    return Variable(column.name, codes.to_numpy(), numeric=False)


def _ranges(size: int, total: int, labels: list[str]) -> list[tuple[str, list[int]]]:
    """Return at most BARS ranges of neighbouring cells, and one bar for the missing cell where there is one."""
    # Every bar holds equally many cells (the last may hold fewer), so that heights compare.
    width = -(-size // BARS)
    made = []
    for start in range(0, size, width):
        stop = min(start + width, size)
        words = labels[start] if stop - start == 1 else f"{labels[start]} – {labels[stop - 1]}"
        made.append((words, list(range(start, stop))))
    return [*made, ("missing", [size])] if total > size else made
