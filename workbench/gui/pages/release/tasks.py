"""Release the table that is open: look at what was released before, then charge, draw, certify and write."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.project.source_stamp import changed_since
from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, ReleasedStep, Session
from workbench.gui.widgets.formatting import count
from workbench.jobs import Job
from workbench.params import BudgetRefusedError, InputError, ParameterError, WorkbenchError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Cancelled, Emit, Notice

if TYPE_CHECKING:
    from workbench.data.table import Table
    from workbench.release.table.release_table import TableRelease
    from workbench.sanitize.forecast import Forecast
    from workbench.sanitize.plan import Plan

FORECAST, LOOK, RELEASE = "release_forecast", "release_look", "release"


@dataclass(frozen=True)
class EarlierRelease:
    """A release of the same table by the same plan whose files still stand; to copy them costs nothing.

    Attributes:
        release_id: its name in the ledger.
        time: when it was charged, UTC.
        epsilon: what it cost.
        output: the released file.
    """

    release_id: str
    time: str
    epsilon: Decimal
    output: Path


@dataclass(frozen=True)
class BeforeRelease:
    """What is known before a release, and of which table, plan and file it is known.

    Attributes:
        opened: the table that would be released.
        plan: the plan it would be released by.
        target: the file it would be released into.
        outside: sentences on what the ε does not cover.
        earlier: the newest release of the same table by the same plan, or ``None``.
        replaces: whether a file already stands where the release will.
        refusal: what the ledger would say to the charge, ``None`` where the cap allows it.
        source_changed: what became of the file that was opened, if it is no longer as it was read; else empty.
        waiting: id of the finished release that only waits to be given this name, and is paid for; else empty.
    """

    opened: OpenTable
    plan: DraftPlan
    target: Path
    outside: tuple[str, ...]
    earlier: EarlierRelease | None
    replaces: bool
    refusal: BudgetRefusedError | None = None
    source_changed: str = ""
    waiting: str = ""

    def stands(self, session: Session) -> bool:
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
    session: Session, jobs: JobCenter, target: Path, decide: Callable[[BeforeRelease], None]
) -> None:
    """Find out whether this release was made before, and whether its file would replace another."""
    opened, draft = session.opened, session.plan
    assert opened is not None

    def work(emit: Emit, cancel: CancelToken) -> BeforeRelease:
        from workbench.release.table.release_table import format_of
        from workbench.sanitize.forecast import outside_guarantee

        format_of(target)
        _keep_source(target, opened)
        plan = draft.plan()
        _check_values(opened.table, plan, cancel)
        waiting = _waiting(opened.table, plan, target)
        return BeforeRelease(
            opened,
            draft,
            target,
            outside_guarantee(plan),
            earlier_release(opened.table, plan),
            target.exists(),
            None if waiting else _refusal(opened.table, plan),
            changed_since(opened.source, opened.stamp),
            waiting,
        )

    def apply(outlook: BeforeRelease) -> None:
        if outlook.stands(session):
            decide(outlook)

    jobs.start(Job("Looking at earlier releases", work), key=LOOK, on_result=apply)


def _check_values(table: Table, plan: Plan, cancel: CancelToken) -> None:
    """Refuse a value that its column's facts do not allow before anything is charged for it."""
    from workbench.sanitize.calibrated import protected_column
    from workbench.sanitize.engine import check_columns

    check_columns(plan, table)
    table = plan.rows_of(table)
    for column in plan.protected:
        cancel.check()
        protected_column(plan, column.name).grid.encode(table)


def earlier_release(table: Table, plan: Plan) -> EarlierRelease | None:
    """Return the newest release of ``table`` by ``plan`` whose files still stand as they were certified."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.table.certificate import certificate_path, read_certificate
    from workbench.release.table.open_release import plan_of
    from workbench.release.table.verify import verify_release

    with Ledger.open() as book:
        releases = book.releases(book.enter(book.identify(table)))
    for release in reversed(releases):
        output = Path(release.body.get("output", ""))
        certificate = certificate_path(output) if release.body.get("output") else output
        if release.status != "charged" or not output.is_file() or not certificate.is_file():
            continue
        try:
            document = read_certificate(certificate)
            same = document["release_id"] == release.release_id and plan_of(document, certificate) == plan.published()
            whole = same and not verify_release(output)
        except WorkbenchError:
            continue  # a certificate that cannot be read vouches for no file
        if whole:
            return EarlierRelease(release.release_id, release.time, release.epsilon, output)
    return None


def _waiting(table: Table, plan: Plan, target: Path) -> str:
    """Return the id of the finished draw that this release would publish without a charge, or nothing."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.table.release_table import waiting_draw

    with Ledger.open() as book:
        found = waiting_draw(book, target, plan, book.enter(book.identify(table)))
    return found.release.release_id if found is not None else ""


def _refusal(table: Table, plan: Plan) -> BudgetRefusedError | None:
    """Return what the ledger would say to the charge, without asking it to record a refusal."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.ledger.records import refusal
    from workbench.sanitize.forecast import charge_of

    with Ledger.open() as book:
        account = book.account(book.enter_for_release(table, plan.account))
    return refusal((charge_of(plan), Decimal(0)), account.standing_cap, account.used)


def release_plan(
    session: Session, jobs: JobCenter, outlook: BeforeRelease, worth: str, on_failure: Callable[[BaseException], None]
) -> JobHandle:
    """Release what was looked at and asked about, nothing else; the budget gauge follows whatever the end.

    Args:
        session: what is released, and told of it.
        jobs: where it runs.
        outlook: what was asked about.
        worth: what a recipient can learn from it, which its card repeats.
        on_failure: given the error.
    """
    opened, draft, target = outlook.opened, outlook.plan, outlook.target

    def work(emit: Emit, cancel: CancelToken) -> TableRelease:
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.table.release_table import release_table

        _keep_source(target, opened)
        with Ledger.open() as book:
            return release_table(draft.plan(), opened.table, target, book, emit, cancel)

    def apply(done: TableRelease) -> None:
        if session.opened is opened:
            session.add_release(
                ReleasedStep(
                    done.release_id,
                    done.output.parent,
                    draft,
                    done.epsilon_charged,
                    title=count(done.rows, "row"),
                    files=(("file", done.output), ("certificate", done.certificate)),
                    result=done,
                    worth=worth,
                )
            )
        if handle.too_late:
            session.tell("warning", f"It was too late to cancel: {done.output} stands, and its charge with it.")
        else:
            charged = "; nothing more was charged" if done.published_earlier else ""
            session.tell("info", f"Released {done.rows:,} rows to {done.output}{charged}.")

    def told_of_cancel() -> None:
        stays = handle.end.what if isinstance(handle.end, Cancelled) else ""
        if stays:
            session.tell("warning", f"{stays[0].upper()}{stays[1:]}.")
        elif not doubts:
            session.tell("info", "Cancelled: no file was written, and nothing is charged.")

    doubts: list[Notice] = []
    job = Job("Releasing", work, about=opened.title)
    handle = jobs.start(job, key=RELEASE, on_result=apply, on_failure=on_failure)
    # A ledger that could not be told of the end says so itself.
    handle.notice.connect(lambda notice: doubts.append(notice) if notice.level == "warning" else None)
    handle.cancelled.connect(told_of_cancel)
    handle.ended.connect(lambda: read_account(session, jobs))
    return handle


def copy_release(
    session: Session, jobs: JobCenter, earlier: EarlierRelease, folder: Path, done: Callable[[Path], None]
) -> None:
    """Copy a release and its certificate into ``folder``; nothing is drawn, nothing is charged."""

    def work(emit: Emit, cancel: CancelToken) -> Path:
        from workbench.release.atomic import write_output
        from workbench.release.table.certificate import certificate_path

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


def _keep_source(target: Path, opened: OpenTable) -> None:
    source = Path(opened.source)
    if not opened.is_sample and os.path.exists(target) and os.path.exists(source) and target.samefile(source):
        raise ParameterError("the release would replace the table it is made from", str(target), "name another file")
