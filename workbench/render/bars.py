"""Horizontal bars of shares with intervals, and a marker for the reference value."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from workbench.render.figure_layout import GAP, FigureView, Surroundings
from workbench.render.fonts import font
from workbench.render.palette import STYLES, SeriesStyle, Theme
from workbench.render.values import BarsFigure, BarsRow

ROOM = 1.12  # where the horizontal axis ends: behind 100 % each row says the share of the bar that matters

THICKEST, PART = 12.0, 0.72  # pixels of a bar at the most, and the share of a row's height that its bars have

FILL = 0.6
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


class BarsView(FigureView):
    """The bars inside the plot, and the key above it."""

    def __init__(self, figure: BarsFigure, theme: Theme) -> None:
        self._figure, self._small = figure, font(12)
        super().__init__(_surroundings(figure), theme)

    def to_x(self, value: float) -> float:
        return self.plot.left() + value / ROOM * self.plot.width()

    def to_y(self, value: float) -> float:
        """Return the pixel of the middle of a row, by its number."""
        return self.plot.top() + (value + 0.5) * self.plot.height() / len(self._figure.rows)

    def paint_plot(self, painter: QPainter) -> None:
        """Draw the key and a line of bars for each row."""
        painter.setFont(self._small)
        self._paint_key(painter)
        high = self.plot.height() / len(self._figure.rows)
        for place, row in enumerate(self._figure.rows):
            self._paint_row(painter, row, self.plot.top() + place * high, high)

    def _paint_row(self, painter: QPainter, row: BarsRow, top: float, high: float) -> None:
        thick = min(THICKEST, PART * high / max(1, len(row.bars)))
        y = top + (high - thick * len(row.bars)) / 2
        for (_, style), bar in zip(self._figure.groups, row.bars, strict=True):
            if bar is not None:
                ink = self._ink(STYLES[style])
                pale = QColor(ink)
                pale.setAlphaF(FILL)
                painter.fillRect(QRectF(self.to_x(0), y + 1, self.to_x(bar.share) - self.to_x(0), thick - 2), pale)
                if bar.low < bar.high:
                    painter.setPen(QPen(ink, 1.6))
                    middle = y + thick / 2
                    painter.drawLine(QLineF(self.to_x(bar.low), middle, self.to_x(bar.high), middle))
                    for end in (bar.low, bar.high):
                        painter.drawLine(QLineF(self.to_x(end), middle - 3, self.to_x(end), middle + 3))
            y += thick
        if row.mark is not None:
            painter.setPen(self._stroke())
            painter.drawLine(QLineF(self.to_x(row.mark), top + 2, self.to_x(row.mark), top + high - 2))
        self._paint_shares(painter, row, top + (high - thick * len(row.bars)) / 2, thick)

    def _paint_shares(self, painter: QPainter, row: BarsRow, y: float, thick: float) -> None:
        painter.setPen(QColor(self.theme.muted))
        line = QFontMetricsF(self._small).height()
        step = max(thick, line - 3)
        top = y + thick * len(row.bars) / 2 - step * len(row.bars) / 2
        for at, bar in enumerate(row.bars):
            if bar is None:
                continue
            box = QRectF(self.to_x(1) + GAP, top + at * step, self.plot.right() - self.to_x(1) - GAP, step)
            align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
            painter.fillRect(box.adjusted(0, 1, 0, -1), QColor(self.theme.surface))  # over the line behind the row
            painter.drawText(box, align, f"{100 * bar.share:.1f} %")

    def _paint_key(self, painter: QPainter) -> None:
        wide = QFontMetricsF(self._small).horizontalAdvance
        x, middle = self.plot.left(), self.plot.top() - 18
        for name, style in self._figure.groups:
            ink = self._ink(STYLES[style])
            ink.setAlphaF(FILL)
            painter.fillRect(QRectF(x, middle - 5, 18, 10), ink)
            x = self._paint_word(painter, name, x + 18 + 6, middle) + wide("mm")
        if self._figure.mark:
            painter.setPen(self._stroke())
            painter.drawLine(QLineF(x + 4, middle - 7, x + 4, middle + 7))
            self._paint_word(painter, self._figure.mark, x + 14, middle)

    def _paint_word(self, painter: QPainter, word: str, x: float, middle: float) -> float:
        metrics = QFontMetricsF(self._small)
        painter.setPen(QColor(self.theme.text))
        painter.drawText(QPointF(x, middle + metrics.capHeight() / 2), word)
        return x + metrics.horizontalAdvance(word)

    def _ink(self, style: SeriesStyle) -> QColor:
        return QColor(self.theme.series(style))

    def _stroke(self) -> QPen:
        return QPen(QColor(self.theme.text), 2)


view = BarsView


def _surroundings(figure: BarsFigure) -> Surroundings:
    return Surroundings(
        title=figure.title,
        subtitle=figure.subtitle,
        badge=figure.badge,
        x_label="",
        y_label="",
        x_ticks=[(share, f"{100 * share:.0f} %") for share in TICKS],
        y_ticks=[(float(place), row.name) for place, row in enumerate(figure.rows)],
        labels=[],
    )
