"""How ε and the smallest detectable frequency change along one parameter, beside where it stands now."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.pages.rappor.parameters_card import LINES
from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import KEY, Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.gui.widgets.formatting import percent, plain
from workbench.params import ParameterError
from workbench.privacy.rappor.account import cost
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.detectable import smallest_detectable

POINTS = 33
CANDIDATES = 100


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
        value = Scale(line.least, line.most, line.log).value(share)
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
        Series(tr("ε₁, one report"), "private", made["one"]),
        Series(tr("ε∞, any number"), "sanitized", made["permanent"]),
    ]
    if setting.each > 1 or key == "each":
        epsilons.append(Series(tr("these reports"), "third", made["exact"]))
    frame = (tr(line.words), (line.least, line.most), line.log, now)
    frequency = Series(
        tr("smallest share found among {candidates} candidates", candidates=CANDIDATES), "private", made["least"]
    )
    return Plot(*frame, tuple(epsilons)), Plot(*frame, (frequency,), percent=True)


def nearest_rank(values: Sequence[float], share: float) -> float:
    """Return the value below which a ``share`` of ``values`` lies."""
    ranked = sorted(values)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)]


class LinePlot(Chart):
    """Lines along one parameter, with a mark at its present value."""

    margins = QMarginsF(44, KEY, 8, 20)
    usual, least = QSize(260, 116), QSize(0, 110)

    def show_plot(self, plot: Plot) -> None:
        """Show ``plot``."""
        values = [value for line in plot.series for _, value in line.points]
        # A line that grows without bound would flatten the others: it leaves the picture at the top.
        most = (nearest_rank(values, 0.94) * 1.1 if values else 1.0) or 1.0
        low, high = plot.ends
        along = Scale(low, high, plot.log)
        stated = [
            tr(
                "{figure} {low} to {high}",
                figure=line.words,
                low=_stated(line.points[0][1], plot),
                high=_stated(line.points[-1][1], plot),
            )
            for line in plot.series
            if line.points
        ]
        lines = [mark.line(line.points, line.style) for line in plot.series]
        drawing = Drawing(
            (*lines, mark.upright(min(max(plot.now, low), high))),
            x=along,
            y=Scale(0, most),
            left=[(most * share, _stated(most * share, plot)) for share in (0.0, 0.5, 1.0)],
            below=(Below(low, f"{plot.along} {plain(low)}"), Below(high, plain(high))),
            key=[Key(line.words, line.style, "line") for line in plot.series],
            words=lambda value: _words(plot, along, value),
            spoken=tr("Along {along}: {stated}", along=plot.along, stated="; ".join(stated)),
        )
        self.show_drawing(drawing)


def _words(plot: Plot, scale: Scale, value: float) -> str:
    """Return the values of the points nearest to a place along the parameter."""
    at = scale.share(value)
    nearest = [
        (line.words, min(line.points, key=lambda point: abs(scale.share(point[0]) - at))[1])
        for line in plot.series
        if line.points
    ]
    return f"{plot.along} = {plain(value)}: " + ", ".join(f"{words}: {_stated(y, plot)}" for words, y in nearest)


def _stated(value: float, plot: Plot) -> str:
    return percent(value, 2) if plot.percent else tr_number(value, ".2g")
