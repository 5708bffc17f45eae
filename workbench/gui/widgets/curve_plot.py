"""The curve as a live widget: figures under the pointer, a click takes an ε, keys do both."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets.basic import hold_least, label, look, named
from workbench.gui.widgets.formatting import at_most
from workbench.render.curve import CurveView
from workbench.render.fonts import font
from workbench.render.palette import SIGNS, STYLES, Theme
from workbench.render.values import CurveFigure

LEAST_HEIGHT = 280  # points in which the letters of the axes have room: with large text the page is scrolled

NEAR = 0.25  # decades beside the line of the plan's ε that its words take

REACH = 28.0  # logical pixels within which a point is under the pointer


class _View(CurveView):
    """The figure, with the line of the plan's ε and a ring around one point."""

    low = 480  # the page says what a low one is of

    moved = Signal(QPointF)
    pressed = Signal(QPointF)
    left = Signal()

    def __init__(self, figure: CurveFigure, theme: Theme, epsilon: Decimal) -> None:
        self.epsilon = epsilon
        self._ringed: tuple[int, int] | None = None
        super().__init__(figure, theme)
        self.setMouseTracking(True)

    @property
    def marked(self) -> bool:
        """Whether the line of the plan's ε is in sight."""
        low, high = self.across
        return not self.figure.against and low <= float(self.epsilon) <= high

    @property
    def mark_words(self) -> str:
        return tr("your ε = {epsilon}", epsilon=at_most(self.epsilon))

    def mark_box(self) -> QRectF:
        """Return where that is written: on the side with more room, clear of the lines."""
        metrics, x = QFontMetricsF(font(13)), self.to_x(float(self.epsilon))
        box = QRectF(x, 0, metrics.horizontalAdvance(self.mark_words) + 8, metrics.height() + 8)
        box.moveCenter(QPointF(box.center().x(), self.to_y(self._free_at(math.log10(self.epsilon)))))
        return box.translated(-box.width(), 0) if x > self.plot.center().x() else box

    def paint_plot(self, painter: QPainter) -> None:
        super().paint_plot(painter)
        if self.marked:
            x, box = self.to_x(float(self.epsilon)), self.mark_box()
            painter.setPen(QPen(QColor(self.theme.accent), 1.5))
            painter.drawLine(QLineF(x, self.plot.top(), x, self.plot.bottom()))
            painter.fillRect(box, QColor(self.theme.surface))  # a line that passes behind it would strike it through
            painter.setFont(font(13))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self.mark_words)
        if self._ringed is not None:
            painter.setPen(QPen(QColor(self.theme.text), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(self.place_of(*self._ringed), 8, 8)

    def _free_at(self, at: float) -> float:
        """Return the middle of the widest gap between lines, baselines and edges near a place of the axis."""
        levels: list[float] = [*self.upward, *(level.value for level in self.figure.baselines)]
        for line in self.figure.series:
            x = [math.log10(one) for one in line.x]
            levels.extend(map(float, np.interp([at - NEAR, at, at + NEAR], x, line.mean) if x else ()))
        lowest, highest = self.upward
        ends = sorted(level for level in levels if lowest <= level <= highest)
        low, high = max(itertools.pairwise(ends), key=lambda gap: gap[1] - gap[0])
        return (low + high) / 2

    def place_of(self, series: int, index: int) -> QPointF:
        line = self.figure.series[series]
        return QPointF(self.to_x(line.x[index]), min(self.to_y(line.mean[index]), self.plot.bottom()))

    def nearest(self, at: QPointF, former: tuple[int, int] | None) -> tuple[int, int] | None:
        """Return (series, index) of the point under ``at``; of points that overlap, that on the line of ``former``."""
        points = [(s, i) for s, line in enumerate(self.figure.series) for i in range(len(line.x))]

        def far(point: tuple[int, int]) -> tuple[int, bool]:
            there = self.place_of(*point)
            away = round(math.hypot(there.x() - at.x(), there.y() - at.y()))
            return away, former is None or point[0] != former[0]

        best = min(points, key=far)
        return best if far(best)[0] <= REACH else None

    def ring(self, point: tuple[int, int] | None) -> None:
        self._ringed = point
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        self.moved.emit(event.position())

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        if event.button() == Qt.MouseButton.LeftButton:
            self.pressed.emit(event.position())

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        self.left.emit()


class CurvePlot(QWidget):
    """Shows one figure after another; the point that is looked at survives a redraw.

    The arrow keys go from point to point and from line to line, Return chooses the point.
    """

    chosen = Signal()  # the point that is looked at was clicked, or chosen by Return: ask `point`
    rearranged = Signal()  # its points are at other places

    def __init__(self, name: str, accessible: str) -> None:
        """Make the plot; its object name is ``NAME_plot``."""
        super().__init__()
        named(self, f"{name}_plot", accessible)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._view: _View | None = None
        self._at: tuple[int, int] | None = None
        self.covered = False  # whether a panel lies over it, so that no figures are shown under the pointer
        self._callout = look(label("", name=f"{name}_callout"), "callout")
        self._callout.setParent(self)
        self._callout.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._callout.hide()

    @property
    def view(self) -> CurveView | None:
        return self._view

    @property
    def point(self) -> tuple[int, int] | None:
        """The number of the line whose point is looked at, and that of the point on it."""
        return None if self._view is None else self._at

    @property
    def epsilon(self) -> Decimal | None:
        """The ε of the point that is looked at; ``None`` where the axis is of something else, too."""
        if self._view is None or self._at is None or self._view.figure.against:
            return None
        return Decimal(repr(float(self._view.figure.series[self._at[0]].x[self._at[1]])))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(640, 360)

    def show_figure(self, figure: CurveFigure, theme: Theme, epsilon: Decimal) -> None:
        if self._view is None:
            self._view = view = _View(figure, theme, epsilon)
            view.moved.connect(lambda at: self._look_at(view.nearest(at, self._at)))
            view.left.connect(lambda: self._look_at(None))
            view.pressed.connect(self._press)
            self._layout.addWidget(view)
        else:
            self._view.epsilon = epsilon
            self._view.show_figure(figure, theme)
        self._view.setAccessibleName(figure.title)
        hold_least(self, LEAST_HEIGHT)
        self._callout.setStyleSheet(
            f"background: {theme.surface}; color: {theme.text}; border: 1px solid {theme.line};"
            "border-radius: 6px; padding: 6px 10px;"
        )
        self.setAccessibleName(figure.title)
        if self._at is not None:
            series, index = self._at
            inside = series < len(figure.series) and index < len(figure.series[series].x)
            self._look_at(self._at if inside else None)

    def clear(self) -> None:
        if self._view is not None:
            former, self._view = self._view, None
            self._layout.removeWidget(former)
            former.blockSignals(True)  # hidden under the pointer it would say that the pointer has left
            former.hide()
            former.deleteLater()
        self._callout.hide()

    def place_of(self, series: int, index: int) -> QPointF:
        assert self._view is not None
        return self._view.place_of(series, index)

    def go_to(self, point: tuple[int, int] | None) -> None:
        """Give the keys to a point."""
        self._look_at(point)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _press(self, at: QPointF) -> None:
        self.setFocus()
        assert self._view is not None
        point = self._view.nearest(at, self._at)
        self._look_at(point)
        self._take()

    def _take(self) -> None:
        if self._view is not None and self._at is not None and not self._view.figure.against:
            self.chosen.emit()

    def _look_at(self, point: tuple[int, int] | None) -> None:
        self._at = point
        if self._view is None:
            return
        self._view.ring(point)
        self._callout.setVisible(point is not None and not self.covered)
        if point is None:
            return
        line, index = self._view.figure.series[point[0]], point[1]
        spread = line.high[index] - line.mean[index]
        digits = self._view.figure.decimals
        band = f" ± {tr_number(spread, f'.{digits}f')}" if spread else ""
        marker = SIGNS[STYLES[line.style].marker]
        of = self._view.figure.against or "ε"
        value = f"{tr_number(line.mean[index], f'.{digits}f')}{band}"
        self._callout.setText(f"{marker} {line.name}\n{of} = {at_most(line.x[index])}:  {value}")
        self._callout.setAccessibleName(self._callout.text().replace("\n", ", "))
        self._place_callout(self._view.place_of(*point))

    def _place_callout(self, at: QPointF) -> None:
        self._callout.adjustSize()
        x = at.x() + 16 if at.x() + 24 + self._callout.width() < self.width() else at.x() - 16 - self._callout.width()
        y = min(max(at.y() - self._callout.height() - 8, 4), self.height() - self._callout.height() - 4)
        self._callout.move(round(x), round(y))
        self._callout.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Go with the point, also where what a click shows is what lays the page out."""
        super().resizeEvent(event)
        self._look_at(self._at)
        self.rearranged.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show where the keys are: at the first point."""
        super().focusInEvent(event)
        if self._view is not None and self._at is None and event.reason() != Qt.FocusReason.MouseFocusReason:
            self._look_at((0, 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if self._view is None:
            super().keyPressEvent(event)
            return
        lines = self._view.figure.series
        series, index = self._at or (0, -1)
        last = len(lines[series].x) - 1
        match event.key():
            case Qt.Key.Key_Right:
                self._look_at((series, min(index + 1, last)))
            case Qt.Key.Key_Left:
                self._look_at((series, max(index - 1, 0)))
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                other = (series + (1 if event.key() == Qt.Key.Key_Down else -1)) % len(lines)
                self._look_at((other, min(max(index, 0), len(lines[other].x) - 1)))
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space:
                self._take()
            case _:
                super().keyPressEvent(event)
