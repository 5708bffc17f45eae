"""What a recipient can recover from a noisy column: the estimate of its mean or shares from one draw, with intervals.

It is made from the drawn cells and the public mechanism alone, as a recipient makes it from a release. The original
stands beside it, so the whole is private.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.gui.pages.preview.tasks import PreviewColumn, bar_width
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.style.language import day, tr
from workbench.gui.widgets.compared import Recovered
from workbench.gui.widgets.formatting import plain, rounded
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.sanitize.estimates import Interval
    from workbench.sanitize.plan import Plan

KEY = "preview-recovered"
CONFIDENCE = 0.95


def preview_recovered(
    draft: DraftPlan, column: PreviewColumn, jobs: JobCenter, apply: Callable[[Recovered], None], **stated: Any
) -> JobHandle:
    """Estimate the original of a drawn column; only the newest request counts."""
    plan = draft.plan()

    def work(emit: Emit, cancel: CancelToken) -> Recovered:
        return recovered(plan, column, cancel)

    return jobs.start(Job(tr("Estimating from the preview"), work), key=KEY, shown=False, on_result=apply, **stated)


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
