"""Release the table that is open: look at what was released before, then charge, draw, certify and write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.project.source_stamp import changed_since
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.release_job import start_release
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.widgets.formatting import count
from workbench.jobs import Job
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.release.ledger.records import Cap
    from workbench.release.path import EarlierRelease, Prepared, Released, Verdict
    from workbench.sanitize.forecast import Forecast

FORECAST, LOOK, RELEASE = "release_forecast", "release_look", "release"


@dataclass(frozen=True)
class BeforeRelease:
    """What is known before a release, and of which table, plan and file it is known.

    Attributes:
        opened: the table that would be released.
        plan: the plan it would be released by.
        prepared: the release itself, checked.
        verdict: what the ledger says to it.
        outside: sentences on what the ε does not cover.
        replaces: whether a file already stands where the release will.
        source_changed: what became of the file that was opened, if it is no longer as it was read; else empty.
    """

    opened: OpenTable
    plan: DraftPlan
    prepared: Prepared
    verdict: Verdict
    outside: tuple[str, ...]
    replaces: bool
    source_changed: str = ""

    @property
    def target(self) -> Path:
        """The file it would be released into."""
        return self.prepared.to.path

    def is_current(self, session: Session) -> bool:
        """Return whether table and plan are still those that were looked at."""
        return session.opened is self.opened and session.plan == self.plan


def forecast_release(session: Session, jobs: JobCenter, show: Callable[[Forecast], None]) -> None:
    """Work out what the plan will publish and cost; ``show`` gets it unless the plan has changed meanwhile."""
    draft = session.plan

    def work(emit: Emit, cancel: CancelToken) -> Forecast:
        from workbench.sanitize.forecast import forecast

        return forecast(draft.plan())

    def apply(found: Forecast) -> None:
        if session.plan == draft:
            show(found)

    jobs.start(Job("Forecasting the release", work), key=FORECAST, shown=False, on_result=apply)


def look_before_release(
    session: Session,
    jobs: JobCenter,
    target: Path,
    decide: Callable[[BeforeRelease], None],
    on_failure: Callable[[BaseException], None] | None = None,
) -> None:
    """Find out whether this release was made before, is refused, or would replace another file."""
    opened, draft = session.opened, session.plan
    assert opened is not None

    def work(emit: Emit, cancel: CancelToken) -> BeforeRelease:
        from workbench.release.choosing import seen_before
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.path import check_values, destination, prepare_rows, verdict_on
        from workbench.sanitize.forecast import outside_guarantee

        to = destination(target, None if opened.is_sample else opened.source, replace=True)  # the question says so
        prepared = prepare_rows(draft.plan(), opened.table, to)
        check_values(prepared, cancel)
        with Ledger.open() as book:
            verdict = verdict_on(prepared, book)
            seen = seen_before(book.figures(verdict.account))
        return BeforeRelease(
            opened,
            draft,
            prepared,
            verdict,
            (*outside_guarantee(prepared.plan), *filter(None, [seen])),
            target.exists(),
            changed_since(opened.source, opened.stamp),
        )

    def apply(outlook: BeforeRelease) -> None:
        if outlook.is_current(session):
            decide(outlook)

    jobs.start(Job("Looking at earlier releases", work), key=LOOK, on_result=apply, on_failure=on_failure)


def release_plan(
    session: Session,
    jobs: JobCenter,
    outlook: BeforeRelease,
    on_failure: Callable[[BaseException], None],
    cap: Cap | None = None,
    worth: str = "",
) -> JobHandle:
    """Release what was looked at and asked about, nothing else; the budget gauge follows whatever the end.

    Args:
        session: hears of the release.
        jobs: runs it.
        outlook: what was asked about.
        on_failure: hears why it was not released.
        cap: of all releases together, where the person set it in the question.
        worth: what a recipient can learn from it, which its card repeats.
    """
    opened, draft = outlook.opened, outlook.plan

    def work(emit: Emit, cancel: CancelToken) -> Released:
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.path import release_prepared

        with Ledger.open() as book:
            if cap is not None:
                book.set_first_cap(book.enter_for_release(opened.table, outlook.prepared.plan.account), cap)
            return release_prepared(outlook.prepared, book, emit, cancel)

    def title(done: Released) -> str:
        return count(done.rows, "row")

    return start_release(session, jobs, RELEASE, opened, draft, work, title, on_failure, worth=worth)


def copy_release(
    session: Session, jobs: JobCenter, earlier: EarlierRelease, folder: Path, done: Callable[[Path], None]
) -> None:
    """Copy a release and its certificate into ``folder``; nothing is drawn, nothing is charged."""

    def work(emit: Emit, cancel: CancelToken) -> Path:
        from workbench.release.atomic import write_output
        from workbench.release.certificate import certificate_path

        target = folder / earlier.output.name
        for path in (target, certificate_path(target)):
            if path.exists():
                raise InputError("a file of that name is there already", str(path), "choose another folder")
        table, certificate = earlier.output.read_bytes(), certificate_path(earlier.output).read_bytes()
        # The certificate first: a copy of the table that stands has it beside it, whatever happens in between.
        write_output(certificate_path(target), certificate)
        try:
            write_output(target, table)
        except BaseException:
            certificate_path(target).unlink(missing_ok=True)
            raise
        return target

    jobs.start(Job("Copying the release", work), on_result=done)


def what_remains(draft: DraftPlan, remaining: Decimal) -> Decimal:
    """Return the largest plan ε that ``remaining`` pays for, in at most 15 digits and never a digit too much."""
    from decimal import ROUND_FLOOR, Context

    return Context(prec=15, rounding=ROUND_FLOOR).divide(remaining, Decimal(draft.rows_per_person))
