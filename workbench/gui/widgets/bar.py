"""A bar of parts, drawn so that the parts differ by pattern as well as by colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.session.session import Session

Ink = Literal["text", "muted", "accent", "warn", "danger"]


@dataclass(frozen=True)
class Part:
    """A stretch of the bar: its share of the whole, its colour's role, and whether it is hatched."""

    share: float
    ink: Ink
    hatched: bool = False


class Bar(QWidget):
    """Parts one after the other on a track, and marks across it. It says nothing that is not in numbers beside it."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._session = session
        self._parts: Sequence[Part] = ()
        self._marks: Sequence[float] = ()
        session.theme_changed.connect(self.update)

    def show_parts(self, parts: Sequence[Part], marks: Sequence[float] = ()) -> None:
        """Show ``parts`` (shares of the whole, the sum at most 1) and ``marks`` (places between 0 and 1)."""
        self._parts, self._marks = parts, marks
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of a bar."""
        return QSize(120, 16)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the bar."""
        theme = self._session.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(0, 2, self.width(), 12)
            outline = QPainterPath()
            outline.addRoundedRect(box, 6, 6)
            track = QColor(theme.line)
            track.setAlphaF(0.6)
            painter.fillPath(outline, track)
            painter.save()
            painter.setClipPath(outline)
            left = box.left()
            for part in self._parts:
                width = max(0.0, min(part.share, 1.0)) * box.width()
                piece = QRectF(left, box.top(), width, box.height())
                colour = QColor(getattr(theme, part.ink))
                if part.hatched:
                    faint = QColor(colour)
                    faint.setAlphaF(0.25)
                    painter.fillRect(piece, faint)
                    painter.fillRect(piece, QBrush(colour, Qt.BrushStyle.BDiagPattern))
                else:
                    painter.fillRect(piece, colour)
                left += width
            painter.restore()
            painter.setPen(QPen(QColor(theme.text), 2))
            for mark in self._marks:
                x = box.left() + min(max(mark, 0.0), 1.0) * box.width()
                painter.drawLine(int(x), 0, int(x), self.height())
