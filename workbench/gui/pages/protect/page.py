"""Protect: what is done with each attribute, and how ε is split over those that are protected."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel
from PySide6.QtGui import QShowEvent

from workbench.gui.gauges.budget import HIGH
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.protect import PAGE
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, button, label, lines, panel, row, stack, views
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.explain import Explainable, explain_button, of_one_row
from workbench.gui.widgets.formatting import at_most, count, entered
from workbench.gui.widgets.master_detail import MasterDetail

if TYPE_CHECKING:
    from workbench.gui.pages.protect.tasks import Outlook

LEAST, MOST = Decimal("1e-6"), Decimal("1e6")
SLIDER = Decimal("0.05"), Decimal(50)
EPSILON_HELP = tr_later(
    "The privacy loss of one row's whole record: how far anybody's belief about one person can "
    "move. Smaller is more private; at 0.5, a belief of 10 % can rise to at most 15.5 %"
)


class ProtectPage(PageFrame):
    """The entry of ε, one row per attribute, and the chosen attribute below them."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        # These know the engines, which the descriptor of the page does not wait for.
        from workbench.gui.pages.protect.detail import ShareDetail
        from workbench.gui.pages.protect.share_model import ShareModel
        from workbench.gui.widgets.empty_state import NothingYet
        from workbench.gui.widgets.settings_table import SettingsTable
        from workbench.gui.widgets.table_view import TableFilter

        self._even = button(
            tr("Split evenly"), "split_evenly", tip=tr("Free every lock and give each column the same share")
        )
        self._even.clicked.connect(self._split_evenly)
        about, now = tr(EPSILON_HELP), session.plan.epsilon
        self.entry = PrivacyEntry("plan_epsilon", LEAST, MOST, now, help_text=about, slider=SLIDER)
        self.entry.value_changed.connect(session.set_epsilon)
        Explainable(self.entry.field, session, lambda: of_one_row(session, session.plan.epsilon))
        self.shares = ShareModel(session)
        accessible = tr("Attributes: action, mechanism, share of ε and expected error of each")
        self.table = SettingsTable(session, self.shares, "share_table", accessible)
        Explainable(self.table, session, lambda: self.shares.asked_at(self.table.currentIndex().row()))
        self.detail = ShareDetail(session, self.shares)
        self.table.selectionModel().currentRowChanged.connect(lambda now, _: self.detail.show_attribute(now.row()))
        self.table.chosen_changed.connect(self.detail.refresh)
        self.filter = TableFilter(self.table)
        self.header.addWidget(self.filter)
        self.header.addWidget(self._even)
        self._sum = label("", "muted", name="share_sum")
        self._nothing = NothingYet(session, "protect_nothing", tr("Nothing to protect yet"), "data", tr("← Data"))
        self._nothing.say(tr("Open a table first: then each of its attributes is listed here with its share of ε."))
        self._arrange()
        self._next = self.set_primary(
            tr("Rows →"), "to_preview", self._go_on, tr("See what the plan does to the table")
        )
        self._stale = True
        session.plan_changed.connect(self.in_sight(self.refresh))
        session.table_changed.connect(self._show_table)
        self._show_table()

    def _arrange(self) -> None:
        session, caption = self.session, label(tr("Privacy budget of one whole row,  ε"))
        ask = explain_button(session, "protect_explain", lambda: of_one_row(session, session.plan.epsilon))
        budget = Card(lines(caption, (row((self.entry, 1), ask), 1), spacing=12), pad=12)
        table = Card(self.table, row(None, self._sum, margins=(8, 0, 12, 2)), pad=8, spacing=4)
        self._whole = panel(stack(budget, (MasterDetail(table, self.detail), 1), spacing=12))
        self._views = views(self._nothing, self._whole)
        self.body.addWidget(self._views, 1)

    # -- what is shown --------------------------------------------------------------------------------------------

    def _show_table(self) -> None:
        opened = self.session.opened is not None
        self._views.setCurrentWidget(self._whole if opened else self._nothing)
        self._even.setVisible(opened)
        self.filter.setVisible(opened)
        self._next.setVisible(opened)
        self.refresh()
        self.table.show_all()
        if opened and self.shares.rowCount():
            first = next((i for i, c in enumerate(self.session.plan.columns) if c.protected), 0)
            flags = QItemSelectionModel.SelectionFlag
            at = self.shares.index(first, 3)
            self.table.selectionModel().setCurrentIndex(at, flags.ClearAndSelect | flags.Rows)
            self.detail.show_attribute(first)

    def refresh(self) -> None:
        """Show the plan as it is, and ask for its forecasts while the page is in sight."""
        plan = self.session.plan
        self.entry.set_value(plan.epsilon)
        self.shares.follow_plan()
        self._say_sum()
        self._say_note()
        self._stale = True
        if self.isVisible():
            self._ask()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self.table.sort_again()  # not while a person drops a column here: its row would move away
        self._ask()

    def _ask(self) -> None:
        from workbench.gui.pages.protect.tasks import forecast_columns

        if self._stale and self.shares.shares():
            self._stale = False
            # Also where nothing is outdated: what is computed for a former plan is not to be shown.
            opened = self.session.opened
            rows = opened.table.rows if opened is not None else 1
            forecast_columns(self.shares.outdated(), rows, self.jobs, self._take_outlooks)

    def _take_outlooks(self, outlooks: tuple[Outlook, ...]) -> None:
        self.shares.take_outlooks(outlooks)
        self.table.make_room()
        self.table.filter_again()
        self._say_note()

    def _say_sum(self) -> None:
        shares, plan = self.shares.shares(), self.session.plan
        if not shares:
            self._sum.setText(f"⚠ {self.shares.problem}" if self.shares.problem else tr("No column is protected"))
            return
        total = sum(shares.values(), Decimal(0))
        # What is called exact is not rounded, nor is a sum that would then read like the ε it falls short of.
        written = entered if at_most(total) == at_most(plan.epsilon) else at_most
        whole = total == plan.epsilon
        stated = {"shares": count(len(shares), "share"), "total": written(total)}
        self._sum.setText(
            tr("{shares}, together ε = {total} exactly", **stated)
            if whole
            else tr(
                "{shares}, together ε = {total}, less than ε = {epsilon}: free a lock to use the rest",
                epsilon=written(plan.epsilon),
                **stated,
            )
        )

    def _say_note(self) -> None:
        from workbench.gui.pages.protect.share_model import note as warned

        plan = self.session.plan
        problems = plan.problems()
        kept = [c.name for c in plan.columns if c.action == "keep"]
        if self.session.opened is None:
            note = ""
        elif problems:
            where = f"{problems[0].column}: " if problems[0].column else ""
            note = f"✕ {where}{tr_sentence(problems[0].text)}."
        elif kept:
            note = tr("⚠ Published as it is, covered by no ε: {kept}.", kept=", ".join(kept))
        elif stated := warned(self.shares.useless(), plan.epsilon, high=plan.epsilon > HIGH):
            note = stated
        elif any(c.bounds_origin == "data" for c in plan.protected):
            taken = ", ".join(c.name for c in plan.protected if c.bounds_origin == "data")
            note = tr("⚠ Bounds or values were read off the data, which publishes them: {taken}.", taken=taken)
        else:
            note = tr("Nothing on this page has read the rows: the errors follow from the mechanisms alone.")
        self.set_note(note, wrapped=True)
        self._next.setEnabled(plan.ready and bool(plan.protected))

    # -- what the buttons do --------------------------------------------------------------------------------------

    def _split_evenly(self) -> None:
        from workbench.gui.pages.protect.share_model import evenly

        self.session.edit(tr("split ε evenly"), evenly(self.session.plan))

    def _go_on(self) -> None:
        self.session.go("preview")
