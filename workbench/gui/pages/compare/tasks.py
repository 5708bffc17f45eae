"""Read the CSV of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.formatting import count
from workbench.jobs import Job
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.studies.grid.runs_file import FinishedRun

SWEEP = "compare_sweep"


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
