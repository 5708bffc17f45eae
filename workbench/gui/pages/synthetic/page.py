"""Synthetic rows: choose, look at a private draw, release, and look at what was released."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.pages.central_page import CentralPage, Released
from workbench.gui.pages.central_words import PAID, RUNNING, error_of, release_hindrance, steps_of
from workbench.gui.pages.synthetic import PAGE
from workbench.gui.pages.synthetic.messages import ABOUT, FREE, NEEDS_TIP, STEPS, counted, hindrance, needed
from workbench.gui.pages.synthetic.tasks import Checked, check, preview
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.widgets import figures_first
from workbench.gui.widgets.basic import Card, button, label, look, row, stack
from workbench.gui.widgets.empty_state import NothingYet
from workbench.gui.widgets.formatting import at_most, count
from workbench.gui.widgets.way_bar import WayBar

if TYPE_CHECKING:
    from workbench.gui.pages.synthetic.comparing import Compared

RELEASED = Released(
    name="synthetic",
    question="Draw and release new synthetic rows?",
    file="The synthetic table; .csv, .tsv or .parquet",
    ending="synthetic",
    kinds="CSV (*.csv);;Tab-separated (*.tsv);;Parquet (*.parquet)",
)


class SyntheticPage(CentralPage):
    """The settings and their cost, the private preview, the release and what was released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE, RELEASED)
        self.header.addWidget(WayBar(session, PAGE.name))
        from workbench.gui.pages.synthetic.choices import ChoicesCard
        from workbench.gui.pages.synthetic.comparison_card import ComparisonCard
        from workbench.gui.pages.synthetic.released import ReleasedPart

        self._checked: Checked | None = None
        self._drawing: JobHandle | None = None
        self._draw = 0
        self._choices = ChoicesCard(session)
        self._about = label(ABOUT, "muted", wrap=True, name="synthetic_about")
        self._again = button("Draw a preview", "synthetic_preview_start", tip=FREE)
        self._again.clicked.connect(self._preview)
        self._preview_card = ComparisonCard(session, "synthetic_preview", "A PRIVATE PREVIEW")
        self._released = ReleasedPart(session, jobs)
        self._nothing = NothingYet(session, "synthetic_nothing", "No table yet", "data", "Go to Data")
        self._nothing.say("Open a table and declare its public facts; then new rows of its shape can be drawn here.")
        self._arrange()
        self.foot.addWidget(self._cancel)
        self.foot.addWidget(self._again)
        self._release_buttons(self._ask, "Charge the budget, count, draw, certify and write the file")
        self._choices.changed.connect(self._changed)
        session.table_changed.connect(self.in_sight(self._start_over))
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        session.account_changed.connect(self.in_sight(self.refresh))
        session.released_changed.connect(self.in_sight(self._show_newest))
        self._start_over()

    # -- what is shown --------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        cost = Card(
            label("WHAT IT COSTS", "caption"), self._facts, self._problem, self._hint, self._use_rest, spacing=6
        )
        cost.body.addStretch(1)
        above = row(spacing=12)
        above.addWidget(self._choices, 3)
        above.addWidget(cost, 2)
        top = look(QWidget(), "clear")
        top.setLayout(above)
        layout = stack(self._about, top, spacing=12)
        top.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        layout.addWidget(self._released)
        layout.addWidget(self._preview_card, 1)
        self._rest = look(QWidget(), "clear")
        layout.addWidget(self._rest, 1)
        self.body.addWidget(self._nothing, 1)
        self.body.addWidget(self._scrolled(layout), 1)
        self.body.addWidget(self._into_line(label("with its certificate beside it", "muted")))
        self.body.addWidget(self._refusal)

    def _start_over(self) -> None:
        """Show another table: nothing of the former one stays."""
        self._forget_preview()
        self._start_over_target()
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
            self._scroll_to(self._released)
        self.refresh()

    def refresh(self) -> None:
        """Show what can be pressed, what stands in the way, and the cost against the account."""
        steps = steps_of(self.session)
        self._about.setText(f"{ABOUT} {STEPS.format(steps=steps)}" if steps else ABOUT)
        session, opened = self.session, self.session.opened
        for part in (self._area, self._into, self._again, self._release):
            part.setVisible(opened is not None)
        self._nothing.setVisible(opened is None)
        drawn, running = self._drawing is not None, self._flow.job is not None
        hinder, hint = hindrance(session) if opened is not None else ("", "")
        keep, keep_hint = release_hindrance(session) if opened is not None and not hinder else ("", "")
        problem = hinder or (sentence(self._problem_found) if self._problem_found is not None else "")
        self._say_problem(problem or keep, hint or ("" if problem else keep_hint))
        self._show_cost()
        ready = self._checked is not None and not hinder and not drawn and not running
        keys = self.has_keys(self._release, self._again, self._cancel, self._onward)
        self._again.setEnabled(ready)
        self._again.setText("Another draw" if self._draw else "Draw a preview")
        self._show_release(ready=ready and not keep)
        self._choices.enable(not running)
        self._preview_card.setVisible(self._draw > 0)
        self._rest.setVisible(self._draw == 0 and not self._released.isVisibleTo(self))
        self._show_cancel(running=drawn or running, keys=keys)
        self.set_note("" if opened is None else RUNNING if running else FREE if drawn or keep else PAID)

    def _show_cost(self) -> None:
        found = self._checked
        if found is None:
            self._no_costs("synthetic_counts", "synthetic_needs")
            return
        self._show_costs(found.cost, found.delta)
        self._facts.show_line("synthetic_counts", "spent on", counted(found))
        self._facts.show_line("synthetic_needs", "takes about", needed(found), tip=NEEDS_TIP)

    # -- what it does ---------------------------------------------------------------------------------------------

    def _preview(self) -> None:
        opened, choice = self.session.opened, self._choices.value()
        if opened is None or choice is None or self._drawing is not None or self._flow.job is not None:
            return
        if not figures_first.may_show(self, self.session):
            return
        number = self._draw + 1

        def apply(found: Compared) -> None:
            if self._drawing is handle:
                self._draw = number
                rows = count(found.rows, "row")
                stated = f"draw {number}, {rows} by {choice.method} at ε = {at_most(choice.epsilon)}"
                self._preview_card.show_compared(found, stated)
                self.refresh()
                if number == 1:
                    self._scroll_to(self._preview_card)

        handle = preview(opened, self.session.plan, choice, number, self.jobs, apply, self._failed_preview)
        self._drawing = figures_first.follow_note(self.session, self.jobs, handle)
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
            self._flow.ask(self._path(), choice.work, count(choice.rows, "synthetic row"))

    def _use(self, epsilon: Decimal, delta: Decimal) -> None:
        self._choices.use(epsilon, delta)

    @property
    def job(self) -> JobHandle | None:
        """The preview or the release that the page's own Cancel stops."""
        return self._flow.job or self._drawing

    def escape(self) -> bool:
        """Cancel the release or the preview that is going on."""
        if self._flow.stop():
            return True
        if self._drawing is None or self._drawing.stopping:
            return False
        self._drawing.cancel()
        return True
