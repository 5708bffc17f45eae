"""A bar of parts, drawn so that the parts differ by pattern as well as by colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QMarginsF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QPainter, QPainterPath

from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import Chart, Drawing

Ink = Literal["text", "muted", "accent", "warn", "danger"]


@dataclass(frozen=True)
class Part:
    """A stretch of the bar: its share of the whole, its colour's role, and whether it is hatched."""

    share: float
    ink: Ink
    hatched: bool = False


class Bar(Chart):
    """Parts one after the other on a track, and marks across it. It says nothing that is not in numbers beside it."""

    margins = QMarginsF(0, 2, 0, 2)
    usual, height_fixed = QSize(120, 16), True

    def show_parts(self, parts: Sequence[Part], marks: Sequence[float] = ()) -> None:
        """Show ``parts`` (shares of the whole, the sum at most 1) and ``marks`` (places between 0 and 1)."""
        self.show_drawing(Drawing((_parts(parts), _places(marks)), frame="none"))


def _parts(parts: Sequence[Part]) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        outline, left = QPainterPath(), 0.0
        outline.addRoundedRect(on.box, 6, 6)
        on.painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        on.painter.fillPath(outline, on.ink("line", 0.6))
        on.painter.save()
        on.painter.setClipPath(outline)
        for part in parts:
            piece = QRectF(left, on.box.top(), max(0.0, min(part.share, 1.0)) * on.box.width(), on.box.height())
            on.painter.fillRect(piece, on.ink(part.ink, 0.25 if part.hatched else 1.0))
            if part.hatched:
                on.painter.fillRect(piece, QBrush(on.ink(part.ink), Qt.BrushStyle.BDiagPattern))
            left += piece.width()
        on.painter.restore()

    return paint


def _places(marks: Sequence[float]) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        on.smooth("text")
        for place in marks:
            x = int(on.across(min(max(place, 0.0), 1.0)))
            on.painter.drawLine(x, 0, x, int(on.box.bottom()) + 2)

    return paint
