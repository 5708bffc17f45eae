"""Preview: one draw of the plan beside the original. Private, free, and never released."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QBoxLayout, QComboBox, QSizePolicy, QWidget

from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.preview.tasks import (
    PreviewColumn,
    PreviewRows,
    draw_column,
    draw_pairs,
    draw_rows,
    look,
    recovered,
)
from workbench.gui.pages.run_page import first_problem
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    badge,
    button,
    hold_least,
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
from workbench.gui.widgets.correlation_matrix import Correlations
from workbench.gui.widgets.distribution import Distribution
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.fast_table import LOOKED_AT, RowsTable, tint
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.formatting import count, first_rows
from workbench.gui.widgets.master_detail import WIDE
from workbench.gui.widgets.table_model import Index
from workbench.gui.widgets.table_view import TableFilter
from workbench.gui.widgets.way_bar import WayBar
from workbench.jobs import CancelToken, Emit, Job
from workbench.release.ledger.study_note import BEFORE

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from workbench.gui.widgets.distribution import Recovered
    from workbench.studies.spreads_and_pairs import Pairs


class DrawModel(RowsModel):
    """Rows of a preview as text, shape (rows, columns), and which of them a draw has changed."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._changed: dict[str, NDArray[np.bool_]] = {}
        self._bold = QFont()
        self._bold.setWeight(QFont.Weight.DemiBold)

    def show_draw(self, frame: pl.DataFrame | None, changed: dict[str, NDArray[np.bool_]] | None = None) -> None:
        self._changed = changed or {}
        self.show_frame(frame)

    def changes(self, rows: range, column: int) -> list[bool]:
        """Whether each of some neighbouring cells of a column became another one in the draw."""
        changed = self._changed.get(self.name_of(column))
        return super().changes(rows, column) if changed is None else changed[self.rows_of(rows)].tolist()

    def decimal_of(self, name: str) -> str | None:
        """Return the decimal mark of a column: a drawn one is written with a point."""
        return None if name in self._changed else super().decimal_of(name)

    def is_changed(self, row: int, column: int) -> bool:
        return self.changes(range(row, row + 1), column)[0]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        roles = Qt.ItemDataRole
        if role == roles.AccessibleTextRole:
            cell = str(index.data())
            return tr("{cell}, changed", cell=cell) if self.is_changed(index.row(), index.column()) else cell
        if role == roles.BackgroundRole and self.is_changed(index.row(), index.column()):
            return QColor(tint(self.session.theme))
        if role == roles.FontRole and self.is_changed(index.row(), index.column()):
            return self._bold
        return super().data(index, role)


NOT_COPIED = tr_later("A preview is private and never leaves this page: release the table to have a copy of it.")


class PreviewTable(RowsTable):
    """One side of the comparison. It cannot be copied, and says why."""

    def __init__(self, session: Session, jobs: JobCenter, model: DrawModel, name: str, accessible: str) -> None:
        super().__init__(session, jobs, model, name, accessible, row_height=ROW - 6, private=True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setDragEnabled(False)
        self.horizontalHeader().setDefaultSectionSize(88)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.Cut):
            self._session.notify("warning", tr(NOT_COPIED))
            return
        super().keyPressEvent(event)


class Sides(QWidget):
    """Both sides."""

    column_chosen = Signal(str)  # (name) the current cell, or a click on a head, is in another column

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._left_model, self._right_model = DrawModel(session), DrawModel(session)
        self.left = PreviewTable(session, jobs, self._left_model, "preview_original", tr("Original rows: private"))
        self.right = PreviewTable(
            session, jobs, self._right_model, "preview_sanitised", tr("The same rows after one draw: private")
        )
        self.right.align_with(self.left)
        self._right_model.frame_changed.connect(self._fit)  # the left one has its rows by then
        self.filter = TableFilter(self.left, "rows")
        self.right.filtered_by(self.filter)
        layout = row(spacing=12)
        self.setLayout(layout)
        self.drawn = label("", "muted", name="preview_drawn")
        self.source = label(tr("Original"), "heading", name="preview_source")
        self._sanitised = label(tr("Sanitised"), "heading")
        session.theme_changed.connect(self._level)
        sides = (
            (self.left, self.source, None, self.filter),
            (self.right, self._sanitised, self.drawn, None),
        )
        for view, *head in sides:
            card = Card(row(*head, margins=(8, 4, 8, 0)), (view, 1), pad=8, spacing=4)
            # Neither side is wider for the text of its head.
            card.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
            layout.addWidget(card, 1)
        for view, other in ((self.left, self.right), (self.right, self.left)):
            view.verticalScrollBar().valueChanged.connect(other.verticalScrollBar().setValue)
            view.horizontalScrollBar().valueChanged.connect(other.horizontalScrollBar().setValue)
            view.horizontalHeader().sectionResized.connect(
                lambda at, _, size, other=other: other.horizontalHeader().resizeSection(at, size)
            )
            view.horizontalHeader().sectionClicked.connect(self._head_clicked)
            view.selectionModel().currentChanged.connect(lambda now, _, other=other: self._follow(now, other))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self._level()

    def _level(self) -> None:
        self._sanitised.setMinimumHeight(self.filter.sizeHint().height())

    def show_rows(self, rows: PreviewRows | None) -> None:
        self._left_model.show_draw(rows.original if rows else None)
        self._right_model.show_draw(rows.sanitised if rows else None, rows.changed if rows else None)

    def _fit(self, named_so: bool) -> None:
        """Make the columns wide enough for both sides: what is set on the left is followed by the right."""
        if named_so:
            return
        for column in range(min(self._right_model.columnCount(), LOOKED_AT)):
            self.left.setColumnWidth(column, max(self.left.fitting(column), self.right.fitting(column)))

    def _head_clicked(self, at: int) -> None:
        self.column_chosen.emit(self._left_model.name_of(at))

    def _follow(self, now: QModelIndex, other: PreviewTable) -> None:
        twin = other.model().index(now.row(), now.column())
        if twin.isValid() and other.currentIndex() != twin:
            other.setCurrentIndex(twin)
        if now.isValid():
            self.column_chosen.emit(self._left_model.name_of(now.column()))


# -- the page ---------------------------------------------------------------------------------------------------------


FREE = tr_later("Free, and never released or copied; the ledger notes that you looked.")
AGAIN = tr_later("Draw once more, as often as you like: it costs no ε, because none of it is ever released")
WITHOUT = tr_later(
    "Made-up rows also show what the noise does. Decide and Columns forecast the errors without any rows."
)
WAITING, DRAWING = tr_later("Drawing the preview…"), tr_later("Drawing a preview")
DETAIL = 236
WIDEST_CHOICE = 220
SPREAD, PAIRS = "spread", "relations"


class PreviewPage(PageFrame):
    """Both sides, the distribution of the chosen column or the correlations of all, and another draw."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("preview"))
        self._again = button(tr("Another draw"), "another_draw", tip=tr(AGAIN), press=self.draw_again)
        self._ways = WayBar(session, "preview", "rows", only=("rows", "synthetic"))
        self.header.insertWidget(0, self._ways)
        self._real = button(tr("Your rows…"), "preview_real", tip=tr("Preview the rows of the open table"))
        self._real.clicked.connect(lambda: self._make_up(made_up=False))
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
        self._nothing = EmptyState(session, "preview_nothing", tr("Nothing to preview yet"))
        self._first = self._ask_first()
        self._arrange()
        tip = tr("What recipients will see of it, and the release")
        self._next = self.set_primary(tr("Decide →"), "to_decide", lambda: session.go("ways"), tip)
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
        hold_least(self._detail, DETAIL)
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
        tip = tr("Draw once, and note in the ledger that it was shown")
        show = button(tr("Show a preview"), "preview_show", tip=tip, press=self._agree)
        tip = tr("Draw rows that follow from the plan alone")
        instead = button(tr("Show made-up rows"), "preview_made_up", tip=tip)
        instead.clicked.connect(lambda: self._make_up(made_up=True))
        return panel(stack(None, stated, other, row(None, instead, show, None), None, spacing=12))

    def _see_account(self) -> None:
        """Draw at once where the ledger says that private figures of the table were shown before."""
        if self._views.currentWidget() is self._first and not private_figures.is_first(self.session):
            self.refresh()

    def _agree(self) -> None:
        private_figures.agree(self.session)
        self.refresh()
        self.take_keys()

    def _make_up(self, *, made_up: bool) -> None:
        self._made_up = made_up
        self.refresh()
        self.take_keys()

    # -- what is shown --------------------------------------------------------------------------------------------

    def show_view(self, name: str) -> None:
        """Show the spread of one column below the rows, or the correlations of all columns in their place."""
        self._view = name
        self._segments[name].setChecked(True)
        self._show_parts()

    def resized(self) -> None:
        """Show the rows, the spread and the correlations at the same time where the page is wide."""
        wide = self.width() >= WIDE
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
        self._draw_nothing()
        self.session.report(error)

    def _draw_nothing(self) -> None:
        """Say that there is no draw, also where the person has cancelled a part of it."""
        self._outdate()
        self._clear()
        self._waiting.setText(tr("Nothing was drawn. Another draw tries it again."))
        self._say_note()

    def refresh(self) -> None:
        """Show whether there is something to draw, and draw it while the page is in sight."""
        self._outdate()
        session = self.session
        can = session.opened is not None and session.plan.ready and bool(session.plan.protected)
        first = can and not self._made_up and private_figures.is_first(session)
        self._views.setCurrentWidget(self._first if first else self._whole if can else self._nothing)
        self._again.setVisible(can and not first)
        self._ways.setVisible(session.opened is not None)
        self._badge.setVisible(can and not first and not self._made_up)
        self._real.setVisible(can and self._made_up)
        self._next.setVisible(can)
        self.set_note(self._free if can and not first else "")
        if not can:
            self._clear()
            wrong = first_problem(session) or tr("No column is protected.")
            if session.opened is None:
                self._nothing.say(tr("Open a table first."))
                self._nothing.lead("data", tr("Open a table →"))
            else:
                self._nothing.say(wrong)
                self._nothing.lead("protect", tr("← Columns"))
            return
        names = [c.name for c in session.plan.protected]
        self._choice.offer([(name, name) for name in names], self._column)
        self._column = self._choice.currentText()
        if first:
            self._clear()
        elif self.isVisible():
            self._ask()

    def shown(self) -> None:
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
        due, number = self._stale.intersection(self._seen), self.draw
        self._stale -= due
        handles = []
        if SPREAD in due:
            self.sides.drawn.setText(tr("drawing…"))
            rows = self._look(lambda table, plan, emit, cancel: draw_rows(table, plan, number, cancel))
            handles.append(self._start("rows", Job(tr(DRAWING), rows), self._show_rows))
        if PAIRS in due:
            self._say(PAIRS, tr("comparing…"))
            pairs = self._look(lambda table, plan, emit, cancel: draw_pairs(table, plan, number, emit, cancel))
            handles.append(self._start("pairs", Job(tr("Comparing correlations"), pairs), self._show_pairs))
        for handle in handles if not self._made_up else ():
            private_figures.follow_note(self.session, self.jobs, handle)

    def _look(self, draw: Callable[..., Any]) -> Callable[[Emit, CancelToken], Any]:
        """Return the work that looks at a draw of the plan as it is."""
        return look(self.session.open_table.table, self.session.plan.plan(), draw, made_up=self._made_up)

    def _start(self, what: str, job: Job[Any], show: Callable[[Any], None]) -> JobHandle:
        shown, failed = self._present(show), self._present(self._failed)
        handle = self.jobs.start(job, key=f"preview-{what}", on_result=shown, on_failure=failed)
        stopped = self._present(lambda _: self._draw_nothing())
        handle.cancelled.connect(lambda: stopped(None))
        return handle

    @property
    def _free(self) -> str:
        return tr("Made-up rows, which contain no real data; the ledger notes nothing.") if self._made_up else tr(FREE)

    def _ask_column(self) -> None:
        name, number = self._column, self.draw
        column = self._look(lambda table, plan, emit, cancel: draw_column(table, plan, name, number, cancel))
        self._start("column", Job(tr(DRAWING), column), self._show_column)

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
        self.set_note(self._rows_note if SPREAD in self._seen else self._free)

    def _say(self, view: str, text: str, stated: str = "") -> None:
        self._stated[view] = text, stated
        self._show_facts()

    def _show_facts(self) -> None:
        self._facts.set_whole(*self._stated[SPREAD if self._wide else self._view])
        self._pair_facts.set_whole(*self._stated[PAIRS])

    def _show_pairs(self, pairs: Pairs) -> None:
        self._say(PAIRS, tr("draw {draw}, {pairs}", draw=self.draw, pairs=self.correlations.show_pairs(pairs)))

    def _show_column(self, column: PreviewColumn) -> None:
        self.distribution.show_column(column)
        part = 100 * column.changed / column.rows if column.rows else 0.0
        share = tr("{x} %", x=tr_number(part, ".3g"))
        stated = tr("{share} of {rows} changed in this draw", share=share, rows=count(column.rows, "row"))
        self._say(SPREAD, tr("{share} changed", share=share), stated)
        self._show_recovered(None)
        plan = self.session.plan.plan()
        job = Job(tr("Estimating from the preview"), lambda emit, cancel: recovered(plan, column, cancel))
        self._start("recovered", job, self._show_recovered)

    def _show_recovered(self, found: Recovered | None) -> None:
        self.distribution.show_recovered(found)
        self._recovered.set_whole(found.words if found is not None else "")
