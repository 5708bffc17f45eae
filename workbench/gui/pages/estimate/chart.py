"""The picture of one column: what was released, what the original likely was, and the intervals."""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, QPointF, QRectF, QSize

from workbench.gui.pages.estimate.figures import MEAN, QUARTILES, BarView, ColumnView, Figure, stated
from workbench.gui.style.language import tr
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import KEY, Below, Chart, Drawing, ends_below
from workbench.gui.widgets.chart_marks import Key, Scale

FILL = 0.45
STRIP, STRIPS_LETTERS = 15, 11
"""Pixels of an interval's line above the bars of a column of numbers, and of its name."""

ORDER = (MEAN, *QUARTILES.values())


class EstimateChart(Chart):
    """Filled bars: estimated shares; a stepped line with dots: the released ones; brackets and lines: intervals."""

    name = "estimate_chart"
    usual = QSize(330, 200)

    def show_column(self, column: ColumnView | None) -> None:
        """Draw one column, or nothing."""
        strips = [f for f in column.figures if f.of in ORDER] if column and column.ends else []
        self.margins = QMarginsF(2, KEY + STRIP * len(strips) + (4 if strips else 0), 2, 22)
        self.show_drawing(_drawing(column, strips) if column and column.bars else None)
        self.setAccessibleName(
            tr("Estimated distribution of {name} beside the released one", name=column.name) if column else ""
        )
        said = [_interval(f) for f in column.figures[:4]] if column else []
        self.setAccessibleDescription("; ".join(said))


def _drawing(column: ColumnView, strips: list[Figure]) -> Drawing:
    bars, labels = column.bars, [bar.label for bar in column.bars]
    brackets = [
        (at + 0.75, bar.low, bar.likely, bar.high)
        for at, bar in enumerate(bars)
        if bar.low is not None and bar.high is not None
    ]
    marks = [
        mark.bars({at: bar.likely for at, bar in enumerate(bars)}, "private", alpha=FILL),
        mark.levels({at: bar.released for at, bar in enumerate(bars) if bar.released is not None}, "sanitized"),
        mark.intervals(brackets, "private"),
    ]
    below = ends_below(labels)
    if column.ends is not None:
        first, last = (stated(end, column.kind) for end in column.ends)
        below = Below(0, first), Below(len(bars), last)
        marks += [_strip(at, figure, Scale(*column.ends)) for at, figure in enumerate(strips)]
    return Drawing(
        marks,
        x=Scale(0, len(bars)),
        y=Scale(0, max(max(b.likely, b.released or 0.0, b.high or 0.0) for b in bars) or 1.0),
        labels=labels if column.ends is None else (),
        below=below,
        key=(
            Key(tr("estimated, 95 %") if column.ends is None else tr("likely shape"), "private", alpha=FILL),
            Key(tr("as released"), "sanitized", "level"),
        ),
        words=lambda x: _words(bars[int(x)]),
    )


def _words(bar: BarView) -> str:
    words = tr("{value}: estimated {share}", value=bar.label, share=stated(bar.likely, "share"))
    if bar.low is not None and bar.high is not None:
        words = tr(
            "{value}: estimated {share} ({low} to {high})",
            value=bar.label,
            share=stated(bar.likely, "share"),
            low=stated(bar.low, "share"),
            high=stated(bar.high, "share"),
        )
    if bar.released is None:
        return words
    return tr("{estimated}, released {share}", estimated=words, share=stated(bar.released, "share"))


def _interval(figure: Figure) -> str:
    low, high = figure.stated(figure.low), figure.stated(figure.high)
    return tr("{figure} {low} to {high}", figure=figure.called, low=low, high=high)


def _strip(at: int, figure: Figure, along: Scale) -> mark.Mark:
    """Return the interval of a mean or a quantile as a line above the bars, with its name at the right or left."""

    def paint(on: mark.Canvas) -> None:
        level = KEY + STRIP * (at + 0.5)
        low, middle, high = (
            on.box.left() + on.box.width() * min(max(along.share(v), 0.0), 1.0)
            for v in (figure.low, figure.estimate, figure.high)
        )
        on.smooth("private", dash="dotted" if figure.hidden else "solid")
        on.line(QPointF(low, level), QPointF(high, level))
        on.smooth("private")
        for end in (low, high):
            on.line(QPointF(end, level - 3), QPointF(end, level + 3))
        if not figure.hidden:
            on.sign("square", QPointF(middle, level), "private")
        wide = on.letters(STRIPS_LETTERS, figure.called) + 2
        left = high + 8 if high + 8 + wide <= on.box.right() else low - 8 - wide
        if left >= on.box.left():
            on.write(QRectF(left, level - STRIP / 2, wide, STRIP), figure.called)

    return paint
