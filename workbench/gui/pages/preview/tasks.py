"""Draw a preview: what a release could look like. From a key of this run, never released, and not to be copied.

Rows, spread and correlations of one draw are looks at one realisation (:mod:`workbench.sanitize.realisation`). What is
recovered of a noisy column is made from the drawn cells and the public mechanism alone, as a recipient makes it from a
release; the original is beside it, so the whole is private.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from workbench.data.columns.values import numbers
from workbench.gui.style.language import day, tr, tr_later
from workbench.gui.widgets.distribution import Recovered
from workbench.gui.widgets.formatting import rounded, together, two_digits
from workbench.jobs import CancelToken, Emit
from workbench.params import InputError
from workbench.studies.association import Variable, variable
from workbench.studies.spreads_and_pairs import PAIR_COLUMNS, Pairs, Spread, bar_width, spread_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.data.table import Table
    from workbench.sanitize.estimates import Interval
    from workbench.sanitize.plan import Column, Plan

Drawn = TypeVar("Drawn")


@dataclass(frozen=True, eq=False)
class PreviewRows:
    """The first rows before and after one draw. Private."""

    original: pl.DataFrame  # the columns that would leave, as they are, shape (rows, columns)
    sanitised: pl.DataFrame  # the same rows after the draw
    changed: dict[str, NDArray[np.bool_]]  # (rows,) by protected column: whether the cell became another one
    rows: int  # how many rows the table has in all


@dataclass(frozen=True, eq=False, kw_only=True)
class PreviewColumn(Spread):
    """How one column is spread before and after one draw over all rows. Private."""

    changed: int  # rows whose cell became another one
    rows: int  # number of rows
    original_cells: NDArray[np.int64]  # rows in each public cell, the missing one last where there is one
    drawn_cells: NDArray[np.int64]  # the same after the draw: what a recipient sees


def look(
    table: Table, plan: Plan, draw: Callable[[Table, Plan, Emit, CancelToken], Drawn], *, made_up: bool
) -> Callable[[Emit, CancelToken], Drawn]:
    """Return the work of one look at a ``draw``: of the table, which the ledger notes first, or of made-up rows."""

    def work(emit: Emit, cancel: CancelToken) -> Drawn:
        if made_up:
            from workbench.studies.why.rows import made_up_columns

            return draw(*made_up_columns(plan, table.rows), emit, cancel)
        from workbench.release.ledger.study_note import note_study

        note_study(table, "preview")
        return draw(table, plan, emit, cancel)

    return work


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
    dropped = {c.name for c in plan.columns if c.action == "drop"}
    return [name for name in table.names if name not in dropped]


def _kept_variable(table: Table, column: Column) -> Variable:
    """Return a column that is published as it is: numbers where it reads as such, else its different texts."""
    if column.numeric:
        try:
            values = numbers(table, dataclasses.replace(column.facts(), missing="own-value"))
            return Variable(column.name, values, numeric=True)
        except InputError:
            pass  # nobody has to be able to read a column that is copied: its texts are compared
    codes = table.column(column.name).rank("dense").cast(pl.Int64).fill_null(0) - 1
    return Variable(column.name, codes.to_numpy(), numeric=False)


CONFIDENCE = 0.95


def recovered(plan: Plan, column: PreviewColumn, cancel: CancelToken) -> Recovered:
    """Return what the drawn cells of ``column`` say of the original; runs in a worker."""
    from workbench.sanitize.calibrated_columns import protected_column
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
    words = tr("Recovered from this draw: mean {mean} (95 %: {low} to {high}).", **figures)
    if truth is not None:
        figures["truth"] = stated(truth)
        beside = tr_later("Recovered from this draw: mean {mean} (95 %: {low} to {high}); the original's is {truth}.")
        words = tr(beside, **figures)
    mean = place(low), place(found.mean.consistent), place(high)
    return Recovered(column.name, words, mean=mean, truth=None if truth is None else place(truth))


def _of_names(column: PreviewColumn, found: dict[str, Interval]) -> Recovered:
    rows = column.rows
    shares = {
        label: (max(i.low, 0.0) * rows, i.consistent * rows, min(i.high, 1.0) * rows) for label, i in found.items()
    }
    shown = [label for label in column.labels if label in found]
    widest = max(((found[label].high - found[label].low) / 2 for label in shown), default=0.0)
    before = dict(zip(column.labels, column.original, strict=True))
    most = sorted(shown, key=lambda label: -before[label])[:2]
    parts = [(label, two_digits(found[label].consistent), two_digits(before[label] / rows)) for label in most]
    said = [tr("{value} {share} (original {before})", value=v, share=now, before=then) for v, now, then in parts]
    figures = {"widest": two_digits(widest), "stated": together(said)}
    words = tr("Recovered from this draw, to about ± {widest}: {stated}.", **figures)
    return Recovered(column.name, words, shares=shares)


def _number(value: float) -> str:
    return f"-{rounded(-value, 3)}" if value < 0 else rounded(value, 3)


def _date(value: float) -> str:
    return day(datetime.date.fromordinal(round(value)))
