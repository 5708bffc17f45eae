"""Run the study of what a private model costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.style.language import tr, tr_sentence
from workbench.gui.widgets.figures_first import follow_note
from workbench.jobs import Job
from workbench.processes.executor import cores
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:  # these load numpy, which the first paint does not wait for
    from workbench.studies.why.study import WhyPlan, WhyResult

KEY = "why"
FEW = 60
"""Models up to which starting worker processes takes longer than training here."""


def run_why(session: Session, jobs: JobCenter, plan: WhyPlan, *, generated: bool) -> JobHandle:
    """Train what explains the cost, on the open table or on as many made-up rows; the result goes to the session."""
    opened, target = session.opened, session.target
    assert opened is not None
    assert target is not None
    bounds = session.plan.plan()
    title = tr("Why {model} costs", model=tr_sentence(plan.learner.short or plan.learner.title))

    def work(emit: Emit, cancel: CancelToken) -> WhyResult:
        from workbench.release.ledger.study_note import note_study
        from workbench.studies.regimes import StudyData
        from workbench.studies.why.changes import CHANGES
        from workbench.studies.why.rows import Rows, generate
        from workbench.studies.why.study import STEPS, explain

        rows = Rows.of(StudyData.read(opened.table, bounds, target, plan.learner.task))
        if generated:
            rows = generate(rows.attributes, rows.target, plan.learner.task, opened.table.rows, plan.seed)
        else:
            note_study(opened.table, "why", emit=emit)
        few = plan.repeats * (len(STEPS) + len(CHANGES)) <= FEW
        return explain(plan, rows, jobs=1 if few else cores(), emit=emit, cancel=cancel)

    def apply(result: WhyResult) -> None:
        if session.opened is opened:
            session.add_run(RunRecord("why", f"{title}: {opened.title}", None, result, opened.title))

    return follow_note(session, jobs, jobs.start(Job(title, work), key=KEY, on_result=apply))
