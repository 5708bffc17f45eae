"""A central release from the window: look what it would do, ask for the last word, charge, compute, certify and write.

What is released (synthetic rows, …) is the page's matter: it hands over a function that describes the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from workbench.gui.gauges.budget import HIGH, first_words, high_words
from workbench.gui.gauges.first_cap import FirstCap
from workbench.gui.pages.base import PageFrame
from workbench.gui.project.source_stamp import changed_since
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobHandle
from workbench.gui.session.release_job import start_release
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.widgets.dialogs import choose, confirm
from workbench.gui.widgets.formatting import at_most, exactly
from workbench.gui.widgets.output_name import remember_folder, written_words
from workbench.gui.widgets.stopping import ask_to_stop
from workbench.jobs import Job
from workbench.params import BudgetRefusedError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.release.ledger.records import Cap
    from workbench.release.path import Prepared, Released, Verdict
    from workbench.sanitize.plan import Plan
    from workbench.work.work import Work

LOOK, RELEASE = "central_look", "central_release"


@dataclass(frozen=True)
class CentralOutlook:
    """What is known before a central release, and of which table, plan and file it is known.

    Attributes:
        opened: the table it would be made from.
        plan: the plan whose public facts it would use.
        prepared: the release itself, checked.
        verdict: what the ledger says to it.
        outside: sentences on what the ε does not cover.
        replaces: whether a file already stands where the release will.
        source_changed: what became of the file that was opened, if it is no longer as it was read; else empty.
        title: what is released, in words: ``2,000 synthetic rows``.
    """

    opened: OpenTable
    plan: DraftPlan
    prepared: Prepared
    verdict: Verdict
    outside: tuple[str, ...]
    replaces: bool
    source_changed: str
    title: str

    @property
    def cost(self) -> Decimal:
        """What it is charged."""
        return self.prepared.cost.epsilon

    @property
    def delta(self) -> Decimal:
        """δ that it is charged."""
        return self.prepared.cost.delta

    @property
    def target(self) -> Path:
        """The file it would be released into."""
        return self.prepared.to.path

    def is_current(self, session: Session) -> bool:
        """Return whether table and plan are still those that were looked at."""
        return session.opened is self.opened and session.plan == self.plan


class CentralFlow(QObject):
    """From the press of Release to the end of the job, for one page.

    Signals:
        changed: a release began, is being cancelled, or has ended.
        refused: (str) why the cap does not allow it, with both numbers.
        failed: (exception) why it was not released, whatever the reason.
    """

    changed = Signal()
    refused = Signal(str)
    failed = Signal(object)

    def __init__(self, page: PageFrame, question: str) -> None:
        """Make it for ``page``; ``question`` is the heading of the last question."""
        super().__init__(page)
        self._page, self._session, self._jobs, self._question = page, page.session, page.jobs, question
        self._asking = False
        self._handle: JobHandle | None = None
        self._target = Path()

    @property
    def job(self) -> JobHandle | None:
        """The release that is going on."""
        return self._handle

    def ask(
        self,
        target: Path,
        make_work: Callable[[Plan, int, str], Work],
        title: str,
        formats: Mapping[str, str] | None = None,
    ) -> None:
        """Look what the release into ``target`` would do, and ask for the last word.

        Args:
            target: the file.
            make_work: (plan, number of rows, format of the file) describes it; called in a worker.
            title: what is released, in words.
            formats: the format of each suffix that the file may have; those of tables by default.
        """
        session = self._session
        opened, draft = session.opened, session.plan
        if opened is None or self._handle is not None or self._asking:
            return

        def work(emit: Emit, cancel: CancelToken) -> CentralOutlook:
            return _looked(opened, draft, target, make_work, title, formats, cancel)

        def apply(outlook: CentralOutlook) -> None:
            # A question that is asked from within the job's end would keep the job in the list until it is answered.
            QTimer.singleShot(0, self, lambda: self._decide(outlook))

        self._target = target
        self._jobs.start(Job("Looking before the release", work), key=LOOK, on_result=apply, on_failure=self._fail)

    def stop(self) -> bool:
        """Cancel the release that is going on; return whether there was one."""
        if self._handle is None or self._handle.stopping:
            return False
        ask_to_stop(self._page, self._handle)
        self.changed.emit()
        return True

    def _fail(self, error: BaseException) -> None:
        self.failed.emit(error)
        if isinstance(error, BudgetRefusedError):
            self.refused.emit(f"✕ Refused, nothing was charged or written. {sentence(error)}")
            self._session.notify("info", "Refused: nothing was charged or written.")
        else:
            self._session.report(error)

    def _decide(self, outlook: CentralOutlook) -> None:
        """Ask for the last word, once, and do as it says."""
        stale = self._target != outlook.target or not outlook.is_current(self._session)
        if self._asking or self._handle is not None or stale:
            return
        self._asking = True
        try:
            answer, cap = self._answer(outlook)
        finally:
            self._asking = False
        if not answer:
            return
        if not outlook.is_current(self._session):  # other work has ended while the question stood
            stated = "The table or its plan changed while the question stood: nothing was released."
            self._session.notify("warning", stated)
            return
        remember_folder(outlook.target.parent)
        self._handle = _released(self._session, self._page, outlook, self._fail, cap)
        self._handle.ended.connect(self._ended)
        self.changed.emit()

    def _answer(self, outlook: CentralOutlook) -> tuple[bool, Cap | None]:
        cost, path, verdict = outlook.cost, outlook.target, outlook.verdict
        replaced = written_words(outlook.opened, path, outlook.source_changed, replaces=outlook.replaces)
        if verdict.waiting:
            text = (
                f"This release was finished (release {verdict.waiting}), is paid for and not yet saved to "
                f"{path.name}. Publishing it costs nothing more.{replaced}"
            )
            return confirm(self._page, "Publish the finished release?", text, "Publish it"), None
        if verdict.refusal is not None:
            self._fail(verdict.refusal)
            return False, None
        delta = f" and δ = {float(outlook.delta):.3g}" if outlook.delta else ""
        high = f"\n\n⚠ {high_words(cost)}" if cost > HIGH else ""
        outside = "".join(f"\n• {sentence}" for sentence in outlook.outside)
        outside = f"\n\nOutside the guarantee:{outside}" if outside else ""
        first_cap = first_words(self._session.account, cost)
        text = (
            f"This charges ε = {at_most(cost)}{exactly(cost)}{delta} and writes {outlook.title} to {path.name}; "
            f"nothing is uploaded. It cannot be undone.{first_cap}{high}{outside}{replaced}"
        )
        first = FirstCap(self._session.account, cost)
        verbs = {"yes": f"Release at ε = {at_most(cost)}"}
        said = choose(self._page, self._question, text, verbs, entry=first if first.asked else None)
        return said == "yes", first.cap() if said == "yes" else None

    def _ended(self) -> None:
        self._handle = None
        self.changed.emit()


def _looked(
    opened: OpenTable,
    draft: DraftPlan,
    target: Path,
    make_work: Callable[[Plan, int, str], Work],
    title: str,
    formats: Mapping[str, str] | None,
    cancel: CancelToken,
) -> CentralOutlook:
    """Return what is known before the release; nothing is recorded. Runs in a worker."""
    from workbench.release.certificate import outside
    from workbench.release.choosing import seen_before
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.path import check_values, destination, prepare, verdict_on
    from workbench.release.rows_work import FORMATS

    plan = draft.plan()
    source = None if opened.is_sample else opened.source
    to = destination(target, source, formats=formats or FORMATS, replace=True)  # the question says so
    work = make_work(plan, opened.rows_under(draft), to.format)
    prepared = prepare(plan, opened.table, to, work)
    check_values(prepared, cancel)
    with Ledger.open() as book:
        verdict = verdict_on(prepared, book)
        seen = seen_before(book.figures(verdict.account))
    return CentralOutlook(
        opened,
        draft,
        prepared,
        verdict,
        (*outside(plan, work.columns), *filter(None, [seen])),
        target.exists(),
        changed_since(opened.source, opened.stamp),
        title,
    )


def _released(
    session: Session,
    page: PageFrame,
    outlook: CentralOutlook,
    on_failure: Callable[[BaseException], None],
    cap: Cap | None,
) -> JobHandle:
    """Release what was looked at and asked about, nothing else; the budget gauge follows whatever the end."""
    opened, jobs = outlook.opened, page.jobs

    def work(emit: Emit, cancel: CancelToken) -> Released:
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.path import release_prepared

        with Ledger.open() as book:
            if cap is not None:
                book.set_first_cap(book.account_of(outlook.verdict.account), cap)
            return release_prepared(outlook.prepared, book, emit, cancel, account=outlook.verdict.account)

    kind = outlook.prepared.work.kind
    return start_release(
        session, jobs, RELEASE, opened, outlook.plan, work, lambda _: outlook.title, on_failure, central=kind
    )
