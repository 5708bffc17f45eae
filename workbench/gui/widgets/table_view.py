"""What every table has: plain rows of one height, a tip for what is cut, an order by a heading, a filter, copies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QItemSelectionRange, QModelIndex, QPoint, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QCheckBox, QFrame, QHeaderView, QLineEdit, QMenu, QTableView, QToolTip

from workbench.gui.session.session import Session
from workbench.gui.style.language import again, tr, tr_later, tr_number
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import PRIVATE, hold, label, look, named, row
from workbench.gui.widgets.cell_delegates import PADDING
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.table_model import EXACT, Cell, Column, Roles, TableModel, in_two_lines
from workbench.render.fonts import font, scaled

FIND, COPY = QKeySequence.StandardKey.Find, QKeySequence.StandardKey.Copy
MOST_COPIED = 100_000
"""Cells that are copied at once: more would hold up the window, and no clipboard is meant for them."""

Private = bool | Callable[[Sequence[int]], bool]
"""Whether the rows of a table are private, or what says it of some of their numbers."""

HEADING, HEADING_PAD = 13, 22  # pixels of the letters of a heading, and beside them, as the style sheet says

IN_SIGHT = 5  # lines that a table shows on every page, where it has so many

LETTERS = 20  # pixels of a line of text at 100 %

WIDTH = 150
TIPS = {
    "columns": tr_later(
        "Show only the columns whose name contains these letters. Several can be selected (Ctrl+A: all "
        "in sight) and edited at once"
    ),
    "lines": tr_later("Show only the lines that contain these letters"),
    "rows": tr_later("Show only the rows that contain these letters"),
}
SHOW = {
    "columns": tr_later("Show columns by name"),
    "lines": tr_later("Show only lines with this word"),
    "rows": tr_later("Show only rows with this word"),
}
NEEDS_TIP = tr_later("Show only what blocks a release: something open, wrong, guessed or refused")


class TableView(QTableView):
    """A table whose rows can be sorted and filtered: moved and hidden in the view alone.

    The rows of the model keep their order, so that an edit, its undo and a row's number mean the same whatever is
    shown.
    """

    shown_changed = Signal()  # other rows are in sight
    rows_are = "lines"  # what a filter calls its rows
    _asks = False

    def __init__(self, model: TableModel, name: str, accessible: str, *, row_height: int = ROW) -> None:
        super().__init__()
        self._rows = model
        self._wanted, self._needs_only = "", False
        self._sorted = -1, Qt.SortOrder.AscendingOrder
        self.counts = True  # whether a filter says how many rows it leaves: of private rows that would be a figure
        self._filter_field: TableFilter | None = None
        self._private: Private | None = None
        named(self, name, accessible)
        self.setModel(model)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.set_row_height(row_height)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalScrollBar().rangeChanged.connect(self.updateGeometry)
        self.add_action("find", tr("Filter…"), self.ask_filter, tr("Show only some lines (Ctrl+F)"))
        model.modelReset.connect(self._follow_reset)

    def set_row_height(self, pixels: int) -> None:
        """Make every row ``pixels`` high at 100 % text; larger letters make it as much higher as they are."""
        self._row_height = pixels
        self._follow_letters()

    def _follow_letters(self) -> None:
        head, height = self.verticalHeader(), self._row_height + scaled(LETTERS) - LETTERS
        if head.defaultSectionSize() != height:
            hidden = [at for at in range(head.count()) if head.isSectionHidden(at)] if head.hiddenSectionCount() else []
            for at in hidden:  # one that is hidden would keep its height
                head.showSection(at)
            head.setDefaultSectionSize(height)
            for at in hidden:
                head.hideSection(at)

    def stack_headings(self, *, stacked: bool) -> None:
        lines = 2 * QFontMetrics(font(HEADING)).lineSpacing() + 12 if stacked else 0
        if lines != self.horizontalHeader().minimumHeight():
            self.horizontalHeader().setMinimumHeight(lines)
            self.updateGeometry()
        self._rows.stack_headings(stacked=stacked)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(super().minimumSizeHint().width(), self.room_for(self._asked_for(IN_SIGHT)))

    def _asked_for(self, lines: int) -> int:
        """Return how many lines to ask room for: none while another view of the page is shown instead."""
        self._asks = self.isVisibleTo(self.window())
        return lines if self._asks else 0

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        if not self._asks:
            self.updateGeometry()

    def room_for(self, lines: int) -> int:
        """Return the height of the headings and of some lines, at the present size of text."""
        heads = self.horizontalHeader()
        above = max(heads.sizeHint().height(), heads.minimumHeight())
        bar = self.horizontalScrollBar()
        below = bar.sizeHint().height() if bar.maximum() else 0
        return above + lines * self.verticalHeader().defaultSectionSize() + below

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Show the whole text of a cell that is cut, above its tip where that does not say it."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.indexAt(event.pos())
            cut = index.isValid() and self.sizeHintForIndex(index).width() > self.columnWidth(index.column())
            text, tip = str(index.data() or ""), str(index.data(Roles.ToolTipRole) or "")
            if cut and text not in tip:
                QToolTip.showText(event.globalPos(), f"{text}\n\n{tip}".strip(), self)
                return True
        return super().viewportEvent(event)

    def add_action(self, name: str, words: str, act: Callable[[], object], tip: str, key: str = "") -> QAction:
        """Return another entry of the context menu; its key works without it."""
        action = QAction(words, self)
        action.setObjectName(f"{self.objectName()}_{name}")
        action.setToolTip(tip)
        action.triggered.connect(lambda _checked: act())
        if key:
            action.setShortcut(QKeySequence(key))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.addAction(action)
        return action

    def sort_by_headings(self, *, indicated: bool = True) -> None:
        """Let a click on a heading sort, and a key; where it is ``indicated``, each heading keeps room for the sign."""
        heads = self.horizontalHeader()
        heads.setSectionsClickable(True)
        if indicated:
            heads.setSortIndicatorShown(True)
        else:
            self.indicate_while_sorted()
        heads.setSortIndicatorClearable(True)  # the third click shows the first order again
        heads.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        heads.sortIndicatorChanged.connect(self._sort)
        self.add_action("sort", tr("Sort by This Column"), self._sort_by_current, "", "Alt+S")

    def indicate_while_sorted(self) -> None:
        """Give the headings room for the sign only while the rows are sorted."""
        heads = self.horizontalHeader()
        # Asked of the headings: a click on one that sorts nothing is taken back before this is called for it.
        heads.sortIndicatorChanged.connect(lambda: heads.setSortIndicatorShown(heads.sortIndicatorSection() >= 0))
        heads.setSortIndicatorShown(False)

    def _sort(self, column: int, order: Qt.SortOrder) -> None:
        rows = self._rows.order()
        if column >= 0 and not self._rows.columns[column].sorts:
            self.horizontalHeader().setSortIndicator(*self._sorted)
            return
        self._sorted = column, order
        if column >= 0:
            keys = {row: self._rows.sort_key(row, column) for row in rows}
            known = sorted((r for r in rows if keys[r] is not None), key=lambda r: keys[r])
            if order == Qt.SortOrder.DescendingOrder:
                known.reverse()
            rows = [*known, *(r for r in rows if keys[r] is None)]
        head = self.verticalHeader()
        with QSignalBlocker(head):  # the view would lay itself out at every row that moves
            for place, at in enumerate(rows):
                if head.visualIndex(at) != place:
                    head.moveSection(head.visualIndex(at), place)
        self.updateEditorGeometries()
        self.viewport().update()

    def sort_again(self) -> None:
        """Keep the chosen order, or the model's own, where what it goes by is another now."""
        heads = self.horizontalHeader()
        self._sort(heads.sortIndicatorSection(), heads.sortIndicatorOrder())

    def _sort_by_current(self) -> None:
        """Do by a key what a click on the heading of the current cell does."""
        heads, column = self.horizontalHeader(), self.currentIndex().column()
        again = heads.sortIndicatorSection() == column
        descending = again and heads.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        order = Qt.SortOrder.DescendingOrder if again else Qt.SortOrder.AscendingOrder
        heads.setSortIndicator(-1 if descending else column, Qt.SortOrder.AscendingOrder if descending else order)

    # -- copies ---------------------------------------------------------------------------------------------------

    def let_copy(self, private: Private) -> None:
        """Let cells be copied, by Ctrl+C and in a context menu; of ``private`` rows with the badge as first line."""
        self._private = private
        key = QKeySequence(COPY).toString()
        tip = tr("Copy the selected cells with the names of their columns")
        self.add_action("copy", tr("Copy"), self.copy_cells, tip, key)
        tip = tr("Copy every row with the names of the columns")
        self.add_action("copy_all", tr("Copy All Rows"), lambda: self.copy_cells(whole=True), tip)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)

    def _show_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setObjectName(f"{self.objectName()}_menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(self.actions())
        menu.popup(self.viewport().mapToGlobal(at))

    def copy_cells(self, *, whole: bool = False) -> None:
        model, session = self.model(), self._rows.session
        areas = self.selectionModel().selection().toList()
        if whole:
            areas = [QItemSelectionRange(model.index(0, 0), model.index(model.rowCount() - 1, model.columnCount() - 1))]
        cells = sum(a.width() * a.height() for a in areas)
        if not cells:
            session.notify("info", tr("Nothing is selected."))
            return
        if cells > MOST_COPIED:
            figures = {"cells": tr_number(cells, ","), "most": tr_number(MOST_COPIED, ",")}
            said = tr("{cells} cells are too many to copy: choose at most {most} of them.", **figures)
            session.notify("warning", said)
            return
        # As they are shown: a table may be sorted in its view, and what is hidden is not copied unseen.
        seen = {r for a in areas for r in range(a.top(), a.bottom() + 1) if whole or not self.isRowHidden(r)}
        rows = sorted(seen, key=self.verticalHeader().visualIndex)
        shown = {c for a in areas for c in range(a.left(), a.right() + 1) if not self.isColumnHidden(c)}
        columns = sorted(shown)
        chosen = {(r, c) for a in areas for r in range(a.top(), a.bottom() + 1) for c in range(a.left(), a.right() + 1)}
        private = self._private(rows) if callable(self._private) else bool(self._private)
        lines = [headings(self, columns)]
        lines += [[copied(model.index(r, c)) if (r, c) in chosen else "" for c in columns] for r in rows]
        texts = ["\t".join(map(_in_a_spreadsheet, line)) for line in lines]
        QGuiApplication.clipboard().setText("\n".join([*[PRIVATE] * private, *texts]) + "\n")
        said = tr_later("Copied {rows}, which are private.") if private else tr_later("Copied {rows}.")
        session.notify("info", tr(said, rows=count(len(rows), "row")))

    # -- which rows -----------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        """Take the key that filters before the window does: of several tables, it is for this one.

        That which copies is taken from Qt's table, which copies the current cell alone and never says that it is
        private.
        """
        copies = self._private is not None and event.type() == QEvent.Type.KeyPress
        if copies and isinstance(event, QKeyEvent) and event.matches(COPY):
            self.copy_cells()
            return True
        if isinstance(event, QKeyEvent) and event.matches(FIND):
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                self.ask_filter()
                return True
        return super().event(event)

    def ask_filter(self) -> None:
        """Go to the field that filters; where the page has none, it lies on the table."""
        if self._filter_field is None:
            TableFilter(self, self.rows_are, floats=True)
        assert self._filter_field is not None
        self._filter_field.show()
        self._filter_field.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def filtered_by(self, field: TableFilter) -> None:
        self._filter_field = field

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if self._filter_field is not None:
            self._filter_field.keep_in_corner()
        self._share_out()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Fit rows and columns again where texts are written larger or smaller."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._follow_letters()
            self.make_room()

    def make_room(self) -> None:
        """Fit the columns to their present contents."""
        self._share_out()

    def _share_out(self) -> None:
        """Share the width out to the columns."""

    def in_sight(self) -> Sequence[int]:
        """Return the rows that are not filtered out, in the order in which they are shown."""
        head = self.verticalHeader()
        rows = map(head.logicalIndex, range(head.count()))
        return [at for at in rows if not self.isRowHidden(at)]

    @property
    def whole_height(self) -> int:
        """The number of rows, in sight or not."""
        return self._rows.whole_height()

    @property
    def filtered(self) -> bool:
        """Whether some rows may be out of sight."""
        return bool(self._wanted) or self._needs_only

    def show_only(self, text: str, *, needs_only: bool = False) -> None:
        """Show the rows whose name holds ``text`` and, if asked, only those that need the person."""
        self._wanted, self._needs_only = text.strip().casefold(), needs_only
        self._filter()

    def _follow_reset(self) -> None:
        self.updateGeometry()
        self._filter()

    def _filter(self, kept: Collection[int] = ()) -> None:
        rows = range(self.model().rowCount())
        hidden = {at for at in rows if at not in kept and not self._passes(at)} if self.filtered else set()
        changed = [at for at in rows if self.isRowHidden(at) != (at in hidden)]
        self.setUpdatesEnabled(False)
        for at in changed:
            self.setRowHidden(at, at in hidden)
        self.setUpdatesEnabled(True)
        if changed:
            self._leave_hidden()
        self.shown_changed.emit()

    def _passes(self, row: int) -> bool:
        named_so = self._wanted in self._rows.name_at(row).casefold()
        return named_so and (not self._needs_only or self._rows.needs_at(row))

    def _leave_hidden(self) -> None:
        """Go from a row that is out of sight to the first that is in sight."""
        current = self.currentIndex()
        if current.isValid() and self.isRowHidden(current.row()):
            for first in self.in_sight()[:1]:
                self.setCurrentIndex(self.model().index(first, current.column()))


class _Field(QLineEdit):
    """Goes on to the table by Return or the arrow down, and is emptied by Esc; empty, it leaves a table it lies on."""

    def __init__(self, table: TableView, *, floats: bool) -> None:
        super().__init__()
        self._table, self._floats = table, floats

    def event(self, event: QEvent) -> bool:
        """Take Esc while there is something to empty or to leave, before the window does."""
        escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if escape and event.type() == QEvent.Type.ShortcutOverride and (self.text() or self._floats):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Take the three keys; the rest is text."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down) and not event.modifiers():
            self._table.setFocus(Qt.FocusReason.ShortcutFocusReason)
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() == Qt.Key.Key_Escape and self._floats:
            lying = self.parentWidget()
            assert lying is not None
            lying.hide()
            self._table.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            super().keyPressEvent(event)


class TableFilter(QFrame):
    """A field and a box, and how many rows they leave."""

    def __init__(
        self, table: TableView, what: str = "columns", tip: str = "", *, needs: bool = True, floats: bool = False
    ) -> None:
        """Make the filter of ``table``, with a box for what needs the person, on the table where it ``floats``."""
        super().__init__(table if floats else None)
        self._table, self._floats = table, floats
        table.filtered_by(self)
        name = table.objectName()
        self.field = named(_Field(table, floats=floats), f"{name}_filter", tr(SHOW[what]), tip or tr(TIPS[what]))
        self.field.setPlaceholderText(tr("Filter by name") if what == "columns" else tr("Filter"))
        self.field.setClearButtonEnabled(True)
        hold(self.field, WIDTH)
        self.needs = named(
            QCheckBox(tr("needs you"), self), f"{name}_needs", tr("Only columns that need you"), tr(NEEDS_TIP)
        )
        self._count = label("", "muted", name=f"{name}_count")
        line = row(self._count, self.field, spacing=12)
        self.setLayout(line)
        needs = needs and what == "columns"
        self.needs.setVisible(needs)
        if needs:
            line.addWidget(self.needs)
        if floats:
            look(self, "card")
            line.setContentsMargins(8, 4, 8, 4)
        else:
            find = QShortcut(QKeySequence(FIND), self)
            find.activated.connect(lambda: self.field.setFocus(Qt.FocusReason.ShortcutFocusReason))
        self.field.textChanged.connect(self._show)
        self.needs.toggled.connect(self._show)
        table.shown_changed.connect(self._follow)

    def keep_in_corner(self) -> None:
        """Lie in the lower right corner of the table, where the fewest rows are covered."""
        if self._floats:
            self.adjustSize()
            area = self._table.viewport().geometry()
            self.move(area.right() - self.width(), area.bottom() - self.height())

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self.keep_in_corner()

    def clear(self) -> None:
        self.field.clear()
        self.needs.setChecked(False)

    def _show(self) -> None:
        self._table.show_only(self.field.text(), needs_only=self.needs.isChecked())

    def _follow(self) -> None:
        """Say how many rows are in sight, and forget what was asked of another table."""
        if not self._table.filtered:
            with QSignalBlocker(self.field), QSignalBlocker(self.needs):
                self.clear()
        shown, whole = len(self._table.in_sight()), self._table.whole_height
        self._count.setText(
            tr("{shown} of {whole}", shown=tr_number(shown, ","), whole=tr_number(whole, ","))
            if self._table.filtered and self._table.counts
            else ""
        )
        self.keep_in_corner()


def _in_a_spreadsheet(text: str) -> str:
    """Return a cell as a spreadsheet takes it from the clipboard."""
    if not any(mark in text for mark in '\t\n\r"'):
        return text
    return '"' + text.replace('"', '""') + '"'


def copied(index: QModelIndex) -> str:
    """Return what is copied of a cell: what is shown, with all digits where it has more."""
    exact = index.data(EXACT)
    return str((index.data() if exact is None else exact) or "")


def heading_width(title: str) -> int:
    """Return the width in which a heading is read whole, however large its letters are."""
    bold = QFontMetrics(font(HEADING, QFont.Weight.DemiBold))
    return max(map(bold.horizontalAdvance, title.split("\n"))) + HEADING_PAD


def headings(view: QTableView, columns: Iterable[int]) -> list[str]:
    """Return the titles of some columns."""
    titles = (str(view.model().headerData(column, Qt.Orientation.Horizontal) or "") for column in columns)
    return [title.replace("\n", " ") for title in titles]


# -- lines of cells ---------------------------------------------------------------------------------------------------


MOST_SPREAD = 1.8
"""How much wider than its least width a column gets: figures far from each other are hard to read as one line."""

LEAST_SHARE = 0.5  # how far a column of words gives way to figures before the table is scrolled


class LinesModel(TableModel):
    """Lines of texts, which are found by any of them, and sorted as the numbers that they begin with, or as words."""

    def name_at(self, at: int) -> str:
        return "  ".join(self.cell(at, column).text for column in range(len(self.columns)))

    def sort_key(self, at: int, column: int) -> Any:
        """Return what a line is sorted by under a heading: figures before words, what is missing last."""
        cell = self.cell(at, column)
        if cell.key is not None:
            return (0, cell.key, "")
        text = (cell.exact or cell.text).strip()
        try:
            return (0, float(text), "")
        except ValueError:
            return None if text in ("", "–") else (1, 0.0, text.casefold())


class LinesTable(TableView):
    """A table whose columns are as wide as their texts; a wider table gives each its part of the rest."""

    least_lines = 1  # lines that there is room for, also while the table has fewer
    most_asked = 0  # the width up to which it asks for room for all columns

    def __init__(
        self,
        session: Session,
        name: str,
        accessible: str,
        columns: Sequence[Column],
        *,
        private: bool = False,
    ) -> None:
        """Make the table; words give way to figures down to :data:`LEAST_SHARE` before the table is scrolled."""
        self.lines = LinesModel(session, columns)
        self._widest: dict[int, int] = {}
        super().__init__(self.lines, name, accessible)
        self.let_copy(private)
        self.sort_by_headings(indicated=False)
        self.lines.modelReset.connect(self.make_room)
        self.horizontalHeader().geometriesChanged.connect(self.updateGeometry)
        self.lines.dataChanged.connect(lambda: self._widest.clear())
        self.lines.modelReset.connect(self.sort_again)
        # Qt stretches the last column from its usual size and never below it: a table without rows would be scrolled.
        self.horizontalHeader().setDefaultSectionSize(PADDING)
        self.horizontalHeader().setMinimumSectionSize(PADDING)  # else ε is as wide as a word where letters are large
        # Words take what is left over; a figure on the right would be torn from its line.
        self.horizontalHeader().setStretchLastSection(not columns[-1].right)

    def show_columns(self, columns: Sequence[Column], lines: Sequence[Sequence[Cell]]) -> None:
        if lines or self.lines.height() or tuple(columns) != self.lines.columns:
            self.lines.columns = tuple(columns)
            self.lines.show_lines(lines)

    def leave_out(self, columns: Collection[int]) -> None:
        """Show every column but these, whose room the others take."""
        for at in range(len(self.lines.columns)):
            self.setColumnHidden(at, at in columns)
        self.make_room()

    @property
    def whole_width(self) -> int:
        """The width at which nothing is shortened or scrolled to and figures have room, in points."""
        titles = [again(column.title) for column in self.lines.columns]
        return self._around(self._fitting(at, heading_width(title)) for at, title in enumerate(titles))

    @property
    def least_width(self) -> int:
        """The width at which nothing is shortened or scrolled to, with headings in two lines, in points."""
        titles = [in_two_lines(again(column.title)) for column in self.lines.columns]
        return self._around(self._needed(at, heading_width(title)) for at, title in enumerate(titles))

    def _around(self, widths: Iterable[int]) -> int:
        whole = sum(self._with_last(list(widths)))
        return whole + self.verticalScrollBar().sizeHint().width() + 2 * self.frameWidth()

    def _with_last(self, widths: list[int]) -> list[int]:
        """Return the widths with that of a stretched last column, which Qt gives no less than its heading takes."""
        if self.horizontalHeader().stretchLastSection():
            widths[-1] = max(widths[-1], self.horizontalHeader().sectionSizeHint(len(widths) - 1))
        return widths

    def make_room(self) -> None:
        """Fit the columns to lines that took the place of as many others."""
        self._widest.clear()
        super().make_room()

    def _share_out(self) -> None:
        # A figure that is cut reads as another figure: figures come first, words give way down to their heading.
        every, room = range(len(self.lines.columns)), self.viewport().width()
        words = [at for at in every if not (self.lines.columns[at].right or self.lines.columns[at].whole)]
        titles = [again(c.title) for c in self.lines.columns]
        stacked = sum(map(self._needed, every, map(heading_width, titles))) > room
        self.stack_headings(stacked=stacked)
        heads = [heading_width(in_two_lines(title) if stacked else title) for title in titles]
        heads = [0 if self.isColumnHidden(at) else heads[at] for at in every]
        needed = list(map(self._needed, every, heads))
        usual = [max(min(needed[at], self.lines.columns[at].width), heads[at]) for at in every]
        widths = [max(int(LEAST_SHARE * usual[at]), heads[at]) if at in words else needed[at] for at in every]
        widths = self._with_last(widths)
        fitting = list(map(self._fitting, every, heads))
        for columns, goal in ((words, usual), (words, needed), (every, fitting)):
            # The smallest needs are met first: what some words do not need goes to those that are longer.
            short = sorted((goal[at] - widths[at], at) for at in columns if goal[at] > widths[at])
            for place, (missing, at) in enumerate(short):
                widths[at] += min(missing, max(room - sum(widths), 0) // (len(short) - place))
        spread = max(1.0, min(room / max(sum(widths), 1), MOST_SPREAD))
        for at, width in enumerate(widths):
            if width:
                self.setColumnWidth(at, int(width * spread))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for the headings and as many lines as are to be seen at least: a page that has less is scrolled."""
        seen = self._asked_for(min(self.lines.height(), IN_SIGHT))
        asked = min(self.least_width, self.most_asked) if self.most_asked else 0
        return QSize(max(super().minimumSizeHint().width(), asked), self.room_for(max(self.least_lines, seen)))

    def _fitting(self, at: int, heading: int) -> int:
        """Return the width of a column whose figures have room."""
        column, shown = self.lines.columns[at], not self.isColumnHidden(at)
        return max(self._needed(at, heading), scaled(column.width) if column.right and shown else 0)

    def _needed(self, at: int, heading: int) -> int:
        """Return the width that a heading of some width and every text of a column fit into: none if it is left out."""
        if self.isColumnHidden(at):
            return 0
        widest = self._widest.get(at)
        if widest is None:  # a table is laid out several times before it is seen
            texts = {self.lines.cell(row, at).text for row in range(self.lines.height())}
            widest = max(map(QFontMetrics(self.font()).horizontalAdvance, texts), default=0) + PADDING
            self._widest[at] = widest
        return max(widest, heading)

    def retranslate(self) -> None:
        self._share_out()
