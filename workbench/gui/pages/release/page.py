"""Release: what will be published, the exact cost, what the guarantee does not cover, and one button."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from workbench.gui.pages.refusals import table_refusal
from workbench.gui.pages.release import PAGE
from workbench.gui.pages.release.account_card import AccountName, VersionCard
from workbench.gui.pages.release.summary import (
    CostCard,
    OnlyModelsCard,
    OutsideCard,
    PublishedCard,
    Sections,
    says_little,
    worth_words,
)
from workbench.gui.pages.release_account import PAID, RUNNING, plan_is_refused, plan_is_short
from workbench.gui.pages.release_page import ReleasePage, ReleaseWords
from workbench.gui.pages.release_tasks import Asked
from workbench.gui.pages.run_page import GUESSED, first_problem, unconfirmed
from workbench.gui.session.account_task import read_account
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.newest_release import released_steps
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import button, label, look, stack
from workbench.gui.widgets.empty_state import NothingYet
from workbench.gui.widgets.release_card import ReleasedCard
from workbench.gui.widgets.way_bar import WayBar
from workbench.jobs import Job
from workbench.params import WorkbenchError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.sanitize.forecast import Forecast

SHOWN = 10
"""Releases that have a card: the newest."""

LITTLE = "Most of these columns would be noise: see what the same ε gives in another way"
NO_TABLE = "Open a table and declare its public facts; then it can be released here."
REFUSED_TIP = "The cap does not pay for this plan: use what remains, or raise the cap on the Ledger page first"
DECIDE = "It is not certain which account pays: decide it above."
RELEASED = ReleaseWords(
    name="release",
    question="Release this table?",
    file="The released table; .csv, .tsv or .parquet",
    ending="released",
    tip="Charge the budget, draw the table, certify and write it",
    names={"output": "release_target", "release": "release_now", "to_ledger": "to_ledger"},
)


class NoisyRowsPage(ReleasePage):
    """The last step: publish the table as the plan says, once, for good."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE, RELEASED)
        self._ways = WayBar(session, PAGE.name)
        self.header.addWidget(self._ways)
        self._forecast: Forecast | None = None
        self._cards: list[ReleasedCard] = []
        self._asked_early = False
        self._published = PublishedCard(session)
        self._version = VersionCard(session, jobs)
        self._account = AccountName(session, jobs)
        self._cost = CostCard(session)
        self._outside = OutsideCard()
        self._cost.use_rest.clicked.connect(self._use_what_remains)
        self._arrange()
        self._better = button("What to release →", "release_to_ways", "primary", tip=LITTLE)
        self._better.clicked.connect(lambda: session.go("ways"))
        self._train = button("Train a network →", "release_to_train", "primary", tip="Networks are released on Train")
        self._train.clicked.connect(lambda: session.go("train"))
        self._add_buttons()
        for way in (self._better, self._train):
            self.foot.addWidget(way)
        session.table_changed.connect(self._show_table)
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        session.account_changed.connect(self._show_released)
        session.released_changed.connect(self._show_newest)
        self._show_table()
        self._show_released()

    # -- what is shown --------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        self._empty = NothingYet(self.session, "release_nothing", "No table yet", "data", "Go to Data")
        self._empty.say(NO_TABLE)
        self._of_images = OnlyModelsCard(self.session)
        self._released = stack(spacing=12)
        self._released_title = label("", "caption", name="release_past_title")
        past = look(QWidget(), "clear")
        lines = stack(self._released_title, spacing=12)
        lines.addLayout(self._released)
        past.setLayout(lines)
        self._sections = Sections(self._version, self._published, self._cost, self._outside, past)
        self._area = QScrollArea()
        self._area.setObjectName("release_area")
        self._area.setWidget(self._sections)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.body.addWidget(self._empty, 1)
        self.body.addWidget(self._of_images)
        self.body.addWidget(self._area, 1)
        self.body.addWidget(self._account)
        self.body.addWidget(self._into_line())  # in sight however long what is above it grows
        self.body.addWidget(self._refusal)

    def _show_table(self) -> None:
        opened, rows = self.session.opened, self.session.open_data
        self._empty.setVisible(rows is None)
        self._ways.setVisible(self.session.images is None)
        self._area.setVisible(rows is not None)
        self._sections.show_only_past(only=opened is None)
        for part in (self._account, self._into):
            part.setVisible(opened is not None)
        self._start_over_target()
        self._refusal.hide()
        self._plan_changed()

    def _plan_changed(self) -> None:
        self._forecast, self._failure, self._asked_early = None, None, False
        self._area.verticalScrollBar().setValue(0)
        self._refusal.hide()
        self.refresh()
        draft = self.session.plan
        if not (draft.ready and draft.protected):
            return

        def work(emit: Emit, cancel: CancelToken) -> Forecast:
            from workbench.sanitize.forecast import forecast

            return forecast(draft.plan())

        def apply(found: Forecast) -> None:
            if self.session.plan == draft:
                self._take_forecast(found)

        self.jobs.start(Job("Forecasting the release", work), key="release_forecast", shown=False, on_result=apply)

    def _take_forecast(self, forecast: Forecast) -> None:
        self._forecast = forecast
        self.refresh()
        self._scroll_to_model()  # what the forecast says pushes the releases down
        if self._asked_early:
            self._press()

    def _show_released(self) -> None:
        """Show a card for each release of this table, the newest first."""
        steps = released_steps(self.session)
        shown = steps[-SHOWN:]
        first = len(steps) - len(shown) + 1
        if [card.step for card in self._cards] != shown:
            for card in self._cards:
                card.hide()
                card.deleteLater()
            self._cards = [
                ReleasedCard(step, number, self.jobs, self._learn, self._look_at)
                for number, step in enumerate(shown, start=first)
            ]
            for card in reversed(self._cards):
                self._released.addWidget(card)
        self._released_title.setVisible(bool(steps))
        what = "THIS TABLE" if self.session.images is None else "THESE IMAGES"
        more = f" · THE NEWEST {SHOWN} OF {len(steps)}; THE LEDGER HAS ALL" if len(steps) > SHOWN else ""
        self._released_title.setText(f"RELEASED OF {what}{more}")
        self.refresh()

    def _learn(self, release: Path) -> None:
        """Lead to where a model is trained on a released table."""
        self.session.ask_to_learn_from(release)
        self.session.go("predict")

    def _look_at(self, release: Path) -> None:
        """Lead to where a recipient's view of a released table is shown."""
        self.session.ask_to_estimate_from(release)
        self.session.go("estimate")

    def _show_newest(self) -> None:
        """Show what was just released, its files and its checks."""
        self._show_released()
        if self.session.released:
            QTimer.singleShot(0, self, self._scroll_to_newest)

    def _scroll_to_model(self) -> None:
        """Show the files to who comes from Train, not what noisy rows would cost."""
        if self._model_is_newest:
            QTimer.singleShot(0, self, self._scroll_to_newest)

    def _scroll_to_newest(self) -> None:
        if self._cards:
            laid_out = self._sections.layout()
            assert laid_out is not None
            laid_out.activate()
            self._area.ensureWidgetVisible(self._cards[-1], 0, 0)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Ask the ledger again where it could not be read: whoever held it may be done."""
        super().showEvent(event)
        if self.session.opened is not None and self.session.account.problem:
            read_account(self.session, self.jobs)
        self._scroll_to_model()

    @property
    def _model_is_newest(self) -> bool:
        """Whether a model was the last thing to be released, by the present plan."""
        released = self.session.released
        return bool(released) and released[-1].model and released[-1].plan == self.session.plan

    def refresh(self) -> None:
        """Show the present plan against the present account."""
        plan, opened = self.session.plan, self.session.opened
        released = self.session.has_released(plan)
        short = plan_is_short(self.session)
        # After a training its model was asked for: the table is not the next thing to be paid for.
        model = self._model_is_newest
        self._published.show_plan(self._forecast, again=released)
        self._cost.show_cost(self._forecast)
        self._outside.show_forecast(self._forecast)
        running = self._running is not None
        keys = self.has_keys(self._release, self._cancel, self._onward, self._better, self._train)
        # What is highlighted, and what Ctrl+Return presses, must not be to pay twice, nor to pay for noise.
        better = self._better if says_little(self.session, self._forecast) else self._release
        first = self._release if running else self._onward if released or short or model else better
        self._lead(self._train if self.session.images is not None else first, self._onward, self._better, self._train)
        for way in (self._onward, self._better):
            way.setVisible(self.primary is way and opened is not None)
        self._release.setVisible(opened is not None)
        self._name_release(done=released)
        refused = plan_is_refused(self.session)
        self._release.setEnabled(not running and self._payable and not refused)
        self._release.setToolTip(REFUSED_TIP if refused else self._what.tip)
        self._show_cancel(running=running, keys=keys)
        stopping = self._running is not None and self._running.stopping
        stated = self._foot_words(released=released, short=short, model=model)
        self.set_note("Cancelling…" if stopping else RUNNING if running else stated)

    @property
    def _payable(self) -> bool:
        """Whether the plan can be released, as far as the page knows; the ledger has the last word."""
        session = self.session
        if session.opened is None or session.opened.table.doubts or session.plan.guesses():
            return False
        return session.plan.cost() is not None and not session.account.problem

    def _foot_words(self, *, released: bool, short: bool, model: bool) -> str:
        """Return the sentence at the foot of the page: what prevents the release, or what Release does.

        Args:
            released: whether just this plan was released.
            short: whether the cap does not pay for it.
            model: whether a model was released by this plan.
        """
        session, account, cost = self.session, self.session.account, self.session.plan.cost()
        if session.opened is None:
            return ""
        if session.opened.table.doubts:
            return GUESSED
        problem = first_problem(session) or unconfirmed(session)
        if problem:
            return problem
        if cost is None:
            return "Nothing is protected: there is nothing to release under a guarantee."
        if account.problem:
            return DECIDE if account.in_doubt else account.problem
        if released:
            more = "a second draw needs a higher cap" if short else "a second draw is a second charge"
            return f"This plan is released; {more}."
        if short:
            return "Its ε is more than what is left under the cap: use what remains, or raise the cap first."
        return "The model is released. Release… would publish the table, too, and charge again." if model else PAID

    # -- what it does ---------------------------------------------------------------------------------------------

    def _use_what_remains(self) -> None:
        """Set the largest plan ε that the cap pays for, in at most 15 digits and never a digit too much."""
        remaining = self.session.account.remaining
        if remaining is not None and remaining > 0:
            floor, rows = Context(prec=15, rounding=ROUND_FLOOR), self.session.plan.rows_per_person
            self.session.set_epsilon(floor.divide(remaining, Decimal(rows)))

    def asked(self) -> Asked | None:
        """Return the table with noise; not before the forecast, as the question says what will be noise."""
        opened = self.session.opened
        if opened is None or not self._release.isEnabled():
            return None
        self._asked_early = self._forecast is None
        if self._forecast is None:
            return None
        return Asked(worth=worth_words(self._forecast, opened.rows_under(self.session.plan)))

    @property
    def refused(self) -> WorkbenchError | None:
        """Why the table cannot be released, or was not when it was last asked for."""
        return table_refusal(self.session) or super().refused

    def certain_refusal(self) -> WorkbenchError | None:
        """Return what the ledger would say to the plan, where it is certain to refuse it."""
        cost = self.session.plan.cost()
        return self.session.account.refusal(cost) if cost is not None and plan_is_refused(self.session) else None
