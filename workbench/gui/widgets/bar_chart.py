"""What charts of bars have in common: a bar at a place, its tooltip, the line they stand on, and the ends below it.

They are painted here and are no pyqtgraph plots: a plot takes 17 to 20 ms to be made and painted first, one of these
1 ms, and the Data page, which is the first to be seen, would wait for the import besides (0.2 to 0.5 s;
``tests/benchmarks/results/painting.md``).
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from workbench.gui.session.session import Session
from workbench.render.fonts import font
from workbench.render.palette import Theme

BELOW = 12
"""Pixels of the font below the bars."""

SCALE = 42
"""Pixels to the left of the bars for how many rows their height stands for."""


def bar_at(x: float, box: QRectF, number: int) -> int | None:
    """Return which of ``number`` bars in ``box`` is at a place across it, or ``None`` beside them."""
    if not number or not box.left() <= x < box.right():
        return None
    return int((x - box.left()) / box.width() * number)


def ends_of(labels: Sequence[str]) -> tuple[str, str]:
    """Return both ends of the range of numbers that the bars cover."""
    return labels[0].split(" – ")[0], labels[-1].split(" – ")[-1]


def paint_ground(painter: QPainter, box: QRectF, theme: Theme) -> None:
    """Draw the line on which the bars stand."""
    painter.fillRect(QRectF(box.left(), box.bottom(), box.width(), 1), QColor(theme.line))


class BarChart(QWidget):
    """Bars side by side in a box; what a bar stands for is its tooltip."""

    def __init__(self, session: Session, name: str, size: tuple[int, int], pads: tuple[int, int, int, int]) -> None:
        """Make the chart.

        Args:
            session: whose colours it takes.
            name: its object name.
            size: the pixels that it asks for.
            pads: pixels to the left of the bars, above, to the right and below.
        """
        super().__init__()
        self.setObjectName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self._session, self._size, self._pads = session, QSize(*size), pads
        session.theme_changed.connect(self.update)

    def words_at(self, x: float) -> str:
        """Return what stands at a place across the picture; empty beside the bars."""
        raise NotImplementedError

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the picture."""
        return self._size

    def event(self, event: QEvent) -> bool:
        """Name the bar under the pointer."""
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.words_at(event.pos().x()), self)
            return True
        return super().event(event)

    def _box(self) -> QRectF:
        left, top, right, bottom = self._pads
        return QRectF(self.rect()).adjusted(left, top, -right, -bottom)

    def _below(self) -> QRectF:
        """Return the line of text below the bars."""
        box = self._box()
        return QRectF(box.left(), box.bottom() + 3, box.width(), self._pads[3] - 3)

    def _write_ends(self, painter: QPainter, first: str, last: str, *, stressed: str | None = None) -> None:
        """Write a text at the left end and one at the right, cut to half of the width; the stressed one in colour."""
        theme, below = self._session.theme, self._below()
        painter.setFont(font(BELOW))
        room = int(below.width() / 2) if last else int(below.width())
        for text, side in ((first, Qt.AlignmentFlag.AlignLeft), (last, Qt.AlignmentFlag.AlignRight)):
            painter.setPen(QColor(theme.accent if text == stressed else theme.muted))
            painter.drawText(below, side, painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room))

    def _write_scale(self, painter: QPainter, box: QRectF, most: float) -> None:
        """Write to the left of the bars how many rows half of the height and the whole height stand for."""
        theme = self._session.theme
        painter.setFont(font(BELOW))
        for part in (0.5, 1.0):
            level = box.bottom() - part * box.height()
            painter.fillRect(QRectF(box.left(), level, box.width(), 1), QColor(theme.line))
            painter.setPen(QColor(theme.muted))
            place = QRectF(box.left() - SCALE, level - 8, SCALE - 6, 16)
            painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, in_short(part * most))


def in_short(rows: float) -> str:
    """Return a number of rows in at most six characters."""
    if rows < 100_000:
        return f"{rows:,.0f}" if rows >= 10 or rows == round(rows) else f"{rows:.1f}"
    return f"{rows / 1e3:,.0f} k" if rows < 1e6 else f"{rows / 1e6:,.3g} M"
