"""A slider with a thin groove: Fusion draws its own far too thick, and a style sheet cannot say how thin."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider

GROOVE = 4.0
RADIUS = 7.0
FOCUS = 3.0


class Slider(QSlider):
    """A horizontal slider in the colours of the palette; the part that is taken is filled, the focus is a ring."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setMinimumHeight(int(2 * (RADIUS + FOCUS)) + 2)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the groove, what is taken of it, and the handle where Qt takes hold of it."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        style = QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, self
        handle = QPointF(QRectF(self.style().subControlRect(*style)).center().x(), self.height() / 2)
        palette = self.palette()
        accent = palette.color(QPalette.ColorRole.Accent if self.isEnabled() else QPalette.ColorRole.Mid)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            groove = QRectF(0, handle.y() - GROOVE / 2, self.width(), GROOVE)
            for width, colour in ((groove.width(), palette.color(QPalette.ColorRole.Mid)), (handle.x(), accent)):
                groove.setWidth(width)
                painter.setBrush(colour)
                painter.drawRoundedRect(groove, GROOVE / 2, GROOVE / 2)
            if self.hasFocus():
                ring = QColor(accent)
                painter.setPen(QPen(ring, 1.5))
                painter.setBrush(palette.color(QPalette.ColorRole.Base))
                painter.drawEllipse(handle, RADIUS + FOCUS - 0.5, RADIUS + FOCUS - 0.5)
            painter.setPen(QPen(palette.color(QPalette.ColorRole.Base), 1.5))
            painter.setBrush(accent)
            painter.drawEllipse(handle, RADIUS, RADIUS)
