"""The picture of one column: what was released, what the original likely was, and the intervals."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from workbench.gui.pages.estimate.figures import BarView, ColumnView, Figure, stated
from workbench.gui.session.session import Session
from workbench.gui.widgets.bar_chart import BELOW, BarChart, bar_at, paint_ground
from workbench.render.fonts import font
from workbench.render.palette import STYLES

FILL = 0.45
SQUARE = 3.0
KEY = 20
"""Pixels above the bars for what bars and lines stand for."""

STRIP = 15
"""Pixels of an interval's line above the bars of a column of numbers."""

STRIPS_LABEL = 11
ORDER = ("mean", "1st quartile", "median", "3rd quartile")


class EstimateChart(BarChart):
    """Filled bars: estimated shares; a stepped line with dots: the released ones; brackets and lines: intervals."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "estimate_chart", (400, 200), (2, KEY, 2, 22))
        self._column: ColumnView | None = None

    def show_column(self, column: ColumnView | None) -> None:
        """Draw one column, or nothing."""
        self._column = column
        strips = STRIP * len(self._strips())
        self._pads = (2, KEY + strips + (4 if strips else 0), 2, 22)
        self.setAccessibleName(f"Estimated distribution of {column.name} beside the released one" if column else "")
        words = (
            "; ".join(f"{f.of} {f.stated(f.low)} to {f.stated(f.high)}" for f in column.figures[:4]) if column else ""
        )
        self.setAccessibleDescription(words)
        self.update()

    def words_at(self, x: float) -> str:
        """Return what stands at a place across the picture; empty beside the bars."""
        column = self._column
        at = bar_at(x, self._box(), len(column.bars)) if column else None
        if column is None or at is None:
            return ""
        bar = column.bars[at]
        words = f"{bar.label}: estimated {stated(bar.likely, 'share')}"
        if bar.low is not None and bar.high is not None:
            words += f" ({stated(bar.low, 'share')} to {stated(bar.high, 'share')})"
        return words if bar.released is None else f"{words}, released {stated(bar.released, 'share')}"

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw bars, released shares, intervals and the key."""
        column = self._column
        if column is None or not column.bars:
            return
        theme, box = self._session.theme, self._box()
        most = max(max(b.likely, b.released or 0.0, b.high or 0.0) for b in column.bars) or 1.0
        width = box.width() / len(column.bars)
        blue, vermilion = (QColor(theme.series(STYLES[name])) for name in ("private", "sanitized"))
        filled = QColor(blue)
        filled.setAlphaF(FILL)
        with QPainter(self) as painter:
            for at, bar in enumerate(column.bars):
                height = box.height() * bar.likely / most
                painter.fillRect(QRectF(box.left() + at * width + 1, box.bottom() - height, width - 2, height), filled)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(vermilion, 2))
            painter.setBrush(vermilion)
            for at, bar in enumerate(column.bars):
                if bar.released is not None:
                    level, left = box.bottom() - box.height() * bar.released / most, box.left() + at * width
                    painter.drawLine(QPointF(left + 1, level), QPointF(left + width - 1, level))
                    painter.drawEllipse(QPointF(left + width / 2, level), SQUARE, SQUARE)
            painter.setPen(QPen(blue, 2))
            painter.setBrush(blue)
            for at, bar in enumerate(column.bars):
                self._draw_bracket(painter, box, box.left() + (at + 0.75) * width, width, bar, most)
            paint_ground(painter, box, theme)
            self._draw_strips(painter, box, column, blue)
            self._write_labels(painter, box, width, column)
            self._write_key(painter, filled, vermilion)

    def _draw_bracket(
        self, painter: QPainter, box: QRectF, centre: float, width: float, bar: BarView, most: float
    ) -> None:
        if bar.low is None or bar.high is None:
            return
        low, middle, high = (box.bottom() - box.height() * share / most for share in (bar.low, bar.likely, bar.high))
        cap = min(5.0, width / 8)
        painter.drawLine(QPointF(centre, low), QPointF(centre, high))
        for end in (low, high):
            painter.drawLine(QPointF(centre - cap, end), QPointF(centre + cap, end))
        painter.drawRect(QRectF(centre - SQUARE, middle - SQUARE, 2 * SQUARE, 2 * SQUARE))

    def _strips(self) -> list[Figure]:
        """Return the figures that are places along the range."""
        column = self._column
        if column is None or column.ends is None:
            return []
        return [f for f in column.figures if f.of in ORDER]

    def _draw_strips(self, painter: QPainter, box: QRectF, column: ColumnView, blue: QColor) -> None:
        """Draw each interval of a mean or a quantile as a line above the bars, named at its left or right."""
        if column.ends is None:
            return
        first, last = column.ends
        painter.setFont(font(STRIPS_LABEL))
        for at, figure in enumerate(self._strips()):
            level = KEY + STRIP * (at + 0.5)
            low, middle, high = (
                box.left() + box.width() * (min(max(v, first), last) - first) / (last - first)
                for v in (figure.low, figure.estimate, figure.high)
            )
            painter.setPen(QPen(blue, 2, Qt.PenStyle.DotLine if figure.hidden else Qt.PenStyle.SolidLine))
            painter.drawLine(QPointF(low, level), QPointF(high, level))
            painter.setPen(QPen(blue, 2))
            for end in (low, high):
                painter.drawLine(QPointF(end, level - 3), QPointF(end, level + 3))
            if not figure.hidden:
                painter.drawRect(QRectF(middle - SQUARE, level - SQUARE, 2 * SQUARE, 2 * SQUARE))
            painter.setPen(QColor(self._session.theme.muted))
            wide = painter.fontMetrics().horizontalAdvance(figure.of) + 2
            right = high + 8 + wide <= box.right()
            left = high + 8 if right else low - 8 - wide
            if left >= box.left():
                room = QRectF(left, level - STRIP / 2, wide, STRIP)
                painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, figure.of)

    def _write_labels(self, painter: QPainter, box: QRectF, width: float, column: ColumnView) -> None:
        """Write each label below its bar, or, where there is no room for all of them, the two ends."""
        painter.setPen(QColor(self._session.theme.muted))
        painter.setFont(font(BELOW))
        metrics, below = painter.fontMetrics(), self._below()
        if column.ends is not None:
            self._write_ends(painter, *(stated(end, column.kind) for end in column.ends))
        elif max(metrics.horizontalAdvance(bar.label) for bar in column.bars) > width - 4:
            self._write_ends(painter, column.bars[0].label, column.bars[-1].label)
        else:
            for at, bar in enumerate(column.bars):
                cell = QRectF(below.left() + at * width, below.top(), width, below.height())
                painter.drawText(cell, Qt.AlignmentFlag.AlignHCenter, bar.label)

    def _write_key(self, painter: QPainter, filled: QColor, vermilion: QColor) -> None:
        painter.setFont(font(12))
        left, middle = self._box().left(), (KEY - 4) / 2
        of_numbers = self._column is not None and self._column.ends is not None
        for words, colour in (("likely shape" if of_numbers else "estimated, 95 %", filled), ("released", vermilion)):
            if colour is filled:
                painter.fillRect(QRectF(left, middle - 5, 10, 10), filled)
            else:
                painter.setPen(QPen(vermilion, 2))
                painter.setBrush(vermilion)
                painter.drawLine(QPointF(left - 4, middle), QPointF(left + 14, middle))
                painter.drawEllipse(QPointF(left + 5, middle), SQUARE, SQUARE)
            painter.setPen(QColor(self._session.theme.muted))
            wide = painter.fontMetrics().horizontalAdvance(words)
            painter.drawText(QRectF(left + 20, 0, wide + 2, KEY - 4), Qt.AlignmentFlag.AlignVCenter, words)
            left += wide + 46
