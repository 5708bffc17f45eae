"""Read the CSV of a sweep, and attack a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.figures_first import follow_note
from workbench.gui.widgets.formatting import count
from workbench.jobs import Job
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:  # these load numpy
    from workbench.gui.pages.compare.lines import Line
    from workbench.studies.grid.runs_file import FinishedRun
    from workbench.studies.membership import Repeated

SWEEP, ATTACKED = "compare_sweep", "membership"


@dataclass(frozen=True, eq=False)
class AttackedLine:
    """What an attack on a line found at an ε; the line by its key."""

    point: tuple[str, float | None]
    found: Repeated


def hindrance(session: Session, line: Line) -> str:
    """Return why a line cannot be attacked; empty where it can."""
    from workbench.studies.comparison import StudyLine

    if session.opened is None or (line.study is not None and session.target is None):
        return tr("Open the table and choose what is predicted in Data: an attack trains again.")
    if line.release is not None and (not line.release.card or line.release.account != session.account.dataset):
        return tr("An attack trains again: it needs the model's folder and the table that it was trained on.")
    if line.name not in learner_names() or not (line.study is None or isinstance(line.study, StudyLine)):
        return tr("A network is attacked in Released, Attack, with rows that were held out.")
    return ""


def learner_names() -> set[str]:
    """Return the names of the models that a study trains again."""
    from workbench import learners

    return {known.name for known in learners.LEARNERS}


def attack_line(session: Session, jobs: JobCenter, line: Line, epsilon: float | None) -> JobHandle:
    """Train a line again on halves of the rows and attack it; the outcome is a run of the session.

    The ledger notes it first, unless it is of made-up rows.
    """
    from workbench.gui.pages.compare.compare_table import point_of

    opened, target = session.opened, session.target
    assert opened is not None
    point, bounds = point_of(line, epsilon), session.plan.plan() if line.study is not None else None
    rows = opened.rows_under(session.plan)

    def work(emit: Emit, cancel: CancelToken) -> Repeated:
        from workbench.release.ledger.study_note import note_study

        if not line.made_up:
            note_study(opened.table, "attack", emit=emit)
        if line.release is not None:
            from workbench.release.attacked import guarantee_of
            from workbench.release.model.open_model import open_model
            from workbench.studies.membership import of_model, repeated

            folder = Path(line.release.output)
            model, promised = open_model(folder), guarantee_of(folder)
            return repeated(lambda seed: of_model(model, opened.table, promised, seed), emit, cancel)
        from workbench.learners import learner
        from workbench.studies.comparison import StudyLine
        from workbench.studies.membership import of_study, repeated
        from workbench.studies.regimes import StudyData
        from workbench.studies.why.rows import made_up_table

        study = line.study
        assert isinstance(study, StudyLine)
        assert bounds is not None
        assert target is not None
        plan, task = study.result.plan, learner(line.name).task
        table = made_up_table(bounds, target, task, rows) if line.made_up else opened.table
        data = StudyData.read(table, bounds, target, task)
        at = epsilon or plan.epsilons[0]
        return repeated(lambda seed: of_study(plan, study.way, at, data, seed), emit, cancel)

    title = tr("Attack on {model}", model=line.model)

    def apply(found: Repeated) -> None:
        if session.opened is opened:
            attacked = AttackedLine(point, found)
            session.add_run(RunRecord(ATTACKED, title, None, attacked, line.dataset, made_up=line.made_up))

    return follow_note(session, jobs, jobs.start(Job(title, work), key="compare_attack", on_result=apply))


def read_sweep(path: Path, session: Session, jobs: JobCenter) -> None:
    """Read the CSV of a sweep and add it to the runs of the session."""

    def work(emit: Emit, cancel: CancelToken) -> Sequence[FinishedRun]:
        from workbench.studies.grid.runs_file import read_runs

        runs = read_runs(path)
        if not runs:
            raise InputError(tr("no run of the sweep has ended"), str(path), tr("run `workbench grid` on"))
        return runs

    def apply(runs: Sequence[FinishedRun]) -> None:
        session.add_run(RunRecord("sweep", f"Sweep: {path.name}", None, runs, path.stem))
        session.notify("info", tr("{runs} of {name} are listed.", runs=count(len(runs), "run"), name=path.name))

    jobs.start(Job(tr("Reading a sweep"), work), key=SWEEP, on_result=apply, on_failure=session.report)
