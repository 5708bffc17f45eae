"""What the pages of central releases share: where the file goes, what it costs, what stands in the way, Release.

A page of its own says what is chosen, checks it in a worker, and shows what was released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLayout, QScrollArea, QWidget

from workbench.gui.pages.base import Page, PageFrame
from workbench.gui.pages.central_release import CentralFlow
from workbench.gui.pages.central_words import (
    TITLES,
    both_words,
    certainly_refused,
    error_of,
    left_text,
    left_words,
    replaced_words,
    short_words,
    what_remains,
)
from workbench.gui.pages.refusals import draft_refusal
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Facts, button, label, look, row, scrolled
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.formatting import in_full
from workbench.gui.widgets.output_name import beside, suggest
from workbench.gui.widgets.path_field import PathField
from workbench.params import WorkbenchError

REPLACED = "The same counted for neighbours of whom one person's rows are replaced by others"


@dataclass(frozen=True, kw_only=True)
class Released:
    """What a page releases, in the words it needs before anything is chosen.

    Attributes:
        name: begins the object names of the page's parts, and says of the session's steps which are of this page.
        question: the heading of the last question.
        file: what the file holds, for the tip of its field.
        ending: of the name that is suggested for the file, before its suffix.
        kinds: the kinds of files that can be chosen, as Qt's file dialog takes them.
    """

    name: str
    question: str
    file: str
    ending: str
    kinds: str
    suffix: str = ".csv"


class CentralPage(PageFrame):
    """The frame of a page that makes a central release.

    A subclass arranges the parts, calls :meth:`start_over_target` for another table, and overrides :meth:`refresh`.
    """

    def __init__(self, session: Session, jobs: JobCenter, page: Page, released: Released) -> None:
        super().__init__(session, jobs, page)
        self._what = released
        name = released.name
        self._cost: tuple[Decimal, Decimal] | None = None
        self._failure: WorkbenchError | None = None
        self._problem_found: WorkbenchError | None = None
        self._allowed: tuple[Decimal, Decimal] | None = None
        self._flow = CentralFlow(self, released.question)
        self._facts = Facts()
        self._problem = label("", "problem", wrap=True, name=f"{name}_problem")
        self._hint_page = "data"
        self._hint = button("", f"{name}_mend", "link")
        self._hint.clicked.connect(lambda: session.go(self._hint_page))
        self._use_rest = button("", f"{name}_use_rest", "link", tip="Lower ε and δ to what remains under the caps")
        self._use_rest.clicked.connect(self._use_what_remains)
        self._use_rest.hide()
        self._refusal = label("", "danger", wrap=True, name=f"{name}_refusal")
        self._refusal.hide()
        self._target = PathField(
            f"{name}_output", "File to release into", f"{released.file}. Its certificate is written beside it"
        )
        self._choose = button("Choose…", f"{name}_choose", tip="Choose the file to release into")
        self._choose.clicked.connect(self._choose_target)
        self._cancel = button("Cancel", f"{name}_cancel", tip="Stop; nothing is written")
        self._cancel.clicked.connect(self.escape)
        self._flow.changed.connect(self._flowed)
        self._flow.refused.connect(self._refuse)
        self._flow.failed.connect(self._failed)
        self._target.textChanged.connect(lambda _text: self.refresh())

    def refresh(self) -> None:
        """Show what can be pressed, what stands in the way, and the cost against the account."""
        raise NotImplementedError

    # -- its parts ------------------------------------------------------------------------------------------------

    def _scrolled(self, layout: QLayout) -> QScrollArea:
        """Return an area that scrolls ``layout`` up and down."""
        self._area = scrolled(layout, f"{self._what.name}_area")
        return self._area

    def _into_line(self, last: QWidget) -> QWidget:
        """Return the line with the file to release into, ``last`` at its end."""
        line = row(label("Release into"))
        line.addWidget(self._target, 1)
        line.addWidget(self._choose)
        line.addWidget(last)
        self._into = look(QWidget(), "clear")
        self._into.setLayout(line)
        return self._into

    def _release_buttons(self, pressed: Callable[[], None], tip: str) -> None:
        """Add Release, and the button that leads on once it is done, at the right end of the foot."""
        name, self._release_tip = self._what.name, tip
        self._release = self.set_primary("Release…", f"{name}_release", pressed, tip)
        self._onward = button("Ledger →", f"{name}_to_ledger", "primary", tip="See the charge, and what remains")
        self._onward.clicked.connect(lambda: self.session.go("ledger"))
        self.foot.addWidget(self._onward)

    # -- what is shown --------------------------------------------------------------------------------------------

    def _start_over_target(self) -> None:
        """Suggest a file for the table that is open."""
        opened, what = self.session.opened, self._what
        self._target.setText(str(beside(opened, what.ending, what.suffix)) if opened is not None else "")
        self._target.setModified(False)
        suggest(self.session, self.jobs, self._target, what.ending, what.suffix)

    def _show_release(self, *, ready: bool) -> None:
        """Enable Release where it can be paid for; offer the next page once these settings are released."""
        running = self._flow.job is not None
        done = self._done
        short = certainly_refused(self.session, *self._cost) if ready and self._cost is not None else ""
        self._release.setEnabled(ready and bool(self._target.text().strip()) and not short)
        self._release.setToolTip(f"{short} Raise the cap on the Ledger page first." if short else self._release_tip)
        self._onward.setText("Raise the cap →" if short and not done else "Ledger →")
        self._onward.setAccessibleName(self._onward.text())
        self._release.setText("Releasing…" if running else "Release again…" if done else "Release…")
        # What is highlighted, and what Ctrl+Return presses, must not be to pay twice.
        self.primary = self._onward if (done or short) and not running else self._release
        look(self._release, "primary" if self.primary is self._release else "")
        self._onward.setVisible(self.primary is self._onward)

    @property
    def _done(self) -> bool:
        """Whether just this plan was released in this way."""
        steps = self.session.released
        return any(step.central == self._what.name and step.plan == self.session.plan for step in steps)

    def _show_cancel(self, *, running: bool, keys: bool) -> None:
        """Show Cancel while something runs, and lock the name of the file meanwhile.

        Args:
            running: whether anything of the page runs.
            keys: whether one of the page's buttons had the keyboard before they were shown anew.
        """
        for part in (self._target, self._choose):
            part.setEnabled(not running)
        stopping = self.job is not None and self.job.stopping
        self._cancel.setVisible(running)
        self._cancel.setEnabled(not stopping)
        self._cancel.setText("Cancelling…" if stopping else "Cancel")
        if keys:  # a button that goes or greys would give them to another part of the window
            if running and not stopping:
                self._cancel.setFocus()
            else:
                self.take_keys()

    def _say_problem(self, text: str, hint: str) -> None:
        """Say what stands in the way, and offer the page ``hint`` where it is mended."""
        self._problem.setText(text)
        self._problem.setVisible(bool(text))
        self._hint_page = hint or "data"
        self._hint.setText(TITLES[self._hint_page])
        self._hint.setAccessibleName(self._hint.text())
        self._hint.setVisible(bool(text and hint))
        self._use_rest.hide()

    def _show_costs(self, cost: Decimal, delta: Decimal) -> None:
        """Show the charge, the figure for replaced rows and what remains; say so where the budget refuses it."""
        self._cost = cost, delta
        name = self._what.name
        self._facts.show_line(
            f"{name}_cost", "charged by Release", both_words(cost, delta), "accent", tip=in_full(cost)
        )
        self._facts.show_line(f"{name}_replace", "if a row is replaced", replaced_words(cost, delta), tip=REPLACED)
        left, kind = left_words(self.session, cost, delta)
        short = short_words(self.session, cost, delta)
        if short and self._done:  # what was just released needs no warning
            self._facts.show_line(f"{name}_left", "left for another", left, "muted")
            self._use_rest.hide()
            return
        self._facts.show_line(f"{name}_left", "left after it", left, kind)
        if short and not self._problem.text():
            self._say_problem(short, "ledger")
            rest = self._allowed = what_remains(self.session, cost, delta)
            self._use_rest.setVisible(rest is not None)
            if rest is not None:
                self._use_rest.setText(f"Use what remains ({left_text(*rest)})")

    def _no_costs(self, *others: str) -> None:
        """Show that nothing is known of the cost; hide the lines ``others`` too."""
        name = self._what.name
        self._facts.show_line(f"{name}_cost", "charged by Release", "–")
        for key in (f"{name}_replace", f"{name}_left", *others):
            self._facts.hide_line(key)

    def _scroll_to(self, part: QWidget) -> None:
        """Scroll to ``part`` once it is laid out."""
        QTimer.singleShot(0, self, lambda: self._area.ensureWidgetVisible(part, 0, 0))

    # -- what it does ---------------------------------------------------------------------------------------------

    def _use_what_remains(self) -> None:
        if self._allowed is not None:
            self._use(*self._allowed)

    def _use(self, epsilon: Decimal, delta: Decimal) -> None:
        """Put ε and δ into the fields of the page."""
        raise NotImplementedError

    def _path(self) -> Path:
        """Return the file to release into."""
        return Path(self._target.text().strip()).expanduser()

    def _refuse(self, stated: str) -> None:
        self._refusal.setText(stated)
        self._refusal.show()

    def _failed(self, error: BaseException) -> None:
        self._failure = error_of(error)

    def _flowed(self) -> None:
        if self._flow.job is None:
            suggest(self.session, self.jobs, self._target, self._what.ending, self._what.suffix)
        self.refresh()

    def _choose_target(self) -> None:
        path = ask_where_to_save(self, "Release into", self._target.text(), self._what.kinds)
        if path:
            self._target.choose(path)

    @property
    def job(self) -> JobHandle | None:
        """The release that the page's own Cancel stops."""
        return self._flow.job

    @property
    def refused(self) -> WorkbenchError | None:
        """Why it cannot be released, or was not when it was last asked for."""
        found = draft_refusal(self.session) or self.session.account.error or self._problem_found or self._failure
        if found is None and self._cost is not None and certainly_refused(self.session, *self._cost):
            return self.session.account.refusal(*self._cost)
        return found

    def escape(self) -> bool:
        """Cancel the release that is going on."""
        return self._flow.stop()
