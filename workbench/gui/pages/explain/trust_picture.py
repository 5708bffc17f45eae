"""Local, shuffled and central trust as one picture: who sees the true values, and where the noise is added."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.session.session import Session
from workbench.render.fonts import font
from workbench.render.palette import Theme


@dataclass(frozen=True)
class Stage:
    """A box of the picture: its words, whether it sees true values, and whether noise is added behind it."""

    words: str
    sees: bool
    noise: bool = False


MODELS: tuple[tuple[str, tuple[Stage, ...]], ...] = (
    ("Local", (Stage("Each person", True, True), Stage("Collector", False), Stage("Readers", False))),
    ("Shuffled", (Stage("Each person", True, True), Stage("Mixer", False), Stage("Readers", False))),
    ("Central", (Stage("Each person", True), Stage("Steward", True, True), Stage("Readers", False))),
)
SPOKEN = (
    "Three ways to reach the same ε. Local: each person adds noise, and nobody else sees true values. Shuffled: each "
    "person adds less noise, and a mixer who does not look takes the order away. Central: the steward sees the true "
    "values and adds noise to sums over all rows."
)
_LINE, _BOX, _NAME = 62, 38, 76


class TrustPicture(QWidget):
    """Three lines of boxes; a filled box sees true values, and a mark shows where noise is added."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("trust_picture")
        self.setAccessibleName(SPOKEN)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._session = session
        session.theme_changed.connect(self.update)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of three lines and the key below them."""
        return QSize(480, _LINE * len(MODELS) + 24)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the models below each other."""
        theme = self._session.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for place, (name, stages) in enumerate(MODELS):
                top = place * _LINE + 10.0
                painter.setFont(font(13))
                painter.setPen(QColor(theme.text))
                painter.drawText(QRectF(0, top, _NAME, _BOX), _LEFT, name)
                self._line(painter, theme, stages, top)
            painter.setFont(font(12))
            painter.setPen(QColor(theme.muted))
            key = QRectF(0, _LINE * len(MODELS), self.width(), 22)
            painter.drawText(key, _LEFT, "filled: sees the true values   ·   ≈ noise is added here")

    def _line(self, painter: QPainter, theme: Theme, stages: tuple[Stage, ...], top: float) -> None:
        room = (self.width() - _NAME) / len(stages)
        width = min(room - 52, 150)
        for place, stage in enumerate(stages):
            box = QRectF(_NAME + place * room, top, width, _BOX)
            painter.setPen(QPen(QColor(theme.accent if stage.sees else theme.muted), 1.5))
            painter.setBrush(QColor(theme.selection) if stage.sees else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, 6, 6)
            painter.setFont(font(13))
            painter.setPen(QColor(theme.text))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, stage.words)
            if place + 1 < len(stages):
                end = _NAME + (place + 1) * room
                self._arrow(painter, theme, QPointF(box.right() + 4, box.center().y()), end - 4, noise=stage.noise)

    def _arrow(self, painter: QPainter, theme: Theme, start: QPointF, end: float, *, noise: bool) -> None:
        painter.setPen(QPen(QColor(theme.muted), 1.5))
        tip = QPointF(end, start.y())
        painter.drawLine(start, tip)
        painter.drawPolyline(QPolygonF([tip - QPointF(6, 5), tip, tip + QPointF(-6, 5)]))
        if noise:
            painter.setFont(font(17))
            painter.setPen(QColor(theme.accent))
            painter.drawText(QRectF(start.x(), start.y() - 24, end - start.x() - 6, 20), _MIDDLE, "≈")


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_MIDDLE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter
