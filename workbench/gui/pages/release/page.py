"""Release: what will be published, the exact cost, what stands outside the guarantee, and one button."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from workbench.gui.gauges.first_cap import FirstCap
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.refusals import table_refusal
from workbench.gui.pages.release import PAGE, standing
from workbench.gui.pages.release import messages as words
from workbench.gui.pages.release.account_card import AccountName, VersionCard
from workbench.gui.pages.release.messages import says_little
from workbench.gui.pages.release.only_models import OnlyModelsCard
from workbench.gui.pages.release.questions import again_question, release_question, waiting_question, worth_of
from workbench.gui.pages.release.sections import Sections
from workbench.gui.pages.release.summary import CostCard, OutsideCard, PublishedCard
from workbench.gui.pages.release.tasks import (
    BeforeRelease,
    copy_release,
    forecast_release,
    look_before_release,
    release_plan,
    what_remains,
)
from workbench.gui.session.account_task import read_account
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, button, label, look, row, stack
from workbench.gui.widgets.dialogs import ask_for_folder, ask_where_to_save, choose, confirm
from workbench.gui.widgets.formatting import at_most
from workbench.gui.widgets.output_name import beside, remember_folder, suggest, written_words
from workbench.gui.widgets.path_field import PathField
from workbench.gui.widgets.release_card import ReleasedCard
from workbench.gui.widgets.stopping import ask_to_stop
from workbench.gui.widgets.way_bar import WayBar
from workbench.params import BudgetRefusedError, WorkbenchError

if TYPE_CHECKING:
    from workbench.release.ledger.records import Cap
    from workbench.release.path import EarlierRelease
    from workbench.sanitize.forecast import Forecast

ENDING, SUFFIX = "released", ".csv"
"""Of the name that is suggested: people-released.csv."""

SHOWN = 10
"""Releases that have a card: the newest."""

KINDS = "CSV (*.csv);;Tab-separated (*.tsv);;Parquet (*.parquet)"


class ReleasePage(PageFrame):
    """The last step: publish the table as the plan says, once, for good."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        self._ways = WayBar(session, PAGE.name)
        self.header.addWidget(self._ways)
        self._forecast: Forecast | None = None
        self._failure: WorkbenchError | None = None
        self._running: JobHandle | None = None
        self._asking = False
        self._cards: list[ReleasedCard] = []
        self._asked_early = False
        self._published = PublishedCard(session)
        self._version = VersionCard(session, jobs)
        self._account = AccountName(session, jobs)
        self._cost = CostCard(session)
        self._outside = OutsideCard()
        self._refusal = label("", "danger", wrap=True, name="release_refusal")
        self._target = PathField(
            "release_target",
            "File to release into",
            "The released table; .csv, .tsv or .parquet. Its certificate is written beside it",
        )
        self._arrange()
        self._cost.use_rest.clicked.connect(self._use_what_remains)
        self._release = self.set_primary("Release…", "release_now", self._ask_and_release, words.RELEASE_TIP)
        self._onward = button("Ledger →", "to_ledger", "primary", tip="See the charge in the ledger, and what remains")
        self._onward.clicked.connect(lambda: session.go("ledger"))
        self._better = button("What to release →", "release_to_ways", "primary", tip=words.LITTLE)
        self._better.clicked.connect(lambda: session.go("ways"))
        self._train = button("Train a network →", "release_to_train", "primary", tip="Networks are released on Train")
        self._train.clicked.connect(lambda: session.go("train"))
        for way in (self._onward, self._better, self._train):
            self.foot.addWidget(way)
        self._cancel = button("Cancel the release", "release_cancel", tip="Stop before anything is published")
        self._cancel.clicked.connect(self._stop)
        self._cancel.hide()
        self.foot.insertWidget(1, self._cancel)
        session.table_changed.connect(self._show_table)
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        session.account_changed.connect(self._show_released)
        session.released_changed.connect(self._show_newest)
        self._show_table()
        self._show_released()

    # -- what is shown --------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        why = label(words.NO_TABLE, "muted", wrap=True, name="release_no_table")
        self._empty = Card(label("No table to release", "heading"), why)
        to_data = button("Go to Data", "release_to_data", "link")
        to_data.clicked.connect(lambda: self.session.go("data"))
        self._empty.body.addWidget(to_data)
        self._of_images = OnlyModelsCard(self.session)
        self._choose = button("Choose…", "release_choose", tip="Choose the file to release into")
        self._choose.clicked.connect(self._choose_target)
        line = row(label("Release into"))
        line.addWidget(self._target, 1)
        line.addWidget(self._choose)
        line.addWidget(label("with its certificate beside it", "muted"))
        self._into = look(QWidget(), "clear")
        self._into.setLayout(line)
        self._refusal.hide()
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
        self.body.addWidget(self._empty)
        self.body.addWidget(self._of_images)
        self.body.addWidget(self._area, 1)
        self.body.addWidget(self._account)
        self.body.addWidget(self._into)  # in sight however long what is above it grows
        self.body.addWidget(self._refusal)
        self._gap = look(QWidget(), "clear")
        self.body.addWidget(self._gap, 1)

    def _show_table(self) -> None:
        opened, rows = self.session.opened, self.session.open_data
        self._empty.setVisible(rows is None)
        self._ways.setVisible(self.session.images is None)
        self._gap.setVisible(rows is None)
        self._area.setVisible(rows is not None)
        self._sections.show_only_past(only=opened is None)
        for part in (self._account, self._into):
            part.setVisible(opened is not None)
        self._target.setText(str(beside(opened, ENDING, SUFFIX)) if opened is not None else "")
        self._suggest_target()
        self._refusal.hide()
        self._plan_changed()

    def _suggest_target(self) -> None:
        suggest(self.session, self.jobs, self._target, ENDING, SUFFIX)

    def _plan_changed(self) -> None:
        self._forecast, self._failure, self._asked_early = None, None, False
        self._area.verticalScrollBar().setValue(0)
        self._refusal.hide()
        self.refresh()
        if self.session.plan.ready and self.session.plan.protected:
            forecast_release(self.session, self.jobs, self._take_forecast)

    def _take_forecast(self, forecast: Forecast) -> None:
        self._forecast = forecast
        self.refresh()
        self._scroll_to_model()  # what the forecast says pushes the releases down
        if self._asked_early:
            self._ask_and_release()

    def _show_released(self) -> None:
        """Show a card for each release of this table, the newest first."""
        steps = standing.released_steps(self.session)
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
        short = standing.is_short(self.session)
        # After a training its model was asked for: the table is not the next thing to be paid for.
        model = self._model_is_newest
        self._published.show_plan(self._forecast, again=released)
        self._cost.show_cost(self._forecast)
        self._outside.show_forecast(self._forecast)
        running = self._running is not None
        had_keys = self.has_keys(self._release, self._cancel, self._onward, self._better, self._train)
        # What is highlighted, and what Ctrl+Return presses, must not be to pay twice, nor to pay for noise.
        better = self._better if says_little(self.session, self._forecast) else self._release
        self.primary = self._release if running else self._onward if released or short or model else better
        if self.session.images is not None:
            self.primary = self._train
        self._train.setVisible(self.primary is self._train)
        look(self._release, "primary" if self.primary is self._release else "")
        for way in (self._onward, self._better):
            way.setVisible(self.primary is way and opened is not None)
        self._release.setVisible(opened is not None)
        self._release.setText("Releasing…" if running else "Release again…" if released else "Release…")
        self._release.setAccessibleName(self._release.text())
        refused = standing.certainly_refused(self.session)
        self._release.setEnabled(not running and standing.payable(self.session) and not refused)
        self._release.setToolTip(words.REFUSED_TIP if refused else words.RELEASE_TIP)
        self._cancel.setVisible(running)
        self._target.setEnabled(not running)
        self._choose.setEnabled(not running)
        if had_keys:  # a button that goes or greys would give them to another part of the window
            if running:
                self._cancel.setFocus()
            else:
                self.take_keys()
        self.set_note(standing.note_words(self.session, running=running, released=released, short=short, model=model))

    # -- what it does ---------------------------------------------------------------------------------------------

    def _choose_target(self) -> None:
        path = ask_where_to_save(self, "Release into", self._target.text(), KINDS)
        if path:
            self._target.choose(path)

    def _use_what_remains(self) -> None:
        remaining = self.session.account.remaining
        if remaining is not None and remaining > 0:
            self.session.set_epsilon(what_remains(self.session.plan, remaining))

    def _ask_and_release(self) -> None:
        if self._running is None and not self._asking and self._release.isEnabled():
            self._asked_early = self._forecast is None  # the question says what will be noise
            if self._asked_early:
                return
            self._refusal.hide()
            look_before_release(self.session, self.jobs, self._path(), self._looked, self._failed)

    def _looked(self, outlook: BeforeRelease) -> None:
        # A question that is asked from within the job's end would keep the job in the list until it is answered.
        QTimer.singleShot(0, self, lambda: self._decide(outlook))

    def _decide(self, outlook: BeforeRelease) -> None:
        """Ask for the last word, once, and do as it says."""
        if self._asking or self._running is not None or not outlook.is_current(self.session):
            return
        if self._path() != outlook.target:  # another name was typed meanwhile: nobody has looked what stands there
            self._ask_and_release()
            return
        self._asking = True
        try:
            self._ask(outlook)
        finally:
            self._asking = False

    def _ask(self, outlook: BeforeRelease) -> None:
        cost, path = outlook.plan.cost(), outlook.target
        assert cost is not None
        replaced = written_words(outlook.opened, path, outlook.source_changed, replaces=outlook.replaces)
        verdict = outlook.verdict
        if verdict.waiting:
            if confirm(self, "Publish the finished release?", waiting_question(outlook, replaced), "Publish it"):
                self._start(outlook)
            return
        if verdict.earlier is not None:
            self._ask_again(outlook, verdict.earlier, cost, replaced)
            return
        if verdict.refusal is not None:
            self._failed(verdict.refusal)
            return
        text = release_question(outlook, self.session.account, self._forecast, cost, replaced)
        first = FirstCap(self.session.account, cost)
        verbs = {"yes": f"Release at ε = {at_most(cost)}"}
        if choose(self, "Release this table?", text, verbs, entry=first if first.asked else None) == "yes":
            self._start(outlook, first.cap())

    def _ask_again(self, outlook: BeforeRelease, earlier: EarlierRelease, cost: Decimal, replaced: str) -> None:
        verbs = {"copy": "Copy the file that exists…", "yes": f"Pay ε = {at_most(cost)} again"}
        answer = choose(self, "It was released before", again_question(earlier, cost, outlook.outside, replaced), verbs)
        if answer == "yes":
            self._start(outlook)
        elif answer == "copy":
            folder = ask_for_folder(self, "Copy the release into")
            if folder:
                copy_release(self.session, self.jobs, earlier, Path(folder), self._copied)

    def _copied(self, path: Path) -> None:
        self.session.notify("info", f"Copied to {path}; nothing was charged.")

    def _start(self, outlook: BeforeRelease, cap: Cap | None = None) -> None:
        if not outlook.is_current(self.session):  # other work has ended while the question stood
            self.session.notify(
                "warning", "The table or its plan changed while the question stood: nothing was released."
            )
            return
        remember_folder(outlook.target.parent)
        worth = worth_of(outlook, self._forecast)
        self._running = release_plan(self.session, self.jobs, outlook, self._failed, cap, worth)
        self._running.ended.connect(self._ended)
        self.refresh()

    def _ended(self) -> None:
        self._running = None
        self._suggest_target()
        self.refresh()

    @property
    def job(self) -> JobHandle | None:
        """The release that the page's own Cancel stops."""
        return self._running

    @property
    def refused(self) -> WorkbenchError | None:
        """Why the table cannot be released, or was not when it was last asked for."""
        found = table_refusal(self.session) or self.session.account.error or self._failure
        return found or standing.certain_refusal(self.session)

    def _failed(self, error: BaseException) -> None:
        self._failure = error if isinstance(error, WorkbenchError) else None
        if not isinstance(error, BudgetRefusedError):
            self.session.report(error)
            return
        self._refusal.setText(f"✕ Refused, nothing was charged or written. {sentence(error)}")
        self._refusal.show()
        self.session.notify("info", "Refused: nothing was charged or written.")

    def _stop(self) -> None:
        if self._running is not None:
            ask_to_stop(self, self._running)
        if self._running is not None and self._running.stopping:
            self.set_note("Cancelling…")

    def _path(self) -> Path:
        return Path(self._target.text().strip()).expanduser()

    def escape(self) -> bool:
        """Cancel the release that is going on."""
        if self._running is None or self._running.stopping:
            return False
        self._stop()
        return True
