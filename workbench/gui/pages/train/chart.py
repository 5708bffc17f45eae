"""Charts of a run, drawn as it grows: a figure at each step, where the accuracy goes, and the norms of gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QMarginsF, QPointF, QRectF, QSize

from workbench.gui.pages.train.messages import went_words
from workbench.gui.session.session import Session
from workbench.gui.style.language import again, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import SHARES, Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import BarLine, Scale
from workbench.gui.widgets.formatting import at_least, at_most, plain
from workbench.signals.events import Spread

MOST = 2000
"""Points that are kept: more than pixels. When they are reached, every second one goes."""

PIECES = 24
"""Straight pieces of a line that is bent."""

FAR = 3.0
"""A cap this many times as high as the target is named at the upper edge, and not drawn: the line would be flat."""

NAME_HEIGHT = 17
"""Points that the name of a line takes above it."""

PLAIN = (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)
"""Figures whose half is a plain figure too."""


class StepChart(Chart):
    """One line over the steps of a run, its newest value written out, and a target where there is one."""

    least, letters = QSize(140, 88), 11

    def __init__(
        self,
        session: Session,
        name: str,
        title: str,
        *,
        style: str = "private",
        top: float = 0.0,
        rising: bool = False,
    ) -> None:
        """Make the chart; ``rising`` values bound something that never falls: a lower one bounds the former, too."""
        super().__init__(session, name, title)
        self._title = title
        self._style, self._top, self._rising = style, top, rising
        self._points: list[tuple[int, float]] = []
        self._steps = 0
        self._target: float | None = None
        self._cap: float | None = None

    @property
    def points(self) -> tuple[tuple[int, float], ...]:
        """The (step, value) pairs that are drawn."""
        return tuple(self._points)

    def begin(self, steps: int, target: float | None = None, cap: float | None = None) -> None:
        """Begin a run of ``steps`` steps that stops before ``target``, where ``cap`` is all that there is for it."""
        self._points, self._steps, self._target, self._cap = [], steps, target, cap
        self.update()

    @property
    def limits(self) -> tuple[tuple[str, float, bool], ...]:
        """What bounds the values: words, the value, and whether it is so near that a line is drawn."""
        target, cap = self._target, self._cap
        if target is None:
            return ()
        if cap is None:
            return ((tr("target ε"), target, True),)
        if cap <= target * (1 + 1e-9):
            return ((tr("target = cap ε"), target, True),)
        return (tr("target ε"), target, True), (tr("cap leaves ε"), cap, cap <= FAR * target)

    def add(self, step: int, value: float) -> None:
        """Take the newest value."""
        if self._rising and self._points and value < self._points[-1][1]:
            self._points = [(s, min(v, value)) for s, v in self._points]
        self._points.append((step, value))
        if len(self._points) > MOST:
            self._points = self._points[::2]
        bounds = "".join(f", {words} {plain(limit)}" for words, limit, _ in self.limits)
        self.setAccessibleName(
            tr("{title}: {value} at step {step}", title=again(self._title), value=self._written(value), step=step)
            + bounds
        )
        self.update()

    def show_points(self, points: Sequence[tuple[int, float]]) -> None:
        """Draw ``points`` in place of what was drawn meanwhile."""
        self._points = list(points)
        self.update()

    def _projected(self, target: float) -> list[tuple[float, float]]:
        """Return the line from the newest value to the target at the last step, bent as √t is."""
        at, value = self._points[-1]
        begin, end = math.sqrt(at), math.sqrt(self._steps)
        steps = [at + (self._steps - at) * part / PIECES for part in range(PIECES + 1)]
        return [(t, value + (target - value) * (math.sqrt(t) - begin) / (end - begin)) for t in steps]

    def _written(self, value: float) -> str:
        """Return a figure; of ε, which bounds what is spent, never less than it is."""
        return at_most(value) if self._rising else plain(value)

    def drawing(self) -> Drawing:
        """Return grid, limits and line, and the line that is expected up to the target."""
        drawn = [value for _, value, near in self.limits if near]
        top = rounded_up(max([self._top / 1.08, *drawn, *(v for _, v in self._points)]) * 1.08) or 1.0
        last = max(self._steps, 1)
        marks = [_limits(self.limits)]
        if self._points and self._target is not None and self._steps > self._points[-1][0]:
            # Where it ends if nobody stops it; ε grows about as the root of the steps.
            marks.append(mark.line(self._projected(self._target), self._style, 1.5, "dotted"))
        return Drawing(
            (*marks, mark.line(self._points, self._style)),
            x=Scale(0, last),
            y=Scale(0, top),
            left=[(share * top, plain(share * top)) for share in (0.0, 0.5, 1.0)],
            grid=True,
            below=(
                Below(0, tr("step {step}", step=0)),
                Below(last, tr_number(self._steps, ",") if self._steps else ""),
            ),
            title=again(self._title),
            figure=self._written(self._points[-1][1]) if self._points else "–",
        )


def _limits(limits: tuple[tuple[str, float, bool], ...]) -> mark.Mark:
    """Return what bounds the values: the target dashed, named at the left, the cap whole, named at the right."""

    def paint(on: mark.Canvas) -> None:
        box = on.box
        for at, (words, limit, near) in enumerate(limits):
            y = on.up(limit) if near else box.top()
            if near:
                on.smooth("danger", 1.5, "solid" if at else "dashed")
                on.line(QPointF(box.left(), y), QPointF(box.right(), y))
            stated = f"{words} {at_least(limit) if at else at_most(limit)}" + ("" if near else " ↑")
            # Where it is longer than the box it takes the margin of the axis, too.
            begin, end = (0.0, box.right() - 4) if at else (box.left() + 4, box.right() + 8)
            # Above its line, which the values never cross; below it only where the line of the cap is in the way.
            below = at == 0 and any(y - NAME_HEIGHT < on.up(v) < y for _, v, drawn in limits[1:] if drawn)
            place = QRectF(begin, y + (2 if below else -15), end - begin, 14)
            on.write(place, stated, "danger", "right" if at else "left")

    return paint


def rounded_up(value: float) -> float:
    """Return the next plain figure: the ends of an axis are to be read at a glance."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(step * unit for step in PLAIN if step * unit >= value * (1 - 1e-9))


Stages = tuple[tuple[str, float, int], ...]
"""(name, accuracy, rows it was measured on) of each training."""

LINE = 20


class WhereChart(Chart):
    """One bar for each training, and a sentence on what clipping and noise cost; hidden while nothing is known."""

    margins = QMarginsF(0, 0, 0, LINE)
    letters, height_fixed = 13, True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "train_where_chart", tr("Where the accuracy went"))
        self.stages: Stages = ()
        self.hide()

    def show_stages(self, stages: Stages) -> None:
        """Show the result of a study; nothing where there is none."""
        self.stages = stages
        self.setVisible(bool(stages))
        self.setAccessibleName(tr("Where the accuracy went: {stages}", stages=went_words(stages)) if stages else "")
        self.setToolTip(went_words(stages) if stages else "")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(360, (len(self.stages) + 1) * LINE)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(200, self.sizeHint().height())

    def drawing(self) -> Drawing | None:
        """Return the bars and the sentence."""
        if not self.stages:
            return None
        lines = [
            BarLine(tr_sentence(name), accuracy, tr_number(accuracy, ".3f"), ink)
            for (name, accuracy, _), ink in zip(self.stages, ("no-privacy", "sanitized", "private"), strict=False)
        ]
        return Drawing((mark.bar_lines(lines, 13),), below=(Below(0, went_words(self.stages), "text"),), frame="none")


TITLE = tr_later("gradients")
NORMS = tr_later("gradient norms, in clipping norms")
TIP = tr_later(
    "The size of each row's gradient in one step, in clipping norms. Those right of the line are scaled down."
)
LABELS = ("", "1⁄16", "⅛", "¼", "½", "1", "2", "4", "8", "16", "")


class NormChart(Chart):
    """A histogram: what lies right of the line at 1 is clipped, and hatched besides its colour."""

    margins = QMarginsF(8, 30, 8, 24)
    least, letters = QSize(140, 88), 11

    def __init__(self, session: Session) -> None:
        super().__init__(session, "train_norms", tr(NORMS), tr(TIP))
        self._spread: Spread | None = None

    @property
    def clipped(self) -> float | None:
        """The share of the rows that is clipped; ``None`` where no row was seen."""
        spread = self._spread
        if spread is None or not sum(spread.counts):
            return None
        above = sum(c for c, edge in zip(spread.counts[1:], spread.edges, strict=True) if edge >= 1)
        return above / sum(spread.counts)

    def begin(self, steps: int) -> None:
        """Show nothing."""
        self._spread = None
        self.setAccessibleName(tr(NORMS))
        self.update()

    def take(self, spread: Spread) -> None:
        """Show the newest histogram."""
        self._spread = spread
        if self.clipped is not None:
            self.setAccessibleName(
                tr(
                    "{norms}: {share} % of the rows clipped at step {step}",
                    norms=tr(NORMS),
                    share=tr_number(100 * self.clipped, ".0f"),
                    step=spread.step,
                )
            )
        self.update()

    def drawing(self) -> Drawing:
        """Return bars, the line at the clipping norm and the edges."""
        first, counts = LABELS.index("1"), self._spread.counts if self._spread is not None else ()
        return Drawing(
            (
                mark.bars(dict(enumerate(counts[:first])), "private"),
                mark.bars({at: n for at, n in enumerate(counts) if at >= first}, "sanitized", hatched=True),
                mark.upright(first, "danger", width=1.5),
            ),
            x=Scale(0, len(LABELS) - 1),
            y=Scale(0, max(1, *counts)) if counts else SHARES,
            below=[Below(at, text) for at, text in enumerate(LABELS)],
            title=tr(TITLE),
            figure="–" if self.clipped is None else tr("{share} % clipped", share=tr_number(100 * self.clipped, ".0f")),
        )
