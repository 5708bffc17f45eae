"""Compare a release with the open table, and write the report on it; both private, and noted in the ledger first."""

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
        from workbench.release.rows_beside import rows_of_release
        from workbench.studies.quality.study import QualityRequest, quality

        rows = rows_of_release(release, ReadOptions(), cancel)
        note_study(opened.table, "quality", emit=emit)
        asked = QualityRequest(target=target if target in rows.table.names else None)
        return quality(opened.table, rows.table, plan=rows.plan, request=asked, emit=emit, cancel=cancel)

    job = Job(tr("Comparing with the original"), work, about=release.name)
    return follow_note(session, jobs, jobs.start(job, key="quality", on_result=show, on_failure=failed))


def quasi_of(session: Session) -> tuple[str, ...]:
    """Return the columns that an outsider may know: those with that role, else the first protected ones."""
    from workbench.release.risk_report import MOST_KNOWN, QUASI

    columns = session.plan.columns
    stated = tuple(column.name for column in columns if column.role == QUASI)
    if stated:
        return stated
    known = (column.name for column in columns if column.action == "protect" and column.name != session.target)
    return tuple(known)[:MOST_KNOWN]


def save_report(
    session: Session, jobs: JobCenter, release: Path | None, path: Path, done: Callable[[], object], failed: Failed
) -> JobHandle:
    """Write the report on the open table, or on a release of it."""
    from workbench.release.risk_report import SENSITIVE

    opened, quasi = session.opened, quasi_of(session)
    assert opened is not None
    stated = (column.name for column in session.plan.columns if column.role == SENSITIVE)
    sensitive = next(stated, session.target)

    def work(emit: Emit, cancel: CancelToken) -> None:
        from workbench.release.documents.risk_document import risk_document
        from workbench.release.documents.written_document import check_document_path, write_document
        from workbench.release.risk_report import ReportRequest, risk_report

        check_document_path(path)
        asked = ReportRequest(quasi=quasi or None, sensitive=sensitive)
        write_document(risk_document(risk_report(opened.table, release, request=asked, emit=emit, cancel=cancel)), path)

    def apply(_result: None) -> None:
        done()

    job = Job(tr("Writing the report"), work, about=path.name)
    return follow_note(session, jobs, jobs.start(job, key="risk report", on_result=apply, on_failure=failed))
