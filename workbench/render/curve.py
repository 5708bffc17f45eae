"""A metric against ε: lines with bands on a logarithmic axis, reference lines, and labels at line ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from workbench.render.figure_layout import (
    EndLabel,
    FigureView,
    Surroundings,
    Tick,
    draw_marker,
    line_pen,
    linear_ticks,
    log_ticks,
)
from workbench.render.palette import BAND_OPACITY, STYLES, Theme
from workbench.render.values import CurveFigure, Series

X_MARGIN = 0.03  # room left and right of the points, as a share of the axis, so that no marker is cut

MOST_SETTINGS = 12  # settings of a parameter up to which each is written below the axis

Y_MARGIN = 0.06
LEAST_SPAN = 0.02  # shortest vertical axis: nearly equal values look equal

LOWEST = -1.0  # lowest value that has room: only R² goes below it, of a model far worse than always giving the mean


class CurveView(FigureView):
    """Bands, levels and lines with their signs.

    Attributes:
        figure: what it shows.
        across: the ends of its horizontal axis.
        upward: those of its vertical axis.
    """

    def __init__(self, figure: CurveFigure, theme: Theme) -> None:
        self._take(figure)
        super().__init__(_surroundings(figure), theme)

    def show_figure(self, figure: CurveFigure, theme: Theme) -> None:
        """Show another figure."""
        self._take(figure)
        self.show_content(_surroundings(figure), theme)

    def _take(self, figure: CurveFigure) -> None:
        self.figure, self.across, self.upward = figure, x_range(figure), y_range(figure)

    def to_x(self, value: float) -> float:
        """Return the pixel of a value of the horizontal axis, which is logarithmic."""
        low, high = self.across
        return self.plot.left() + math.log(value / low) / math.log(high / low) * self.plot.width()

    def to_y(self, value: float) -> float:
        low, high = self.upward
        return self.plot.bottom() - (value - low) / (high - low) * self.plot.height()

    def points(self, series: Series, values: Sequence[float]) -> list[QPointF]:
        """Return where values at the positions of a series are."""
        return [QPointF(self.to_x(x), self.to_y(y)) for x, y in zip(series.x, values, strict=True)]

    def paint_plot(self, painter: QPainter) -> None:
        """Draw the bands, over them the levels, and over these the lines; what is below the axis is cut off there."""
        painter.setClipRect(self.plot.adjusted(-8, -8, 8, 8))
        for series in self.figure.series:
            if series.low != series.high:
                colour = QColor(self.theme.series(STYLES[series.style]))
                colour.setAlphaF(BAND_OPACITY)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colour)
                edge = [*self.points(series, series.high), *reversed(self.points(series, series.low))]
                painter.drawPolygon(QPolygonF(edge))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for level in self.figure.baselines:
            painter.setPen(self._pen(level.style))
            y = self.to_y(level.value)
            painter.drawLine(QLineF(self.plot.left(), y, self.plot.right(), y))
        for series in self.figure.series:
            places, style = self.points(series, series.mean), STYLES[series.style]
            painter.setPen(self._pen(series.style))
            painter.drawPolyline(QPolygonF(places))
            for place in places:
                draw_marker(painter, style.marker, place, 8, QColor(self.theme.series(style)))
        painter.setClipping(False)

    def _pen(self, style: str) -> QPen:
        return line_pen(STYLES[style], QColor(self.theme.series(STYLES[style])))


view = CurveView


def x_range(figure: CurveFigure) -> tuple[float, float]:
    """Return the ends of the horizontal axis."""
    low, high = _extent([*(figure.span or ()), *(x for series in figure.series for x in series.x)])
    if low == high:
        return low / 2, high * 2
    room = (high / low) ** X_MARGIN
    return low / room, high * room


def y_range(figure: CurveFigure) -> tuple[float, float]:
    """Return the ends of the vertical axis: everything drawn down to :data:`LOWEST`, and a little room."""
    levels = [baseline.value for baseline in figure.baselines]
    low, high = _extent([v for series in figure.series for v in (*series.low, *series.high, *series.mean)] + levels)
    if max(v for series in figure.series for v in series.mean) > LOWEST:
        low = max(low, LOWEST)
    room = max((high - low) * Y_MARGIN, (LEAST_SPAN - (high - low)) / 2)
    return low - room, high + room


def _extent(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _surroundings(figure: CurveFigure) -> Surroundings:
    digits, lowest = figure.decimals, y_range(figure)[0]

    def number(text: str) -> str:
        return text.replace(".", figure.point).replace("-", "\N{MINUS SIGN}")

    def end(name: str, style: str, value: float, x: float | None = None) -> EndLabel:
        text = number(f"{value:.{digits}f}") + (" ↓" if value < lowest else "")
        return EndLabel(name, text, STYLES[style], max(value, lowest), x)

    ends = [end(s.name, s.style, s.mean[-1], s.x[-1]) for s in figure.series]
    levels = [end(b.name, b.style, b.value) for b in figure.baselines]
    return Surroundings(
        title=figure.title,
        subtitle=figure.subtitle,
        badge=figure.badge,
        x_label=figure.x_label,
        y_label=figure.y_label,
        x_ticks=[(at, number(text)) for at, text in settings_ticks(figure)],
        y_ticks=[(at, number(text)) for at, text in linear_ticks(*y_range(figure))],
        labels=[*ends, *levels],
    )


def settings_ticks(figure: CurveFigure) -> list[Tick]:
    """Return the settings of a parameter that were tried, where they are few; else plain numbers around them."""
    tried = sorted({x for series in figure.series for x in series.x})
    if figure.against and len(tried) <= MOST_SETTINGS:
        return [(x, f"{x:g}") for x in tried]
    return log_ticks(*x_range(figure))
