"""The page of a release that follows from a form: what it costs, what to expect of it, and what was released.

A kind brings its form, its forecast and a view of what was released; the rest is here and in
:mod:`workbench.gui.pages.release_page`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLayout, QVBoxLayout, QWidget

from workbench.gui.pages.base import Page
from workbench.gui.pages.release_account import (
    PAID,
    REPLACED,
    RUNNING,
    both_words,
    certainly_refused,
    left_text,
    left_words,
    release_hindrance,
    replaced_words,
    short_words,
    steps_of,
    what_remains,
)
from workbench.gui.pages.release_page import ReleasePage, ReleaseWords, known_error
from workbench.gui.pages.release_tasks import (
    Chosen,
    Foreseen,
)
from workbench.gui.pages.run_page import first_problem
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.newest_release import newest_release
from workbench.gui.session.session import OpenTable, ReleasedStep, Session
from workbench.gui.widgets.basic import Card, Facts, button, label, look, row
from workbench.gui.widgets.delta_entry import DeltaEntry
from workbench.gui.widgets.empty_state import NothingYet
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.explain import Explainable, of_one_row
from workbench.gui.widgets.formatting import in_full
from workbench.gui.widgets.release_card import ReleasedCard
from workbench.gui.widgets.way_bar import WayBar
from workbench.jobs import Job
from workbench.params import Parameters, WorkbenchError
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.sanitize.plan import Plan

SLIDER = Decimal("0.05"), Decimal(50)
TITLES = {"data": "Data →", "protect": "Protect →", "ledger": "Ledger →", "release": "Release →"}
"""What the button says that leads to where something is put right."""


class ReleaseForm(Card):
    """The fields of a request, with ε and δ; all follow table and plan until a person chooses another.

    Attributes:
        epsilon: the field for ε.
        delta: the field for δ.

    Signals:
        changed: something differs; ask :meth:`value`.
    """

    changed = Signal()

    def __init__(self, session: Session, name: str, epsilon_help: str, problem: str, pad: int = 16) -> None:
        """Make ε, δ and the line ``NAME_PROBLEM`` that says which field is refused; a subclass places them."""
        super().__init__(pad=pad)
        self._session = session
        self._own: set[str] = set()
        ends = Decimal(repr(EPSILON_LEAST)), Decimal(repr(EPSILON_MOST))
        self.epsilon = PrivacyEntry(
            f"{name}_epsilon",
            *ends,
            session.plan.epsilon,
            help_text=epsilon_help,
            slider=SLIDER,
        )
        self.delta = DeltaEntry(f"{name}_delta")
        self._problem = label("", "problem", wrap=True, name=f"{name}_{problem}")
        self._problem.hide()
        Explainable(self.epsilon.field, session, lambda: of_one_row(session, self.epsilon.value()))
        self.epsilon.value_changed.connect(lambda _value: self.chose("epsilon"))
        self.delta.textEdited.connect(lambda _text: self.chose("delta"))

    def request(self) -> Parameters | None:
        """Return what is asked for, as the engine takes it; ``None`` while a field is refused."""
        raise NotImplementedError

    def field_problem(self) -> str:
        """Return why a field is refused; empty where none is."""
        return self.delta.problem()

    def show_foreseen(self, found: Foreseen | None) -> None:
        """Show beside the fields what is foreseen, or that it is not known yet."""
        raise NotImplementedError

    def enable(self, on: bool) -> None:
        """Let the fields be changed, or not while a release goes on."""
        raise NotImplementedError

    def value(self) -> Chosen | None:
        """Return what is chosen; ``None`` while a field is refused."""
        request, delta = self.request(), self.delta.value()
        if request is None or delta is None or self.epsilon.problem():
            return None
        return Chosen(request, self.epsilon.value(), delta)

    def use(self, epsilon: Decimal, delta: Decimal) -> None:
        """Set ε and δ, as if a person had written them."""
        self.delta.show_value(delta)
        self.epsilon.set_value(epsilon)
        self._own.add("delta")
        self.chose("epsilon")

    def start_over(self) -> None:
        """Take everything from another table and its plan."""
        self._own.clear()
        self.delta.clear()
        self.say("")
        self.follow()

    def follow(self) -> None:
        """Show what follows from table and plan, but for what a person has chosen here."""
        if "epsilon" not in self._own:
            self.epsilon.set_value(self._session.plan.epsilon)

    def chose(self, key: str) -> None:
        """Keep what a person has chosen in the field ``key``."""
        self._own.add(key)
        self.say(self.field_problem())
        self.changed.emit()

    def say(self, problem: str) -> None:
        """Say which field is refused, and why."""
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))


Read = Callable[[OpenTable, Path, "Plan | None", Emit, CancelToken], Any]
"""(original, released file, the plan it was released by where that is known, …) → what its view shows."""


class ReleasedPart(QWidget):
    """The newest release of a kind from the open table: its files, Verify and documents, and a look into it.

    The page places the view below it.

    Attributes:
        step: the release; ``None`` where there is none.
    """

    def __init__(self, page: ReleasePage, view: QWidget, read: Read, words: tuple[str, str], failed: str) -> None:
        """Make it, hidden until there is such a release.

        Args:
            page: of which page.
            view: shows what is in the file; its ``show_released`` takes what ``read`` returns, or ``None``.
            read: reads the file in a worker.
            words: what is written on the button that reads it, and its tip.
            failed: what is said where it cannot be read.
        """
        super().__init__()
        look(self, "clear")
        self._page = page
        self._session, self._jobs, self._name = page.session, page.jobs, page._what.name
        self._read_file, self._failed = read, failed
        self.step: ReleasedStep | None = None
        self._card: ReleasedCard | None = None
        pressed = button(words[0], f"{self._name}_look", tip=words[1])
        pressed.clicked.connect(self._read)
        self._problem = label("", "problem", wrap=True, name=f"{self._name}_look_problem")
        self._problem.hide()
        self._view = view
        self._whole = QVBoxLayout(self)
        self._whole.setContentsMargins(0, 0, 0, 0)
        self._whole.setSpacing(12)
        self._line = QWidget()
        self._line.setLayout(row(pressed, None))
        for part in (self._line, self._problem):
            self._whole.addWidget(part)
        self.hide()
        view.hide()

    def show_newest(self) -> None:
        """Show the newest release, of this session or of an earlier one."""
        step = newest_release(self._session, self._name)
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
            self._card = ReleasedCard(step, 1, self._jobs, name=f"{self._name}_release")
            self._whole.insertWidget(0, self._card)
            if step.result is not None:  # just made
                self._page.scroll_to(self)
                self._read()

    def _show(self, found: Any) -> None:
        self._view.show_released(found)  # type: ignore[attr-defined]
        self._view.setVisible(found is not None)

    def _read(self) -> None:
        opened, step = self._session.opened, self.step
        if opened is None or step is None or not step.files:
            return
        path = step.files[0][1]
        plan = step.plan.plan() if step.plan != DraftPlan() else None

        def show(found: Any) -> None:
            if step is self.step and opened is self._session.opened:
                self._line.hide()
                self._problem.hide()
                self._show(found)
                self._page.scroll_to(self._view)

        def failed(error: BaseException) -> None:
            if step is self.step:
                known = known_error(error)
                stated = "A fault of the program; see the log." if known is None else sentence(known)
                self._problem.setText(f"{self._failed} {stated}")
                self._problem.show()

        def work(emit: Emit, cancel: CancelToken) -> Any:
            return self._read_file(opened, path, plan, emit, cancel)

        job = Job("Reading the release", work, about=path.name)
        self._jobs.start(job, key=f"{self._name}-released", on_result=show, on_failure=failed)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a kind of release brings to :class:`ForecastPage` beside its parts.

    Attributes:
        about: what is released, in a sentence.
        steps: what the steps of the plan's grids mean for it; ``{steps}`` is filled in.
        empty: what is said while no table is open.
        forecast: (plan, rows, what is chosen, cancel) → what is known of it before a row is read; run in a worker.
        facts: key, words and tip of each line below the cost, and what it says of a forecast.
    """

    about: str
    steps: str
    empty: str
    forecast: Callable[[Plan, int, Chosen, CancelToken], Foreseen]
    facts: tuple[tuple[str, str, str, Callable[[Any], str]], ...]


class ForecastPage(ReleasePage):
    """A form, its forecast and its cost, the release, and what was released.

    A subclass gives the form and the results to :meth:`set_parts` once they are made, and arranges them.

    Attributes:
        others: further buttons of the foot.
    """

    def __init__(self, session: Session, jobs: JobCenter, page: Page, what: ReleaseWords, kind: Kind) -> None:
        super().__init__(session, jobs, page, what)
        self._kind, name = kind, what.name
        self.header.addWidget(WayBar(session, page.name))
        self._foreseen: Foreseen | None = None
        self._problem_found: WorkbenchError | None = None
        self._allowed: tuple[Decimal, Decimal] | None = None
        self._facts = Facts()
        self._about = label(kind.about, "muted", wrap=True, name=f"{name}_about")
        self._problem = label("", "problem", wrap=True, name=f"{name}_problem")
        self._hint_page = "data"
        self._hint = button("", f"{name}_mend", "link")
        self._hint.clicked.connect(lambda: session.go(self._hint_page))
        self._use_rest = button("", f"{name}_use_rest", "link", tip="Lower ε and δ to what remains under the caps")
        self._use_rest.clicked.connect(self._use_what_remains)
        self._use_rest.hide()
        self.others: tuple[QWidget, ...] = ()
        self._nothing = NothingYet(session, f"{name}_nothing", "No table yet", "data", "Go to Data")
        self._nothing.say(kind.empty)

    def set_parts(self, form: ReleaseForm, results: ReleasedPart, layout: QLayout) -> None:
        """Arrange the page round ``layout``, which holds ``form`` and ``results``, and show the open table."""
        session = self.session
        self._form, self._results = form, results
        self.body.addWidget(self._nothing, 1)
        self.body.addWidget(self._scrolled(layout), 1)
        self.body.addWidget(self._into_line())
        self.body.addWidget(self._refusal)
        form.changed.connect(self._changed)
        self._target.textChanged.connect(lambda _text: self.refresh())
        session.table_changed.connect(self.in_sight(self._start_over))
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        session.account_changed.connect(self.in_sight(self._show_newest))
        session.released_changed.connect(self.in_sight(self._show_newest))
        self._start_over()

    def hindrance(self) -> tuple[str, str]:
        """Return what keeps the kind from being forecast by this plan, and the page where that is put right."""
        raise NotImplementedError

    def nothing_asked(self, chosen: Chosen) -> str:
        """Return that nothing is asked for; empty where something is."""
        return ""

    # -- what is shown --------------------------------------------------------------------------------------------

    def _start_over(self) -> None:
        """Show another table: nothing of the former one stays."""
        self._start_over_target()
        self._form.start_over()
        self._results.show_newest()
        self._changed()

    def _plan_changed(self) -> None:
        self._form.follow()
        self._changed()

    def _show_newest(self) -> None:
        """Show what was released last."""
        self._results.show_newest()
        self.refresh()

    def _hindered(self) -> tuple[str, str]:
        if self.session.opened is None:
            return "", ""
        problem = first_problem(self.session)
        return (problem, "data") if problem else self.hindrance()

    def _changed(self) -> None:
        """Forecast another request: what to expect of it, and what it costs."""
        self._foreseen, self._problem_found, self._failure = None, None, None
        self._form.show_foreseen(None)
        self._refusal.hide()
        opened, chosen, draft = self.session.opened, self._form.value(), self.session.plan
        if opened is not None and chosen is not None and not self.nothing_asked(chosen) and not self._hindered()[0]:

            def current() -> bool:
                return (self.session.opened, self.session.plan, self._form.value()) == (opened, draft, chosen)

            def apply(found: Foreseen) -> None:
                if current():
                    self._foreseen = found
                    self._form.show_foreseen(found)
                    self.refresh()

            def failed(error: BaseException) -> None:
                if known_error(error) is None:
                    self.session.report(error)
                if current():
                    self._problem_found = known_error(error)
                    self.refresh()

            def work(emit: Emit, cancel: CancelToken) -> Foreseen:
                return self._kind.forecast(draft.plan(), opened.rows_under(draft), chosen, cancel)

            job = Job("Forecasting the release", work)
            key = f"{self._what.name}-forecast"
            self.jobs.start(job, key=key, shown=False, on_result=apply, on_failure=failed)
        self.refresh()

    def refresh(self) -> None:
        """Show what can be pressed, what prevents it, and the cost against the account."""
        session, opened, steps = self.session, self.session.opened, steps_of(self.session)
        self._about.setText(f"{self._kind.about} {self._kind.steps.format(steps=steps)}" if steps else self._kind.about)
        for part in (self._area, self._into, self._release):
            part.setVisible(opened is not None)
        self._nothing.setVisible(opened is None)
        chosen, running = self._form.value(), self._running is not None
        hinder, hint = self._hindered()
        keep, keep_hint = release_hindrance(session) if opened is not None and not hinder else ("", "")
        empty = self.nothing_asked(chosen) if chosen is not None else ""
        problem = hinder or (sentence(self._problem_found) if self._problem_found is not None else empty)
        self._say_problem(problem or keep, hint or ("" if problem else keep_hint))
        self._show_costs()
        ready = self._foreseen is not None and not hinder and not running and not self.busy
        keys = self.has_keys(self._release, *self.others, self._cancel, self._onward)
        self._show_release(ready=ready and not keep)
        self._form.enable(not running)
        self.show_others(ready=ready)
        self._show_cancel(running=running or self.busy, keys=keys)
        self.set_note("" if opened is None else RUNNING if running else self.note(kept=bool(keep)))

    @property
    def busy(self) -> bool:
        """Whether something else of the page runs."""
        return False

    def show_others(self, *, ready: bool) -> None:
        """Show what the kind has beside form and results; ``ready`` says whether its request is forecast."""

    def note(self, *, kept: bool) -> str:
        """Return the sentence at the foot; ``kept`` says whether something else keeps from the release."""
        return "" if kept else PAID

    def _show_release(self, *, ready: bool) -> None:
        """Enable Release where it can be paid for; offer the next page once these settings are released."""
        found, running, done = self._foreseen, self._running is not None, self._done
        short = certainly_refused(self.session, found.epsilon, found.delta) if ready and found is not None else ""
        self._release.setEnabled(ready and bool(self._target.text().strip()) and not short)
        self._release.setToolTip(f"{short} Raise the cap on the Ledger page first." if short else self._what.tip)
        self._onward.setText("Raise the cap →" if short and not done else "Ledger →")
        self._onward.setAccessibleName(self._onward.text())
        self._name_release(done=done)
        # What is highlighted, and what Ctrl+Return presses, must not be to pay twice.
        self._lead(self._onward if (done or short) and not running else self._release, self._onward)

    @property
    def _done(self) -> bool:
        """Whether just this plan was released in this way."""
        steps = self.session.released
        return any(step.central == self._what.name and step.plan == self.session.plan for step in steps)

    def _say_problem(self, text: str, hint: str) -> None:
        """Say what prevents the release, and offer the page ``hint`` where it is put right."""
        self._problem.setText(text)
        self._problem.setVisible(bool(text))
        self._hint_page = hint or "data"
        self._hint.setText(TITLES[self._hint_page])
        self._hint.setAccessibleName(self._hint.text())
        self._hint.setVisible(bool(text and hint))
        self._use_rest.hide()

    def _show_costs(self) -> None:
        """Show the charge, the figure for replaced rows and what remains; say so where the budget refuses it."""
        name, found, facts = self._what.name, self._foreseen, self._facts
        if found is None:
            facts.show_line(f"{name}_cost", "charged by Release", "–")
            for key in ("replace", "left", *(key for key, *_ in self._kind.facts)):
                facts.hide_line(f"{name}_{key}")
            return
        cost, delta = found.epsilon, found.delta
        facts.show_line(f"{name}_cost", "charged by Release", both_words(cost, delta), "accent", tip=in_full(cost))
        facts.show_line(f"{name}_replace", "if a row is replaced", replaced_words(cost, delta), tip=REPLACED)
        left, kind = left_words(self.session, cost, delta)
        short = short_words(self.session, cost, delta)
        if short and self._done:  # what was just released needs no warning
            facts.show_line(f"{name}_left", "left for another", left, "muted")
        else:
            facts.show_line(f"{name}_left", "left after it", left, kind)
            if short and not self._problem.text():
                self._say_problem(short, "ledger")
                rest = self._allowed = what_remains(self.session, cost, delta)
                self._use_rest.setVisible(rest is not None)
                self._use_rest.setText(f"Use what remains ({left_text(*rest)})" if rest is not None else "")
        for key, words, tip, stated in self._kind.facts:
            facts.show_line(f"{name}_{key}", words, stated(found.facts), tip=tip)

    def _use_what_remains(self) -> None:
        if self._allowed is not None:
            self._form.use(*self._allowed)

    def certain_refusal(self) -> WorkbenchError | None:
        """Return why the request, or the ledger, is certain to refuse it."""
        found = self._foreseen
        if self._problem_found is not None or found is None:
            return self._problem_found
        if certainly_refused(self.session, found.epsilon, found.delta):
            return self.session.account.refusal(found.epsilon, found.delta)
        return None
