"""What one value can become: the chances of every answer of the mechanism in use, drawn as bars."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent

from workbench.gui.pages.protect.tasks import Example
from workbench.gui.session.session import Session
from workbench.gui.widgets.bar_chart import BarChart, bar_at, ends_of, paint_ground
from workbench.render.fonts import font

LEAST = 92
"""Pixels in height below which the bars could not be told apart."""

TITLE = 28
LABELS = 20
FAINT = 0.45


class Becoming(BarChart):
    """One bar per answer; the bar of the true value is filled and named, the others are pale."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "share_becoming", (360, 220), (0, TITLE, 0, LABELS))
        self.setMinimumHeight(LEAST)
        self._example: Example | None = None

    def show_example(self, example: Example | None) -> None:
        """Draw another example, or nothing."""
        self._example = example
        self.setAccessibleName(
            f"What {example.given} can become: itself in {100 * example.chances[example.at]:.3g} % of all draws"
            if example
            else ""
        )
        self.update()

    def words_at(self, x: float) -> str:
        """Return the answer and its chance at a place across the picture."""
        example = self._example
        bar = bar_at(x, self._box(), len(example.answers)) if example else None
        if example is None or bar is None:
            return ""
        each = "each of " if " – " in example.answers[bar] else ""
        chance = f"{100 * example.chances[bar]:.3g} % of all draws"
        return f"{example.given} becomes {each}{example.answers[bar]} in {chance}"

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the title, the bars, and both ends of the range."""
        example = self._example
        if example is None:
            return
        with QPainter(self) as painter:
            painter.setFont(font(13))
            painter.setPen(QColor(self._session.theme.text))
            title = QRectF(0, 0, self.width(), 20)
            painter.drawText(title, Qt.AlignmentFlag.AlignLeft, f"What {example.given} can become")
            self._draw_bars(painter, example)
            first, last = ends_of(example.answers)
            self._write_ends(painter, first, last, stressed=example.given)
            if example.given not in (first, last):
                self._write_given(painter, example, first, last)

    def _draw_bars(self, painter: QPainter, example: Example) -> None:
        box, theme = self._box(), self._session.theme
        most, width = max(example.chances) or 1.0, box.width() / len(example.chances)
        own, other = QColor(theme.accent), QColor(theme.accent)
        other.setAlphaF(FAINT)
        for bar, chance in enumerate(example.chances):
            height = max(box.height() * chance / most, 1.0)
            place = QRectF(box.left() + bar * width + 0.5, box.bottom() - height, width - 1, height)
            painter.fillRect(place, own if bar == example.at else other)
        paint_ground(painter, box, theme)

    def _write_given(self, painter: QPainter, example: Example, first: str, last: str) -> None:
        """Write the value below its bar, where it does not run into the ends."""
        below, metrics = self._below(), painter.fontMetrics()
        middle = below.left() + (example.at + 0.5) * below.width() / len(example.chances)
        half = metrics.horizontalAdvance(example.given) / 2
        free = metrics.horizontalAdvance(first) + 8, below.right() - metrics.horizontalAdvance(last) - 8
        if free[0] < middle - half and middle + half < free[1]:
            painter.setPen(QColor(self._session.theme.accent))
            own = QRectF(middle - half - 2, below.top(), 2 * half + 4, below.height())
            painter.drawText(own, Qt.AlignmentFlag.AlignHCenter, example.given)
