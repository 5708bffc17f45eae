"""One released histogram: a bar for each bin, a bracket for its interval."""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.pages.statistics.tasks import SPARSE, Bar
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import KEY, SCALE, Chart, Drawing, ends_below, row_ticks
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.gui.widgets.formatting import plain

FILL, FAINT = 0.65, 0.25


class HistogramPicture(Chart):
    """Bars with their intervals. A bar that could as well be empty is faint, and its tooltip says so."""

    name = "statistics_histogram"
    margins = QMarginsF(SCALE, KEY + 4, 2, 22)
    usual = QSize(400, 180)

    def show_bars(self, bars: tuple[Bar, ...], name: str) -> None:
        """Show the histogram called ``name``, or nothing."""
        self.show_drawing(_drawing(bars, name) if bars else None)


def _drawing(bars: tuple[Bar, ...], name: str) -> Drawing:
    labels, most = [bar.label for bar in bars], max(*(bar.high for bar in bars), 1.0)
    faint = {at: bar.estimate for at, bar in enumerate(bars) if bar.sparse}
    key = Key("rows, bracket: 95 %", "accent", alpha=FILL), Key(SPARSE, "accent", alpha=FAINT)
    ends = [(at + 0.5, bar.low, bar.estimate, bar.high) for at, bar in enumerate(bars)]
    return Drawing(
        (
            mark.bars({at: bar.estimate for at, bar in enumerate(bars) if not bar.sparse}, alpha=FILL),
            mark.bars(faint, alpha=FAINT),
            mark.intervals(ends, "text", None, 1.2),
        ),
        x=Scale(0, len(bars)),
        y=Scale(0, most),
        left=row_ticks(most),
        grid=True,
        labels=labels,
        below=ends_below(labels),
        key=key if faint else key[:1],
        words=lambda x: _words(bars[int(x)]),
        spoken=f"Released histogram of {name}, {len(bars)} bins with their intervals",
    )


def _words(bar: Bar) -> str:
    stated = f"{bar.label}: {plain(bar.estimate)} rows (95 %: {plain(bar.low)} to {plain(bar.high)})"
    return f"{stated}, {SPARSE}" if bar.sparse else stated
