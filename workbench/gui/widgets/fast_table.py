"""A table of very many rows, painted in one go.

Qt asks the model nine times and the style sheet twice for every cell, and five times and twice for every number of a
row. Here a page is a few rectangles and one text for each cell: at 2560 × 1440 it takes 16 ms instead of the 86 ms of a
view with a plain delegate, and one row further 2 ms (``tests/benchmarks/results/painting.md``).
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.fast_table_model import RowsModel, presented
from workbench.render.fonts import font
from workbench.render.palette import Theme

PAD = 11
"""Pixels between the edge of a cell and its text: as in the heads of the style sheet."""

NARROWEST, WIDEST = 64, 260
"""Pixels between which a column is as wide as its head, its first and its last rows ask for."""

LOOKED_AT = 64
"""Rows whose texts are measured for that, half of them the last ones, where what counts is longest; and columns."""

TINT = 0.16
NUMBER = 12
"""Pixels of the font of a row's number, as the style sheet says."""

Lines = list[tuple[str, int]]
"""Texts, each with the top of its row."""

Changes = dict[int, list[bool]]
"""Of each column in sight, which of the rows in sight a draw has changed."""

_ONE_LINE = Qt.TextFlag.TextSingleLine.value | Qt.AlignmentFlag.AlignVCenter.value
_LEFT = _ONE_LINE | Qt.AlignmentFlag.AlignLeft.value
_RIGHT = _ONE_LINE | Qt.AlignmentFlag.AlignRight.value


def tint(theme: Theme) -> str:
    """Return the colour behind a changed cell."""
    from workbench.gui.style.colours import mixed

    return mixed(theme.surface, theme.warn, TINT)


def _paint_alone(area: QWidget) -> None:
    """Let nothing be painted below ``area``, which fills itself: six widgets lie there, each as large as the page.

    Rows that stay in sight when it is scrolled are then moved, too, and not painted again.
    """
    area.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)


def as_in_the_file(face: QFont) -> QFont:
    """Return a font that draws ``->`` and ``2x4`` in a cell as the signs they are; Inter makes an arrow and a cross."""
    plain = QFont(face)
    plain.setFeature(QFont.Tag("calt"), 0)
    return plain


def write(painter: QPainter, lines: Lines, left: int, room: int, height: int, *, right: bool = False) -> None:
    """Write texts below each other, each in the middle of its row, and cut where it is wider than its room.

    Args:
        painter: whose font and colour are taken.
        lines: each text with the top of its row.
        left: where the room of all of them begins.
        room: its width.
        height: of a row.
        right: whether they end where the room ends.
    """
    metrics, side = QFontMetricsF(painter.font()), _RIGHT if right else _LEFT
    for text, top in lines:
        if metrics.horizontalAdvance(text) > room:
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
        painter.drawText(left, top, room, height, side, text)


class RowNumbers(QHeaderView):
    """The numbers of the rows, as wide as the last one.

    Qt measures two hundred of them, at every change of style and several times over: each asks the model for five
    things, and a change of colours waits for all of it. Painting them asks as much for each row in sight.
    """

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._session = session
        self.setSectionsClickable(True)
        _paint_alone(self.viewport())

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what the last number asks for: figures are of equal width."""
        last = self.count() - 1
        return self.sectionSizeFromContents(last) if last >= 0 else QSize(0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        first, last = self.logicalIndexAt(event.rect().top()), self.logicalIndexAt(event.rect().bottom())
        rows = range(first, self.count() if last < 0 else last + 1) if first >= 0 else range(0)
        lines = [
            (self.model().headerData(row, Qt.Orientation.Vertical), self.sectionViewportPosition(row)) for row in rows
        ]
        with QPainter(self.viewport()) as painter:
            painter.fillRect(event.rect(), QColor(self._session.theme.surface))
            painter.setPen(QColor(self._session.theme.muted))
            painter.setFont(font(NUMBER))
            write(painter, lines, PAD, self.width() - PAD, self.defaultSectionSize())


class RowsTable(QTableView):
    """A view of a :class:`RowsModel`: plain cells of one line, changed ones tinted and bold, none of them edited."""

    def __init__(self, session: Session, model: RowsModel, name: str, accessible: str, *, row_height: int) -> None:
        super().__init__()
        named(self, name, accessible)
        self._session, self._rows = session, model
        self.setVerticalHeader(RowNumbers(session, self))
        self.setModel(model)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(row_height)
        self.horizontalHeader().setHighlightSections(False)
        _paint_alone(self.viewport())

    def fitting(self, column: int) -> int:
        """Return the width that the head and the first and last rows of a column ask for."""
        height, part = self._rows.rowCount(), LOOKED_AT // 2
        rows = range(min(height, part)), range(max(height - part, 0), height)
        texts = (presented(cell) for some in rows for cell in self._rows.cells(some, column))
        bold = QFontMetricsF(self._fonts()[True])
        wanted = max(map(bold.horizontalAdvance, texts), default=0) + 2 * PAD + 2
        return min(max(self.horizontalHeader().sectionSizeHint(column), ceil(wanted), NARROWEST), WIDEST)

    def fit_columns(self) -> None:
        """Give each of the first columns the width that it asks for."""
        for column in range(min(self._rows.columnCount(), LOOKED_AT)):
            self.setColumnWidth(column, self.fitting(column))

    def _fonts(self) -> tuple[QFont, QFont]:
        plain = as_in_the_file(self.font())
        bold = QFont(plain)
        bold.setWeight(QFont.Weight.DemiBold)
        return plain, bold

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the cells in sight: tint, selection and text, and a frame around the one that has the keyboard."""
        theme, dirty = self._session.theme, event.rect()
        rows, columns = self._touched(dirty)
        changes = {column: self._rows.changes(rows, column) for column in columns}
        with QPainter(self.viewport()) as painter:
            painter.fillRect(dirty, QColor(theme.surface))
            self._tint(painter, rows, changes, QColor(tint(theme)))
            selection = QColor(theme.selection)
            for part in self.selectionModel().selection().toList():
                first, last = self._cell_box(part.top(), part.left()), self._cell_box(part.bottom(), part.right())
                painter.fillRect(first.united(last).intersected(dirty), selection)
            self._write(painter, rows, changes, theme)
            current = self.currentIndex()
            if current.isValid() and self.hasFocus():
                painter.setPen(QColor(theme.accent))
                painter.drawRect(self._cell_box(current.row(), current.column()).adjusted(0, 0, -1, -1))

    def _touched(self, dirty: QRect) -> tuple[range, range]:
        first_row, last_row = self.rowAt(dirty.top()), self.rowAt(dirty.bottom())
        first_column, last_column = self.columnAt(dirty.left()), self.columnAt(dirty.right())
        if first_row < 0 or first_column < 0:
            return range(0), range(0)
        return (
            range(first_row, self._rows.rowCount() if last_row < 0 else last_row + 1),
            range(first_column, self._rows.columnCount() if last_column < 0 else last_column + 1),
        )

    def _tops(self, rows: range) -> range:
        top, height = self.rowViewportPosition(rows.start), self.verticalHeader().defaultSectionSize()
        return range(top, top + len(rows) * height, height)

    def _tint(self, painter: QPainter, rows: range, changes: Changes, colour: QColor) -> None:
        tops = self._tops(rows)
        for column, changed in changes.items():
            left, width = self.columnViewportPosition(column), self.columnWidth(column)
            for top, new in zip(tops, changed, strict=True):
                if new:
                    painter.fillRect(left, top, width, tops.step, colour)

    def _write(self, painter: QPainter, rows: range, changes: Changes, theme: Theme) -> None:
        tops, fonts = self._tops(rows), self._fonts()
        for column, changed in changes.items():
            # Together what is alike: a painter is slow to change its font and colour.
            alike: dict[tuple[bool, bool], Lines] = defaultdict(list)
            for top, cell, new in zip(tops, self._rows.cells(rows, column), changed, strict=True):
                alike[new, cell is None].append((presented(cell), top))
            left, room = self.columnViewportPosition(column) + PAD, self.columnWidth(column) - 2 * PAD
            for (new, missing), lines in alike.items():
                painter.setPen(QColor(theme.muted if missing else theme.text))
                painter.setFont(fonts[new])
                write(painter, lines, left, room, tops.step, right=self._rows.is_number(column))

    def _cell_box(self, row: int, column: int) -> QRect:
        return QRect(
            self.columnViewportPosition(column),
            self.rowViewportPosition(row),
            self.columnWidth(column),
            self.rowHeight(row),
        )
