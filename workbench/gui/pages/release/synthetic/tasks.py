"""What the Synthetic rows page starts: a check of the settings, a private preview, and a look at what was released.

A preview is drawn from a key of this process: nobody can draw it again, and nothing of it can be released.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.gui.pages.release_tasks import Chosen
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable
from workbench.gui.style.language import tr, tr_n, tr_number
from workbench.gui.widgets.formatting import count
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError
from workbench.privacy.entropy import KeyedEntropy
from workbench.synth.base import COUNTS
from workbench.synth.columns import coarse_columns

if TYPE_CHECKING:
    import polars as pl

    from workbench.data.table import Table
    from workbench.sanitize.plan import Plan
    from workbench.studies.synthetic_comparison import Compared
    from workbench.synth.columns import CoarseColumn
    from workbench.synth.needs import Needs

KEY_PREVIEW = "synthetic-preview"
SHOWN_ROWS = 2000

_KEY = secrets.token_bytes(32)


@dataclass(frozen=True)
class Checked:
    """What is counted for synthetic rows: tables, choices of a pair, and the most parts that a range is cut into."""

    tables: int
    selections: int
    cuts: int
    needs: Needs

    @property
    def counted(self) -> str:
        stated = count(self.tables, "noisy table")
        if not self.selections:
            return stated
        choices = tr_n("{n} noisy choice of a pair", "{n} noisy choices of a pair", self.selections)
        return f"{stated}, {choices}"


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """The first rows of a released table as text, and how many it has: public."""

    frame: pl.DataFrame
    rows: int


def needs_words(needs: Needs) -> str:
    """Return time and memory of a synthesis as a person reads them."""
    s = needs.seconds
    time = tr("a second") if s < 2 else count(round(s), "second") if s < 90 else count(round(s / 60), "minute")
    return tr("{time} and {size} MB of memory", time=time, size=tr_number(max(needs.bytes / 1e6, 1), ".0f"))


def checked(plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Checked:
    """Return what the release would count, from public facts alone."""
    from workbench.synth.needs import needs_of

    method, setting = _setting(plan, rows, chosen)
    cancel.check()
    counted = [query.form == COUNTS for query in method.queries(setting)]
    cuts = max((column.cuts for column in setting.columns if column.ordered), default=0)
    needs = needs_of(method, setting, chosen.request.rows or rows)
    return Checked(sum(counted), len(counted) - sum(counted), cuts, needs)


def preview(
    opened: OpenTable,
    draft: DraftPlan,
    chosen: Chosen,
    number: int,
    jobs: JobCenter,
    apply: Callable[[Compared], None],
    on_failure: Callable[[BaseException], None],
) -> JobHandle:
    """Draw synthetic rows from a seeded stream and compare them with the original; only the newest request counts."""

    def work(emit: Emit, cancel: CancelToken) -> Compared:
        return drawn_preview(opened, draft.plan(), chosen, number, emit, cancel)

    job = Job(tr("Drawing a private preview"), work, about=opened.title)
    return jobs.start(job, key=KEY_PREVIEW, on_result=apply, on_failure=on_failure)


def drawn_preview(
    opened: OpenTable, plan: Plan, chosen: Chosen, number: int, emit: Emit, cancel: CancelToken
) -> Compared:
    """Return the comparison of one private draw; runs in a worker. Nothing is charged and nothing can be released."""
    from workbench.release.ledger.study_note import note_study
    from workbench.sanitize.engine import check_columns
    from workbench.studies.synthetic_comparison import compared
    from workbench.synth.columns import coded
    from workbench.synth.synthesis import cost_of_synthesis, synthesised
    from workbench.work.noise import Study

    plan = plan.unrounded() if chosen.request.cuts is None else plan  # automatic cuts: noisy rows alone are rounded
    check_columns(plan, opened.table)
    table = plan.rows_of(opened.table)
    if not table.rows:
        raise InputError(tr("the table has no rows"), hint=tr("open another one"))
    method, setting = _setting(plan, table.rows, chosen)
    note_study(opened.table, "synthetic", emit=emit)
    name = str(number).encode()
    seed = [int(word) for word in KeyedEntropy(_KEY, b"noise", name).words(4)]
    entropy = KeyedEntropy(_KEY, b"rows", name)
    ask = Study(np.random.default_rng(seed), entropy).ask(cost_of_synthesis(method, setting))
    original = coded(setting.columns, table, cancel)
    drawn = synthesised(method, setting, original, chosen.request.rows or table.rows, ask, emit, cancel)
    places = {column.name: place for place, column in enumerate(setting.columns)}

    def fine(column: CoarseColumn) -> Any:
        place = places[column.name]
        return setting.columns[place].draw(drawn.codes[:, place], entropy)

    columns = coarse_columns([column.facts() for column in plan.protected])
    return compared(columns, table, fine, chosen.request.target, plan, emit, cancel)


def released_rows(opened: OpenTable, path: Path, plan: Plan | None, emit: Emit, cancel: CancelToken) -> ReleasedRows:
    """Return the rows of a released table; runs in a worker, and reads nothing of the original."""
    released = _certified(path, cancel)[2]
    return ReleasedRows(released.frame.head(SHOWN_ROWS), released.rows)


def _certified(path: Path, cancel: CancelToken) -> tuple[dict[str, Any], Plan, Table]:
    from workbench.release.certificate import certificate_path, read_any_certificate
    from workbench.release.open_release import certified_rows

    document = read_any_certificate(certificate_path(path))
    return document, *certified_rows(path, document, certificate_path(path), cancel)


def released_beside(opened: OpenTable, path: Path, plan: Plan | None, emit: Emit, cancel: CancelToken) -> Compared:
    """Return the comparison of a released table with the original, which is private; runs in a worker."""
    from workbench.release.ledger.study_note import note_study
    from workbench.release.open_release import released_cells
    from workbench.sanitize.engine import check_columns
    from workbench.studies.synthetic_comparison import compared

    document, certified, released = _certified(path, cancel)
    if plan is not None and any(certified.column(c.name).cells != c.cells for c in plan.protected if c.numeric):
        plan = plan.unrounded()  # its rounding was for noisy rows
    plan = plan or certified
    check_columns(plan, opened.table)
    note_study(opened.table, "synthetic", emit=emit)
    columns = coarse_columns([column.facts() for column in plan.protected])
    return compared(
        columns,
        plan.rows_of(opened.table),
        lambda column: released_cells(column.grid, released),
        document["request"]["target"],
        plan,
        emit,
        cancel,
    )


def _setting(plan: Plan, rows: int, chosen: Chosen) -> Any:
    from workbench.release.synthetic.synthesis_work import synthesis_setting

    return synthesis_setting(plan, chosen.epsilon, rows, chosen.request, chosen.delta)
