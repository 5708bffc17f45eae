"""Statistics: tick figures, see what to expect of each, release them, and look at what was released."""

from __future__ import annotations

from pathlib import Path

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
from workbench.gui.pages.statistics import PAGE
from workbench.gui.pages.statistics.messages import ABOUT, NOTHING_TICKED, hindrance
from workbench.gui.pages.statistics.tasks import Checked, Choice, check
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, Facts, button, label, look, row, stack
from workbench.gui.widgets.delta_entry import DeltaLine
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.empty_state import NothingYet
from workbench.gui.widgets.formatting import count, in_full
from workbench.gui.widgets.output_name import beside, suggest
from workbench.gui.widgets.path_field import PathField
from workbench.gui.widgets.way_bar import WayBar
from workbench.params import WorkbenchError

KIND, ENDING, SUFFIX = "statistics", "statistics", ".csv"
KINDS = "CSV (*.csv);;JSON (*.json)"
REPLACED = "The same counted for neighbours of whom one person's rows are replaced by others"


class StatisticsPage(PageFrame):
    """The ticks with what to expect and their cost, the release, and what was released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        self.header.addWidget(WayBar(session, PAGE.name))
        from workbench.gui.pages.statistics.choices import ChoicesCard
        from workbench.gui.pages.statistics.results import ResultsPart

        self._checked: Checked | None = None
        self._problem_found: WorkbenchError | None = None
        self._failure: WorkbenchError | None = None
        self._flow = CentralFlow(self, "Release these statistics?")
        self._choices = ChoicesCard(session)
        self._facts = Facts()
        self._about = label(ABOUT, "muted", wrap=True, name="statistics_about")
        self._problem = label("", "problem", wrap=True, name="statistics_problem")
        self._mend_page = "data"
        self._mend = button("", "statistics_mend", "link")
        self._mend.clicked.connect(lambda: session.go(self._mend_page))
        self._refusal = label("", "danger", wrap=True, name="statistics_refusal")
        self._results = ResultsPart(session, jobs)
        self._target = PathField(
            "statistics_output",
            "File to release into",
            "The figures; .csv or .json. Its certificate is written beside it",
        )
        self._choose = button("Choose…", "statistics_choose", tip="Choose the file to release into")
        self._choose.clicked.connect(self._choose_target)
        self._nothing = NothingYet(session, "statistics_nothing", "No table yet", "data", "Go to Data")
        self._nothing.say("Open a table and declare its public facts; then figures of it can be released here.")
        self._arrange()
        self._cancel = button("Cancel", "statistics_cancel", tip="Stop; nothing is written")
        self._cancel.clicked.connect(self.escape)
        self.foot.addWidget(self._cancel)
        self._release = self.set_primary(
            "Release…", "statistics_release", self._ask, "Charge the budget, compute, certify and write the file"
        )
        self._onward = button("Ledger →", "statistics_to_ledger", "primary", tip="See the charge, and what remains")
        self._onward.clicked.connect(lambda: session.go("ledger"))
        self.foot.addWidget(self._onward)
        self._choices.changed.connect(self._changed)
        self._target.textChanged.connect(lambda _text: self.refresh())
        self._results.read.connect(self._lead_to_results)
        self._flow.changed.connect(self._flowed)
        self._flow.refused.connect(self._refuse)
        self._flow.failed.connect(self._failed)
        session.table_changed.connect(self.in_sight(self._start_over))
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        session.account_changed.connect(self.in_sight(self._show_newest))
        session.released_changed.connect(self.in_sight(self._show_newest))
        self._start_over()

    # -- what is shown --------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        caption = label("ε OF ALL FIGURES TOGETHER", "caption")
        epsilon = Card(caption, self._choices.epsilon, pad=12, spacing=6)
        epsilon.body.addWidget(DeltaLine(self._choices.delta))
        epsilon.body.addWidget(self._problem)
        epsilon.body.addWidget(self._mend)
        cost = Card(label("WHAT IT COSTS", "caption"), self._facts, pad=12, spacing=6)
        beside_it = row(spacing=12)
        for card, share in ((epsilon, 5), (cost, 4)):
            card.body.addStretch(1)
            beside_it.addWidget(card, share)
        below = look(QWidget(), "clear")
        below.setLayout(beside_it)
        below.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        inner = look(QWidget(), "clear")
        layout = stack(self._about, spacing=12)
        inner.setLayout(layout)
        layout.addWidget(self._choices, 1)
        layout.addWidget(below)
        layout.addWidget(self._results)
        self._area = QScrollArea()
        self._area.setObjectName("statistics_area")
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
        self._target.setText(str(beside(opened, ENDING, SUFFIX)) if opened is not None else "")
        self._target.setModified(False)
        suggest(self.session, self.jobs, self._target, ENDING, SUFFIX)
        self._choices.start_over()
        self._results.show_newest()
        self._changed()

    def _plan_changed(self) -> None:
        self._choices.follow()
        self._changed()

    def _changed(self) -> None:
        """Forecast other figures: what to expect of each, and what they cost."""
        self._checked, self._problem_found, self._failure = None, None, None
        self._choices.show_checked(None)
        self._refusal.hide()
        opened, choice = self.session.opened, self._choices.value()
        if opened is not None and choice is not None and _asks(choice) and not hindrance(self.session)[0]:
            draft = self.session.plan

            def current() -> bool:
                return (self.session.opened, self.session.plan, self._choices.value()) == (opened, draft, choice)

            def apply(found: Checked) -> None:
                if current():
                    self._checked = found
                    self._choices.show_checked(found)
                    self.refresh()

            def failed(error: BaseException) -> None:
                if error_of(error) is None:
                    self.session.report(error)
                if current():
                    self._problem_found = error_of(error)
                    self.refresh()

            check(opened, draft, choice, self.jobs, apply, failed)
        self.refresh()

    def _show_newest(self) -> None:
        """Show what was released last."""
        self._results.show_newest()
        self.refresh()

    def _lead_to_results(self) -> None:
        """Scroll to what was released just now, once it is laid out."""
        QTimer.singleShot(0, self, lambda: self._area.ensureWidgetVisible(self._results, 0, 0))

    def refresh(self) -> None:
        """Show what can be pressed, what stands in the way, and the cost against the account."""
        steps = steps_words(self.session) if self.session.plan.ready else ""
        self._about.setText(f"{ABOUT} {steps}".rstrip())
        session, opened = self.session, self.session.opened
        for part in (self._area, self._into, self._release):
            part.setVisible(opened is not None)
        self._nothing.setVisible(opened is None)
        running, choice = self._flow.job is not None, self._choices.value()
        hinder, mend = hindrance(session) if opened is not None else ("", "")
        keep, keep_mend = release_hindrance(session) if opened is not None and not hinder else ("", "")
        empty = NOTHING_TICKED if choice is not None and not _asks(choice) else ""
        problem = hinder or (sentence(self._problem_found) if self._problem_found is not None else empty)
        self._say_problem(problem or keep, mend or ("" if problem else keep_mend))
        self._show_cost()
        ready = self._checked is not None and self._checked.choice == choice and not hinder and not running
        keys = self.has_keys(self._release, self._cancel, self._onward)
        self._release.setEnabled(ready and not keep and bool(self._target.text().strip()))
        released = any(step.central == KIND and step.plan == session.plan for step in session.released)
        self._release.setText("Releasing…" if running else "Release again…" if released else "Release…")
        # What is highlighted, and what Ctrl+Return presses, must not be to pay twice.
        self.primary = self._onward if released and not running else self._release
        look(self._release, "primary" if self.primary is self._release else "")
        self._onward.setVisible(self.primary is self._onward)
        self._choices.enable(not running)
        self._target.setEnabled(not running)
        self._choose.setEnabled(not running)
        stopping = self.job is not None and self.job.stopping
        self._cancel.setVisible(running)
        self._cancel.setEnabled(not stopping)
        self._cancel.setText("Cancelling…" if stopping else "Cancel")
        if keys:  # a button that goes or greys would give them to another part of the window
            if running and not stopping:
                self._cancel.setFocus()
            else:
                self.take_keys()
        self.set_note("" if opened is None or keep else RUNNING if running else PAID)

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
            self._facts.show_line("statistics_cost", "charged by Release", "–")
            for key in ("statistics_replace", "statistics_left", "statistics_figures"):
                self._facts.hide_line(key)
            return
        cost = both_words(found.cost, found.delta)
        self._facts.show_line("statistics_cost", "charged by Release", cost, "accent", tip=in_full(found.cost))
        replaced = replaced_words(found.cost, found.delta)
        self._facts.show_line("statistics_replace", "if a row is replaced", replaced, tip=REPLACED)
        left, kind = left_words(self.session, found.cost)
        self._facts.show_line("statistics_left", "left after it", left, kind)
        spent = count(found.queries, "noisy query", "noisy queries")
        self._facts.show_line("statistics_figures", "spent on", spent)
        short = short_words(self.session, found.cost)
        if short and not self._problem.text():
            self._say_problem(short, "ledger")

    # -- what it does ---------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        from workbench.statistics.release_file import FORMATS

        choice = self._choices.value()
        if choice is not None and self._checked is not None and self._checked.choice == choice:
            self._refusal.hide()
            target = Path(self._target.text().strip()).expanduser()
            self._flow.ask(target, choice.work, f"statistics of {count(choice.columns, 'column')}", FORMATS)

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
        """The release that the page's own Cancel stops."""
        return self._flow.job

    @property
    def refused(self) -> WorkbenchError | None:
        """Why the statistics cannot be released, or were not when they were last asked for."""
        return draft_refusal(self.session) or self.session.account.error or self._problem_found or self._failure

    def escape(self) -> bool:
        """Cancel the release that is going on."""
        return self._flow.stop()


def _asks(choice: Choice) -> bool:
    return bool(choice.figures) or choice.counted
