"""The picture of one column: what was released, what the original likely was, and the intervals."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QMarginsF, QPointF, QRectF, QSize

from workbench.gui.pages.estimate.figures import BarView, ColumnView, Figure, stated
from workbench.gui.session.session import Session
from workbench.gui.widgets.chart import KEY, Below, Chart, Drawing, ends_below
from workbench.gui.widgets.chart_marks import Bars, Canvas, Intervals, Key, Levels, Scale

FILL = 0.45
STRIP, STRIPS_LETTERS = 15, 11
"""Pixels of an interval's line above the bars of a column of numbers, and of its name."""

ORDER = ("mean", "1st quartile", "median", "3rd quartile")


class EstimateChart(Chart):
    """Filled bars: estimated shares; a stepped line with dots: the released ones; brackets and lines: intervals."""

    usual = QSize(400, 200)

    def __init__(self, session: Session) -> None:
        super().__init__(session, "estimate_chart")
        self._column: ColumnView | None = None
        self._strips: list[Figure] = []

    def show_column(self, column: ColumnView | None) -> None:
        """Draw one column, or nothing."""
        self._column = column
        self._strips = [f for f in column.figures if f.of in ORDER] if column and column.ends else []
        self.margins = QMarginsF(2, KEY + STRIP * len(self._strips) + (4 if self._strips else 0), 2, 22)
        self.setAccessibleName(f"Estimated distribution of {column.name} beside the released one" if column else "")
        said = [f"{f.of} {f.stated(f.low)} to {f.stated(f.high)}" for f in column.figures[:4]] if column else []
        self.setAccessibleDescription("; ".join(said))
        self.update()

    def drawing(self) -> Drawing | None:
        """Return bars, released shares and intervals."""
        column = self._column
        if column is None or not column.bars:
            return None
        bars, labels = column.bars, [bar.label for bar in column.bars]
        brackets = [
            (at + 0.75, bar.low, bar.likely, bar.high)
            for at, bar in enumerate(bars)
            if bar.low is not None and bar.high is not None
        ]
        marks = (
            Bars({at: bar.likely for at, bar in enumerate(bars)}, "private", alpha=FILL),
            Levels({at: bar.released for at, bar in enumerate(bars) if bar.released is not None}, "sanitized"),
            Intervals(brackets, "private"),
        )
        strips, ends = list[_Strip](), ends_below(labels)
        if column.ends is not None:
            strips = [_Strip(at, figure, *column.ends) for at, figure in enumerate(self._strips)]
            first, last = (stated(end, column.kind) for end in column.ends)
            ends = Below(0, first), Below(len(bars), last)
        return Drawing(
            (*marks, *strips),
            x=Scale(0, len(bars)),
            y=Scale(0, max(max(b.likely, b.released or 0.0, b.high or 0.0) for b in bars) or 1.0),
            labels=labels if column.ends is None else (),
            below=ends,
            key=(
                Key("estimated, 95 %" if column.ends is None else "likely shape", "private", alpha=FILL),
                Key("released", "sanitized", "level"),
            ),
            words=lambda x: _words(bars[int(x)]),
        )


def _words(bar: BarView) -> str:
    words = f"{bar.label}: estimated {stated(bar.likely, 'share')}"
    if bar.low is not None and bar.high is not None:
        words += f" ({stated(bar.low, 'share')} to {stated(bar.high, 'share')})"
    return words if bar.released is None else f"{words}, released {stated(bar.released, 'share')}"


@dataclass(frozen=True)
class _Strip:
    """The interval of a mean or a quantile as a line above the bars, with its name at the right or left."""

    row: int
    figure: Figure
    first: float
    last: float

    def paint(self, on: Canvas) -> None:
        figure, level = self.figure, KEY + STRIP * (self.row + 0.5)
        low, middle, high = (
            on.box.left() + on.box.width() * Scale(self.first, self.last).share(min(max(v, self.first), self.last))
            for v in (figure.low, figure.estimate, figure.high)
        )
        on.smooth("private", dash="dotted" if figure.hidden else "solid")
        on.line(QPointF(low, level), QPointF(high, level))
        on.smooth("private")
        for end in (low, high):
            on.line(QPointF(end, level - 3), QPointF(end, level + 3))
        if not figure.hidden:
            on.sign("square", QPointF(middle, level), "private")
        wide = on.letters(STRIPS_LETTERS, figure.of) + 2
        left = high + 8 if high + 8 + wide <= on.box.right() else low - 8 - wide
        if left >= on.box.left():
            on.write(QRectF(left, level - STRIP / 2, wide, STRIP), figure.of)
