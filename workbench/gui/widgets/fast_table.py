"""A table of very many rows, painted in one go.

Qt asks the model nine times and the style sheet twice for every cell, and five times and twice for every number of a
row. Here a page is a few rectangles and one text for each cell: at 2560 × 1440 it takes 16 ms instead of the 86 ms of a
view with a plain delegate, and one row further 2 ms (``tests/benchmarks/results/painting.md``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRect, QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_number
from workbench.gui.style.stylesheet import ROW, mixed
from workbench.gui.widgets.basic import Card, badge, label, row
from workbench.gui.widgets.fast_table_model import RowsModel, arranged
from workbench.gui.widgets.table_view import TableFilter, TableView, heading_width
from workbench.jobs import Job
from workbench.render.fonts import font, scaled
from workbench.render.palette import Theme

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

PAD = 11  # pixels between the edge of a cell and its text: as in the heads of the style sheet

NARROWEST, WIDEST = 48, 260  # pixels between which a column is as wide as its head, its first and its last rows ask for

LOOKED_AT = 64
"""Rows whose texts are measured for that, half of them the last ones, where what counts is longest; and columns."""

MEASURED = 10_000  # rows of which the longest text is measured, too

TINT = 0.16
NUMBER = 12  # pixels of the font of a row's number, as the style sheet says

Lines = list[tuple[str, int]]  # texts, each with the top of its row

Changes = dict[int, list[bool]]  # of each column in sight, which of the rows in sight a draw has changed

_ONE_LINE = Qt.TextFlag.TextSingleLine.value | Qt.AlignmentFlag.AlignVCenter.value
_LEFT = _ONE_LINE | Qt.AlignmentFlag.AlignLeft.value
_RIGHT = _ONE_LINE | Qt.AlignmentFlag.AlignRight.value


def tint(theme: Theme) -> str:
    """Return the colour behind a changed cell."""
    return mixed(theme.surface, theme.warn, TINT)


def _paint_alone(area: QWidget) -> None:
    """Mark ``area`` opaque, as it fills itself: below it are six widgets, each as large as the page.

    Rows that stay in sight when it is scrolled are then moved, too, and not painted again.
    """
    area.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)


def as_in_the_file(face: QFont) -> QFont:
    """Return a font that draws ``->`` and ``2x4`` in a cell as the signs they are; Inter makes an arrow and a cross."""
    plain = QFont(face)
    plain.setFeature(QFont.Tag("calt"), 0)
    return plain


def write(painter: QPainter, lines: Lines, left: int, room: int, height: int, *, right: bool = False) -> None:
    """Write texts below each other, each in the middle of its row, and cut where it is wider than ``room``."""
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

    def __init__(self, session: Session, rows: RowsModel, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._session, self._shown = session, rows
        self.setSectionsClickable(True)
        _paint_alone(self.viewport())

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what the last number asks for, in sight or not: figures are of equal width."""
        whole = self._shown.whole_height()
        wide = QFontMetricsF(font(NUMBER)).horizontalAdvance(tr_number(whole, ","))
        return QSize(ceil(wide) + 2 * PAD if whole else 0, 0)

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


class RowsTable(TableView):
    """A view of a :class:`RowsModel`: plain cells of one line, changed ones tinted and bold, none of them edited.

    A million rows are sorted and filtered in a worker, and in the model: it is given the rows to show.
    """

    rows_are = "rows"
    _fitted = 0  # the size of letters for which columns were fitted; 0 before there were any

    def __init__(
        self,
        session: Session,
        jobs: JobCenter,
        model: RowsModel,
        name: str,
        accessible: str,
        *,
        row_height: int,
        private: bool = False,
    ) -> None:
        """Make the view; a filter of ``private`` rows does not say how many it leaves."""
        super().__init__(model, name, accessible, row_height=row_height)
        self._session, self._jobs, self._shown = session, jobs, model
        self._sides: tuple[RowsTable, ...] = (self,)
        self.counts = not private
        self.setVerticalHeader(RowNumbers(session, model, self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.set_row_height(row_height)
        self.sort_by_headings(indicated=False)
        model.frame_changed.connect(self._follow_frame)
        _paint_alone(self.viewport())

    # -- which rows, and in which order ----------------------------------------------------------------------------

    def align_with(self, other: RowsTable) -> None:
        """Show the same rows as ``other``: either is sorted by its own cells, both are looked through for a word."""
        self._sides = other._sides = (other, self)

    def in_sight(self) -> range:
        """Return the rows that are not filtered out: the model has no others."""
        return range(self._shown.rowCount())

    def show_only(self, text: str, *, needs_only: bool = False) -> None:
        """Show the rows with a cell that holds ``text``."""
        for side in self._sides:
            side._wanted = text.strip().lower()
        self._arrange()

    def sort_again(self) -> None:
        self._arrange()

    def _sort(self, column: int, order: Qt.SortOrder) -> None:
        for side in self._sides:
            if side is not self and column >= 0:
                side._forget_heading()
        self._arrange()

    def _forget_heading(self) -> None:
        heads = self.horizontalHeader()
        with QSignalBlocker(heads):
            heads.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
            heads.setSortIndicatorShown(False)

    def _follow_reset(self) -> None:
        """Filter nothing here: the model is given other rows, or has had them."""

    def _follow_frame(self, named_so: bool) -> None:
        if not named_so:
            self.fit_columns()
            self._wanted = ""
            self._forget_heading()
            self.shown_changed.emit()
        elif self.filtered or any(side.horizontalHeader().sortIndicatorSection() >= 0 for side in self._sides):
            self._arrange()

    def _arrange(self) -> None:
        sides = self._sides
        frames = [side._shown.frame for side in sides if side._shown.frame is not None]
        if len(frames) < len(sides) or len({frame.height for frame in frames}) > 1:
            return  # the other side follows
        by, descending = None, False
        for side, frame in zip(sides, frames, strict=True):
            heads = side.horizontalHeader()
            column = heads.sortIndicatorSection()
            if 0 <= column < frame.width:
                by = frame.to_series(column), side._shown.numbers_of(column)
                descending = heads.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        text = self._wanted
        find = partial(arranged, frames, text, by, descending)
        job = Job(tr("Sorting and filtering rows"), lambda _emit, cancel: find(cancel))

        def show(order: NDArray[np.int64] | None) -> None:
            if all(side._shown.frame is frame for side, frame in zip(sides, frames, strict=True)):
                for side in sides:
                    side._show_order(order)

        self._jobs.start(job, key=f"rows of {sides[0].objectName()}", on_result=show)

    def _show_order(self, order: NDArray[np.int64] | None) -> None:
        current = self.currentIndex()
        row, column, across = self._shown.row_of(current.row()), current.column(), self.horizontalScrollBar().value()
        self._shown.show_order(order)
        self.horizontalScrollBar().setValue(across)
        if current.isValid() and (place := self._shown.place_of(row)) >= 0:
            self.setCurrentIndex(self._shown.index(place, column))
        self.shown_changed.emit()

    def fitting(self, column: int) -> int:
        """Return the width that a column's heading, its first and last rows and its longest text need."""
        height, part, frame = self._shown.rowCount(), LOOKED_AT // 2, self._shown.frame
        rows = [range(min(height, part)), range(max(height - part, 0), height)]
        if frame is not None and height:
            longest = frame.to_series(column).head(MEASURED).cast(str).str.len_chars().arg_max()
            rows.append(range(height)[longest or 0 :][:1])
        texts = {self._shown.shown(cell, column) for some in rows for cell in self._shown.cells(some, column)}
        bold = QFontMetricsF(self._fonts()[True])
        wanted = max(map(bold.horizontalAdvance, texts), default=0) + 2 * PAD + 2
        heading = heading_width(str(self._shown.headerData(column, Qt.Orientation.Horizontal)))
        return min(max(heading, ceil(wanted), NARROWEST), WIDEST)

    def fit_columns(self) -> None:
        self._fitted = scaled(WIDEST)
        self.stack_headings(stacked=bool(self._shown.figures))  # long names of what was computed, above short figures
        for column in range(min(self._shown.columnCount(), LOOKED_AT)):
            self.setColumnWidth(column, self.fitting(column))

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Fit the columns to letters of another size, which the headings have once the style sheet says so."""
        super().changeEvent(event)
        looks_other = event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange)
        if looks_other and self._fitted not in (0, scaled(WIDEST)):
            QTimer.singleShot(0, self, self.fit_columns)

    def _fonts(self) -> tuple[QFont, QFont]:
        plain = as_in_the_file(self.font())
        bold = QFont(plain)
        bold.setWeight(QFont.Weight.DemiBold)
        return plain, bold

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        theme, dirty = self._session.theme, event.rect()
        rows, columns = self._touched(dirty)
        changes = {column: self._shown.changes(rows, column) for column in columns}
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
            range(first_row, self._shown.rowCount() if last_row < 0 else last_row + 1),
            range(first_column, self._shown.columnCount() if last_column < 0 else last_column + 1),
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
            for top, cell, new in zip(tops, self._shown.cells(rows, column), changed, strict=True):
                alike[new, cell is None].append((self._shown.shown(cell, column), top))
            left, room = self.columnViewportPosition(column) + PAD, self.columnWidth(column) - 2 * PAD
            for (new, missing), lines in alike.items():
                painter.setPen(QColor(theme.muted if missing else theme.text))
                painter.setFont(fonts[new])
                write(painter, lines, left, room, tops.step, right=self._shown.is_number(column))

    def _cell_box(self, row: int, column: int) -> QRect:
        return QRect(
            self.columnViewportPosition(column),
            self.rowViewportPosition(row),
            self.columnWidth(column),
            self.rowHeight(row),
        )


class PrivateRows(Card):
    """The rows of a table, with what filters them; they are private, and copied with that word alone."""

    def __init__(self, session: Session, jobs: JobCenter, name: str, title: str = "") -> None:
        super().__init__(pad=8)
        self._model = RowsModel(session)
        accessible = tr("Rows of the table: private, not for release")
        # The rows.
        self.table = RowsTable(session, jobs, self._model, name, accessible, row_height=ROW - 4, private=True)
        self.table.let_copy(private=True)
        self.title = label(title, "caption")  # its caption
        head = self.title, None, TableFilter(self.table, "rows"), badge()
        self.body.addLayout(row(*head, spacing=12, margins=(8, 4, 8, 0)))
        self.body.addWidget(self.table, 1)

    def show_frame(self, frame: pl.DataFrame | None, figures: Collection[str] = ()) -> None:
        """Show other rows; ``figures`` are numbers beside those of the table."""
        if frame is not self._model.frame:
            self._model.figures = figures
            self._model.show_frame(frame)
