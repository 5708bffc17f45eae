"""How the chosen column is spread before and after the draw, one over the other."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from workbench.gui.session.session import Session
from workbench.gui.widgets.bar_chart import BELOW, SCALE, BarChart, bar_at, ends_of, paint_ground
from workbench.gui.widgets.compared import Recovered, Spread
from workbench.render.fonts import font
from workbench.render.palette import STYLES

FILL = 0.35
BAND = 0.18
DOT = 3.0
KEY = 20
"""Pixels above the bars for what bar and dot stand for."""


class Distribution(BarChart):
    """Bars of the original, and a stepped line with dots for the draw: told apart by shape as well as by colour."""

    def __init__(self, session: Session, name: str = "preview_distribution", drawn: str = "sanitised") -> None:
        """Make it; ``drawn`` is what the rows of the draw are called."""
        super().__init__(session, name, (400, 130), (SCALE, KEY + 4, 2, 22))
        self._word = drawn
        self._column: Spread | None = None
        self._drawn = False
        self._recovered: Recovered | None = None

    def show_column(self, column: Spread | None) -> None:
        """Draw the spread of one column, or nothing."""
        self._column, self._drawn = column, column is not None
        self.setAccessibleName(f"Distribution of {column.name}, original and {self._word}" if column else "")
        self.update()

    def await_draw(self) -> None:
        """Show the original alone until the column of another draw comes."""
        self._drawn = False
        self.update()

    def show_recovered(self, found: Recovered | None) -> None:
        """Draw what a recipient can recover of the shown column over it, or nothing."""
        self._recovered = found
        self.setAccessibleDescription(found.words if found is not None else "")
        self.update()

    def words_at(self, x: float) -> str:
        """Return what stands at a place across the picture; empty beside the bars."""
        column = self._column
        at = bar_at(x, self._box(), len(column.labels)) if column else None
        if column is None or at is None:
            return ""
        before = f"{column.labels[at]}: {column.original[at]:,} rows"
        stated = f"{before}, {column.sanitised[at]:,} after the draw" if self._drawn else before
        shares = self._recovered.shares if self._recovered is not None else None
        if shares is None or column.labels[at] not in shares:
            return stated
        low, middle, high = shares[column.labels[at]]
        return f"{stated}, {middle:,.0f} recovered ({low:,.0f} to {high:,.0f})"

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw both, the labels of the axis and the ends."""
        column = self._column
        if column is None or not column.labels:
            return
        theme, box = self._session.theme, self._box()
        ends = self._recovered.shares if self._recovered is not None else None
        tops = [high for label, (_, _, high) in (ends or {}).items() if label in column.labels]
        most = max(*column.original, *column.sanitised, *tops, 1)
        width = box.width() / len(column.labels)
        grey, vermilion = QColor(theme.muted), QColor(theme.series(STYLES["sanitized"]))
        grey.setAlphaF(FILL)
        with QPainter(self) as painter:
            self._write_scale(painter, box, most)
            for at, size in enumerate(column.original):
                height = box.height() * size / most
                painter.fillRect(QRectF(box.left() + at * width + 1, box.bottom() - height, width - 2, height), grey)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(vermilion, 2))
            painter.setBrush(vermilion)
            for at, size in enumerate(column.sanitised if self._drawn else ()):
                level = box.bottom() - box.height() * size / most
                left = box.left() + at * width
                painter.drawLine(QPointF(left + 1, level), QPointF(left + width - 1, level))
                painter.drawEllipse(QPointF(left + width / 2, level), DOT, DOT)
            paint_ground(painter, box, theme)
            self._draw_recovered(painter, box, width, most)
            self._write_labels(painter, width, column)
            self._write_key(painter, box, grey, vermilion)

    def _draw_recovered(self, painter: QPainter, box: QRectF, width: float, most: float) -> None:
        """Draw the interval of the mean as a band, of each share as a bracket with a square at the estimate."""
        found, column = self._recovered, self._column
        if found is None or column is None or found.name != column.name:
            return
        blue = QColor(self._session.theme.series(STYLES["private"]))
        if found.mean is not None:
            low, middle, high = (box.left() + place * width for place in found.mean)
            band = QColor(blue)
            band.setAlphaF(BAND)
            painter.fillRect(QRectF(low, box.top(), max(high - low, 2.0), box.height()), band)
            painter.setPen(QPen(blue, 2))
            painter.drawLine(QPointF(middle, box.top()), QPointF(middle, box.bottom()))
            if found.truth is not None:
                true = box.left() + found.truth * width
                painter.setPen(QPen(QColor(self._session.theme.muted), 2, Qt.PenStyle.DashLine))
                painter.drawLine(QPointF(true, box.top()), QPointF(true, box.bottom()))
        painter.setPen(QPen(blue, 2))
        painter.setBrush(blue)
        for at, words in enumerate(column.labels):
            if found.shares is None or words not in found.shares:
                continue
            centre = box.left() + (at + 0.75) * width
            low, middle, high = (box.bottom() - box.height() * rows / most for rows in found.shares[words])
            cap = min(5.0, width / 8)
            painter.drawLine(QPointF(centre, low), QPointF(centre, high))
            for end in (low, high):
                painter.drawLine(QPointF(centre - cap, end), QPointF(centre + cap, end))
            painter.drawRect(QRectF(centre - DOT, middle - DOT, 2 * DOT, 2 * DOT))

    def _write_key(self, painter: QPainter, box: QRectF, grey: QColor, vermilion: QColor) -> None:
        painter.setFont(font(12))
        left, middle = box.left() - SCALE + 4, (KEY - 4) / 2
        for words, colour in (("original", grey), (self._word, vermilion))[: 1 + self._drawn]:
            if colour is grey:
                painter.fillRect(QRectF(left, middle - 5, 10, 10), grey)
            else:
                painter.setPen(QPen(vermilion, 2))
                painter.setBrush(vermilion)
                painter.drawLine(QPointF(left - 4, middle), QPointF(left + 14, middle))
                painter.drawEllipse(QPointF(left + 5, middle), DOT, DOT)
            painter.setPen(QColor(self._session.theme.muted))
            wide = painter.fontMetrics().horizontalAdvance(words)
            painter.drawText(QRectF(left + 20, 0, wide + 2, KEY - 4), Qt.AlignmentFlag.AlignVCenter, words)
            left += wide + 46
        if self._recovered is not None:
            blue = QColor(self._session.theme.series(STYLES["private"]))
            painter.fillRect(QRectF(left, middle - 5, 10, 10), blue)
            painter.setPen(QColor(self._session.theme.muted))
            words = "recovered, 95 %"
            if self._recovered.truth is not None:
                words = "recovered mean, 95 % (dashed: the original’s)"
            painter.drawText(QRectF(left + 20, 0, box.right() - left, KEY - 4), Qt.AlignmentFlag.AlignVCenter, words)

    def _write_labels(self, painter: QPainter, width: float, column: Spread) -> None:
        """Write each label below its bar, or, where there is no room for all of them, the two ends."""
        painter.setPen(QColor(self._session.theme.muted))
        painter.setFont(font(BELOW))
        metrics, below = painter.fontMetrics(), self._below()
        if max(metrics.horizontalAdvance(words) for words in column.labels) > width - 4:
            first, last = ends_of(column.labels) if column.numeric else (column.labels[0], column.labels[-1])
            self._write_ends(painter, first, last)
            return
        for at, words in enumerate(column.labels):
            cell = QRectF(below.left() + at * width, below.top(), width, below.height())
            painter.drawText(cell, Qt.AlignmentFlag.AlignHCenter, words)
