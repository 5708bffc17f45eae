"""Compare a release with the open table: private, and noted in the ledger first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.figures_first import follow_note
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:  # it loads numpy
    from workbench.studies.quality.study import Quality

Failed = Callable[[BaseException], None]


def compare(
    session: Session, jobs: JobCenter, release: Path, show: Callable[[Quality], None], failed: Failed
) -> JobHandle:
    """Score released rows beside the open table."""
    opened, target = session.opened, session.target
    assert opened is not None

    def work(emit: Emit, cancel: CancelToken) -> Quality:
        from workbench.data.read import ReadOptions
        from workbench.release.ledger.study_note import note_study
        from workbench.release.own_release import note_unless_released
        from workbench.release.rows_beside import rows_of_release
        from workbench.studies.quality.study import QualityRequest, quality

        rows = rows_of_release(release, ReadOptions(), cancel)
        note_study(opened.table, "quality", emit=emit)
        note_unless_released(rows.table, "quality", emit=emit)
        asked = QualityRequest(target=target if target in rows.table.names else None)
        return quality(opened.table, rows.table, plan=rows.plan, request=asked, emit=emit, cancel=cancel)

    job = Job(tr("Comparing with the original"), work, about=release.name)
    return follow_note(session, jobs, jobs.start(job, key="quality", on_result=show, on_failure=failed))
