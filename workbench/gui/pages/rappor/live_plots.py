"""How ε and the smallest detectable frequency change along one parameter, beside where it stands now."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from workbench.gui.pages.rappor.parameters_card import LINES
from workbench.gui.session.session import Session
from workbench.gui.widgets.bar_chart import BELOW, BarChart, paint_ground
from workbench.gui.widgets.formatting import plain
from workbench.params import ParameterError
from workbench.privacy.rappor.account import cost
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.detectable import smallest_detectable
from workbench.render.fonts import font
from workbench.render.palette import STYLES

POINTS = 33
CANDIDATES = 100
KEY = 20


@dataclass(frozen=True)
class Setting:
    """Where the parameters stand."""

    parameters: RapporParameters
    clients: int
    each: int

    def at(self, key: str, value: float) -> Setting:
        """Return the setting with another value of one parameter.

        Raises:
            ParameterError: the value does not go with the others.
        """
        if key == "clients":
            return dataclasses.replace(self, clients=round(value))
        if key == "each":
            return dataclasses.replace(self, each=round(value))
        given = {name: getattr(self.parameters, name) for name in self.parameters.declared()}
        given[key] = round(value) if key in ("k", "h", "m") else value
        return dataclasses.replace(self, parameters=RapporParameters.from_plain(given))


@dataclass(frozen=True)
class Series:
    """A line of a plot: infinite values are left out."""

    words: str
    style: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """Two or three lines along one parameter.

    Attributes:
        along: the parameter in words.
        ends: its least and its greatest value.
        log: whether it is on a log scale.
        now: where it stands.
        series: the lines.
        percent: whether the values are shares.
    """

    along: str
    ends: tuple[float, float]
    log: bool
    now: float
    series: tuple[Series, ...]
    percent: bool = False


def plots(setting: Setting, key: str) -> tuple[Plot, Plot]:
    """Return ε and the smallest detectable frequency along the parameter ``key``."""
    line = next(line for line in LINES if line.key == key)
    now = {"clients": setting.clients, "each": setting.each}.get(key) or float(getattr(setting.parameters, key, 0.0))
    lines: dict[str, list[tuple[float, float]]] = {"one": [], "permanent": [], "exact": [], "least": []}
    for step in range(POINTS):
        share = step / (POINTS - 1)
        value = line.least * (line.most / line.least) ** share if line.log else _between(line.least, line.most, share)
        try:
            there = setting.at(key, value)
            bound = cost(there.parameters, there.each)
            least = smallest_detectable(there.parameters, there.clients, CANDIDATES)
        except ParameterError:
            continue  # a hole in the lines, such as p = q
        for name, found in (("one", bound.one), ("permanent", bound.permanent), ("exact", bound.exact)):
            if math.isfinite(found):
                lines[name].append((value, found))
        lines["least"].append((value, min(least, 1.0)))
    made = {name: tuple(points) for name, points in lines.items()}
    epsilons = [
        Series("ε₁, one report", "private", made["one"]),
        Series("ε∞, any number", "sanitized", made["permanent"]),
    ]
    if setting.each > 1 or key == "each":
        epsilons.append(Series("these reports", "third", made["exact"]))
    frame = (line.words, (line.least, line.most), line.log, now)
    frequency = Series(f"smallest share found among {CANDIDATES} candidates", "private", made["least"])
    return Plot(*frame, tuple(epsilons)), Plot(*frame, (frequency,), percent=True)


def _between(least: float, most: float, share: float) -> float:
    return least + (most - least) * share


def nearest_rank(values: Sequence[float], share: float) -> float:
    """Return the value below which a ``share`` of ``values`` lies."""
    ranked = sorted(values)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)]


class LinePlot(BarChart):
    """Lines along one parameter, with a mark where it stands."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name, (260, 116), (44, KEY, 8, 20))
        self.setMinimumHeight(110)
        self._plot: Plot | None = None

    def show_plot(self, plot: Plot | None) -> None:
        """Show ``plot``, or nothing."""
        self._plot = plot
        if plot is not None:
            stated = "; ".join(
                f"{line.words} {_stated(line.points[0][1], plot)} to {_stated(line.points[-1][1], plot)}"
                for line in plot.series
                if line.points
            )
            self.setAccessibleName(f"Along {plot.along}: {stated}")
        self.update()

    def words_at(self, x: float) -> str:
        """Return the values at a place."""
        plot, box = self._plot, self._box()
        if plot is None or not box.left() <= x <= box.right():
            return ""
        value = self._value((x - box.left()) / box.width())
        found = []
        for line in plot.series:
            if line.points:
                near = min(line.points, key=lambda point: abs(self._share(point[0]) - self._share(value)))
                found.append(f"{line.words}: {_stated(near[1], plot)}")
        return f"{plot.along} = {plain(value)}: " + ", ".join(found)

    def _value(self, share: float) -> float:
        assert self._plot is not None
        low, high = self._plot.ends
        return low * (high / low) ** share if self._plot.log else _between(low, high, share)

    def _share(self, value: float) -> float:
        assert self._plot is not None
        low, high = self._plot.ends
        share = (
            math.log(max(value, low) / low) / math.log(high / low) if self._plot.log else (value - low) / (high - low)
        )
        return min(max(share, 0.0), 1.0)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the lines, their scale, the mark and the key."""
        plot = self._plot
        if plot is None:
            return
        theme, box = self._session.theme, self._box()
        values = [value for line in plot.series for _, value in line.points]
        # A line that grows without bound would flatten the others: it leaves the picture at the top.
        most = (nearest_rank(values, 0.94) * 1.1 if values else 1.0) or 1.0
        with QPainter(self) as painter:
            painter.setFont(font(BELOW))
            paint_ground(painter, box, theme)
            painter.setPen(QColor(theme.muted))
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            for share in (0.0, 0.5, 1.0):
                level = box.bottom() - share * box.height()
                painter.drawText(QRectF(0, level - 8, box.left() - 6, 16), side, _stated(most * share, plot))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setClipRect(box.adjusted(0, -2, 0, 2))
            for line in plot.series:
                painter.setPen(QPen(QColor(theme.series(STYLES[line.style])), 2))
                at = [
                    QPointF(box.left() + box.width() * self._share(x), box.bottom() - box.height() * y / most)
                    for x, y in line.points
                ]
                painter.drawPolyline(at)
            painter.setPen(QPen(QColor(theme.accent), 1, Qt.PenStyle.DashLine))
            now = box.left() + box.width() * self._share(plot.now)
            painter.drawLine(QPointF(now, box.top()), QPointF(now, box.bottom()))
            painter.setClipping(False)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
            self._write_ends(painter, f"{plot.along} {plain(plot.ends[0])}", plain(plot.ends[1]))
            left = box.left()
            for line in plot.series:
                painter.fillRect(QRectF(left, KEY / 2 - 4, 10, 3), QColor(theme.series(STYLES[line.style])))
                painter.setPen(QColor(theme.muted))
                wide = painter.fontMetrics().horizontalAdvance(line.words) + 2
                painter.drawText(QRectF(left + 14, 0, wide, KEY - 6), Qt.AlignmentFlag.AlignVCenter, line.words)
                left += wide + 24


def _stated(value: float, plot: Plot) -> str:
    return f"{100 * value:.2g} %" if plot.percent else f"{value:.2g}"
