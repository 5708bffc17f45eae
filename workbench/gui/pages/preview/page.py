"""Preview: one draw of the plan beside the original. Private, free, and never released."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QComboBox, QWidget

from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.preview import PAGE
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import figures_first
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    badge,
    button,
    hold_most,
    label,
    named,
    panel,
    row,
    segments,
    stack,
    views,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.formatting import count, first_rows
from workbench.gui.widgets.master_detail import WIDE
from workbench.gui.widgets.way_bar import WayBar
from workbench.release.ledger.study_note import BEFORE

if TYPE_CHECKING:
    from workbench.gui.pages.preview.tasks import PreviewColumn, PreviewRows, Source
    from workbench.gui.widgets.distribution import Recovered
    from workbench.studies.spreads_and_pairs import Pairs

FREE = tr_later("Free, and never released or copied; the ledger notes that you looked.")
AGAIN = tr_later("Draw once more, as often as you like: it costs no ε, because nothing of it is ever released")
WITHOUT = tr_later(
    "Made-up rows also show what the noise does. Decide and Columns forecast the errors without any rows."
)
MADE_UP = tr_later("Made-up rows, which contain no real data; the ledger notes nothing.")
WAITING = tr_later("Drawing the preview…")
DETAIL = 236
WIDEST_CHOICE = 220
SPREAD, PAIRS = "spread", "relations"


class PreviewPage(PageFrame):
    """Both sides, the distribution of the chosen column or the correlations of all, and another draw."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        # These know the engines, which the descriptor of the page does not wait for.
        from workbench.gui.pages.preview.side_by_side import Sides
        from workbench.gui.widgets.correlation_matrix import Correlations
        from workbench.gui.widgets.distribution import Distribution
        from workbench.gui.widgets.empty_state import NothingYet

        self._again = button(tr("Another draw"), "another_draw", tip=tr(AGAIN), press=self.draw_again)
        self.header.insertWidget(0, WayBar(session, PAGE.name, "rows", only=("rows", "synthetic")))
        self._real = button(tr("Your rows…"), "preview_real", tip=tr("Preview the rows of the open table"))
        self._real.clicked.connect(self._leave_made_up)
        self._made_up = False
        self._badge = badge()  # one of the whole page: everything on it is private
        self.header.addWidget(self._badge)
        self.header.addWidget(self._real)
        self.header.addWidget(self._again)
        self.draw = 1
        self._stale = {SPREAD, PAIRS}
        self._asked = self._rows_of = 0
        self._view, self._wide = SPREAD, False
        self._stated = {SPREAD: ("", ""), PAIRS: ("", "")}
        self._rows_note = tr(FREE)
        self._column = ""
        self.sides = Sides(session, jobs)
        self.sides.column_chosen.connect(self.choose_column)
        self.distribution = Distribution(session)
        self.correlations = Correlations(session)
        self._choice = named(ChoiceBox(), "preview_column", tr("Column whose distribution is shown"))
        hold_most(self._choice, WIDEST_CHOICE)
        self._choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)  # also to another table's
        self._choice.textActivated.connect(self.choose_column)
        self._facts = Elided("", "muted", name="preview_facts")
        self._recovered = Elided("", name="preview_recovered")
        self._nothing = NothingYet(session, "preview_nothing", tr("Nothing to preview yet"), "protect", tr("← Columns"))
        self._first = self._ask_first()
        self._arrange()
        self._next = self.set_primary(
            tr("Decide →"),
            "to_decide",
            lambda: session.go("ways"),
            tr("What recipients will see of it, and the release"),
        )
        session.plan_changed.connect(self.refresh)
        session.table_changed.connect(self._start_over)
        session.account_changed.connect(self._see_account)
        self.refresh()

    def _arrange(self) -> None:
        titles = (
            (SPREAD, tr("Distribution"), tr("How the values of one column are spread")),
            (PAIRS, tr("Correlations"), tr("How the columns go together")),
        )
        self._segments = segments(self, "preview_", titles, self.show_view)
        top = row(*self._segments.values(), 4, self._choice, 8, (self._facts, 1))
        self._pair_facts = Elided("", "muted", name="preview_pair_facts")
        pictures = self._recovered, (self.distribution, 1), self._pair_facts, (self.correlations, 1)
        self._detail = Card(top, *pictures, pad=12, spacing=4)
        self._detail.setMinimumHeight(DETAIL)
        self._waiting = label(tr(WAITING), "muted", name="preview_waiting")
        self._waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._draws = views(self._waiting, self.sides)
        # A third of a high window is the picture's.
        self._parts: QBoxLayout = stack((self._draws, 2), (self._detail, 1), spacing=12)
        self._whole = panel(self._parts)
        self._views = views(self._nothing, self._whole, self._first)
        self.body.addWidget(self._views, 1)
        self.show_view(SPREAD)

    def _ask_first(self) -> QWidget:
        """Return what is shown in place of the draw while no private figure of the table was shown."""
        stated = label(tr_sentence(BEFORE), wrap=True, name="preview_before")
        stated.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        other = label(tr(WITHOUT), "muted", wrap=True, name="preview_without")
        other.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        show = button(
            tr("Show a preview"), "preview_show", tip=tr("Draw once, and note in the ledger that it was shown")
        )
        show.clicked.connect(self._agree)
        instead = button(
            tr("Show made-up rows"), "preview_made_up", tip=tr("Draw rows that follow from the plan alone")
        )
        instead.clicked.connect(self._make_up)
        return panel(stack(None, stated, other, row(None, instead, show, None), None, spacing=12))

    def _see_account(self) -> None:
        """Draw at once where the ledger says that private figures of the table were shown before."""
        if self._views.currentWidget() is self._first and not figures_first.is_first(self.session):
            self.refresh()

    def _agree(self) -> None:
        figures_first.agree(self.session)
        self.refresh()
        self.take_keys()

    def _make_up(self) -> None:
        self._made_up = True
        self.refresh()
        self.take_keys()

    def _leave_made_up(self) -> None:
        self._made_up = False
        self.refresh()
        self.take_keys()

    # -- what is shown --------------------------------------------------------------------------------------------

    def show_view(self, name: str) -> None:
        """Show the spread of one column below the rows, or the correlations of all columns in their place."""
        self._view = name
        self._segments[name].setChecked(True)
        self._show_parts()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Show the rows, the spread and the correlations at the same time where the page is wide."""
        super().resizeEvent(event)
        wide = event.size().width() >= WIDE
        if wide != self._wide:
            self._wide = wide
            self._parts.setDirection(QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom)
            self._show_parts()

    @property
    def _seen(self) -> tuple[str, ...]:
        return (SPREAD, PAIRS) if self._wide else (self._view,)

    def _show_parts(self) -> None:
        """Show what is in sight, and ask for what of it is out of date."""
        spread, pairs = (view in self._seen for view in (SPREAD, PAIRS))
        for segment in self._segments.values():
            segment.setVisible(not self._wide)
        for part in (self._draws, self._recovered, self._choice, self.distribution):
            part.setVisible(spread)
        self.correlations.setVisible(pairs)
        self._pair_facts.setVisible(self._wide)
        self._show_facts()
        if self._views.currentWidget() is self._whole:
            self._say_note()
            if self.isVisible():
                self._ask()

    def _start_over(self) -> None:
        self.draw, self._column, self._made_up = 1, "", False
        self._clear()
        self.refresh()

    def _clear(self) -> None:
        """Show nothing of any draw."""
        self._waiting.setText(tr(WAITING))
        self._draws.setCurrentIndex(0)
        self._show_recovered(None)
        self.sides.show_rows(None)
        self.sides.drawn.setText("")
        self.sides.setAccessibleName("")
        self.distribution.show_column(None)
        self.correlations.show_pairs(None)
        self._rows_note = self._free
        for view in (SPREAD, PAIRS):
            self._say(view, "")

    def _failed(self, error: BaseException) -> None:
        """Show no figure of a former draw beside the reason why there is no present one."""
        self._clear()
        self._waiting.setText(tr("Nothing was drawn. Another draw tries it again."))
        self._say_note()
        self.session.report(error)

    def refresh(self) -> None:
        """Show whether there is something to draw, and draw it while the page is in sight."""
        self._outdate()
        session = self.session
        can = session.opened is not None and session.plan.ready and bool(session.plan.protected)
        first = can and not self._made_up and figures_first.is_first(session)
        self._views.setCurrentWidget(self._first if first else self._whole if can else self._nothing)
        self._again.setVisible(can and not first)
        self._badge.setVisible(not first and not self._made_up)
        self._real.setVisible(can and self._made_up)
        self._next.setVisible(can)
        self.set_note(self._free if can and not first else "")
        if not can:
            self._clear()
            problems = session.plan.problems()
            self._nothing.say(
                tr("Open a table first.")
                if session.opened is None
                else f"{problems[0].column}: {tr_sentence(problems[0].text)}."
                if problems
                else tr("No column is protected.")
            )
            return
        names = [c.name for c in session.plan.protected]
        self._choice.offer([(name, name) for name in names], self._column)
        self._column = self._choice.currentText()
        if first:
            self._clear()
        elif self.isVisible():
            self._ask()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        if self._views.currentWidget() is self._whole:
            self._ask()

    def choose_column(self, name: str) -> None:
        """Show the distribution of another protected column; one that is kept has nothing to compare."""
        if name == self._column or name not in [c.name for c in self.session.plan.protected]:
            return
        self._column = name
        self._choice.setCurrentText(name)
        if self._rows_of == self._asked:  # else the rows of the present draw ask for it when they come
            self._ask_column()

    def draw_again(self) -> None:
        """Draw once more."""
        self.draw += 1
        self._outdate()
        self._ask()

    def _outdate(self) -> None:
        """Take nothing any more that belongs to another draw or plan than the present ones."""
        self._asked += 1
        self._stale = {SPREAD, PAIRS}

    def _present(self, show: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return ``show`` for a result that is asked for now: it shows nothing once that is out of date."""
        asked = self._asked

        def show_if_present(result: Any) -> None:
            if asked == self._asked:
                show(result)

        return show_if_present

    def _ask(self) -> None:
        from workbench.gui.pages.preview.tasks import preview_pairs, preview_rows

        due = self._stale.intersection(self._seen)
        self._stale -= due
        what = self._source(), self.session.plan, self.draw, self.jobs
        handles = []
        if SPREAD in due:
            self.sides.drawn.setText(tr("drawing…"))
            handles.append(preview_rows(*what, self._present(self._show_rows), on_failure=self._present(self._failed)))
        if PAIRS in due:
            self._say(PAIRS, tr("comparing…"))
            handles.append(
                preview_pairs(*what, self._present(self._show_pairs), on_failure=self._present(self._failed))
            )
        for handle in handles if not self._made_up else ():
            figures_first.follow_note(self.session, self.jobs, handle)

    def _source(self) -> Source:
        from workbench.gui.pages.preview.tasks import Source

        opened = self.session.opened
        assert opened is not None
        return Source(opened.table, self._made_up)

    @property
    def _free(self) -> str:
        return tr(MADE_UP) if self._made_up else tr(FREE)

    def _ask_column(self) -> None:
        from workbench.gui.pages.preview.tasks import preview_column

        preview_column(
            self._source(),
            self.session.plan,
            self._column,
            self.draw,
            self.jobs,
            self._present(self._show_column),
            on_failure=self._present(self._failed),
        )

    def _show_rows(self, rows: PreviewRows) -> None:
        self.sides.show_rows(rows)
        self._draws.setCurrentWidget(self.sides)
        if self._rows_of != self._asked:
            self.distribution.await_draw()
            self._show_recovered(None)
            self._say(SPREAD, tr("drawing…"))
        self._rows_of = self._asked
        self._ask_column()  # after the rows, whose tables it uses again
        first = first_rows(rows.original.height, rows.rows)
        self.sides.drawn.setText(tr("draw {draw}", draw=self.draw))
        self.sides.source.setText(tr("Made-up rows") if self._made_up else tr("Original"))
        self._rows_note = f"{self._free} {tr('Tinted and bold: changed. Shown: {first}.', first=first)}"
        self._say_note()
        self.sides.setAccessibleName(tr("Draw {draw}, {first}", draw=self.draw, first=first))

    def _say_note(self) -> None:
        self.set_note(self._rows_note if SPREAD in self._seen else self._free, wrapped=True)

    def _say(self, view: str, text: str, stated: str = "") -> None:
        self._stated[view] = text, stated
        self._show_facts()

    def _show_facts(self) -> None:
        self._facts.set_whole(*self._stated[SPREAD if self._wide else self._view])
        self._pair_facts.set_whole(*self._stated[PAIRS])

    def _show_pairs(self, pairs: Pairs) -> None:
        self._say(PAIRS, tr("draw {draw}, {pairs}", draw=self.draw, pairs=self.correlations.show_pairs(pairs)))

    def _show_column(self, column: PreviewColumn) -> None:
        from workbench.gui.pages.preview.tasks import preview_recovered

        self.distribution.show_column(column)
        part = 100 * column.changed / column.rows if column.rows else 0.0
        share = tr("{x} %", x=tr_number(part, ".3g"))
        self._say(
            SPREAD,
            tr("{share} changed", share=share),
            tr("{share} of {rows} changed in this draw", share=share, rows=count(column.rows, "row")),
        )
        self._show_recovered(None)
        preview_recovered(
            self.session.plan,
            column,
            self.jobs,
            self._present(self._show_recovered),
            on_failure=self._present(self._failed),
        )

    def _show_recovered(self, found: Recovered | None) -> None:
        self.distribution.show_recovered(found)
        self._recovered.set_whole(found.words if found is not None else "")
