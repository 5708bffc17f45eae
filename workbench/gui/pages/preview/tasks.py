"""Draw a preview: what a release could look like. From a key of this run, never released, and not to be copied.

Rows, spread and correlations of one draw are looks at one realisation (:mod:`workbench.sanitize.realisation`).

What a recipient can recover from a noisy column: the estimate of its mean or shares from one draw, with intervals.

It is made from the drawn cells and the public mechanism alone, as a recipient makes it from a release. The original
is beside it, so the whole is private.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.style.language import day, tr
from workbench.gui.widgets.distribution import Recovered
from workbench.gui.widgets.formatting import plain, rounded
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError
from workbench.studies.spreads_and_pairs import PAIR_COLUMNS, Pairs, Spread, bar_width, spread_of

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from workbench.data.table import Table
    from workbench.sanitize.estimates import Interval
    from workbench.sanitize.plan import Column, Plan
    from workbench.studies.association import Variable

LONG_COLUMNS = 20
"""Columns beyond which comparing them takes seconds, so that it is listed among the jobs and can be cancelled."""

Drawn = TypeVar("Drawn")

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


@dataclass(frozen=True, eq=False, kw_only=True)
class PreviewColumn(Spread):
    """How one column is spread before and after one draw over all rows. Private.

    Attributes:
        changed: rows whose cell became another one.
        rows: number of rows.
        original_cells: rows in each public cell, the missing one last where there is one.
        drawn_cells: the same after the draw: what a recipient sees.
    """

    changed: int
    rows: int
    original_cells: NDArray[np.int64]
    drawn_cells: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Source:
    """The rows of a preview: those of the open table, or made-up ones, of which the ledger notes nothing."""

    table: Table
    made_up: bool = False

    def look(
        self, plan: Plan, draw: Callable[[Table, Plan, Emit, CancelToken], Drawn]
    ) -> Callable[[Emit, CancelToken], Drawn]:
        """Return the work of one look: ``draw``, before which the ledger notes that rows of a table are shown."""

        def work(emit: Emit, cancel: CancelToken) -> Drawn:
            if self.made_up:
                from workbench.studies.why.rows import made_up_columns

                return draw(*made_up_columns(plan, self.table.rows), emit, cancel)
            from workbench.release.ledger.study_note import note_study

            note_study(self.table, "preview")
            return draw(self.table, plan, emit, cancel)

        return work


def preview_rows(
    source: Source, draft: DraftPlan, number: int, jobs: JobCenter, apply: Callable[[PreviewRows], None], **stated: Any
) -> JobHandle:
    """Draw the first rows; only the newest request counts."""
    look = source.look(draft.plan(), lambda table, plan, emit, cancel: draw_rows(table, plan, number, cancel))
    job = Job(tr("Drawing a preview"), look)
    return jobs.start(job, key=KEY_ROWS, shown=False, on_result=apply, **stated)


def preview_column(
    source: Source,
    draft: DraftPlan,
    name: str,
    number: int,
    jobs: JobCenter,
    apply: Callable[[PreviewColumn], None],
    **stated: Any,
) -> JobHandle:
    """Draw one protected column over all rows; only the newest request counts."""
    look = source.look(draft.plan(), lambda table, plan, emit, cancel: draw_column(table, plan, name, number, cancel))
    job = Job(tr("Drawing a preview"), look)
    return jobs.start(job, key=KEY_COLUMN, shown=False, on_result=apply, **stated)


def preview_pairs(
    source: Source, draft: DraftPlan, number: int, jobs: JobCenter, apply: Callable[[Pairs], None], **stated: Any
) -> JobHandle:
    """Draw all columns and compare how they go together; only the newest request counts."""
    from workbench.sanitize.realisation import SPACED_ROWS

    plan = draft.plan()
    look = source.look(plan, lambda table, plan, emit, cancel: draw_pairs(table, plan, number, emit, cancel))
    job = Job(tr("Comparing correlations"), look)
    long = len(plan.columns) > LONG_COLUMNS and source.table.rows > SPACED_ROWS // 10
    return jobs.start(job, key=KEY_PAIRS, shown=long, on_result=apply, **stated)


def draw_rows(table: Table, plan: Plan, number: int, cancel: CancelToken) -> PreviewRows:
    """Return the first rows before and after one draw; runs in a worker."""
    from workbench.sanitize.realisation import Realisation

    drawn = Realisation(table, plan, number, cancel)
    before = drawn.first.frame[list(_leaving(table, plan))]
    # A release shuffles the rows; here each is beside its original.
    after, changed = before, {}
    for column in plan.protected:
        one = drawn.first_rows(column.name)
        after = after.with_columns(one.grid.decode(one.after).alias(column.name))
        changed[column.name] = one.after != one.before
    return PreviewRows(before, after, changed, drawn.table.rows)


def draw_column(table: Table, plan: Plan, name: str, number: int, cancel: CancelToken) -> PreviewColumn:
    """Return the spread of one protected column before and after one draw; runs in a worker."""
    import numpy as np

    from workbench.sanitize.realisation import Realisation

    drawn = Realisation(table, plan, number, cancel).all_rows(name)
    grid = drawn.grid
    before, after = (np.bincount(cells, minlength=grid.cells.total) for cells in (drawn.before, drawn.after))
    return PreviewColumn(
        **vars(spread_of(grid, range(grid.cells.size + 1), before, after)),
        changed=int(np.count_nonzero(drawn.before != drawn.after)),
        rows=drawn.before.size,
        original_cells=before,
        drawn_cells=after,
    )


def draw_pairs(table: Table, plan: Plan, number: int, emit: Emit, cancel: CancelToken) -> Pairs:
    """Return the associations of the columns before and after one draw; runs in a worker."""
    from workbench.sanitize.realisation import Realisation
    from workbench.studies.association import variable

    leaving = [c for c in plan.columns if c.action != "drop"]
    chosen = sorted(leaving, key=lambda c: c.action != "protect")[:PAIR_COLUMNS]  # those that change come first
    chosen = [c for c in plan.columns if c in chosen]
    drawn = Realisation(table, plan, number, cancel)
    before, after = [], []
    for column in chosen:
        if column.action == "protect":
            one = drawn.spaced_rows(column.name)
            before.append(variable(one.grid, one.before))
            after.append(variable(one.grid, one.after))
        else:
            before.append(_kept_variable(drawn.spaced, column))
            after.append(before[-1])
    return Pairs.of(before, after, (drawn.spaced.rows, drawn.table.rows), len(leaving) - len(chosen), emit, cancel)


def _leaving(table: Table, plan: Plan) -> list[str]:
    """Return the names of the columns that leave, in the order of the table."""
    dropped = {c.name for c in plan.columns if c.action == "drop"}
    return [name for name in table.names if name not in dropped]


def _kept_variable(table: Table, column: Column) -> Variable:
    """Return a column that is published as it is: numbers where it reads as such, else its different texts."""
    import polars as pl

    from workbench.data.columns.values import numbers
    from workbench.studies.association import Variable

    if column.numeric:
        try:
            values = numbers(table, dataclasses.replace(column.facts(), missing="own-value"))
            return Variable(column.name, values, numeric=True)
        except InputError:
            pass  # nobody has to be able to read a column that is copied: its texts are compared
    codes = table.column(column.name).rank("dense").cast(pl.Int64).fill_null(0) - 1
    return Variable(column.name, codes.to_numpy(), numeric=False)


KEY_RECOVERED = "preview-recovered"
CONFIDENCE = 0.95


def preview_recovered(
    draft: DraftPlan, column: PreviewColumn, jobs: JobCenter, apply: Callable[[Recovered], None], **stated: Any
) -> JobHandle:
    """Estimate the original of a drawn column; only the newest request counts."""
    plan = draft.plan()

    def work(emit: Emit, cancel: CancelToken) -> Recovered:
        return recovered(plan, column, cancel)

    return jobs.start(
        Job(tr("Estimating from the preview"), work), key=KEY_RECOVERED, shown=False, on_result=apply, **stated
    )


def recovered(plan: Plan, column: PreviewColumn, cancel: CancelToken) -> Recovered:
    """Return what the drawn cells of ``column`` say of the original; runs in a worker."""
    import numpy as np

    from workbench.sanitize.calibrated import protected_column
    from workbench.sanitize.estimates import estimate_column

    protected = protected_column(plan, column.name)
    found = estimate_column(protected, column.drawn_cells, CONFIDENCE, cancel)
    if found.mean is None:
        return _of_names(column, found.frequencies or {})
    cells, values = protected.grid.cells, protected.grid.cells.values
    assert values is not None
    held = column.original_cells[: cells.size]
    truth = float(held @ values / held.sum()) if held.sum() else None
    middles = (np.arange(cells.size) + 0.5) / bar_width(cells.size)

    def place(value: float) -> float:
        return float(np.interp(value, values, middles))

    low, high = (min(max(end, values[0]), values[-1]) for end in (found.mean.low, found.mean.high))
    stated = _date if plan.column(column.name).kind == "date" else _number
    figures = {"mean": stated(found.mean.consistent), "low": stated(low), "high": stated(high)}
    words = (
        tr("Recovered from this draw: mean {mean} (95 %: {low} to {high}).", **figures)
        if truth is None
        else tr(
            "Recovered from this draw: mean {mean} (95 %: {low} to {high}); the original's is {truth}.",
            truth=stated(truth),
            **figures,
        )
    )
    return Recovered(
        column.name,
        words,
        mean=(place(low), place(found.mean.consistent), place(high)),
        truth=None if truth is None else place(truth),
    )


def _of_names(column: PreviewColumn, found: dict[str, Interval]) -> Recovered:
    rows = column.rows
    shares = {
        label: (max(i.low, 0.0) * rows, i.consistent * rows, min(i.high, 1.0) * rows) for label, i in found.items()
    }
    shown = [label for label in column.labels if label in found]
    widest = max(((found[label].high - found[label].low) / 2 for label in shown), default=0.0)
    before = dict(zip(column.labels, column.original, strict=True))
    stated = ", ".join(
        tr(
            "{value} {share} (original {before})",
            value=label,
            share=_percent(found[label].consistent),
            before=_percent(before[label] / rows),
        )
        for label in sorted(shown, key=lambda label: -before[label])[:2]
    )
    return Recovered(
        column.name,
        tr("Recovered from this draw, to about ± {widest}: {stated}.", widest=_percent(widest), stated=stated),
        shares=shares,
    )


def _percent(share: float) -> str:
    return f"{plain(float(f'{100 * share:.2g}'))} %"


def _number(value: float) -> str:
    return f"-{rounded(-value, 3)}" if value < 0 else rounded(value, 3)


def _date(value: float) -> str:
    return day(datetime.date.fromordinal(round(value)))
