"""The layout of a figure: plot, header, badge, grid, ticks, axis titles and labels at line ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from workbench.render.fonts import font, scaled
from workbench.render.palette import Dash, Marker, SeriesStyle, Theme

Tick = tuple[float, str]

MANTISSAS = ((1.0, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
"""Candidates for a logarithmic axis, densest first: four, three, two or one label per decade."""


def log_ticks(low: float, high: float, most: int = 9) -> list[Tick]:
    """Return (position, label) of the ticks of a logarithmic axis from ``low`` to ``high``.

    Two labels a decade (0.1 · 0.3 · 1 · 3 · 10) where they fit, three or four on a short axis, fewer on a long one.
    """
    decades = math.log10(high / low)
    candidates = MANTISSAS[0 if decades < 1 else 1 if decades < 1.5 else 2 :]
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    near = 1e-9
    for mantissas in candidates:
        # Through text, so that 0.3 is the double that prints as 0.3.
        values = [float(f"{m:g}e{e}") for e in exponents for m in mantissas]
        ticks = [(v, plain_number(v)) for v in values if low * (1 - near) <= v <= high * (1 + near)]
        if 2 <= len(ticks) <= most:
            return ticks
    if len(ticks) > most:
        return ticks[:: math.ceil(len(ticks) / most)]
    return [(v, plain_number(v)) for v in sorted({low, high})]


def linear_ticks(low: float, high: float, most: int = 10) -> list[Tick]:
    """Return (position, label) of at most ``most`` ticks in steps of 1, 2 or 5 times a power of ten."""
    step = nice_step((high - low) / max(most - 1, 1))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(round(i * step, 12), f"{i * step:.{decimals}f}") for i in range(first, last + 1)]


def nice_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 × 10^k that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1 - 1e-9))


def plain_number(value: float) -> str:
    """Return ``value`` to three figures, without an exponent where it can be read so (0.1, 3, 1000; 1e6)."""
    value = float(f"{value:.3g}")
    if 1e-4 <= abs(value) < 1e6:
        return f"{value:.7f}".rstrip("0").rstrip(".")
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


MARGIN = 24.0
GAP = 8.0
KEY = 26.0  # length of the piece of line drawn before a label

LEADER = [1.0, 4.0]  # dots and gaps between the last point of a line and its label

LONGEST_LABEL = 190.0
LABEL_SHARE = 0.28  # pixels that the name of a line has at most, or the share of the width where that is more

STROKES: dict[Dash, list[float]] = {"solid": [], "dashed": [5.0, 3.0], "dotted": [1.0, 2.5]}
"""Dash and gap in multiples of the pen's width."""


@dataclass(frozen=True, slots=True)
class EndLabel:
    """A label beside the right end of a line."""

    name: str  # what the line is
    value: str  # its last value, written out
    style: SeriesStyle  # colour, marker and dash of its key
    y: float  # where the line ends, in the units of the axis
    x: float | None = None  # where it ends, in the units of the axis; `None` for a line across the whole plot


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What :class:`FigureView` draws around a plot."""

    title: str  # top left, in the text colour
    subtitle: str  # under it, muted
    badge: str  # top right, in a frame; empty for none
    x_label: str  # under the horizontal axis
    y_label: str  # above the vertical axis, horizontal so that it can be read
    x_ticks: Sequence[Tick]  # positions in axis units, with what is written there
    y_ticks: Sequence[Tick]  # the same for the vertical axis
    labels: Sequence[EndLabel]  # the labels at the line ends


class FigureView(QWidget):
    """A figure as a widget, and the source of its PNG and SVG; a subclass maps its axes and draws its plot.

    Attributes:
        theme: its colours.
        plot: the rectangle of the plot, in logical pixels.
        low: the height, in points, below which a figure leaves its title and half of its margins to the plot.
    """

    low: ClassVar[int] = 0

    def __init__(self, content: Surroundings, theme: Theme) -> None:
        super().__init__()
        self.plot, self._size = QRectF(), QRectF()
        self.show_content(content, theme)

    def to_x(self, value: float) -> float:
        """Return the pixel of a value of the horizontal axis."""
        raise NotImplementedError

    def to_y(self, value: float) -> float:
        """Return the pixel of a value of the vertical axis."""
        raise NotImplementedError

    def paint_plot(self, painter: QPainter) -> None:
        """Draw what is in the plot."""
        raise NotImplementedError

    def show_content(self, content: Surroundings, theme: Theme) -> None:
        """Draw other surroundings, in letters of the present size."""
        self.theme, self._content = theme, content
        self._title = font(18, QFont.Weight.DemiBold)
        self._body, self._strong = font(13), font(13, QFont.Weight.Medium)
        self._caps = font(12, QFont.Weight.Bold)
        self.place(self._size.width(), self._size.height())
        self.update()

    def place(self, width: float, height: float) -> None:
        """Take the size of the whole figure; what is left of it is the plot."""
        body, content = QFontMetricsF(self._body), self._content
        self._size = QRectF(0, 0, width, height)
        self._tight = height < scaled(self.low)
        self._margin = MARGIN / 2 if self._tight else MARGIN
        ticks = max((body.horizontalAdvance(text) for _, text in content.y_ticks), default=0.0)
        left = self._margin + ticks + GAP
        top = self._margin + self._line(self._body) + GAP
        if self._tight:
            top += max(self._line(self._body), self._badge_height() if content.badge else 0)
        else:
            top += self._line(self._title) + (self._line(self._body) if content.subtitle else 0) + 2 * GAP
        right = width - self._margin - self._gutter()
        bottom = height - self._margin - 2 * self._line(self._body) - 1.5 * GAP
        self.plot = QRectF(left, top, max(right - left, 1), max(bottom - top, 1))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Arrange the figure anew; Qt calls this."""
        self.place(self.width(), self.height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw everything; Qt calls this."""
        with QPainter(self) as painter:
            self.draw(painter)

    def draw(self, painter: QPainter) -> None:
        """Draw everything at the size of :meth:`place`."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self._size, QColor(self.theme.surface))
        self._paint_header(painter)
        self._paint_axes(painter)
        for label, box in zip(self._content.labels, self.label_boxes(), strict=True):
            self._paint_label(painter, label, box)
        self.paint_plot(painter)

    def label_boxes(self) -> list[QRectF]:
        """Return where each end label is."""
        height = self._line(self._strong)
        left, wanted = self.plot.right() + GAP, [self.to_y(label.y) for label in self._content.labels]
        centres = spread_labels(wanted, [height] * len(wanted), self.plot.top(), self.plot.bottom() + height / 2)
        return [QRectF(left, y - height / 2, self._gutter() - GAP, height) for y in centres]

    def _badge_height(self) -> float:
        return QFontMetricsF(self._caps).height() + GAP

    def _paint_header(self, painter: QPainter) -> None:
        content, theme, top = self._content, self.theme, self._margin
        right = self._size.right() - self._margin
        if content.badge:
            text = content.badge.upper()
            wide = QFontMetricsF(self._caps).horizontalAdvance(text) + 2 * 14
            box = QRectF(right - wide, top, wide, self._badge_height())
            painter.setPen(QPen(QColor(theme.danger), 1.2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, 4, 4)
            painter.setFont(self._caps)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
            right = box.left() - 2 * GAP
        if not self._tight:
            line = self._line(self._title)
            self._text(painter, QRectF(top, top, right - top, line), content.title, self._title, theme.text)
            top, right = top + line, self._size.right() - self._margin  # below the badge there is the whole width
        if content.subtitle:
            box = QRectF(self._margin, top, right - self._margin, self._line(self._body))
            self._text(painter, box, content.subtitle, self._body, theme.muted)

    def _paint_axes(self, painter: QPainter) -> None:
        content, theme, plot = self._content, self.theme, self.plot
        line, body = self._line(self._body), self._body
        grid = QPen(QColor(theme.line), 1)
        written = math.inf
        for value, text in content.y_ticks:
            y = _crisp(self.to_y(value))
            painter.setPen(grid)
            painter.drawLine(QLineF(plot.left(), y, plot.right(), y))
            if abs(y - written) < line:  # in a low picture some ticks go without their figure
                continue
            written = y
            box = QRectF(self._margin, y - line / 2, plot.left() - GAP - self._margin, line)
            self._text(painter, box, text, body, theme.muted, Qt.AlignmentFlag.AlignRight)
        wide, free = QFontMetricsF(body).horizontalAdvance, 0.0
        for value, text in content.x_ticks:
            x = _crisp(self.to_x(value))
            painter.setPen(grid)
            painter.drawLine(QLineF(x, plot.bottom(), x, plot.bottom() + 5))
            if x - wide(text) / 2 < free:  # in a narrow one too
                continue
            free = x + wide(text) / 2 + GAP / 2
            box = QRectF(x - 40, plot.bottom() + GAP, 80, line)
            self._text(painter, box, text, body, theme.muted, Qt.AlignmentFlag.AlignHCenter)
        painter.setPen(grid)
        painter.drawLine(QLineF(plot.left(), _crisp(plot.bottom()), plot.right(), _crisp(plot.bottom())))
        # Below the middle of the axis; beyond its ends where the words are longer than it is.
        room = max(plot.width(), min(wide(content.x_label) + 1, self._size.width() - 2 * self._margin))
        begin = max(self._margin, min(plot.center().x() - room / 2, self._size.width() - self._margin - room))
        box = QRectF(begin, plot.bottom() + 1.5 * GAP + line, room, line)
        self._text(painter, box, content.x_label, body, theme.muted, Qt.AlignmentFlag.AlignHCenter)
        box = QRectF(self._margin, plot.top() - GAP - line, self._size.width() - 2 * self._margin, line)
        self._text(painter, box, content.y_label, body, theme.muted)

    def _paint_label(self, painter: QPainter, label: EndLabel, box: QRectF) -> None:
        colour = QColor(self.theme.series(label.style))
        middle = box.center().y()
        ends = QPointF(self.plot.right() if label.x is None else self.to_x(label.x) + 6, self.to_y(label.y))
        leader = QPen(QColor(self.theme.muted), 1)
        leader.setDashPattern(LEADER)  # in the colour of the line it would read as more of the line
        if label.x is None:
            leader = line_pen(label.style, colour)
        painter.setPen(leader)
        painter.drawLine(QLineF(ends, QPointF(box.left(), middle)))
        painter.setPen(line_pen(label.style, colour))
        painter.drawLine(QLineF(box.left(), middle, box.left() + KEY, middle))
        draw_marker(painter, label.style.marker, QPointF(box.left() + KEY / 2, middle), 8, colour)
        words = box.adjusted(KEY + GAP, 0, 0, 0)
        # Not in the series' colour: half of those are too pale for text (WCAG 2.1 asks for 4.5 : 1).
        value = QFontMetricsF(self._body).horizontalAdvance(label.value) + GAP
        self._text(painter, words.adjusted(0, 0, -value, 0), label.name, self._strong, self.theme.text)
        self._text(painter, words, label.value, self._body, self.theme.muted, Qt.AlignmentFlag.AlignRight)

    def _gutter(self) -> float:
        """Return the room the end labels need, from the plot's right edge on."""
        if not self._content.labels:
            return GAP
        names, values = QFontMetricsF(self._strong), QFontMetricsF(self._body)
        name = max(names.horizontalAdvance(label.name) for label in self._content.labels)
        value = max(values.horizontalAdvance(label.value) for label in self._content.labels)
        longest = max(LONGEST_LABEL, LABEL_SHARE * self._size.width())
        return GAP + KEY + GAP + min(name, longest) + 1.5 * GAP + value

    def _text(
        self,
        painter: QPainter,
        box: QRectF,
        text: str,
        face: QFont,
        colour: str,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    ) -> None:
        painter.setFont(face)
        painter.setPen(QColor(colour))
        shown = QFontMetricsF(face).elidedText(text, Qt.TextElideMode.ElideRight, box.width() + 0.5)
        painter.drawText(box, align | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip, shown)

    @staticmethod
    def _line(face: QFont) -> float:
        return QFontMetricsF(face).height() + 4


def line_pen(style: SeriesStyle, colour: QColor) -> QPen:
    """Return the pen of a line, in logical pixels."""
    pen = QPen(colour, 2.0 if style.dash == "solid" else 1.4)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if STROKES[style.dash]:
        pen.setDashPattern(STROKES[style.dash])
    return pen


def draw_marker(painter: QPainter, marker: Marker, centre: QPointF, size: float, colour: QColor) -> None:
    """Draw the sign of a series."""
    if not marker:
        return
    painter.save()
    painter.translate(centre)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(colour))
    painter.drawPath(marker_path(marker, size))
    painter.restore()


def marker_path(marker: Marker, size: float) -> QPainterPath:
    """Return the outline of a sign about the origin."""
    half, path = size / 2, QPainterPath()
    match marker:
        case "circle":
            path.addEllipse(QPointF(), half, half)
        case "square":
            path.addRect(QRectF(-half * 0.9, -half * 0.9, size * 0.9, size * 0.9))
        case "diamond":
            path.addPolygon(_closed((0, -half * 1.2), (half * 1.2, 0), (0, half * 1.2), (-half * 1.2, 0)))
        case "triangle":
            path.addPolygon(_closed((0, -half * 1.15), (half * 1.1, half * 0.85), (-half * 1.1, half * 0.85)))
        case "triangle-down":
            path.addPolygon(_closed((0, half * 1.15), (half * 1.1, -half * 0.85), (-half * 1.1, -half * 0.85)))
    return path


def _closed(*points: tuple[float, float]) -> QPolygonF:
    return QPolygonF([QPointF(*p) for p in (*points, points[0])])


def _crisp(position: float) -> float:
    """Return the centre of the nearest pixel: a line of one pixel there is not smeared over two."""
    return int(position) + 0.5


def spread_labels(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Return the centres of labels, as close as possible to where they should be, without overlap.

    Minimises the sum of squared displacements subject to order and distances: with the distances taken out this is
    isotonic regression, solved by pooling adjacent violators (Barlow et al. 1972).

    Args:
        wanted: the ideal centre of each label, along the axis.
        heights: the room each label needs.
        low: where the first may begin.
        high: where the last must end. Labels that do not fit at all run over it evenly.

    Returns:
        the centres, in the order of ``wanted``.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    offsets, reach = [], 0.0
    for i in order:
        offsets.append(reach + heights[i] / 2)
        reach += heights[i]
    # Without its offset each label must only not be before its predecessor.
    free = max(high - reach, low)
    blocks: list[tuple[float, int]] = []
    for i, offset in zip(order, offsets, strict=True):
        mean, size = min(max(wanted[i] - offset, low), free), 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    starts = [mean for mean, size in blocks for _ in range(size)]
    centres = [0.0] * len(wanted)
    for i, offset, start in zip(order, offsets, starts, strict=True):
        centres[i] = start + offset
    return centres
