"""Statistics: tick figures, see what to expect of each, release them, and look at what was released."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.pages.central_page import CentralPage, Released
from workbench.gui.pages.central_words import PAID, RUNNING, error_of, release_hindrance, steps_of
from workbench.gui.pages.statistics import PAGE
from workbench.gui.pages.statistics.messages import ABOUT, NOTHING_TICKED, STEPS, hindrance
from workbench.gui.pages.statistics.tasks import Checked, Choice, check
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, label, look, row, stack
from workbench.gui.widgets.delta_entry import DeltaLine
from workbench.gui.widgets.empty_state import NothingYet
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.way_bar import WayBar

RELEASED = Released(
    name="statistics",
    question="Release these statistics?",
    file="The figures; .csv or .json",
    ending="statistics",
    kinds="CSV (*.csv);;JSON (*.json)",
)


class StatisticsPage(CentralPage):
    """The ticks with what to expect and their cost, the release, and what was released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE, RELEASED)
        self.header.addWidget(WayBar(session, PAGE.name))
        from workbench.gui.pages.statistics.choices import ChoicesCard
        from workbench.gui.pages.statistics.results import ResultsPart

        self._checked: Checked | None = None
        self._choices = ChoicesCard(session)
        self._about = label(ABOUT, "muted", wrap=True, name="statistics_about")
        self._results = ResultsPart(session, jobs)
        self._nothing = NothingYet(session, "statistics_nothing", "No table yet", "data", "Go to Data")
        self._nothing.say("Open a table and declare its public facts; then figures of it can be released here.")
        self._arrange()
        self.foot.addWidget(self._cancel)
        self._release_buttons(self._ask, "Charge the budget, compute, certify and write the file")
        self._choices.changed.connect(self._changed)
        self._results.read.connect(lambda: self._scroll_to(self._results))
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
        epsilon.body.addWidget(self._hint)
        epsilon.body.addWidget(self._use_rest)
        cost = Card(label("WHAT IT COSTS", "caption"), self._facts, pad=12, spacing=6)
        beside_it = row(spacing=12)
        for card, share in ((epsilon, 5), (cost, 4)):
            card.body.addStretch(1)
            beside_it.addWidget(card, share)
        below = look(QWidget(), "clear")
        below.setLayout(beside_it)
        below.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        layout = stack(self._about, spacing=12)
        layout.addWidget(self._choices, 1)
        layout.addWidget(below)
        layout.addWidget(self._results)
        self.body.addWidget(self._nothing, 1)
        self.body.addWidget(self._scrolled(layout), 1)
        self.body.addWidget(self._into_line(label("with its certificate beside it", "muted")))
        self.body.addWidget(self._refusal)

    def _start_over(self) -> None:
        """Show another table: nothing of the former one stays."""
        self._start_over_target()
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

    def refresh(self) -> None:
        """Show what can be pressed, what stands in the way, and the cost against the account."""
        steps = steps_of(self.session)
        self._about.setText(f"{ABOUT} {STEPS.format(steps=steps)}" if steps else ABOUT)
        session, opened = self.session, self.session.opened
        for part in (self._area, self._into, self._release):
            part.setVisible(opened is not None)
        self._nothing.setVisible(opened is None)
        running, choice = self._flow.job is not None, self._choices.value()
        hinder, hint = hindrance(session) if opened is not None else ("", "")
        keep, keep_hint = release_hindrance(session) if opened is not None and not hinder else ("", "")
        empty = NOTHING_TICKED if choice is not None and not _asks(choice) else ""
        problem = hinder or (sentence(self._problem_found) if self._problem_found is not None else empty)
        self._say_problem(problem or keep, hint or ("" if problem else keep_hint))
        self._show_cost()
        ready = self._checked is not None and self._checked.choice == choice and not hinder and not running
        keys = self.has_keys(self._release, self._cancel, self._onward)
        self._show_release(ready=ready and not keep)
        self._choices.enable(not running)
        self._show_cancel(running=running, keys=keys)
        self.set_note("" if opened is None or keep else RUNNING if running else PAID)

    def _show_cost(self) -> None:
        found = self._checked
        if found is None:
            self._no_costs("statistics_figures")
            return
        self._show_costs(found.cost, found.delta)
        spent = count(found.queries, "noisy query", "noisy queries")
        self._facts.show_line("statistics_figures", "spent on", spent)

    # -- what it does ---------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        from workbench.statistics.release_file import FORMATS

        choice = self._choices.value()
        if choice is not None and self._checked is not None and self._checked.choice == choice:
            self._refusal.hide()
            self._flow.ask(self._path(), choice.work, f"statistics of {count(choice.columns, 'column')}", FORMATS)

    def _use(self, epsilon: Decimal, delta: Decimal) -> None:
        self._choices.use(epsilon, delta)


def _asks(choice: Choice) -> bool:
    return bool(choice.figures) or choice.counted
