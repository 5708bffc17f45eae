"""Synthetic rows: choose, look at a private draw, release, and look at what was released."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QWidget

from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.central_release import CentralFlow
from workbench.gui.pages.central_words import (
    PAID,
    RUNNING,
    TITLES,
    both_words,
    error_of,
    left_words,
    release_hindrance,
    replaced_words,
    short_words,
    steps_words,
)
from workbench.gui.pages.refusals import draft_refusal
from workbench.gui.pages.synthetic import PAGE
from workbench.gui.pages.synthetic.messages import ABOUT, FREE, NEEDS_TIP, counted, hindrance, needed
from workbench.gui.pages.synthetic.tasks import Checked, check, preview
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, Facts, button, label, look, row, stack
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.empty_state import NothingYet
from workbench.gui.widgets.formatting import at_most, count, in_full
from workbench.gui.widgets.output_name import beside, suggest
from workbench.gui.widgets.path_field import PathField
from workbench.gui.widgets.way_bar import WayBar
from workbench.params import WorkbenchError

if TYPE_CHECKING:
    from workbench.gui.pages.synthetic.comparing import Compared

ENDING, SUFFIX = "synthetic", ".csv"
KINDS = "CSV (*.csv);;Tab-separated (*.tsv);;Parquet (*.parquet)"


class SyntheticPage(PageFrame):
    """The settings and their cost, the private preview, the release and what was released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        self.header.addWidget(WayBar(session, PAGE.name))
        from workbench.gui.pages.synthetic.choices import ChoicesCard
        from workbench.gui.pages.synthetic.comparison_card import ComparisonCard
        from workbench.gui.pages.synthetic.released import ReleasedPart

        self._checked: Checked | None = None
        self._problem_found: WorkbenchError | None = None
        self._failure: WorkbenchError | None = None
        self._drawing: JobHandle | None = None
        self._draw = 0
        self._flow = CentralFlow(self, "Draw and release new synthetic rows?")
        self._choices = ChoicesCard(session)
        self._facts = Facts()
        self._about = label(ABOUT, "muted", wrap=True, name="synthetic_about")
        self._problem = label("", "problem", wrap=True, name="synthetic_problem")
        self._mend_page = "data"
        self._mend = button("", "synthetic_mend", "link")
        self._mend.clicked.connect(lambda: session.go(self._mend_page))
        self._refusal = label("", "danger", wrap=True, name="synthetic_refusal")
        self._again = button("Draw a preview", "synthetic_preview_start", tip=FREE)
        self._again.clicked.connect(self._preview)
        self._preview_card = ComparisonCard(session, "synthetic_preview", "A PRIVATE PREVIEW")
        self._released = ReleasedPart(session, jobs)
        self._target = PathField(
            "synthetic_output",
            "File to release into",
            "The synthetic table; .csv, .tsv or .parquet. Its certificate is written beside it",
        )
        self._choose = button("Choose…", "synthetic_choose", tip="Choose the file to release into")
        self._choose.clicked.connect(self._choose_target)
        self._nothing = NothingYet(session, "synthetic_nothing", "No table yet", "data", "Go to Data")
        self._nothing.say("Open a table and declare its public facts; then new rows of its shape can be drawn here.")
        self._arrange()
        self._cancel = button("Cancel", "synthetic_cancel", tip="Stop; nothing is written")
        self._cancel.clicked.connect(self.escape)
        self.foot.addWidget(self._cancel)
        self.foot.addWidget(self._again)
        self._release = self.set_primary(
            "Release…", "synthetic_release", self._ask, "Charge the budget, count, draw, certify and write the file"
        )
        self._onward = button("Ledger →", "synthetic_to_ledger", "primary", tip="See the charge, and what remains")
        self._onward.clicked.connect(lambda: session.go("ledger"))
        self.foot.addWidget(self._onward)
        self._choices.changed.connect(self._changed)
        self._flow.changed.connect(self._flowed)
        self._flow.refused.connect(self._refuse)
        self._flow.failed.connect(self._failed)
        session.table_changed.connect(self.in_sight(self._start_over))
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        session.account_changed.connect(self.in_sight(self.refresh))
        session.released_changed.connect(self.in_sight(self._show_newest))
        self._start_over()

    # -- what is shown --------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        cost = Card(label("WHAT IT COSTS", "caption"), self._facts, self._problem, self._mend, spacing=6)
        cost.body.addStretch(1)
        above = row(spacing=12)
        above.addWidget(self._choices, 3)
        above.addWidget(cost, 2)
        top = look(QWidget(), "clear")
        top.setLayout(above)
        inner = look(QWidget(), "clear")
        layout = stack(self._about, top, spacing=12)
        inner.setLayout(layout)
        top.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        layout.addWidget(self._released)
        layout.addWidget(self._preview_card, 1)
        self._rest = look(QWidget(), "clear")
        layout.addWidget(self._rest, 1)
        self._inner = inner
        self._area = QScrollArea()
        self._area.setObjectName("synthetic_area")
        self._area.setWidget(inner)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        line = row(label("Release into"))
        line.addWidget(self._target, 1)
        line.addWidget(self._choose)
        line.addWidget(label("with its certificate beside it", "muted"))
        self._into = look(QWidget(), "clear")
        self._into.setLayout(line)
        self.body.addWidget(self._nothing, 1)
        self.body.addWidget(self._area, 1)
        self.body.addWidget(self._into)
        self.body.addWidget(self._refusal)
        self._refusal.hide()

    def _start_over(self) -> None:
        """Show another table: nothing of the former one stays."""
        opened = self.session.opened
        self._forget_preview()
        self._target.setText(str(beside(opened, ENDING, SUFFIX)) if opened is not None else "")
        self._target.setModified(False)
        suggest(self.session, self.jobs, self._target, ENDING, SUFFIX)
        self._choices.start_over()
        self._released.show_newest()
        self._changed()

    def _forget_preview(self) -> None:
        """Show no draw of another table or plan, and wait for none."""
        if self._drawing is not None:
            former, self._drawing = self._drawing, None
            former.cancel()
        self._draw = 0
        self._preview_card.show_compared(None)

    def _plan_changed(self) -> None:
        self._forget_preview()
        self._choices.follow()
        self._changed()

    def _changed(self) -> None:
        """Check other settings: what they would count and cost."""
        self._checked, self._problem_found, self._failure = None, None, None
        self._refusal.hide()
        opened, choice = self.session.opened, self._choices.value()
        if opened is not None and choice is not None and not hindrance(self.session)[0]:
            draft = self.session.plan

            def apply(found: Checked) -> None:
                if (self.session.opened, self.session.plan, self._choices.value()) == (opened, draft, choice):
                    self._checked = found
                    self._choices.show_cuts(found.cuts)
                    self.refresh()

            def failed(error: BaseException) -> None:
                if error_of(error) is None:
                    self.session.report(error)
                self._problem_found = error_of(error)
                self.refresh()

            check(opened, draft, choice, self.jobs, apply, failed)
        self.refresh()

    def _show_newest(self) -> None:
        """Show what was just released; what was drawn before it is no longer needed."""
        if self._drawing is None:
            self._forget_preview()
        self._released.show_newest()
        if self._released.isVisibleTo(self):
            QTimer.singleShot(0, self, lambda: self._area.ensureWidgetVisible(self._released, 0, 0))
        self.refresh()

    def refresh(self) -> None:
        """Show what can be pressed, what stands in the way, and the cost against the account."""
        steps = steps_words(self.session) if self.session.plan.ready else ""
        self._about.setText(f"{ABOUT} {steps}".rstrip())
        session, opened = self.session, self.session.opened
        for part in (self._area, self._into, self._again, self._release):
            part.setVisible(opened is not None)
        self._nothing.setVisible(opened is None)
        drawn, running = self._drawing is not None, self._flow.job is not None
        hinder, mend = hindrance(session) if opened is not None else ("", "")
        keep, keep_mend = release_hindrance(session) if opened is not None and not hinder else ("", "")
        problem = hinder or (sentence(self._problem_found) if self._problem_found is not None else "")
        self._say_problem(problem or keep, mend or ("" if problem else keep_mend))
        self._show_cost()
        ready = self._checked is not None and not hinder and not drawn and not running
        keys = self.has_keys(self._release, self._again, self._cancel, self._onward)
        self._again.setEnabled(ready)
        self._again.setText("Another draw" if self._draw else "Draw a preview")
        self._release.setEnabled(ready and not keep and bool(self._target.text().strip()))
        released = any(step.central == "synthetic" and step.plan == session.plan for step in session.released)
        self._release.setText("Releasing…" if running else "Release again…" if released else "Release…")
        # What is highlighted, and what Ctrl+Return presses, must not be to pay twice.
        self.primary = self._onward if released and not running else self._release
        look(self._release, "primary" if self.primary is self._release else "")
        self._onward.setVisible(self.primary is self._onward)
        self._choices.enable(not running)
        self._target.setEnabled(not running)
        self._choose.setEnabled(not running)
        stopping = self.job is not None and self.job.stopping
        self._cancel.setVisible(drawn or running)
        self._cancel.setEnabled(not stopping)
        self._cancel.setText("Cancelling…" if stopping else "Cancel")
        self._preview_card.setVisible(self._draw > 0)
        self._rest.setVisible(self._draw == 0 and not self._released.isVisibleTo(self))
        if keys:  # a button that goes or greys would give them to another part of the window
            if (drawn or running) and not stopping:
                self._cancel.setFocus()
            else:
                self.take_keys()
        self.set_note("" if opened is None else RUNNING if running else FREE if drawn or keep else PAID)

    def _say_problem(self, text: str, mend: str) -> None:
        self._problem.setText(text)
        self._problem.setVisible(bool(text))
        self._mend_page = mend or "data"
        self._mend.setText(TITLES[self._mend_page])
        self._mend.setAccessibleName(self._mend.text())
        self._mend.setVisible(bool(text and mend))

    def _show_cost(self) -> None:
        found = self._checked
        if found is None:
            self._facts.show_line("synthetic_cost", "charged by Release", "–")
            for key in ("synthetic_replace", "synthetic_left", "synthetic_counts", "synthetic_needs"):
                self._facts.hide_line(key)
            return
        cost = both_words(found.cost, found.delta)
        self._facts.show_line("synthetic_cost", "charged by Release", cost, "accent", tip=in_full(found.cost))
        told = "The same counted for neighbours of whom one person's rows are replaced by others"
        replaced = replaced_words(found.cost, found.delta)
        self._facts.show_line("synthetic_replace", "if a row is replaced", replaced, tip=told)
        left, kind = left_words(self.session, found.cost)
        self._facts.show_line("synthetic_left", "left after it", left, kind)
        self._facts.show_line("synthetic_counts", "spent on", counted(found))
        self._facts.show_line("synthetic_needs", "takes about", needed(found), tip=NEEDS_TIP)
        short = short_words(self.session, found.cost)
        if short and not self._problem.text():
            self._say_problem(short, "ledger")

    # -- what it does ---------------------------------------------------------------------------------------------

    def _preview(self) -> None:
        opened, choice = self.session.opened, self._choices.value()
        if opened is None or choice is None or self._drawing is not None or self._flow.job is not None:
            return
        number = self._draw + 1

        def apply(found: Compared) -> None:
            if self._drawing is handle:
                self._draw = number
                rows = count(found.rows, "row")
                told = f"draw {number}, {rows} by {choice.method} at ε = {at_most(choice.epsilon)}"
                self._preview_card.show_compared(found, told)
                self.refresh()
                if number == 1:
                    QTimer.singleShot(0, self, lambda: self._area.ensureWidgetVisible(self._preview_card, 0, 0))

        handle = preview(opened, self.session.plan, choice, number, self.jobs, apply, self._failed_preview)
        self._drawing = handle
        handle.cancelling.connect(self.refresh)
        handle.ended.connect(lambda: self._drawn(handle))
        self.refresh()

    def _failed_preview(self, error: BaseException) -> None:
        self._failure = error_of(error)
        self.session.report(error)

    def _drawn(self, handle: JobHandle) -> None:
        if self._drawing is handle:
            self._drawing = None
            self.refresh()

    def _ask(self) -> None:
        choice = self._choices.value()
        if choice is not None and self._checked is not None and self._checked.choice == choice:
            self._refusal.hide()
            target = Path(self._target.text().strip()).expanduser()
            self._flow.ask(target, choice.work, count(choice.rows, "synthetic row"))

    def _refuse(self, told: str) -> None:
        self._refusal.setText(told)
        self._refusal.show()

    def _failed(self, error: BaseException) -> None:
        self._failure = error_of(error)

    def _flowed(self) -> None:
        if self._flow.job is None:
            suggest(self.session, self.jobs, self._target, ENDING, SUFFIX)
        self.refresh()

    def _choose_target(self) -> None:
        path = ask_where_to_save(self, "Release into", self._target.text(), KINDS)
        if path:
            self._target.choose(path)

    @property
    def job(self) -> JobHandle | None:
        """The preview or the release that the page's own Cancel stops."""
        return self._flow.job or self._drawing

    @property
    def refused(self) -> WorkbenchError | None:
        """Why synthetic rows cannot be released, or were not when they were last asked for."""
        return draft_refusal(self.session) or self.session.account.error or self._problem_found or self._failure

    def escape(self) -> bool:
        """Cancel the release or the preview that is going on."""
        if self._flow.stop():
            return True
        if self._drawing is None or self._drawing.stopping:
            return False
        self._drawing.cancel()
        return True
