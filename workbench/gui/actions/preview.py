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

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from workbench.data.table import Table
    from workbench.sanitize.plan import Plan

ROWS_SHOWN = 2000
BARS = 30
KEY_ROWS = "preview-rows"
KEY_COLUMN = "preview-column"


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
    from workbench.sanitize.engine import draw

    column = plan.column(name)
    if column.action != "protect":
        raise ParameterError("only a protected column is drawn", f"column {name}")
    share: Decimal = shares(plan)[name]
    alone = dataclasses.replace(
        plan, epsilon=float(share), keep_order=True, columns=(dataclasses.replace(column, epsilon=None),)
    )
    one = dataclasses.replace(table, frame=table.frame.select(name))
    made = draw(alone, one, SeededEntropy(seed), cancel=cancel)
    grid = made.columns[0].grid
    before, after = grid.encode(one), made.cells[name]
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
