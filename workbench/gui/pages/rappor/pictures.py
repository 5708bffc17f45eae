"""What was found: true against estimated shares, the bits of each cohort, and the ROC."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.pages.rappor.tasks import Bar, Shown
from workbench.gui.style.language import tr, tr_later, tr_n, tr_number
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import KEY, Below, Chart, Drawing, ends_below
from workbench.gui.widgets.chart_marks import Key, Scale, Sign
from workbench.gui.widgets.formatting import count, percent

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
ROC_STYLES = ("private", "sanitized", "third")


class BarsPicture(Chart):
    """Filled bars: true shares; squares with brackets: decoded shares and their intervals."""

    name = "rappor_bars"
    margins = QMarginsF(2, KEY, 2, 22)
    usual, least = QSize(480, 190), QSize(0, 170)

    def show_bars(self, bars: tuple[Bar, ...]) -> None:
        """Show the candidates."""
        self.show_drawing(_bars(bars) if bars else None)


def _bars(bars: tuple[Bar, ...]) -> Drawing:
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
        words=lambda x: _words(bars[int(x)]),
        spoken=tr("True and decoded shares of {bars} candidates, with intervals", bars=len(bars)),
    )


def _words(bar: Bar) -> str:
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


class HeatPicture(Chart):
    """A row for each cohort, a column for each bit: the darker, the more reports of the cohort have it."""

    name = "rappor_heat"
    margins = QMarginsF(2, KEY, 2, 20)
    usual, least = QSize(300, 150), QSize(0, 140)

    def show_heat(self, heat: NDArray[np.float64]) -> None:
        """Show the shares, (cohorts, bits)."""
        least, most, bits = float(heat.min()), float(heat.max()), heat.shape[1]
        shade = (heat - least) / max(most - least, 1e-9)
        ends = [(percent(float(bit.min())), percent(float(bit.max()))) for bit in heat.T]
        key = tr("reports with each bit, by cohort: {low} to {high}", low=percent(least), high=percent(most))
        drawing = Drawing(
            (mark.shades(shade[::-1].tolist()),),
            x=Scale(0, bits),
            below=(Below(0, tr("bit {number}", number=0)), Below(bits, tr("bit {number}", number=bits - 1))),
            key=(Key(key, "muted", ""),),
            frame="box",
            words=lambda x: tr(
                "bit {number}: {low} to {high} of a cohort's reports",
                number=int(x),
                low=ends[int(x)][0],
                high=ends[int(x)][1],
            ),
            spoken=tr(
                "Share of the reports with each of {bits} bits in {cohorts} cohorts", bits=bits, cohorts=heat.shape[0]
            ),
        )
        self.show_drawing(drawing)


class RocPicture(Chart):
    """Hits against false alarms as the p-value's threshold rises, for several numbers of reports."""

    name = "rappor_roc"
    margins = QMarginsF(30, KEY, 8, 20)
    usual, least = QSize(220, 150), QSize(0, 140)

    def show_roc(self, shown: Shown | None) -> None:
        """Show the curves, or why there are none."""
        self.show_drawing(_roc(shown.roc) if shown is not None and shown.roc else _no_roc())


def _no_roc() -> Drawing:
    return Drawing(
        empty=tr("no ROC: nothing is\nknown to be absent"),
        frame="none",
        spoken=tr("No ROC: nothing is known to be absent"),
    )


def _roc(roc: Curves) -> Drawing:
    curves = [
        mark.line(list(zip(alarms.tolist(), hits.tolist(), strict=True)), style)
        for (_, alarms, hits), style in zip(roc, ROC_STYLES, strict=False)
    ]
    reports = ", ".join(count(n, "report") for n, _, _ in roc)
    return Drawing(
        (mark.line(((0, 0), (1, 1)), "line", 1, "dashed"), *curves),
        left=((1, "1"),),
        below=(Below(0, tr("false alarms 0")), Below(1, "1")),
        key=[Key(tr_number(n, ","), style, "") for (n, _, _), style in zip(roc, ROC_STYLES, strict=False)],
        words=lambda share: _roc_words(roc, share),
        spoken=tr("ROC of {reports}", reports=reports),
    )


def _roc_words(roc: Curves, share: float) -> str:
    hits = ((n, float(found[np.searchsorted(alarms, share, side="right") - 1])) for n, alarms, found in roc)
    found_of = ", ".join(
        tr_n("{n} report {hit} found", "{n} reports {hit} found", n, hit=percent(hit)) for n, hit in hits
    )
    return tr("false alarms {share}: {found}", share=percent(share), found=found_of)
