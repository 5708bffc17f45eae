"""Run the study of a model's metrics against ε, and save what it gave."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from workbench.gui.pages.curve_actions import against_words
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.style.language import tr, tr_n, tr_sentence
from workbench.gui.widgets.private_figures import follow_note
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError
from workbench.paths import user_data
from workbench.processes.executor import cores
from workbench.signals import Notice
from workbench.studies.regimes import PLANNED

if TYPE_CHECKING:  # these load numpy, which the first paint does not wait for
    from workbench.data.table import Table
    from workbench.render.values import CurveFigure
    from workbench.sanitize.plan import Plan
    from workbench.studies.curve import CurvePlan, CurveResult, Journal
    from workbench.studies.regimes import StudyData
    from workbench.studies.results import Row

KEY = "curve"
EVERY = 0.25  # seconds between two pictures of a study that runs

FEW = 40  # models up to which starting worker processes takes longer than training here


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A study as far as it has come."""

    result: CurveResult  # the figures so far; its plan names only the regimes that have any
    figures: dict[str, CurveFigure]  # the picture of each metric, the task's main one first
    done: int  # number of models trained
    total: int  # number of models asked for


Live = deque[Snapshot]  # where a running study leaves its newest snapshot, of at most one; taken by the window


def studied(session: Session, plan: CurvePlan | None = None) -> object:
    """Return what a study rests on besides its own plan, to be compared: it is of this target and of these facts.

    Mechanisms are among it only where ``plan`` sanitises as the session's plan says. Its ε is not, as a study has its
    own; of a locked share it is the part of ε that counts.
    """
    draft = session.plan
    planned = plan is not None and any(way.on_a_table and way.mechanism == PLANNED for way in plan.ways)
    columns = tuple(
        dataclasses.replace(
            column,
            mechanism=column.mechanism if planned else "auto",
            epsilon=None if column.epsilon is None else Decimal(f"{column.epsilon / draft.epsilon:.6g}"),
        )
        for column in draft.columns
    )
    return session.target, columns


def run_study(session: Session, jobs: JobCenter, plan: CurvePlan, live: Live, *, made_up: bool = False) -> JobHandle:
    """Train every model of ``plan`` on the open table, or on as many made-up rows; what is trained is kept."""
    opened = session.opened
    target = session.target
    assert opened is not None
    assert target is not None
    bounds = session.plan.plan()
    rows = opened.rows_under(session.plan)
    source = tr("made-up rows for {title}", title=opened.title) if made_up else opened.title
    title = against_words(plan.measured.main, plan.compared[0].replace("_", " "))

    def apply(snapshot: Snapshot) -> None:
        if session.opened is opened:
            session.add_run(RunRecord("curve", f"{title}: {source}", None, snapshot.result, source, made_up=made_up))

    def work(emit: Emit, cancel: CancelToken) -> Snapshot:
        if made_up:
            from workbench.learners import learner
            from workbench.studies.why.rows import made_up_table

            table = made_up_table(bounds, target, learner(plan.model).task, rows)
        else:
            table = opened.table
        return study(plan, table, bounds, target, source, live, emit, cancel, note=not made_up)

    return follow_note(session, jobs, jobs.start(Job(title, work), key=KEY, on_result=apply))


def study(
    plan: CurvePlan,
    table: Table,
    bounds: Plan,
    target: str,
    source: str,
    live: Live,
    emit: Emit,
    cancel: CancelToken,
    *,
    note: bool = True,
) -> Snapshot:
    """Run the study and leave snapshots on the way; runs in a worker. ``note``: whether these are private rows."""
    from workbench.learners import learner
    from workbench.release.ledger.study_note import note_study
    from workbench.studies.curve import CurveResult, constant_levels, run_curve
    from workbench.studies.regimes import StudyData
    from workbench.studies.results import Tally

    chosen = learner(plan.model)
    data = StudyData.read(table, bounds, target, chosen.task)
    chosen.require(data.columns, data.target)
    cancel.check()
    if note:
        note_study(table, "curve", emit=emit)
    levels = constant_levels(plan, data)
    total = len(plan.fits())
    rows: list[Row] = []
    tally = Tally()
    drawn = -EVERY
    done = 0

    def on_rows(fresh: tuple[Row, ...]) -> None:
        nonlocal drawn, done
        rows.extend(fresh)
        for row in fresh:
            tally.add(row)
        done += 1
        if time.monotonic() - drawn >= EVERY and (not plan.against or any(row.regime != "none" for row in rows)):
            so_far = CurveResult(plan, tuple(rows), tally.points(), levels, len(data.y))
            live.append(_snapshot(so_far, source, done, total, private=note))
            drawn = time.monotonic()

    jobs = cores() if total > FEW else 1
    with _journal(plan, data, emit) as journal:
        result = run_curve(
            plan, data, jobs=jobs, emit=emit, cancel=cancel, journal=journal, on_rows=on_rows, levels=levels
        )
        if journal is not None:
            journal.discard()
    return _snapshot(result, source, total, total, private=note)


def _journal(plan: CurvePlan, data: StudyData, emit: Emit) -> contextlib.AbstractContextManager[Journal | None]:
    from workbench.studies.curve import Journal, identity

    try:
        journal = Journal.open(user_data() / "unfinished", identity(plan, data))
    except InputError as error:
        emit(Notice("info", tr("This study cannot be continued after a stop: {why}", why=tr_sentence(str(error)))))
        return contextlib.nullcontext()
    if journal.done:
        kept = tr_n(
            "{n} model is kept from a run that was stopped.",
            "{n} models from a stopped run are kept.",
            len(journal.done),
        )
        emit(Notice("info", kept))
    return journal


def _snapshot(result: CurveResult, source: str, done: int, total: int, *, private: bool) -> Snapshot:
    """Return the pictures of ``result``, of which some regimes, ε and repeats may still be missing.

    Those of made-up rows are not ``private``, and have no badge.
    """
    from workbench.render.curve_figure import curve_figure

    plan = result.plan
    seen = {point.regime for point in result.points}
    # Workers end in any order: a line is drawn from left to right.
    points = tuple(sorted(result.points, key=lambda point: (plan.names.index(point.regime), point.epsilon)))
    if not plan.against:  # else there are always the same ways
        plan = dataclasses.replace(plan, regimes=tuple(name for name in plan.regimes if name in seen))
    result = dataclasses.replace(result, plan=plan, points=points)
    known = {point.metric for point in points}
    names = (metric.name for metric in plan.measured.metrics)
    figures = {name: curve_figure(result, source, name) for name in names if name in known}
    if not private:
        figures = {name: dataclasses.replace(figure, badge="") for name, figure in figures.items()}
    return Snapshot(result, figures, done, total)


def figures_of(results: Sequence[CurveResult]) -> str:
    """Return the figures of a study as CSV; of several models with a column that names them."""
    from workbench.studies.comparison import lines_csv, study_lines
    from workbench.studies.curve import in_order
    from workbench.studies.results import to_csv

    if len(results) == 1:
        return to_csv(in_order(results[0].plan, results[0].rows))
    return lines_csv(("", line.name, line.rows()) for result in results for line in study_lines(result))
