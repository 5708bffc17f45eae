"""One released histogram: a bar for each bin, a bracket for its interval."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from workbench.gui.pages.statistics.tasks import SPARSE, Bar
from workbench.gui.session.session import Session
from workbench.gui.widgets.bar_chart import BELOW, SCALE, BarChart, bar_at, paint_ground
from workbench.gui.widgets.formatting import plain
from workbench.render.fonts import font

FILL, FAINT = 0.65, 0.25
KEY = 20
"""Pixels above the bars for what bar and bracket stand for."""

GAP = 0.12


class HistogramPicture(BarChart):
    """Bars with their intervals. A bar that could as well be empty is faint, and its tooltip says so."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "statistics_histogram", (400, 180), (SCALE, KEY + 4, 2, 22))
        self._bars: tuple[Bar, ...] = ()

    def show_bars(self, bars: tuple[Bar, ...], name: str) -> None:
        """Show the histogram called ``name``, or nothing."""
        self._bars = bars
        self.setAccessibleName(f"Released histogram of {name}, {len(bars)} bins with their intervals" if bars else "")
        self.update()

    def words_at(self, x: float) -> str:
        """Return what the bar at a place stands for."""
        at = bar_at(x, self._box(), len(self._bars))
        if at is None:
            return ""
        bar = self._bars[at]
        stated = f"{bar.label}: {plain(bar.estimate)} rows (95 %: {plain(bar.low)} to {plain(bar.high)})"
        return f"{stated}, {SPARSE}" if bar.sparse else stated

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the bars, their brackets, the labels and the key."""
        if not self._bars:
            return
        theme, box = self._session.theme, self._box()
        most = max(*(bar.high for bar in self._bars), 1.0)
        width = box.width() / len(self._bars)
        gap = max(1.0, GAP * width)
        full, faint = QColor(theme.accent), QColor(theme.accent)
        full.setAlphaF(FILL)
        faint.setAlphaF(FAINT)
        ink = QColor(theme.text)
        with QPainter(self) as painter:
            self._write_scale(painter, box, most)
            for at, bar in enumerate(self._bars):
                left, height = box.left() + at * width, box.height() * bar.estimate / most
                painter.fillRect(
                    QRectF(left + gap / 2, box.bottom() - height, width - gap, height), faint if bar.sparse else full
                )
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(ink, 1.2))
            cap = min(5.0, width / 5)
            for at, bar in enumerate(self._bars):
                centre = box.left() + (at + 0.5) * width
                low, high = (box.bottom() - box.height() * rows / most for rows in (bar.low, bar.high))
                painter.drawLine(QPointF(centre, low), QPointF(centre, high))
                for end in (low, high):
                    painter.drawLine(QPointF(centre - cap, end), QPointF(centre + cap, end))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
            paint_ground(painter, box, theme)
            self._write_labels(painter, width)
            self._write_key(painter, box, full, faint)

    def _write_labels(self, painter: QPainter, width: float) -> None:
        """Write each label below its bar, or the two ends where there is no room for all of them."""
        painter.setPen(QColor(self._session.theme.muted))
        painter.setFont(font(BELOW))
        metrics, below = painter.fontMetrics(), self._below()
        if max(metrics.horizontalAdvance(bar.label) for bar in self._bars) > width - 4:
            self._write_ends(painter, self._bars[0].label, self._bars[-1].label if len(self._bars) > 1 else "")
            return
        for at, bar in enumerate(self._bars):
            cell = QRectF(below.left() + at * width, below.top(), width, below.height())
            painter.drawText(cell, Qt.AlignmentFlag.AlignHCenter, bar.label)

    def _write_key(self, painter: QPainter, box: QRectF, full: QColor, faint: QColor) -> None:
        painter.setFont(font(BELOW))
        left = box.left() - SCALE + 2
        entries = [("rows, bracket: 95 %", full)]
        if any(bar.sparse for bar in self._bars):
            entries.append((SPARSE, faint))
        for words, colour in entries:
            painter.fillRect(QRectF(left, (KEY - 4) / 2 - 5, 10, 10), colour)
            painter.setPen(QColor(self._session.theme.muted))
            wide = painter.fontMetrics().horizontalAdvance(words)
            painter.drawText(QRectF(left + 16, 0, wide + 2, KEY - 4), Qt.AlignmentFlag.AlignVCenter, words)
            left += wide + 40
