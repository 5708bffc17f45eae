"""The button of the report on a table or a release: asks where, measures and attacks in a job, saves; private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QPushButton

from workbench.data.databases.address import address_of
from workbench.data.schema import QUASI, SENSITIVE
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import button
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.release_card import PAPERS
from workbench.jobs import CancelToken, Emit, Job

MOST_KNOWN = 6  # columns that are taken to be known where nobody says which are

BUNDLE = tr_later("Bundle with the report, for those who may see the rows (*.bundle)")


@dataclass(frozen=True)
class Reported:
    """What a report is about."""

    original: OpenTable | Path  # the rows
    release: Path | None = None  # what was released of them: a file, or the folder of a model
    control: Path | None = None  # rows of other people, who were not released


def report_button(session: Session, jobs: JobCenter, name: str, about: Callable[[], Reported | None]) -> QPushButton:
    """Return the button; ``about`` gives what the report is about, or ``None`` where something is missing."""
    tip = tr("Risk, attacks, what ε allows and what is not covered, as PDF or HTML; private")
    made = button(tr("Report…"), name, tip=tip)

    def press() -> None:
        given = about()
        if given is None or not private_figures.may_show(made, session):
            return
        beside = given.release or _named(given.original)
        usual = f"{beside.name.replace(':', '-')}.risk.pdf"
        place = str(beside.with_name(usual)) if beside.is_absolute() else usual
        forms = tr(PAPERS) if given.release is None else f"{tr(PAPERS)};;{tr(BUNDLE)}"
        path = ask_where_to_save(made, tr("Save the report (private)"), place, forms)
        if path:
            made.setEnabled(False)
            _save(session, jobs, given, Path(path), made)

    made.clicked.connect(press)
    return made


def _named(original: object) -> Path:
    if not isinstance(original, OpenTable):
        return Path("table")
    return Path(original.title if address_of(original.source) is not None else original.source)


def known_columns(session: Session) -> tuple[str, ...]:
    """Return the columns that an outsider may know: those with that role, else the first protected ones."""
    columns = session.plan.columns
    stated = tuple(column.name for column in columns if column.role == QUASI)
    if stated:
        return stated
    known = (column.name for column in columns if column.action == "protect" and column.name != session.target)
    return tuple(known)[:MOST_KNOWN]


def _save(session: Session, jobs: JobCenter, given: Reported, path: Path, pressed: QPushButton) -> None:
    own = given.original is session.opened
    quasi = known_columns(session) if own else ()
    columns = session.plan.columns if own else None
    stated = (column.name for column in session.plan.columns if column.role == SENSITIVE)
    sensitive = next(stated, session.target) if own else None

    def work(emit: Emit, cancel: CancelToken) -> None:
        from workbench.data.table_reader import read_table
        from workbench.release.bundle import check_bundle_place
        from workbench.release.documents.risk_document import risk_document
        from workbench.release.documents.written_document import check_document_path, write_document
        from workbench.release.risk_report import ReportRequest, risk_report
        from workbench.release.verification import write_bundle_with_report

        bundle = given.release is not None and path.suffix == ".bundle"
        if bundle:
            check_bundle_place(path)
        else:
            check_document_path(path)
        original = given.original.table if isinstance(given.original, OpenTable) else read_table(given.original)
        control = None if given.control is None else read_table(given.control, cancel=cancel)
        asked = ReportRequest(quasi=quasi or None, sensitive=sensitive)
        report = risk_report(original, given.release, control, columns=columns, request=asked, emit=emit, cancel=cancel)
        document = risk_document(report)
        cancel.check()  # the last chance: nothing is written after a cancel
        if bundle:
            assert given.release is not None
            write_bundle_with_report(document, given.release, path, cancel=cancel)
        else:
            write_document(document, path)

    def done(_result: None) -> None:
        session.notify("info", tr("Saved {path}: private, for those who may see the rows.", path=str(path)))

    job = Job(tr("Writing the report"), work, about=path.name)
    handle = jobs.start(job, key="risk report", on_result=done, on_failure=session.report)
    private_figures.follow_note(session, jobs, handle)
    handle.ended.connect(lambda: pressed.setEnabled(True))
