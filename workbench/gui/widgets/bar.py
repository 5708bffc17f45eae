"""A bar of parts, drawn so that the parts differ by pattern as well as by colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QMarginsF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QPainter, QPainterPath
from PySide6.QtWidgets import QGridLayout, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import label
from workbench.gui.widgets.chart import Chart, Drawing

Ink = Literal["text", "muted", "accent", "warn", "danger"]
BAND = tr_later("mean ± standard error")  # what is behind a figure; the engine's figures say it in the same words


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


NAME, BAR, FIGURE, CHANGE = range(4)


class BarLines(QWidget):
    """A grid of lines; the bars begin at 0 and share one scale."""

    def __init__(self, session: Session, name: str, change: str, figure: str = "") -> None:
        """Make the grid; the figures of a line are ``NAME_LINE``, headed by ``figure`` and ``change``."""
        super().__init__()
        self.setObjectName(name)
        self._session, self._name = session, name
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(BAR, 1)
        self._grid.addWidget(label(figure or tr(BAND), "muted"), 0, FIGURE, _RIGHT)
        self._grid.addWidget(label(change, "muted"), 0, CHANGE, _RIGHT)
        self._parts: list[QWidget] = []

    def show_lines(self, lines: list[tuple[str, str, float, float, str, str]], ink: Ink) -> None:
        """Show lines of (name, title, share of the scale, mark, figure, change); their titles wrap.

        The mark is a place between 0 and 1, of the figure that a line is compared with; below 0: none.
        """
        for part in self._parts:
            self._grid.removeWidget(part)
            part.hide()
            part.deleteLater()
        self._parts = []
        for at, (name, title, share, beside, figure, change) in enumerate(lines, start=1):
            bar = Bar(self._session, f"{self._name}_{name}_bar")
            bar.show_parts([Part(max(share, 0.0), ink)], [beside] if beside >= 0 else [])
            stated = label(figure, name=f"{self._name}_{name}")
            stated.setAccessibleName(f"{title}: {figure}" + (f", {change}" if change else ""))
            changed = label(change, name=f"{self._name}_{name}_change")
            for column, part in ((NAME, label(title)), (BAR, bar), (FIGURE, stated), (CHANGE, changed)):
                align = _RIGHT if column in (FIGURE, CHANGE) else Qt.AlignmentFlag(0)
                self._grid.addWidget(part, at, column, align)
                self._parts.append(part)


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
