"""The settings of the way to release that is chosen: its fields, cost and file, and the question."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QScrollArea, QWidget

from workbench.gui.gauges.cap_entry import raise_cap
from workbench.gui.pages import page_called
from workbench.gui.pages.release.cards import (
    AccountName,
    CostCard,
    OnlyModelsCard,
    OutsideCard,
    VersionCard,
)
from workbench.gui.pages.release.pane import DerivedPane, RowsPane, WayPane
from workbench.gui.pages.release.statistics.pane import StatisticsPane
from workbench.gui.pages.release.synthetic.pane import SyntheticPane
from workbench.gui.pages.release_account import (
    CHARGED_AGAIN,
    PAID,
    RUNNING,
    certainly_refused,
    plan_is_refused,
    release_hindrance,
    short_words,
)
from workbench.gui.pages.release_page import ReleasePage, ReleaseWords, known_error
from workbench.gui.pages.release_tasks import Asked, Foreseen, answers_nothing
from workbench.gui.pages.run_page import first_problem, table_refusal
from workbench.gui.pages.way_marks import Marks, is_poor
from workbench.gui.session.account_task import read_account
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import button, label, look, panel, row, show_if, stack
from workbench.gui.widgets.declared_facts import ColumnsCard
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.way_bar import MODEL, WayBar
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import BudgetRefusedError, WorkbenchError

WIDE, HIGH = 1200, 800
"""Pixels of width from which the fields have a column of their own; of height, from which the columns are listed."""

A_MODEL = tr_later(
    "A private model is trained, charged and published in Models, Train. Nothing else of the table is released."
)
WORKING = tr_later("Working out what it costs and what to expect of it…")
TO_DECIDE = tr_later("Decide what else the same ε can give")
TITLES = {
    "data": tr_later("Data →"),
    "protect": tr_later("Columns →"),
    "ledger": tr_later("Ledger →"),
    "release": tr_later("Settings →"),
}
"""What the button says that leads to where something is put right."""

ONWARD = {
    "released": (
        tr_later("Released →"),
        tr_later("What was released: verify it, save its certificate, make a bundle for the recipient"),
    ),
    "cap": (tr_later("Raise the cap…"), tr_later("Allow all releases of this table together more ε")),
}
"""The text of the button that leads on, and its tip: to what was released, or out of a refusal."""

RELEASED = ReleaseWords(
    name="release",
    question=tr_later("Release this table?"),
    file=tr_later("The released file; its suffix sets the format"),
    ending="released",
    names={"output": "release_target", "release": "release_now"},
)
PANES: dict[str, type[RowsPane] | type[SyntheticPane] | type[StatisticsPane]] = {
    "rows": RowsPane,
    "synthetic": SyntheticPane,
    "statistics": StatisticsPane,
}
"""The fields of each way that has some of its own; those of other kinds follow from their requests."""


class SettingsPage(ReleasePage):
    """What every release has once: account, cost, what is not covered, the file, the question and the refusal."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("release"), RELEASED)
        self._bar = WayBar(session, "release")
        self.header.addWidget(self._bar)
        self._panes: dict[str, WayPane] = {}
        self._pane: WayPane | None = None
        self._typed: dict[str, str] = {}
        self._foreseen: Foreseen | None = None
        self._problem_found: WorkbenchError | None = None
        self._asked_early = self._at_results = False
        self._version, self._account = VersionCard(session, jobs), AccountName(session, jobs)
        self._cost, self._outside = CostCard(session), OutsideCard()
        self._cost.use_rest.clicked.connect(self._use_what_remains)
        self._cost.raise_cap.clicked.connect(self.ask_for_cap)
        self._problem = label("", "problem", wrap=True, name="release_problem")
        self._hint_page = "data"
        self._hint = button("", "release_hint", "link", press=lambda: session.go(self._hint_page))
        self._stopped = look(panel(row((self._problem, 1), self._hint)), "clear")
        self._onward = button("", "release_onward", press=self._go_on)
        self._marks = Marks.of(session, jobs)
        self._arrange()
        self._better = button(tr("Decide →"), "release_to_ways", tip=tr(TO_DECIDE))
        self._better.clicked.connect(lambda: session.go("ways"))
        tip = tr("Models are trained and released in Models")
        self._train = button(tr("Train →"), "release_to_train", tip=tip, press=lambda: session.go("train"))
        self._name_onward(done=False)
        self.foot.add(self._release, self._onward, self._better, self._train)
        self.highlight(self._release)
        self._unnamed = True
        self._target.textChanged.connect(self._named)
        self._marks.changed.connect(self.in_sight(self.refresh))
        session.table_changed.connect(self._start_over)
        session.table_changed.connect(self.in_sight(self._follow, whole=True))
        session.plan_changed.connect(self.in_sight(self._follow))
        session.questions_changed.connect(self.in_sight(self._follow))
        session.way_changed.connect(self.in_sight(self._follow))
        session.account_changed.connect(self.in_sight(self._show_results))
        session.released_changed.connect(self.in_sight(self._show_released))
        session.release_asked.connect(self._take_up)
        self._follow()
        self._take_up()

    # -- its parts ------------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        why = tr("Open a table and declare its public facts; then it can be released here.")
        self._empty = EmptyState(self.session, "release_nothing", tr("No table yet"), why)
        leads = {"train": tr("Train →")}
        self._of_model = EmptyState(self.session, "release_of_model", tr("A model"), tr(A_MODEL), **leads)
        self._of_images = OnlyModelsCard(self.session)
        self._columns = ColumnsCard(self.session, "release_columns")
        self._sections = Sections(self._version, self._cost, self._outside, self._columns)
        self._area = QScrollArea()
        self._area.setObjectName("release_area")
        self._area.setWidget(self._sections)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.body.addWidget(self._empty, 1)
        self.body.addWidget(self._of_images, 1)
        self.body.addWidget(self._of_model, 1)
        self.body.addWidget(self._area, 1)
        self.body.addWidget(self._stopped)
        self.body.addWidget(self._account)
        self.body.addWidget(self._into_line())  # in sight however long what is above it grows
        self.body.addWidget(self._refusal)

    def _pane_of(self, way: str) -> WayPane | None:
        if way == MODEL or self.session.opened is None:
            return None
        if way not in self._panes:
            made: WayPane = PANES[way](self) if way in PANES else DerivedPane(self, way)
            made.start_over()
            made.changed.connect(self._changed)
            made.refreshed.connect(self.refresh)
            for other in made.others:
                self.foot.insertWidget(self.foot.indexOf(self._release), other)
            self._panes[way] = made
        return self._panes[way]

    # -- what is shown --------------------------------------------------------------------------------------------

    def _start_over(self) -> None:
        for pane in self._panes.values():
            pane.start_over()
            if pane.results is not None:
                pane.results.show_newest()
        self._pane = None
        self._sections.show_pane(None)
        self._typed.clear()

    def _follow(self) -> None:
        pane = self._pane_of(self.session.way)
        other = pane is not self._pane
        if other and self._pane is not None and self._target.isModified():
            self._typed[self._pane.what.name] = self._target.text()
        self._pane, self._foreseen, self._problem_found = pane, None, None
        if pane is not None:
            if other:
                self._show_file_of(pane)
            pane.follow()
            self._columns.follow()
            if pane.results is not None:
                pane.results.show_newest()
        if other or self._at_results:  # what will be published, above what was
            self._area.verticalScrollBar().setValue(0)
            self._at_results = False
        if other:
            self._sections.show_pane(pane)
            for known in self._panes.values():
                show_if(known is pane, *known.others)
        self._changed()

    def _show_file_of(self, pane: WayPane) -> None:
        """Show the file that was typed for a way, or suggest one; each way has a file of its own."""
        self._what = dataclasses.replace(pane.what, name=RELEASED.name, names=RELEASED.names)
        self._release.setToolTip(tr(self._what.tip))
        self._target.setToolTip(tr("{file}. Its certificate is written beside it", file=tr(self._what.file)))
        typed = self._typed.get(pane.what.name)
        if typed is None:
            self._start_over_target()
        else:
            self._target.choose(typed)

    def _named(self, text: str) -> None:
        """Follow whether there is a name of a file: no other letter of it changes what can be pressed."""
        unnamed = not text.strip()
        if unnamed != self._unnamed:
            self._unnamed = unnamed
            self.refresh()

    def _hindered(self) -> tuple[str, str]:
        if self._pane is None:
            return "", ""
        problem = first_problem(self.session)
        return (problem, "data") if problem else self._pane.hindrance()

    def _changed(self) -> None:
        """Forecast another request: what to expect of it, and what it costs."""
        self._foreseen, self._problem_found, self._failure = None, None, None
        self._refusal.hide()
        pane, opened, draft = self._pane, self.session.opened, self.session.plan
        if pane is not None:
            pane.show_foreseen(None)
        chosen = None if pane is None else pane.value()
        if pane is None or opened is None or chosen is None or pane.nothing_asked() or self._hindered()[0]:
            self._asked_early = False
            self.refresh()
            return

        figures = chosen.request if isinstance(pane, StatisticsPane) else None

        def current() -> bool:
            now = (self.session.opened, self.session.plan, self._pane)
            return now == (opened, draft, pane) and pane.value() == chosen

        def apply(found: Foreseen) -> None:
            if current():
                self._foreseen = found
                pane.show_foreseen(found)
                self.refresh()
                if self._asked_early:
                    self._press()

        def failed(error: BaseException) -> None:
            if known_error(error) is None:
                self.session.report(error)
            if current():
                self._problem_found, self._asked_early = known_error(error), False
                self.refresh()

        def work(emit: Emit, cancel: CancelToken) -> Foreseen:
            rows = opened.rows_under(draft)
            found = pane.forecast(draft.plan(), rows, chosen, cancel)
            useless = figures is not None and answers_nothing(draft, rows, figures, cancel)
            return dataclasses.replace(found, useless=useless)

        if figures is None:
            self._marks.follow(roughly=True)
        job = Job(tr("Forecasting the release"), work)
        self.jobs.start(job, key="release_forecast", stoppable=False, on_result=apply, on_failure=failed)
        self.refresh()

    def refresh(self) -> None:
        session, pane, running = self.session, self._pane, self._releasing is not None
        opened, images = session.opened, session.images
        self._bar.setVisible(images is None)
        self._empty.setVisible(opened is None and images is None)
        self._of_model.setVisible(opened is not None and pane is None)
        show_if(pane is not None, self._area, self._account, self._into, self._release)
        done = self._done
        facts = () if pane is None else pane.facts
        self._cost.show_cost(self._foreseen, facts, done=done)
        seen = (session.account.seen,) if session.account.seen else ()  # the last question lists it, too
        self._outside.show_outside(None if self._foreseen is None else (*self._foreseen.outside, *seen))
        stops, hint = self._stops()
        self._say_problem(stops, hint)
        busy = self.running and not running
        ready = self._foreseen is not None and not self._hindered()[0] and not running and not busy
        short = self._short()
        self._release.setEnabled(not running and not busy and self._payable and not self._refused_for_certain())
        raised = f"{short} {tr('First use what remains, or raise the cap.')}"
        self._release.setToolTip(raised if short and not done else tr(self._what.tip))
        self._name_release(done=done)
        self._lead_on(short=bool(short), done=done, running=running)
        if pane is not None:
            pane.enable(not running)
            pane.show_others(ready=ready)
        self.show_cancel()
        working = pane is not None and self._foreseen is None and not stops and self._problem_found is None
        note = (
            "" if pane is None or stops else tr(WORKING) if working else self._foot_words(done=done, short=bool(short))
        )
        self.set_note(tr("Cancelling…") if self.stopping else tr(RUNNING) if running else note)

    def retranslate(self) -> None:
        """Forecast again, as the sentences of a forecast are made with it."""
        super().retranslate()
        self.in_sight(self._follow)()

    def _lead_on(self, *, short: bool, done: bool, running: bool) -> None:
        """Highlight the next step: never to pay twice, to pay for noise, or to pay more ε than is offered."""
        session, pane = self.session, self._pane
        first = self._release
        if not running and pane is not None:
            released = done or self._model_is_newest
            ticked = isinstance(pane, StatisticsPane)
            poor = (self._foreseen is not None and self._foreseen.useless) if ticked else is_poor(self._marks.own)
            if released or short:
                first = self._onward
                self._name_onward(done=released)
            elif poor or session.exceeds_offer:
                first = self._better
        if session.images is not None:
            first = self._train
        self._lead(first, self._onward, self._better, self._train)
        for way in (self._onward, self._better):
            way.setVisible(self.primary is way and pane is not None)

    def _name_onward(self, *, done: bool) -> None:
        """Let the button that leads on lead to the files once something was released, else to a higher cap."""
        self._onward_to = "released" if done else "cap"
        text, tip = map(tr, ONWARD[self._onward_to])
        self._onward.setText(text)
        self._onward.setAccessibleName(text)
        self._onward.setToolTip(tip)

    def _stops(self) -> tuple[str, str]:
        """Return what prevents the release, and the page where it is put right."""
        pane = self._pane
        if pane is None:
            return "", ""
        hinder, hint = self._hindered()
        empty = pane.nothing_asked() if pane.value() is not None else ""
        problem = hinder or (sentence(self._problem_found) if self._problem_found is not None else empty)
        return (problem, hint) if problem else release_hindrance(self.session)

    def _say_problem(self, text: str, hint: str) -> None:
        self._problem.setText(text)
        self._stopped.setVisible(bool(text))
        self._hint_page = hint or "data"
        self._hint.setText(tr(TITLES[self._hint_page]))
        self._hint.setAccessibleName(self._hint.text())
        self._hint.setVisible(bool(text and hint) and hint != "release")

    @property
    def _done(self) -> bool:
        return self._pane is not None and self.session.has_released(self.session.plan, self._pane.kind)

    @property
    def _model_is_newest(self) -> bool:
        """Whether a model was the last thing to be released, by the present plan."""
        released = self.session.released
        return bool(released) and released[-1].model and released[-1].plan == self.session.plan

    def _short(self) -> str:
        """Return why the caps do not pay for it; empty where they do, or its cost is not known."""
        found, session = self._foreseen, self.session
        if found is not None:
            return short_words(session, found.epsilon, found.delta)
        cost = session.plan.cost()
        return short_words(session, cost) if cost is not None and isinstance(self._pane, RowsPane) else ""

    def _refused_for_certain(self) -> bool:
        """Whether the ledger is certain to refuse it, and there is nothing that Release could do instead."""
        if isinstance(self._pane, RowsPane):
            return plan_is_refused(self.session)
        found = self._foreseen
        return found is not None and bool(certainly_refused(self.session, found.epsilon, found.delta))

    @property
    def _payable(self) -> bool:
        """Whether it can be released, as far as the page knows; the ledger has the last word."""
        pane = self._pane
        if pane is None or self._stops()[0] or pane.value() is None or not self._target.text().strip():
            return False
        return self._foreseen is not None or isinstance(pane, RowsPane)

    def _foot_words(self, *, done: bool, short: bool) -> str:
        if done:
            if short:
                return tr("This plan has been released; a second draw needs a higher cap.")
            return tr(CHARGED_AGAIN)
        if short:
            return tr("Its ε is more than what is left under the cap: use what remains, or raise the cap first.")
        newest = tr("The model is released. Release… would publish the table, too, and charge again.")
        return newest if self._model_is_newest else tr(PAID)

    # -- what was released ----------------------------------------------------------------------------------------

    def _show_results(self) -> None:
        """Show what the newest release of this way holds; its files and their checks are in Released."""
        if self._pane is not None and self._pane.results is not None:
            self._pane.results.show_newest()
        self.refresh()

    def _show_released(self) -> None:
        self._at_results = True
        self._show_results()
        if self._pane is not None:
            self._pane.show_foreseen(self._foreseen)

    def shown(self) -> None:
        """Ask the ledger again where it could not be read: whoever held it may be done."""
        if self.session.opened is not None and self.session.account.problem:
            read_account(self.session, self.jobs)

    # -- what it does ---------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        if self._onward_to == "cap":
            self.ask_for_cap()
        else:
            self.session.go(self._onward_to)

    def ask_for_cap(self) -> None:
        refused = self.over_cap()
        if refused is not None:
            raise_cap(self, self.session, self.jobs, refused)

    def _use_what_remains(self) -> None:
        if self._cost.allowed is None:
            return
        epsilon, delta = self._cost.allowed
        if self._pane is not None and delta != self._pane.delta.value():
            self._pane.use_delta(delta)
        self.session.set_epsilon(epsilon)

    def _take_up(self) -> None:
        """Ask whether to release, as soon as it is known what that would be."""
        if self.session.release_wanted:
            self.session.release_wanted = False
            self._asked_early = True
            if self._foreseen is not None:
                self._press()

    def asked(self) -> Asked | None:
        """Return what would be released; not before the forecast, as the question says what to expect."""
        pane, found = self._pane, self._foreseen
        self._asked_early = self._asked_early or (found is None and self._release.isEnabled())
        if pane is None or found is None:
            return None
        self._asked_early = False
        if not self._release.isEnabled() or found.chosen != pane.value():
            return None
        return pane.asked(found)

    @property
    def refused(self) -> WorkbenchError | None:
        return table_refusal(self.session) or super().refused

    def certain_refusal(self) -> WorkbenchError | None:
        if self._problem_found is not None:
            return self._problem_found
        return self.over_cap() if self._refused_for_certain() else None

    def over_cap(self) -> BudgetRefusedError | None:
        """Return what the ledger would say to the charge; ``None`` where the caps allow it."""
        found = self._foreseen
        cost = self.session.plan.cost() if found is None else found.epsilon
        if cost is None:
            return None
        return self.session.account.refusal(cost, found.delta if found is not None else 0 * cost)


class Sections(QWidget):
    """The fields of a way beside what every release has, and below them what its newest release holds."""

    def __init__(self, version: QWidget, cost: QWidget, outside: QWidget, columns: QWidget) -> None:
        super().__init__()
        look(self, "clear")
        self._cost, self._outside = cost, outside
        self._columns = columns  # for a high window: there is room to look once more at what leaves
        self._columns.hide()
        self._below = look(QWidget(), "clear")
        self._holder = stack(spacing=12)
        self._below.setLayout(self._holder)
        self._lower: dict[WayPane, QWidget] = {}  # each of its parts is shown and hidden by its way
        self._pane: WayPane | None = None
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(12)
        self._grid.addWidget(version, 0, 0, 1, 2)
        self._grid.setRowStretch(6, 1)
        self._wide = self._narrow = self._high = self._single = False
        self._soon = QTimer(self, singleShot=True, interval=0)  # Qt does not bear another layout while it makes one
        self._soon.timeout.connect(self._fit)
        self._arrange()

    def show_pane(self, pane: WayPane | None) -> None:
        if self._pane is not None:
            self._grid.removeWidget(self._pane)
            for part in (self._pane, self._lower[self._pane]):
                part.hide()
        self._pane = pane
        if pane is not None:
            if pane not in self._lower:
                self._lower[pane] = look(panel(stack(*pane.below, spacing=12)), "clear")
                self._holder.add(self._lower[pane])
                for part in pane.below:
                    part.installEventFilter(self)
            self._show_below()
        self._arrange()
        if pane is not None:
            pane.show()

    def _show_below(self) -> None:
        """Leave no gap for what a way has below while none of it is shown."""
        if self._pane is not None:
            shown = any(not part.isHidden() for part in self._pane.below)
            self._lower[self._pane].setVisible(shown)
            self._below.setVisible(shown)

    def eventFilter(self, part: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self._show_below()
        return super().eventFilter(part, event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._soon.start()

    def event(self, event: QEvent) -> bool:
        """Arrange what needs more room, as with larger text, for the width that there is."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._soon.start()
        return super().event(event)

    def _fit(self) -> None:
        around, pane = self.parentWidget(), self._pane
        room = self.width() if around is None else around.width()
        high = around is not None and around.height() >= HIGH and room >= WIDE

        def beside(*parts: QWidget) -> bool:
            return sum(part.minimumSizeHint().width() for part in parts) + self._grid.spacing() <= room

        narrow = pane is not None and not beside(pane, self._cost)
        fits = (room >= WIDE, narrow, high, narrow and not beside(self._outside, self._cost))
        if (self._wide, self._narrow, self._high, self._single) != fits:
            self._wide, self._narrow, self._high, self._single = fits
            self._arrange()

    def _arrange(self) -> None:
        grid, pane, wide = self._grid, self._pane, self._wide
        for part in (self._cost, self._outside, self._columns, self._below):
            grid.removeWidget(part)
        self._columns.setVisible(self._high and pane is not None)
        grid.setRowStretch(4, 100 if self._high and pane is not None else 0)
        grid.setRowStretch(2, 50 if self._high and pane is not None and pane.wide else 0)  # a list gets of it, too
        across = pane is not None and (pane.wide or self._narrow) and not wide
        if pane is not None:
            grid.removeWidget(pane)
            grid.addWidget(pane, 1, 0, 1 if across or not wide else 2, 2 if across else 1)
        single = across and self._single
        grid.addWidget(self._cost, *((2, 0) if across else (1, 1)), 1, 2 if single else 1)
        aside = (across or wide) and not single
        grid.addWidget(self._outside, *((2, 1) if aside else (3, 0)), 1, 1 if aside else 2)
        grid.addWidget(self._columns, 4, 0, 1, 2)
        grid.addWidget(self._below, 5, 0, 1, 2)
        grid.setColumnStretch(0, 1 if wide or across else 3)
        grid.setColumnStretch(1, 1 if wide or across else 2)
