"""What a chart can consist of: marks in the units of the data, painted through the scales of a :class:`Canvas`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QImage, QPainter, QPen, QPolygonF

from workbench.gui.style.stylesheet import mixed
from workbench.render.fonts import font
from workbench.render.palette import BAND_OPACITY, STYLES, Theme

Point = tuple[float, float]
Sign = Literal["dot", "square", "open", "triangle", "cross"]
Side = Literal["left", "centre", "right"]
Dash = Literal["solid", "dashed", "dotted", "dash-dotted"]

_DASHES: dict[Dash, Qt.PenStyle] = {
    "solid": Qt.PenStyle.SolidLine,
    "dashed": Qt.PenStyle.DashLine,
    "dotted": Qt.PenStyle.DotLine,
    "dash-dotted": Qt.PenStyle.DashDotLine,
}
DASHES = tuple(_DASHES)  # for the lines of a chart, which differ by more than a colour
_SIDES: dict[Side, Qt.AlignmentFlag] = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "centre": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}
_ROLES = {role.name for role in fields(Theme)}


def ink(theme: Theme, name: str, alpha: float = 1.0) -> QColor:
    """Return the colour of a role of the theme (``muted``) or of a style of the palette (``private``)."""
    colour = QColor(getattr(theme, name) if name in _ROLES else theme.series(STYLES[name]))
    colour.setAlphaF(alpha)
    return colour


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``; the bars of a chart are at 0 to 1, 1 to 2 and so on."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis ``value`` is: 0 at its low end, 1 at its high end."""
        if self.log:
            return math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, share: float) -> float:
        return self.low * (self.high / self.low) ** share if self.log else self.low + share * (self.high - self.low)


class Canvas:
    """A painter with the box of the data, its scales and the colours of the theme."""

    def __init__(self, painter: QPainter, box: QRectF, theme: Theme, x: Scale, y: Scale) -> None:
        self.painter, self.box, self.theme, self.x, self.y = painter, box, theme, x, y

    def across(self, x: float) -> float:
        return self.box.left() + self.x.share(x) * self.box.width()

    def up(self, y: float) -> float:
        return self.box.bottom() - self.y.share(y) * self.box.height()

    def at(self, x: float, y: float) -> QPointF:
        return QPointF(self.across(x), self.up(y))

    def ink(self, name: str, alpha: float = 1.0) -> QColor:
        return ink(self.theme, name, alpha)

    def sharp(self) -> None:
        """Paint without smoothing, for what is upright and flat."""
        self.painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)

    def smooth(self, name: str, width: float = 2.0, dash: Dash = "solid") -> None:
        """Paint smooth lines in a colour; the shapes that follow are not filled."""
        self.painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.painter.setPen(QPen(self.ink(name), width, _DASHES[dash]))
        self.painter.setBrush(Qt.BrushStyle.NoBrush)

    def line(self, one: QPointF, other: QPointF) -> None:
        self.painter.drawLine(one, other)

    def letters(self, pixels: float, text: str = "") -> float:
        """Write at this size from now on; return how wide ``text`` is."""
        self.painter.setFont(font(pixels))
        return self.painter.fontMetrics().horizontalAdvance(text)

    def write(self, box: QRectF, text: str, name: str = "muted", side: Side = "left") -> None:
        """Write a line of text in the middle of the height of ``box``, cut where the box ends."""
        self.painter.setPen(self.ink(name))
        shown = self.painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, math.ceil(box.width()))
        self.painter.drawText(box, _SIDES[side] | Qt.AlignmentFlag.AlignVCenter, shown)

    def sign(self, sign: Sign, centre: QPointF, name: str, size: float = 3.0) -> None:
        self.smooth(name, 1.5)
        x, y = centre.x(), centre.y()
        match sign:
            case "cross":
                for end in (QPointF(size, size), QPointF(size, -size)):
                    self.line(centre - end, centre + end)
            case "dot":
                self.painter.setBrush(self.ink(name))
                self.painter.drawEllipse(centre, size, size)
            case "triangle":
                self.painter.setBrush(self.ink(name))
                corners = ((x - size - 1, y + size), (x + size + 1, y + size), (x, y - size - 1))
                self.painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
            case _:
                self.painter.setBrush(self.ink("surface" if sign == "open" else name))
                self.painter.drawRect(QRectF(x - size, y - size, 2 * size, 2 * size))


Mark = Callable[[Canvas], None]  # a part of a chart: what paints it


def bars(heights: Mapping[int, float], ink: str = "accent", *, alpha: float = 1.0, hatched: bool = False) -> Mark:
    """Return bars on the axis, each in the place of its number; one that is not empty is never invisible."""

    def paint(on: Canvas) -> None:
        width = on.across(1) - on.across(0)
        gap = min(max(1.0, 0.1 * width), 6.0) if width >= 4 else 0.0
        tops = {at: max(on.box.bottom() - on.up(high), 1.5) for at, high in heights.items() if high > 0}
        made = [QRectF(on.across(at) + gap / 2, on.box.bottom() - top, width - gap, top) for at, top in tops.items()]
        on.sharp()
        on.painter.setPen(Qt.PenStyle.NoPen)
        brushes = [QBrush(on.ink(ink, alpha)), *([QBrush(on.ink("surface"), Qt.BrushStyle.BDiagPattern)] * hatched)]
        for brush in brushes:
            on.painter.setBrush(brush)
            on.painter.drawRects(made)  # one call for all, as each may have to wait for the interpreter

    return paint


def levels(of_bars: Mapping[int, float], ink: str) -> Mark:
    """Return a level line with a dot over the place of each bar, to be compared with the bars."""

    def paint(on: Canvas) -> None:
        for at, level in of_bars.items():
            on.smooth(ink)
            on.line(on.at(at, level) + QPointF(1, 0), on.at(at + 1, level) - QPointF(1, 0))
            on.sign("dot", on.at(at + 0.5, level), ink)

    return paint


def intervals(
    ends: Iterable[tuple[float, float, float, float]], ink: str, sign: Sign | None = "square", width: float = 2.0
) -> Mark:
    """Return upright brackets with a sign at the estimate, of (x, low, estimate, high) each."""

    def paint(on: Canvas) -> None:
        place = on.across(1) - on.across(0)
        cap = QPointF(min(5.0, place / 6), 0)
        for x, low, middle, high in ends:
            on.smooth(ink, width)
            on.line(on.at(x, low), on.at(x, high))
            for end in (low, high):
                on.line(on.at(x, end) - cap, on.at(x, end) + cap)
            if sign is not None:
                on.sign(sign, on.at(x, middle), ink, min(3.0, place / 3))

    return paint


def line(points: Sequence[Point], ink: str, width: float = 2.0, dash: Dash = "solid") -> Mark:
    """Return a line through points; what is outside the box is cut."""

    def paint(on: Canvas) -> None:
        on.painter.save()
        on.painter.setClipRect(on.box.adjusted(-2, -2, 2, 2), Qt.ClipOperation.IntersectClip)
        on.smooth(ink, width, dash)
        on.painter.drawPolyline(QPolygonF([on.at(*point) for point in points]))
        on.painter.restore()

    return paint


def band(low: Sequence[Point], high: Sequence[Point], ink: str) -> Mark:
    """Return the room between two lines, filled."""

    def paint(on: Canvas) -> None:
        on.painter.setPen(Qt.PenStyle.NoPen)
        on.painter.setBrush(on.ink(ink, BAND_OPACITY))
        on.painter.drawPolygon(QPolygonF([on.at(*point) for point in (*high, *reversed(low))]))

    return paint


def upright(x: float, ink: str = "accent", dash: Dash = "dashed", width: float = 1.0) -> Mark:
    """Return a line from bottom to top at a value of the horizontal axis."""

    def paint(on: Canvas) -> None:
        on.smooth(ink, width, dash)
        on.line(QPointF(on.across(x), on.box.top()), QPointF(on.across(x), on.box.bottom()))

    return paint


def shades(rows: Sequence[Sequence[float]], box: QRectF | None = None) -> Mark:
    """Return a picture of cells, the lowest row first: the larger its share, the more of the accent a cell has.

    It fills ``box``, else that of the chart.
    """

    def paint(on: Canvas) -> None:
        inks = [QColor(mixed(on.theme.surface, on.theme.accent, step / 255)).rgb() for step in range(256)]
        image = QImage(len(rows[0]), len(rows), QImage.Format.Format_RGB32)
        for y, row in enumerate(reversed(rows)):
            for x, share in enumerate(row):
                image.setPixel(x, y, inks[round(255 * share)])
        on.painter.drawImage(on.box if box is None else box, image)

    return paint


def word(box: QRectF, text: str, ink: str, side: Side, letters: float) -> Mark:
    """Return a line of text in a rectangle, cut where that ends."""

    def paint(on: Canvas) -> None:
        on.letters(letters)
        on.write(box, text, ink, side)

    return paint


def cell(box: QRectF, ink: str, strength: float, words: Mark) -> Mark:
    """Return a filled rectangle, ``strength`` of its colour, and the words in it."""

    def paint(on: Canvas) -> None:
        on.painter.fillRect(box, QColor(mixed(on.theme.window, on.ink(ink).name(), strength)))
        words(on)

    return paint


@dataclass(frozen=True)
class BarLine:
    """A bar from left to right with its words."""

    name: str  # at the left
    length: float  # the share of the width that it takes
    figures: str  # at the right
    ink: str  # its colour
    _: KW_ONLY
    strong: bool = False  # whether the words are stressed
    framed: bool = False  # whether it is an outline
    mark: float | None = None  # a place to be compared with its end; the bar then has a track


def bar_widths(lines: Sequence[BarLine], letters: float) -> tuple[float, float]:
    """Return the pixels that the names and the figures of bars take at their sides, all stressed."""
    wide = QFontMetricsF(font(letters, QFont.Weight.DemiBold)).horizontalAdvance
    return max(wide(one.name) for one in lines) + 8, max(wide(one.figures) for one in lines) + 8


def bar_lines(lines: Sequence[BarLine], letters: float, *, above: bool = False) -> Mark:
    """Return a line for each bar, with its words at its sides or above it."""

    def paint(on: Canvas) -> None:
        high = min(on.box.height() / len(lines), 40.0)
        names, figures = (0.0, 0.0) if above else bar_widths(lines, letters)
        on.sharp()
        for at, one in enumerate(lines):
            top, ink = on.box.top() + at * high, "text" if one.strong else "muted"
            stressed = one.strong and not above
            on.painter.setFont(font(letters, QFont.Weight.DemiBold if stressed else QFont.Weight.Normal))
            text = QRectF(0, top, on.box.width(), min(high - 7, 20) if above else high)
            room = names or text.width() - on.painter.fontMetrics().horizontalAdvance(one.figures) - 12
            on.write(QRectF(0, top, room, text.height()), one.name, ink)
            on.write(text, one.figures, ink, "right")
            track = QRectF(names, top + high / 4, max(1.0, on.box.width() - names - figures), high / 2)
            if above:
                track = QRectF(0.5, text.bottom() + 0.5, on.box.width() - 1, 5 if high < 40 else 7)
            if one.mark is not None:
                on.painter.fillRect(track, on.ink("line", 0.6))
            bar = QRectF(track)
            bar.setWidth(max(track.width() * one.length, 2.0 if above else 0.0))
            if one.framed:
                on.painter.setPen(on.ink(one.ink))
                on.painter.setBrush(Qt.BrushStyle.NoBrush)
                on.painter.drawRect(bar)
            else:
                on.painter.fillRect(bar, on.ink(one.ink))
            if one.mark is not None:
                mark = QRectF(track.left() + track.width() * one.mark - 1, track.top() - 2, 2, track.height() + 4)
                on.painter.fillRect(mark, on.ink("text"))

    return paint


@dataclass(frozen=True)
class Key:
    """What a colour means: its words and the sign before them; without a sign the words have the colour."""

    words: str
    ink: str
    sign: Literal["", "box", "line", "level"] | Sign = "box"
    alpha: float = 1.0
    dash: Dash = "solid"

    def paint(self, on: Canvas, left: float, middle: float) -> float:
        """Draw it at a place, cut at the right edge; return where the next one begins."""
        room = {"": 0, "line": 24, "level": 24}.get(self.sign, 16)
        free = on.painter.device().width() - left - room
        wide = min(on.painter.fontMetrics().horizontalAdvance(self.words) + 2, free)
        if free < 24:
            return left
        match self.sign:
            case "box":
                on.sharp()
                on.painter.fillRect(QRectF(left, middle - 5, 10, 10), on.ink(self.ink, self.alpha))
            case "line" | "level":
                on.smooth(self.ink, 2.0, self.dash)
                on.line(QPointF(left, middle), QPointF(left + 18, middle))
                if self.sign == "level":
                    on.sign("dot", QPointF(left + 9, middle), self.ink)
            case "":
                pass
            case sign:
                on.sign(sign, QPointF(left + 5, middle), self.ink, 4.0)
        high = max(18, on.painter.fontMetrics().height())
        on.write(QRectF(left + room, middle - high / 2, wide, high), self.words, "muted" if self.sign else self.ink)
        return left + room + wide + 16
