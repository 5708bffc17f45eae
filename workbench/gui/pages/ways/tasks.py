"""Foresee what each way to release is good for, and try on the rows what a model learns from each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.widgets.figures_first import follow_note
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:  # these load numpy, which the first paint does not wait for
    from workbench.studies.curve import CurveResult
    from workbench.studies.ways import Ways

FORESEE, TRY = "ways", "ways-trial"
REPEATS = 10
TITLES = {
    "none": "The rows themselves",
    "sanitized:plan": "Noisy rows",
    "corrected:plan": "Noisy rows, corrected",
    "synthetic:marginals": "Synthetic rows",
    "private": "A private model",
}
"""What a model is trained on in each regime of the trial."""


def foresee(session: Session, jobs: JobCenter) -> JobHandle:
    """Work out what each way is good for at the plan's ε; no row is read."""
    opened = session.opened
    assert opened is not None
    plan, rows = session.plan.plan(), opened.table.rows

    def work(emit: Emit, cancel: CancelToken) -> Ways:
        from workbench.studies.ways import compare_ways

        return compare_ways(plan, rows, cancel=cancel)

    return jobs.start(Job("Ways to release", work), key=FORESEE, shown=False)


def try_on_rows(session: Session, jobs: JobCenter) -> JobHandle:
    """Train a model of the target on each kind of release at the plan's ε: a private study; nothing leaves."""
    opened, target = session.opened, session.target
    assert opened is not None
    assert target is not None
    bounds = session.plan.plan()

    def work(emit: Emit, cancel: CancelToken) -> CurveResult:
        from workbench.learners.tasks import CLASSIFICATION, REGRESSION
        from workbench.processes.executor import cores
        from workbench.release.ledger.study_note import note_study
        from workbench.studies.curve import CurvePlan, run_curve
        from workbench.studies.regimes import StudyData

        numeric = bounds.column(target).numeric
        plan = CurvePlan(
            model="linear-regression" if numeric else "naive-bayes",
            regimes=tuple(TITLES),
            epsilons=(float(bounds.row_epsilon()),),
            repeats=REPEATS,
        )
        data = StudyData.read(opened.table, bounds, target, REGRESSION if numeric else CLASSIFICATION)
        note_study(opened.table, "ways", emit=emit)
        return run_curve(plan, data, jobs=cores(), emit=emit, cancel=cancel)

    return follow_note(session, jobs, jobs.start(Job("Trying the ways to release", work), key=TRY))
