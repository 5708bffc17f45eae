"""What one value can become: the chances of every answer of the mechanism in use, drawn as bars."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from workbench.gui.pages.protect.tasks import Example
from workbench.gui.session.session import Session
from workbench.render.fonts import font

LEAST = 92
"""Pixels in height below which the bars could not be told apart."""

TITLE = 28
LABELS = 20
FAINT = 0.45


class Becoming(QWidget):
    """One bar per answer; the bar of the true value is filled and named, the others are pale."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("share_becoming")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(LEAST)
        self._session = session
        self._example: Example | None = None
        session.theme_changed.connect(self.update)

    def show_example(self, example: Example | None) -> None:
        """Draw another example, or nothing."""
        self._example = example
        self.setAccessibleName(
            f"What {example.given} can become: itself in {100 * example.chances[example.at]:.3g} % of all draws"
            if example
            else ""
        )
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the picture."""
        return QSize(360, 220)

    def event(self, event: QEvent) -> bool:
        """Say what the bar under the pointer stands for."""
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.words_at(event.pos().x()), self)
            return True
        return super().event(event)

    def words_at(self, x: float) -> str:
        """Return the answer and its chance at a place across the picture."""
        example = self._example
        if example is None or not 0 <= x < self.width():
            return ""
        bar = int(x / self.width() * len(example.answers))
        each = "each of " if " – " in example.answers[bar] else ""
        chance = f"{100 * example.chances[bar]:.3g} % of all draws"
        return f"{example.given} becomes {each}{example.answers[bar]} in {chance}"

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the title, the bars, and both ends of the range."""
        example = self._example
        if example is None:
            return
        theme, painter = self._session.theme, QPainter(self)
        painter.setFont(font(13))
        painter.setPen(QColor(theme.text))
        painter.drawText(QRectF(0, 0, self.width(), 20), Qt.AlignmentFlag.AlignLeft, f"What {example.given} can become")
        box = QRectF(0, TITLE, self.width(), self.height() - TITLE - LABELS)
        most, width = max(example.chances) or 1.0, box.width() / len(example.chances)
        own, other = QColor(theme.accent), QColor(theme.accent)
        other.setAlphaF(FAINT)
        for bar, chance in enumerate(example.chances):
            height = max(box.height() * chance / most, 1.0)
            place = QRectF(box.left() + bar * width + 0.5, box.bottom() - height, width - 1, height)
            painter.fillRect(place, own if bar == example.at else other)
        painter.fillRect(QRectF(0, box.bottom(), box.width(), 1), QColor(theme.line))
        painter.setPen(QColor(theme.muted))
        painter.setFont(font(12))
        below = QRectF(0, box.bottom() + 3, box.width(), LABELS - 3)
        # Both ends are always there; the value itself where it does not run into them.
        first, last = example.answers[0].split(" – ")[0], example.answers[-1].split(" – ")[-1]
        for end, side in ((first, Qt.AlignmentFlag.AlignLeft), (last, Qt.AlignmentFlag.AlignRight)):
            painter.setPen(QColor(theme.accent if end == example.given else theme.muted))
            painter.drawText(below, side, end)
        if example.given in (first, last):
            return
        metrics, middle = painter.fontMetrics(), box.left() + (example.at + 0.5) * width
        half = metrics.horizontalAdvance(example.given) / 2
        free = metrics.horizontalAdvance(first) + 8, box.right() - metrics.horizontalAdvance(last) - 8
        if free[0] < middle - half and middle + half < free[1]:
            painter.setPen(QColor(theme.accent))
            painter.drawText(
                QRectF(middle - half - 2, below.top(), 2 * half + 4, below.height()),
                Qt.AlignmentFlag.AlignHCenter,
                example.given,
            )
