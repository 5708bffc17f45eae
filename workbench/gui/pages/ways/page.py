"""What to release: four ways to spend the same ε, side by side, before anything is read or charged."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QGridLayout, QScrollArea, QWidget

from workbench.gui.pages.run_page import RunPage, first_problem
from workbench.gui.pages.ways import PAGE
from workbench.gui.pages.ways.cards import LEADS_TO, WayCard
from workbench.gui.pages.ways.tasks import REPEATS, TITLES, foresee, try_on_rows
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.open_images import FOR_TABLES
from workbench.gui.session.session import Session
from workbench.gui.widgets import figures_first
from workbench.gui.widgets.bar_lines import BarLines
from workbench.gui.widgets.basic import Card, badge, button, label, look, row, stack
from workbench.gui.widgets.empty_state import NothingYet
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.formatting import at_most

if TYPE_CHECKING:
    from workbench.studies.curve import CurveResult
    from workbench.studies.ways import Ways

NO_TARGET = "Choose on the Data page which column is the target, to try what a model learns from each."
INVITATION = (
    f"Try it trains a model of {{target}} on each kind of release, {REPEATS} times, and asks it about rows it has not "
    "seen. It spends none of the budget, as nothing of it is released."
)
LEAST, MOST = Decimal("1e-6"), Decimal("1e6")
SLIDER = Decimal("0.05"), Decimal(50)
SETTLED_MS = 50
"""After so long the lines of a trial are laid out, and can be scrolled to."""


class WaysPage(RunPage):
    """ε, what is advised and why, a card for each way, and the trial on the rows."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        self._found: Ways | None = None
        self._tried: tuple[object, CurveResult] | None = None
        self._trying: object = None
        self.entry = PrivacyEntry(
            "ways_epsilon",
            LEAST,
            MOST,
            session.plan.epsilon,
            help_text="Privacy loss of one row's whole record, however it is released",
            slider=SLIDER,
        )
        self.entry.value_changed.connect(session.set_epsilon)
        self._reason = label("", wrap=True, name="ways_reason")
        self._cards = {name: WayCard(name) for name in LEADS_TO}
        self._make_sheet()
        self._arrange()
        cancel = button("Cancel", "ways_cancel", tip="Stop (Esc)")
        self.set_run("Try it", "ways_try", "Train a model of the target on each kind of release", cancel)
        self._go = button("", "ways_go", "primary", tip="Go on with the way that is advised")
        self._go.clicked.connect(self._advised)
        self.foot.addWidget(self._go)
        session.table_changed.connect(self._forget)
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        self._forget()

    def _make_sheet(self) -> None:
        grid, cards = QGridLayout(), QWidget()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(12)
        for at, card in enumerate(self._cards.values()):
            card.chosen.connect(self.session.go)
            grid.addWidget(card, at // 2, at % 2)
            grid.setColumnStretch(at % 2, 1)
        cards.setLayout(grid)
        legend = label(
            "± is the margin that 95 of 100 such releases stay within; worked out without reading your rows, for "
            "values of usual shapes.",
            "muted",
            wrap=True,
        )
        self._words = label("", "muted", wrap=True, name="ways_trial_words")
        self._lines = BarLines(self.session, "ways_trial", "")
        self._badge = badge()
        head = QWidget()
        head.setLayout(row(label("WHAT A MODEL LEARNS FROM IT", "caption"), None, self._badge))
        trial = Card(head, self._words, self._lines)
        self._sheet = QWidget()
        self._sheet.setLayout(stack(cards, legend, trial, None, spacing=12))
        self._scrolled = QScrollArea()
        self._scrolled.setWidgetResizable(True)
        self._scrolled.setFrameShape(QScrollArea.Shape.NoFrame)
        self._scrolled.setWidget(self._sheet)

    def _arrange(self) -> None:
        line, asked = row(label("ε", "muted")), QWidget()
        line.addWidget(self.entry, 1)
        asked.setLayout(line)
        self._top = Card(asked, self._reason, pad=12)
        self._nothing = NothingYet(self.session, "ways_nothing", "Nothing to compare yet", "data", "Data →")
        self.body.addWidget(self._top)
        self.body.addWidget(self._scrolled, 1)
        self.body.addWidget(self._nothing, 1)

    def missing(self) -> str:
        """Return what stands in the way; a target is needed for the trial alone."""
        if self.session.opened is None:
            return FOR_TABLES if self.session.images is not None else "Open a table on the Data page first."
        return first_problem(self.session)

    def start(self) -> None:
        """Train on each kind of release."""
        if self.session.target is None or not figures_first.may_show(self, self.session):
            return
        self._trying = self._present()
        handle = try_on_rows(self.session, self.jobs)
        handle.finished.connect(self._finish)
        self.follow(handle)

    def run(self) -> None:
        """Do what Ctrl+Return asks for: lead on."""
        if self._go.isVisible():
            self._go.click()
        else:
            super().run()

    def refresh(self) -> None:
        """Show what can be pressed, and why."""
        missing = self.missing()
        target = self.session.target
        ways = None if missing else self._found
        self._run_button.setText("Data →" if missing else "Try it")
        self._run_button.setEnabled(bool(missing) or target is not None)
        self._run_button.setVisible(not self.running)
        self._cancel_button.setVisible(self.running)
        stopping = self._handle is not None and self._handle.stopping
        self._cancel_button.setText("Cancelling…" if stopping else "Cancel")
        self._cancel_button.setEnabled(not stopping)
        self._top.setVisible(not missing)
        self._sheet.setVisible(ways is not None)
        self._scrolled.setVisible(not missing)
        self._nothing.setVisible(bool(missing))
        self._nothing.say(missing)
        self._go.setVisible(ways is not None)
        self.primary = self._go if ways is not None else self._run_button
        look(self._run_button, "primary" if missing else "")
        self.set_note(missing)
        if ways is None:
            return
        self._go.setText(f"{ways.way(ways.advised).title} →")
        self._reason.setText(ways.reason)
        for way in ways.ways:
            self._cards[way.name].show_way(way, ways.questions, advised=way.name == ways.advised)
        self._show_trial(target)

    def _show_trial(self, target: str | None) -> None:
        fresh = self._tried is not None and self._tried[0] == self._present()
        self._badge.setVisible(fresh)
        self._lines.setVisible(fresh)
        if not fresh or self._tried is None:
            self._words.setText(NO_TARGET if target is None else INVITATION.format(target=target))
            return
        result = self._tried[1]
        metric = result.plan.measured.main
        points = {p.regime: p for p in result.points if p.metric == metric.name}
        most = max((abs(p.mean) for p in points.values()), default=0.0) or 1.0
        level = result.levels.get(metric.name)
        self._words.setText(
            f"{metric.title} of a model of {target} on held-out rows, at ε = {at_most(self.session.plan.epsilon)}"
            + (f"; {metric.level} gives {level:.3f}." if level is not None and metric.level else ".")
        )
        self._lines.show_lines(
            [
                (
                    name.partition(":")[0],
                    TITLES[name],
                    max(p.mean, 0.0) / most,
                    -1.0 if level is None else max(level, 0.0) / most,
                    f"{p.mean:.3f} ± {p.standard_error:.3f}",
                    "",
                )
                for name, p in points.items()
            ],
            "accent",
        )

    def _finish(self, result: CurveResult) -> None:
        self._tried = self._trying, result
        self.refresh()
        QTimer.singleShot(SETTLED_MS, self, self._scroll_to_trial)

    def _scroll_to_trial(self) -> None:
        bar = self._scrolled.verticalScrollBar()
        bar.setValue(bar.maximum())

    def job_ended(self, handle: JobHandle) -> None:
        """Show what came of it."""
        self.refresh()

    def _advised(self) -> None:
        if self._found is not None:
            self.session.go(LEADS_TO[self._found.advised])

    def _present(self) -> object:
        return self.session.target, self.session.plan.epsilon, self.session.plan.columns

    def _plan_changed(self) -> None:
        self.entry.set_value(self.session.plan.epsilon)
        if self.missing():
            self._found = None
            self.refresh()
            return
        handle = foresee(self.session, self.jobs)
        handle.finished.connect(self._take)

    def _take(self, ways: Ways) -> None:
        self._found = ways
        self.refresh()

    def _forget(self) -> None:
        self.forget()
        self._found, self._tried = None, None
        self._plan_changed()
        self.refresh()
