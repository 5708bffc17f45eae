"""The chart of the window: a page declares a :class:`Drawing` in the units of its data, :class:`Chart` paints it.

A drawing is painted within 1 or 2 ms (``tests/benchmarks/results/painting.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from PySide6.QtCore import QEvent, QMarginsF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr_number
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.chart_marks import Canvas, Key, Mark, Scale
from workbench.render.fonts import font, scaled
from workbench.render.palette import Theme

SCALE = 42  # pixels to the left of bars for how many rows their height means

KEY = 20  # pixels of the line at the top, for the title or for what the colours mean

SHARES = Scale(0.0, 1.0)
Tick = tuple[float, str]


@dataclass(frozen=True)
class Below:
    """A word below the box: at an end of the axis it is written inwards from there, else about its place."""

    at: float
    text: str
    ink: str = "muted"


@dataclass(frozen=True)
class Drawing:
    """What a chart shows."""

    marks: Sequence[Mark] = ()  # what is painted, the undermost first
    x: Scale = SHARES  # the horizontal axis
    y: Scale = SHARES  # the vertical axis
    left: Sequence[Tick] = ()  # (value, words) beside the vertical axis
    grid: bool = False  # whether each of these has a line across
    below: Sequence[Below] = ()  # words below the horizontal axis
    labels: Sequence[str] = ()  # the words of each bar, written in place of `below` where there is room for all
    title: str = ""  # at the top left
    figure: str = ""  # at the top right
    key: Sequence[Key] = ()  # what the colours mean; at the top, in place of a title
    frame: Literal["ground", "box", "none"] = "ground"  # a line below the marks, a box around them, or nothing
    empty: str = ""  # what is written where there is nothing to show
    words: Callable[[float], str] | None = None  # returns what is at a value of the horizontal axis
    spoken: str = ""  # what a screen reader calls the chart with it
    margins: QMarginsF | None = None  # room around the marks, where that is not the chart's usual one


class Chart(QWidget):
    """Paints a drawing, and names what is under the pointer.

    A page makes a drawing of its figures and gives it to :meth:`show_drawing`. A subclass whose drawing depends on its
    size, or grows with every step of a run, returns it from :meth:`drawing` when it is painted.
    """

    name: ClassVar[str] = ""  # the object name, where there is one chart of this kind

    margins: QMarginsF = QMarginsF(40, 30, 8, 24)  # room around the marks, in pixels: left, above, right, below

    usual: QSize = QSize(220, 120)  # a size at which it can be read

    least: QSize = QSize(0, 0)
    letters: ClassVar[int] = 12
    height_fixed: ClassVar[bool] = False

    def __init__(
        self,
        session: Session,
        name: str = "",
        accessible: str = "",
        tip: str = "",
        *,
        usual: QSize | None = None,
        least: QSize | None = None,
    ) -> None:
        """Make the chart; ``accessible`` is what a screen reader says before anything is shown."""
        super().__init__()
        self.usual, self.least = usual or self.usual, least or self.least
        named(self, name or self.name, accessible, tip)
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Expanding, policy.Fixed if self.height_fixed else policy.Expanding)
        self._session = session
        self._drawing: Drawing | None = None
        session.theme_changed.connect(self.update)

    def show_drawing(self, drawing: Drawing | None) -> None:
        self._drawing = drawing
        self.setAccessibleName(drawing.spoken if drawing is not None else "")
        self.update()

    def drawing(self) -> Drawing | None:
        return self._drawing

    def words_at(self, x: float) -> str:
        """Return what is at a place across the picture; empty beside the marks."""
        drawing = self.drawing()
        box = self._box(drawing)
        if drawing is None or drawing.words is None or not box.left() <= x < box.right():
            return ""
        return drawing.words(drawing.x.value((x - box.left()) / box.width()))

    def words_under(self, point: QPointF) -> str:
        return self.words_at(point.x())

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return self.usual

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return self.least

    def event(self, event: QEvent) -> bool:
        """Name what is under the pointer; without words for it, the tooltip of the whole is shown."""
        if isinstance(event, QHelpEvent) and not self.toolTip():
            QToolTip.showText(event.globalPos(), self.words_under(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        drawing = self.drawing()
        if drawing is None:
            return
        with QPainter(self) as painter:
            on = Canvas(painter, self._box(drawing), self._session.theme, drawing.x, drawing.y)
            self._paint_head(on, drawing)
            on.letters(self.letters)
            if drawing.empty:
                painter.setPen(on.ink("muted"))
                painter.drawText(on.box, Qt.AlignmentFlag.AlignCenter, drawing.empty)
            self._paint_axes(on, drawing)
            _paint_marks(on, drawing)

    def _margins(self, drawing: Drawing | None) -> QMarginsF:
        return self.margins if drawing is None or drawing.margins is None else drawing.margins

    def _box(self, drawing: Drawing | None = None) -> QRectF:
        least, metrics = self._margins(drawing), QFontMetrics(font(self.letters))
        numbers = [text for _, text in drawing.left] if drawing is not None else []
        left = max(least.left(), scaled(least.left()), *(metrics.horizontalAdvance(text) + 8 for text in numbers))
        top = max(least.top(), scaled(least.top())) if least.top() >= KEY else least.top()
        if numbers:
            top = max(top, metrics.height() / 2)  # half of the uppermost number is above its line
        line = 3 + metrics.height()
        bottom = max(least.bottom(), line) if least.bottom() >= KEY else least.bottom()
        return QRectF(self.rect()).marginsRemoved(QMarginsF(left, top, least.right(), bottom))

    def _paint_head(self, on: Canvas, drawing: Drawing) -> None:
        if drawing.title:
            room = on.letters(13, drawing.figure) + 12 if drawing.figure else 0.0
            high = max(KEY, scaled(KEY))
            on.write(QRectF(0, 0, self.width() - room, high), drawing.title, "text")
            on.write(QRectF(self.width() - room, 0, room, high), drawing.figure, "text", "right")
        on.letters(self.letters)
        # Clear of the figure beside the top of the axis, where that reaches into this line.
        left = on.box.left() if drawing.left and self._margins(drawing).top() <= KEY else 2.0
        for key in drawing.key:
            left = key.paint(on, left, max(KEY, scaled(KEY)) / 2 - 2)

    def _paint_axes(self, on: Canvas, drawing: Drawing) -> None:
        box = on.box
        for value, text in drawing.left:
            level = on.up(value)
            if drawing.grid:
                on.painter.fillRect(QRectF(box.left(), level, box.width(), 1), on.ink("line"))
            high = max(16, on.painter.fontMetrics().height())
            on.write(QRectF(0, level - high / 2, box.left() - 6, high), text, side="right")
        high = max(17, on.painter.fontMetrics().height())
        line = QRectF(box.left(), box.bottom() + 3, box.width(), min(self.height() - box.bottom() - 3, high))
        width = box.width() / max(len(drawing.labels), 1)
        wide = on.painter.fontMetrics().horizontalAdvance
        if drawing.labels and max(map(wide, drawing.labels)) <= width - 4:
            for at, text in enumerate(drawing.labels):
                on.write(QRectF(box.left() + at * width, line.top(), width, line.height()), text, side="centre")
            return
        _write_below(on, drawing.below, line)


def paint_marks(painter: QPainter, box: QRectF, theme: Theme, drawing: Drawing) -> None:
    """Paint the marks of a drawing without its words, as in a cell of a table."""
    _paint_marks(Canvas(painter, box, theme, drawing.x, drawing.y), drawing)


def _paint_marks(on: Canvas, drawing: Drawing) -> None:
    for mark in drawing.marks:
        mark(on)
    on.sharp()
    if drawing.frame == "ground":
        on.painter.fillRect(QRectF(on.box.left(), on.box.bottom(), on.box.width(), 1), on.ink("line"))
    elif drawing.frame == "box":
        on.painter.setPen(QPen(on.ink("line"), 1))
        on.painter.setBrush(Qt.BrushStyle.NoBrush)
        on.painter.drawRect(on.box)


def _write_below(on: Canvas, words: Sequence[Below], line: QRectF) -> None:
    """Write those at the ends, each on at most half of the width, and the others clear of them where there is room."""
    wide, ends = on.painter.fontMetrics().horizontalAdvance, (on.x.low, on.x.high)
    half = line.width() / 2 if sum(bool(word.text) and word.at in ends for word in words) > 1 else line.width()
    left, right = line.left(), line.right()
    for word in words:
        if word.at == ends[0]:
            on.write(QRectF(line.left(), line.top(), half, line.height()), word.text, word.ink)
            left += min(wide(word.text), half) + 6
        elif word.at == ends[1]:
            on.write(QRectF(line.right() - half, line.top(), half, line.height()), word.text, word.ink, "right")
            right -= min(wide(word.text), half) + 6
    for word in words:
        room = wide(word.text) + 2.0
        if word.at not in ends and room <= right - left:
            begin = min(max(on.across(word.at) - room / 2, left), right - room)
            on.write(QRectF(begin, line.top(), room, line.height()), word.text, word.ink, "centre")


def ends_below(labels: Sequence[str]) -> tuple[Below, ...]:
    """Return the words below the first and the last bar; of a single bar only once."""
    return Below(0, labels[0]), Below(len(labels), labels[-1] if len(labels) > 1 else "")


def range_below(labels: Sequence[str]) -> tuple[Below, ...]:
    """Return both ends of the range of numbers that bars cover, as words below them."""
    first, last = (end.text.split(" – ") for end in ends_below(labels))
    return Below(0, first[0]), Below(len(labels), last[-1])


def row_ticks(most: float) -> tuple[Tick, ...]:
    """Return how many rows half of the height and the whole height of bars mean."""
    return (most / 2, in_short(most / 2)), (most, in_short(most))


def in_short(rows: float) -> str:
    """Return a number of rows in at most six characters."""
    if rows < 100_000:
        return tr_number(rows, ",.0f" if rows >= 10 or rows == round(rows) else ".1f")
    return f"{tr_number(rows / 1e3, ',.0f')} k" if rows < 1e6 else f"{tr_number(rows / 1e6, ',.3g')} M"
