"""A table of very many rows, painted in one go.

Qt asks the model nine times and the style sheet twice for every cell; a page of a wide table takes longer so than a
picture lasts on the screen. Here a page is a few rectangles and one text for each cell.
"""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from workbench.gui.rows_model import RowsModel
from workbench.gui.state import Session
from workbench.gui.widgets import named
from workbench.render.palette import Theme

PAD = 11
"""Pixels between the edge of a cell and its text: as in the heads of the style sheet."""

NARROWEST, WIDEST = 64, 260
"""Pixels between which a column is as wide as its head and its first rows ask for."""

LOOKED_AT = 64
"""Rows whose texts are measured for that, and columns: more are seldom looked at, and none is measured twice."""

TINT = 0.16
_ONE_LINE = Qt.TextFlag.TextSingleLine.value | Qt.AlignmentFlag.AlignVCenter.value
_LEFT = _ONE_LINE | Qt.AlignmentFlag.AlignLeft.value
_RIGHT = _ONE_LINE | Qt.AlignmentFlag.AlignRight.value


def tint(theme: Theme) -> str:
    """Return the colour behind a changed cell."""
    from workbench.gui.theme import mixed

    return mixed(theme.surface, theme.warn, TINT)


class _Widths(dict[str, int]):
    """Pixels of each letter, measured once: to lay out a text only to learn that it fits doubles the time of a page."""

    def __init__(self, metrics: QFontMetrics) -> None:
        super().__init__()
        self._metrics = metrics

    def __missing__(self, letter: str) -> int:
        self[letter] = width = self._metrics.horizontalAdvance(letter)
        return width


class RowNumbers(QHeaderView):
    """The numbers of the rows, as wide as the last one.

    Qt measures two hundred of them, at every change of style and several times over: each asks the model for five
    things, and a change of colours waits for all of it.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.setSectionsClickable(True)
        self.setHighlightSections(True)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what the last number asks for: figures are of equal width."""
        last = self.count() - 1
        return self.sectionSizeFromContents(last) if last >= 0 else QSize(0, 0)


class RowsTable(QTableView):
    """A view of a :class:`RowsModel`: plain cells of one line, changed ones tinted and bold, none of them edited."""

    def __init__(self, session: Session, model: RowsModel, name: str, accessible: str, *, row_height: int) -> None:
        """Make the view.

        Args:
            session: whose colours it takes.
            model: the rows.
            name: its object name.
            accessible: what a screen reader says.
            row_height: pixels of a row.
        """
        super().__init__()
        named(self, name, accessible)
        self._session, self._rows = session, model
        self.setVerticalHeader(RowNumbers(self))
        self.setModel(model)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(row_height)
        self.horizontalHeader().setHighlightSections(False)
        self._plain, self._bold = QFont(), QFont()
        self._take_fonts()

    def fitting(self, column: int) -> int:
        """Return the width that the head and the first rows of a column ask for."""
        if self.font() != self._plain:
            self._take_fonts()
        rows = range(min(self._rows.rowCount(), LOOKED_AT))
        texts = (sum(map(self._width_of.__getitem__, self._rows.shown(row, column))) for row in rows)
        wanted = max(self.horizontalHeader().sectionSizeHint(column), max(texts, default=0) + 2 * PAD + 2)
        return min(max(wanted, NARROWEST), WIDEST)

    def fit_columns(self) -> None:
        """Give each of the first columns the width that it asks for."""
        for column in range(min(self._rows.columnCount(), LOOKED_AT)):
            self.setColumnWidth(column, self.fitting(column))

    def _take_fonts(self) -> None:
        self._plain, self._bold = QFont(self.font()), QFont(self.font())
        self._bold.setWeight(QFont.Weight.DemiBold)
        self._metrics = QFontMetrics(self._bold)
        self._width_of = _Widths(self._metrics)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the cells in sight: selection, tint and text, and a frame around the one that has the keyboard."""
        if self.font() != self._plain:
            self._take_fonts()
        theme, dirty = self._session.theme, event.rect()
        painter = QPainter(self.viewport())
        selection = QColor(theme.selection)
        for part in self.selectionModel().selection().toList():
            first, last = self._cell_box(part.top(), part.left()), self._cell_box(part.bottom(), part.right())
            painter.fillRect(first.united(last).intersected(dirty), selection)
        first_row, last_row = self.rowAt(dirty.top()), self.rowAt(dirty.bottom())
        first_column, last_column = self.columnAt(dirty.left()), self.columnAt(dirty.right())
        if first_row >= 0 and first_column >= 0:
            rows = range(first_row, (self._rows.rowCount() if last_row < 0 else last_row + 1))
            columns = range(first_column, (self._rows.columnCount() if last_column < 0 else last_column + 1))
            for column in columns:
                self._paint_column(painter, rows, column, theme)
        current = self.currentIndex()
        if current.isValid() and self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1))
            painter.drawRect(self._cell_box(current.row(), current.column()).adjusted(0, 0, -1, -1))

    def _paint_column(self, painter: QPainter, rows: range, column: int, theme: Theme) -> None:
        model, height = self._rows, self.rowHeight(rows.start)
        left, width, y = self.columnViewportPosition(column), self.columnWidth(column), self.rowViewportPosition
        inner = width - 2 * PAD
        aligned = _RIGHT if model.is_number(column) else _LEFT
        text_pen, muted, tinted = QPen(QColor(theme.text)), QPen(QColor(theme.muted)), QColor(tint(theme))
        selected = self.selectionModel()
        width_of = self._width_of.__getitem__
        usual = True
        painter.setPen(text_pen)
        painter.setFont(self._plain)
        for row in rows:
            top = y(row)
            changed, missing = model.is_changed(row, column), model.cell(row, column) is None
            if changed and not (selected.hasSelection() and selected.isSelected(model.index(row, column))):
                painter.fillRect(left, top, width, height, tinted)
            text = model.shown(row, column)
            if sum(map(width_of, text)) > inner:
                text = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, inner)
            if changed or missing or not usual:
                painter.setFont(self._bold if changed else self._plain)
                painter.setPen(muted if missing else text_pen)
                usual = not (changed or missing)
            painter.drawText(left + PAD, top, inner, height, aligned, text)

    def _cell_box(self, row: int, column: int) -> QRect:
        return QRect(
            self.columnViewportPosition(column),
            self.rowViewportPosition(row),
            self.columnWidth(column),
            self.rowHeight(row),
        )
