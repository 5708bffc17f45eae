"""How ε and the smallest detectable frequency change along one parameter, beside where it is now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QMarginsF

from workbench.gui.pages.rappor.tasks import Bar
from workbench.gui.style.language import tr, tr_later, tr_n, tr_number
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import KEY, Below, Drawing, ends_below
from workbench.gui.widgets.chart_marks import Key, Scale, Sign
from workbench.gui.widgets.formatting import count, percent, rounded
from workbench.params import ParameterError, integer
from workbench.params.field import IntegerField
from workbench.privacy.rappor.parameters import HASHED_BITS, RapporParameters, cost
from workbench.rappor.decode import smallest_detectable

FILL = 0.35
WORDS = {
    "detected": tr_later("detected"),
    "missed": tr_later("missed"),
    "false": tr_later("found, but nobody has it"),
    "absent": tr_later("nobody has it, and it is not found"),
}
VERDICTS: tuple[tuple[str, str, Sign, str], ...] = (
    ("detected", "private", "square", tr_later("■ found")),
    ("missed", "sanitized", "open", tr_later("□ missed")),
    ("false", "danger", "triangle", tr_later("▲ false discovery")),
    ("absent", "muted", "open", tr_later("□ absent")),
)
"""Each verdict with its colour, its sign and its words in the key."""

Curves = tuple[tuple[int, NDArray[np.float64], NDArray[np.float64]], ...]
ROC_STYLES = tuple(zip(("private", "sanitized", "third"), mark.DASHES, strict=False))


def bars_drawing(bars: tuple[Bar, ...]) -> Drawing | None:
    """Return filled bars for true shares, squares with brackets for decoded ones and their intervals."""
    if not bars:
        return None
    known = any(bar.true is not None for bar in bars)
    ends: dict[str, list[tuple[float, float, float, float]]] = {}
    for at, bar in enumerate(bars):
        ends.setdefault(bar.verdict, []).append((at + 0.5, bar.low, bar.estimate, bar.high))
    key = [Key(tr("true"), "muted", alpha=FILL)] if known else []
    for verdict, ink, _, words in VERDICTS:
        if verdict in ends and (known or verdict in ("detected", "missed")):
            key.append(Key(tr(words) if known or verdict == "detected" else tr("□ not found"), ink, ""))
    return Drawing(
        (
            mark.bars({at: bar.true or 0.0 for at, bar in enumerate(bars)}, "muted", alpha=FILL),
            *(mark.intervals(ends.get(verdict, ()), ink, sign, 1.4) for verdict, ink, sign, _ in VERDICTS),
        ),
        x=Scale(0, len(bars)),
        y=Scale(0, max(max(bar.true or 0.0, bar.high) for bar in bars) or 1.0),
        below=ends_below([bar.string for bar in bars]),
        key=key,
        words=lambda x: _bar_words(bars[int(x)]),
        spoken=tr("True and decoded shares of {bars} candidates, with intervals", bars=len(bars)),
        margins=QMarginsF(2, KEY, 2, 22),
    )


def _bar_words(bar: Bar) -> str:
    verdict = tr(WORDS[bar.verdict])
    if bar.true is None:
        verdict = tr("found") if bar.verdict == "detected" else tr("not found")
    decoded = tr(
        "decoded {estimate} ({low} to {high})",
        estimate=percent(bar.estimate),
        low=percent(bar.low),
        high=percent(bar.high),
    )
    true = [] if bar.true is None else [tr("true {share}", share=percent(bar.true))]
    return f"{bar.string}: {', '.join([*true, decoded, verdict])}"


def heat_drawing(heat: NDArray[np.float64]) -> Drawing:
    """Return a row for each cohort, a column for each bit: the darker, the more reports of the cohort have it."""
    least, most, bits = float(heat.min()), float(heat.max()), heat.shape[1]
    shade = (heat - least) / max(most - least, 1e-9)
    ends = [(percent(float(bit.min())), percent(float(bit.max()))) for bit in heat.T]
    key = tr("reports with each bit, by cohort: {low} to {high}", low=percent(least), high=percent(most))
    of_a_bit = tr_later("bit {number}: {low} to {high} of a cohort's reports")
    return Drawing(
        (mark.shades(shade[::-1].tolist()),),
        x=Scale(0, bits),
        below=(Below(0, tr("bit {number}", number=0)), Below(bits, tr("bit {number}", number=bits - 1))),
        key=(Key(key, "muted", ""),),
        frame="box",
        words=lambda x: tr(of_a_bit, number=int(x), low=ends[int(x)][0], high=ends[int(x)][1]),
        spoken=tr(
            "Share of the reports with each of {bits} bits in {cohorts} cohorts", bits=bits, cohorts=heat.shape[0]
        ),
        margins=QMarginsF(2, KEY, 2, 20),
    )


def roc_drawing(roc: Curves) -> Drawing:
    """Return hits against false alarms as the p-value's threshold rises, or why there are none."""
    if not roc:
        stated = tr("no ROC: nothing is\nknown to be absent")
        return Drawing(empty=stated, frame="none", spoken=tr("No ROC: nothing is known to be absent"))
    curves = [
        mark.line(list(zip(alarms.tolist(), hits.tolist(), strict=True)), style, dash=dash)
        for (_, alarms, hits), (style, dash) in zip(roc, ROC_STYLES, strict=False)
    ]
    reports = ", ".join(count(n, "report") for n, _, _ in roc)
    return Drawing(
        (mark.line(((0, 0), (1, 1)), "line", 1), *curves),
        left=((1, "1"),),
        below=(Below(0, "0"), Below(0.5, tr("false alarms")), Below(1, "1")),
        key=[
            Key(tr_number(n, ","), style, "line", dash=dash)
            for (n, _, _), (style, dash) in zip(roc, ROC_STYLES, strict=False)
        ],
        words=lambda share: _roc_words(roc, share),
        spoken=tr("ROC of {reports}", reports=reports),
        margins=QMarginsF(30, KEY, 8, 20),
    )


def _roc_words(roc: Curves, share: float) -> str:
    hits = ((n, float(found[np.searchsorted(alarms, share, side="right") - 1])) for n, alarms, found in roc)
    found_of = ", ".join(
        tr_n("{n} report {hit} found", "{n} reports {hit} found", n, hit=percent(hit)) for n, hit in hits
    )
    return tr("false alarms {share}: {found}", share=percent(share), found=found_of)


POINTS = 33
CANDIDATES = 100


@dataclass(frozen=True, kw_only=True)
class Setting(RapporParameters):
    """The parameters of every client, with how many there are and how often each reports."""

    clients: int = integer(
        default=100_000, at_least=100, upto=20_000_000, help=tr_later("clients in a simulation, each with one report")
    )
    each: int = integer(
        default=1, at_least=1, upto=100_000, help=tr_later("reports of each client, all with one permanent answer")
    )

    @property
    def parameters(self) -> RapporParameters:
        return RapporParameters(**{name: getattr(self, name) for name in RapporParameters.declared()})

    def at(self, key: str, value: float) -> Setting:
        """Return the setting with another value of one parameter.

        Raises:
            ParameterError: the value does not go with the others.
        """
        whole = isinstance(self.declared()[key], IntegerField)
        return replace(self, **{key: round(value) if whole else value})  # type: ignore[arg-type]


SCALES = {
    **{"f": Scale(0, 0.99), "p": Scale(0, 1), "q": Scale(0, 1)},
    **{"h": Scale(1, 8), "k": Scale(8, HASHED_BITS), "m": Scale(1, 64)},
    **{"clients": Scale(1_000, 10_000_000, log=True), "each": Scale(1, 1_000, log=True)},
}
"""What the slider of each parameter offers, in their order; the fields take more."""
TITLES = {
    "f": tr_later("coin tosses, f"),
    "p": tr_later("0 reported as 1, p"),
    "q": tr_later("1 reported as 1, q"),
    "h": tr_later("hashes, h"),
    "k": tr_later("bits, k"),
    "m": tr_later("cohorts, m"),
    "clients": tr_later("clients"),
    "each": tr_later("reports each"),
}


@dataclass(frozen=True)
class Series:
    """A line of a plot: infinite values are left out."""

    words: str
    style: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """Two or three lines along one parameter, and where that is now."""

    along: str
    scale: Scale
    now: float
    series: tuple[Series, ...]
    percent: bool = False


def plots(setting: Setting, key: str) -> tuple[Plot, Plot]:
    """Return ε and the smallest detectable frequency along the parameter ``key``."""
    scale = SCALES[key]
    lines: dict[str, list[tuple[float, float]]] = {"one": [], "permanent": [], "exact": [], "least": []}
    for step in range(POINTS):
        share = step / (POINTS - 1)
        value = scale.value(share)
        try:
            there = setting.at(key, value)
            bound = cost(there, there.each)
            least = smallest_detectable(there, there.clients, CANDIDATES)
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
    frame = tr(TITLES[key]), scale, float(getattr(setting, key))
    frequency = Series(tr("smallest share, {candidates} candidates", candidates=CANDIDATES), "private", made["least"])
    return Plot(*frame, tuple(epsilons)), Plot(*frame, (frequency,), percent=True)


def nearest_rank(values: Sequence[float], share: float) -> float:
    """Return the value below which a ``share`` of ``values`` lies."""
    ranked = sorted(values)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)]


def plot_drawing(plot: Plot) -> Drawing:
    """Return lines along one parameter, with a mark at its present value."""
    values = [value for line in plot.series for _, value in line.points]
    # A line that grows without bound would flatten the others: it leaves the picture at the top.
    most = (nearest_rank(values, 0.94) * 1.1 if values else 1.0) or 1.0
    low, high = plot.scale.low, plot.scale.high
    drawn = [(line.words, line.points[0][1], line.points[-1][1]) for line in plot.series if line.points]
    stated = [
        tr("{figure} {low} to {high}", figure=words, low=_stated(first, plot), high=_stated(last, plot))
        for words, first, last in drawn
    ]
    dashed = list(zip(plot.series, mark.DASHES, strict=False))
    return Drawing(
        (
            *(mark.line(line.points, line.style, dash=dash) for line, dash in dashed),
            mark.upright(min(max(plot.now, low), high)),
        ),
        x=plot.scale,
        y=Scale(0, most),
        left=[(most * share, _stated(most * share, plot)) for share in (0.0, 0.5, 1.0)],
        below=(Below(low, rounded(low, 4)), Below(plot.scale.value(0.5), plot.along), Below(high, rounded(high, 4))),
        key=[Key(line.words, line.style, "line", dash=dash) for line, dash in dashed],
        words=lambda value: _words(plot, value),
        spoken=tr("Along {along}: {stated}", along=plot.along, stated="; ".join(stated)),
        margins=QMarginsF(44, KEY, 8, 20),
    )


def _words(plot: Plot, value: float) -> str:
    """Return the values of the points nearest to a place along the parameter."""
    at = plot.scale.share(value)
    nearest = [
        (line.words, min(line.points, key=lambda point: abs(plot.scale.share(point[0]) - at))[1])
        for line in plot.series
        if line.points
    ]
    return f"{plot.along} = {rounded(value, 4)}: " + ", ".join(f"{words}: {_stated(y, plot)}" for words, y in nearest)


def _stated(value: float, plot: Plot) -> str:
    return percent(value, 2) if plot.percent else tr_number(value, ".2g")
