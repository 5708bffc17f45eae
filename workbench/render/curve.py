"""A metric against ε: lines with bands over a logarithmic axis, levels beside them, labels at the line ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QGraphicsPolygonItem

from workbench.render.palette import BAND_OPACITY, STYLES, SeriesStyle, Theme
from workbench.render.scaffold import (
    EndLabel,
    Scaffold,
    Surroundings,
    Tick,
    line_pen,
    linear_ticks,
    log_ticks,
    marker_path,
)
from workbench.render.values import Baseline, CurveFigure, Series

X_MARGIN = 0.03
"""Room left and right of the points, as a share of the axis, so that no marker is cut."""

MOST_SETTINGS = 12
"""Settings of a parameter up to which each is written below the axis."""

Y_MARGIN = 0.06
LEAST_SPAN = 0.02
"""Shortest vertical axis: nearly equal values look equal."""


class CurveView(pg.GraphicsView):  # type: ignore[misc]  # pyqtgraph has no types
    """The figure as a widget of the window, and the source of its PNG and SVG.

    Horizontal positions inside the plot are log10 ε.

    Args:
        figure: what it shows.
        theme: its colours.
        pixel_ratio: device pixels per logical pixel; by default the screen's.
    """

    def __init__(self, figure: CurveFigure, theme: Theme, pixel_ratio: float | None = None) -> None:
        super().__init__(background=theme.surface)
        self.figure, self.theme = figure, theme
        self._pixel_ratio = self.devicePixelRatioF() if pixel_ratio is None else pixel_ratio
        self.box = pg.ViewBox(enableMenu=False, enableMouse=False, defaultPadding=0)
        self.box.setBackgroundColor(None)
        self.scaffold = Scaffold(_surroundings(figure), theme)
        self.addItem(self.scaffold)
        self.addItem(self.box)
        self._bands = [self._new_band(series) for series in figure.series]
        self._levels = [self._new_level(baseline) for baseline in figure.baselines]
        self._lines = [self._new_line(series) for series in figure.series]
        self._fill()

    def can_show(self, figure: CurveFigure) -> bool:
        """Return whether ``figure`` has the same lines, so that :meth:`show_figure` can move those there are."""
        return _parts(figure) == _parts(self.figure)

    def show_figure(self, figure: CurveFigure) -> None:
        """Show other values of the same lines; far quicker than another view."""
        self.figure = figure
        self.scaffold.show_content(_surroundings(figure))
        self._fill()

    def _fill(self) -> None:
        figure = self.figure
        for band, series in zip(self._bands, figure.series, strict=True):
            band.setPolygon(_outline(series))
        for level, baseline in zip(self._levels, figure.baselines, strict=True):
            level.setValue(baseline.value)
        for (line, points), series in zip(self._lines, figure.series, strict=True):
            x, y = [math.log10(v) for v in series.x], list(series.mean)
            line.setData(x, y)
            if points is not None:
                points.setData(x, y)
        (x_low, x_high), (y_low, y_high) = x_range(figure), y_range(figure)
        self.box.setRange(xRange=(math.log10(x_low), math.log10(x_high)), yRange=(y_low, y_high), padding=0)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent | None) -> None:  # noqa: N802 - Qt's name
        """Arrange the figure anew; Qt calls this."""
        super().resizeEvent(event)
        # The base class resizes itself before it is made whole, and once more after close() has emptied its scene.
        if hasattr(self, "scaffold") and not self.closed:
            self._arrange()

    def _arrange(self) -> None:
        plot = self.scaffold.place(self.width(), self.height())
        self.box.setGeometry(plot)
        (x_low, x_high), (y_low, y_high) = x_range(self.figure), y_range(self.figure)
        start, decades = math.log10(x_low), math.log10(x_high / x_low)

        def to_x(value: float) -> float:
            return plot.left() + (math.log10(value) - start) / decades * plot.width()

        def to_y(value: float) -> float:
            return plot.bottom() - (value - y_low) / (y_high - y_low) * plot.height()

        self.scaffold.map_with(to_x, to_y)

    def _plot_pen(self, style: SeriesStyle) -> QPen:
        """Return a pen for items in axis units: its width is in device pixels, whatever the axes are."""
        pen = line_pen(style, QColor(self.theme.series(style)))
        pen.setWidthF(pen.widthF() * self._pixel_ratio)
        pen.setCosmetic(True)
        return pen

    def _new_band(self, series: Series) -> QGraphicsPolygonItem:
        colour = QColor(self.theme.series(STYLES[series.style]))
        colour.setAlphaF(BAND_OPACITY)
        band = QGraphicsPolygonItem()
        band.setPen(QPen(Qt.PenStyle.NoPen))
        band.setBrush(QBrush(colour))
        self.box.addItem(band, ignoreBounds=True)
        return band

    def _new_level(self, baseline: Baseline) -> pg.InfiniteLine:
        level = pg.InfiniteLine(baseline.value, angle=0, pen=self._plot_pen(STYLES[baseline.style]))
        self.box.addItem(level, ignoreBounds=True)
        return level

    def _new_line(self, series: Series) -> tuple[pg.PlotCurveItem, pg.ScatterPlotItem | None]:
        style = STYLES[series.style]
        line = pg.PlotCurveItem(pen=self._plot_pen(style), antialias=True)
        self.box.addItem(line, ignoreBounds=True)
        if not style.marker:
            return line, None
        # Not from pyqtgraph's cache of bitmaps: those are blurred at twice the resolution and in an SVG.
        points = pg.ScatterPlotItem(
            symbol=marker_path(style.marker, 1.0),
            size=8,
            pen=None,
            brush=QColor(self.theme.series(style)),
            antialias=True,
            useCache=False,
        )
        self.box.addItem(points, ignoreBounds=True)
        return line, points


def _parts(figure: CurveFigure) -> tuple[object, ...]:
    lines = tuple((series.name, series.style) for series in figure.series)
    return lines, tuple((baseline.name, baseline.style) for baseline in figure.baselines)


def _outline(series: Series) -> QPolygonF:
    """Return the edge of a band; nothing where it has no width."""
    if series.low == series.high:
        return QPolygonF()
    upper = list(zip(map(math.log10, series.x), series.high, strict=True))
    lower = list(zip(map(math.log10, series.x), series.low, strict=True))
    return QPolygonF([QPointF(x, y) for x, y in [*upper, *reversed(lower)]])


def view(figure: CurveFigure, theme: Theme, pixel_ratio: float | None = None) -> CurveView:
    """Return the widget that shows ``figure``."""
    return CurveView(figure, theme, pixel_ratio)


def x_range(figure: CurveFigure) -> tuple[float, float]:
    """Return the ends of the horizontal axis."""
    low, high = _extent([*(figure.span or ()), *(x for series in figure.series for x in series.x)])
    if low == high:
        return low / 2, high * 2
    room = (high / low) ** X_MARGIN
    return low / room, high * room


def y_range(figure: CurveFigure) -> tuple[float, float]:
    """Return the ends of the vertical axis: everything drawn, and a little room."""
    levels = [baseline.value for baseline in figure.baselines]
    low, high = _extent([v for series in figure.series for v in (*series.low, *series.high, *series.mean)] + levels)
    room = max((high - low) * Y_MARGIN, (LEAST_SPAN - (high - low)) / 2)
    return low - room, high + room


def _extent(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _surroundings(figure: CurveFigure) -> Surroundings:
    digits = figure.decimals

    def number(text: str) -> str:
        return text.replace(".", figure.point)

    ends = [
        EndLabel(s.name, number(f"{s.mean[-1]:.{digits}f}"), STYLES[s.style], s.mean[-1], s.x[-1])
        for s in figure.series
    ]
    levels = [EndLabel(b.name, number(f"{b.value:.{digits}f}"), STYLES[b.style], b.value) for b in figure.baselines]
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
