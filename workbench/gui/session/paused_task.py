"""Find the trainings on the open table that were interrupted and can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_number
from workbench.jobs import Job
from workbench.params import WorkbenchError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.release.model.paused_training import PausedTraining

KEY = "paused"


def find_paused(session: Session, jobs: JobCenter, *, notify: bool = False) -> None:
    """Look for them; ``notify`` whether to say so where there is one."""
    opened = session.open_data
    if opened is None:
        session.set_paused(())
        return

    def work(emit: Emit, cancel: CancelToken) -> tuple[PausedTraining, ...]:
        from workbench.release.kept_run import runs_folder

        if not runs_folder().is_dir() or not any(runs_folder().iterdir()):
            return ()  # the libraries of networks take a second to load
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.model.paused_training import paused_trainings

        try:
            with Ledger.read() as book:
                return paused_trainings(book, opened.table)
        except WorkbenchError:
            return ()  # the gauge says what is wrong with the ledger; nothing goes on without it

    def show(found: tuple[PausedTraining, ...]) -> None:
        if session.open_data is not opened:
            return
        session.set_paused(found)
        if notify and found:
            run = found[0]
            stated = tr(
                "A training on {title} is paused after {taken} of {steps} steps: go on with it in Models, Train.",
                title=opened.title,
                taken=tr_number(run.taken, ","),
                steps=tr_number(run.steps, ","),
            )
            session.notify("info", stated)

    jobs.start(Job(tr("Looking for paused trainings"), work), key=KEY, shown=False, on_result=show)
