"""The page of a release: where it is written to, Release and Cancel, the last question, the job and the refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPushButton, QWidget

from workbench.gui.gauges.cap_entry import FirstCap
from workbench.gui.pages.base import Page, PageFrame
from workbench.gui.pages.release_tasks import (
    Asked,
    BeforeRelease,
    again_question,
    copy_release,
    look_before_release,
    question,
    release_plan,
    waiting_question,
)
from workbench.gui.pages.run_page import draft_refusal
from workbench.gui.session.account_view import AccountView, ReleasedStep
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import again, tr, tr_later
from workbench.gui.widgets.basic import button, enable_if, into_sight, label, look, panel, row, say, stack
from workbench.gui.widgets.dialogs import ask_for_folder, ask_where_to_save, choose
from workbench.gui.widgets.formatting import at_most
from workbench.gui.widgets.output_name import beside, path_in, remember_folder, suggest
from workbench.gui.widgets.path_field import PathField
from workbench.gui.widgets.release_card import ReleasedCard
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import BudgetRefusedError, WorkbenchError
from workbench.release.ledger.records import Cap
from workbench.sanitize.plan import Plan

TABLES = tr_later(
    "CSV (*.csv *.csv.gz);;Tab-separated (*.tsv);;Excel (*.xlsx);;Parquet (*.parquet);;Feather (*.feather);;"
    "JSON Lines (*.jsonl)"
)
"""The kinds of files that hold a table, as Qt's file dialog takes them."""


@dataclass(frozen=True, kw_only=True)
class ReleaseWords:
    """What a page releases, in the words it needs before anything is chosen."""

    name: str  # begins the object names of the page's parts, and says of the session's steps which are of this page
    question: str  # the heading of the last question
    file: str  # what the file holds, for the tip of its field
    ending: str  # of the name that is suggested for the file, before its suffix
    tip: str = tr_later("Charge the budget, draw, certify and write")  # what Release does
    kinds: str = TABLES  # the kinds of files that can be chosen, as Qt's file dialog takes them
    suffix: str = ".csv"
    verb: str = tr_later("Release…")  # what is written on the button
    again: str = tr_later("Release again…")  # the same where just this was released
    names: Mapping[str, str] = field(default_factory=dict)  # object names of parts that do not follow from `name`

    def part(self, key: str) -> str:
        return self.names.get(key, f"{self.name}_{key}")


class ReleasePage(PageFrame):
    """The frame of a page that releases something: where into, Release, Cancel, the last question, the refusal.

    A subclass arranges the parts, says what is :meth:`asked` for, and overrides :meth:`refresh`.
    """

    def __init__(self, session: Session, jobs: JobCenter, page: Page, what: ReleaseWords) -> None:
        super().__init__(session, jobs, page)
        self._what = what
        self._releasing: JobHandle | None = None
        self._asking = False
        self._failure: WorkbenchError | None = None
        self._refusal = label("", "danger", wrap=True, name=what.part("refusal"), hidden=True)
        tip = tr("{file}. Its certificate is written beside it", file=tr(what.file))
        self._target = PathField(what.part("output"), tr("File to release into"), tip)
        self._choose = self._target.chooser(
            lambda: ask_where_to_save(self, tr("Release into"), self._target.text(), tr(self._what.kinds)),
            tr("Choose the file to release into"),
            name=what.part("choose"),
            text=tr("Choose…"),
        )
        self.add_cancel(button(tr("Cancel"), what.part("cancel"), tip=tr("Stop; nothing is written")))
        self._release = button(tr(what.verb), what.part("release"), tip=tr(what.tip), press=self._press)
        session.released_changed.connect(self.in_sight(self._suggest))

    def asked(self) -> Asked | None:
        """Return what would be released as things are; ``None`` where nothing can be."""
        raise NotImplementedError

    # -- its parts ------------------------------------------------------------------------------------------------

    def _into_line(self, last: QWidget | None = None) -> QWidget:
        """Return the line with the file to release into, ``last`` at its end."""
        line = row(
            label(tr("Release into")),
            (self._target, 1),
            self._choose,
            last or label(tr("with its certificate beside it"), "muted"),
        )
        self._into = look(panel(line), "clear")
        return self._into

    # -- what is shown --------------------------------------------------------------------------------------------

    def _start_over_target(self) -> None:
        opened, what = self.session.opened, self._what
        self._target.setText(str(beside(opened, what.ending, what.suffix)) if opened is not None else "")
        self._target.setModified(False)
        self._suggest()

    def _suggest(self) -> None:
        suggest(self.session, self.jobs, self._target, self._what.ending, self._what.suffix)

    def _lead(self, primary: QPushButton, *ways: QPushButton) -> None:
        """Highlight ``primary``, which Ctrl+Return presses; of the ``ways`` beside Release only that one is shown."""
        self.highlight(primary)
        for way in ways:
            way.setVisible(primary is way)

    def _name_release(self, *, done: bool) -> None:
        """Say on Release whether it runs, or would be pressed again."""
        stated = tr(self._what.again if done else self._what.verb)
        self._release.setText(stated if self._releasing is None else tr("Releasing…"))
        self._release.setAccessibleName(self._release.text())

    def show_cancel(self) -> None:
        """Show Cancel while something runs, and lock the name of the file meanwhile."""
        enable_if(not self.running, self._target, self._choose)
        super().show_cancel()

    # -- the release ----------------------------------------------------------------------------------------------

    def _press(self) -> None:
        asked = self.asked() if not self.running and not self._asking else None
        if asked is not None:
            self._refusal.hide()
            look_before_release(self.session, self.jobs, path_in(self._target), self._looked, self._failed, asked)

    def _looked(self, outlook: BeforeRelease) -> None:
        # A question that is asked from within the job's end would keep the job in the list until it is answered.
        QTimer.singleShot(0, self, lambda: self._decide(outlook))

    def _decide(self, outlook: BeforeRelease) -> None:
        """Ask for the last word, once, and do as it says."""
        if self._asking or self.running or not outlook.is_current(self.session):
            return
        if path_in(self._target) != outlook.target:  # another name was typed meanwhile: nobody has checked that file
            self._press()
            return
        self._asking = True
        try:
            self._ask(outlook)
        finally:
            self._asking = False

    def _ask(self, outlook: BeforeRelease) -> None:
        verdict, copied = outlook.verdict, tr("Copy the file that exists…")
        said, cap = last_word(self, tr(self._what.question), outlook, self.session.account, copied)
        if said == "yes":
            self._start(outlook, cap)
        elif said == "refused" and verdict.refusal is not None:
            self._failed(verdict.refusal)
        elif said == "copy" and (folder := ask_for_folder(self, tr("Copy the release into"))):
            assert verdict.earlier is not None
            copy_release(self.session, self.jobs, verdict.earlier, Path(folder), self._copied)

    def _copied(self, path: Path) -> None:
        self.session.notify("info", tr("Copied to {path}; nothing was charged.", path=path))

    def _start(self, outlook: BeforeRelease, cap: Cap | None = None) -> None:
        if not outlook.is_current(self.session):  # other work has ended while the question was open
            stated = tr("The table or its plan changed while the question was open: nothing was released.")
            self.session.notify("warning", stated)
            return
        remember_folder(outlook.target.parent)
        self._release.setFocus()  # also where Release was pressed on another page: the keyboard follows what is done
        self._releasing = release_plan(self.session, self.jobs, outlook, self._failed, cap)
        self.follow(self._releasing)

    def job_ended(self, handle: JobHandle) -> None:
        if handle is self._releasing:
            self._releasing = None

    def _failed(self, error: BaseException) -> None:
        self._failure = known_error(error)
        if not isinstance(error, BudgetRefusedError):
            self.session.report(error)
            return
        say(self._refusal, tr("✕ Refused, nothing was charged or written. {error}", error=sentence(error)))
        self.session.notify("info", tr("Refused: nothing was charged or written."))

    def certain_refusal(self) -> WorkbenchError | None:
        """Return why the request, or the ledger, is certain to refuse it; ``None`` where neither is."""
        return None

    @property
    def refused(self) -> WorkbenchError | None:
        """Why it cannot be released, or was not when it was last asked for."""
        return draft_refusal(self.session) or self.session.account.error or self._failure or self.certain_refusal()


def last_word(
    parent: QWidget, heading: str, outlook: BeforeRelease, account: AccountView, free: str
) -> tuple[str, Cap | None]:
    """Ask for the last word before ε is spent.

    Args:
        parent: asks.
        heading: the question.
        outlook: what is known of the release.
        account: who pays.
        free: the verb of what costs nothing where just this was released before.

    Returns:
        ``yes``, with the cap that is to be set before; ``copy`` for ``free``; ``refused`` where the ledger would refuse
        it and nothing was asked; or nothing.
    """
    pay, verdict = f"ε = {at_most(outlook.cost.epsilon)}", outlook.verdict
    if verdict.waiting:
        title = tr("Go on with the release?") if verdict.begun else tr("Publish the finished release?")
        verb = tr("Go on") if verdict.begun else tr("Publish it")
        return choose(parent, title, waiting_question(outlook), {"yes": verb}), None
    if verdict.earlier is not None:
        verbs = {"copy": free, "yes": tr("Pay {pay} again", pay=pay)}
        return choose(parent, tr("It was released before"), again_question(outlook, verdict.earlier), verbs), None
    if verdict.refusal is not None:
        return "refused", None
    first = FirstCap(account, outlook.cost.epsilon)
    verbs, entry = {"yes": tr("Release at {pay}", pay=pay)}, first if first.asked else None
    said = choose(parent, heading, question(outlook, account), verbs, entry=entry)
    return said, first.cap() if said else None


Read = Callable[[OpenTable, Path, "Plan | None", Emit, CancelToken], Any]
"""(original, released file, the plan it was released by where that is known, …) → what its view shows."""


class ReleasedPart(QWidget):
    """The newest release of a kind from the open table, and a look into it in a view that the page places below."""

    def __init__(
        self,
        page: ReleasePage,
        view: QWidget,
        read: Read,
        words: tuple[str, str],
        failed: str,
        *,
        kind: str = "",
    ) -> None:
        """Make it, hidden until there is such a release, of the page's own kind unless another is named.

        ``read`` reads the file in a worker for the ``view``, when a button with these ``words`` is pressed.
        """
        super().__init__()
        look(self, "clear")
        self._page = page
        self._session, self._jobs, self._name = page.session, page.jobs, kind or page._what.name
        self._with_card = not kind
        self._read_file, self._failed = read, failed
        self.step: ReleasedStep | None = None
        self._card: ReleasedCard | None = None
        pressed = button(tr(words[0]), f"{self._name}_look", tip=tr(words[1]), press=self._read)
        self._problem = label("", "problem", wrap=True, name=f"{self._name}_look_problem", hidden=True)
        self._view = view
        self._whole = stack(spacing=12)
        self.setLayout(self._whole)
        self._line = panel(row(pressed, None))
        self._whole.add(self._line, self._problem)
        self.hide()
        view.hide()

    def show_newest(self) -> None:
        step = self._session.newest_release(self._name)
        if step == self.step:
            return
        self.step = step
        if self._card is not None:
            self._card.hide()
            self._card.deleteLater()
            self._card = None
        self._show(None)
        self._problem.hide()
        self.setVisible(step is not None)
        self._line.setVisible(step is not None and bool(step.files))
        if step is not None:
            if self._with_card:
                self._card = ReleasedCard(step, self._jobs, f"{self._name}_release")
                self._whole.insertWidget(0, self._card)
            if step.result is not None:  # just made
                into_sight(self)
                self._read()

    def _show(self, found: Any) -> None:
        self._view.show_released(found)  # type: ignore[attr-defined]
        self._view.setVisible(found is not None)

    def _read(self) -> None:
        def show(found: Any) -> None:
            self._line.hide()
            self.setVisible(self._card is not None)
            self._show(found)
            into_sight(self._view)

        self.read(self._read_file, show)

    def read(
        self, read: Read, shown: Callable[[Any], object], title: str = tr_later("Reading the release")
    ) -> JobHandle | None:
        """Read the file in a worker, and hand on what was found while it is still of this release and table."""
        opened, step = self._session.opened, self.step
        if opened is None or step is None or not step.files:
            return None
        path = step.files[0][1]
        plan = step.plan.plan() if step.plan != DraftPlan() else None

        def show(found: Any) -> None:
            if step is self.step and opened is self._session.opened:
                self._problem.hide()
                shown(found)

        def failed(error: BaseException) -> None:
            if step is self.step:
                known = known_error(error)
                stated = tr("A fault of the program; see the log.") if known is None else sentence(known)
                say(self._problem, f"{again(self._failed)} {stated}")
                self.show()

        def work(emit: Emit, cancel: CancelToken) -> Any:
            return read(opened, path, plan, emit, cancel)

        job = Job(tr(title), work, about=path.name)
        return self._jobs.start(job, key=f"{self._name}-released", on_result=show, on_failure=failed)


def known_error(error: BaseException) -> WorkbenchError | None:
    """Return ``error`` where it is one that a person can put right."""
    return error if isinstance(error, WorkbenchError) else None
