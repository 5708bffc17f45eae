"""The sizes of the rows' gradients beside the clipping norm, and the share that is clipped."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QMarginsF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.titled_chart import TitledChart
from workbench.render.palette import STYLES, Theme
from workbench.signals.events import Spread

TITLE = "gradients"
TOLD = "gradient norms, in clipping norms"
TIP = "How large the gradient of each row of a step is, in clipping norms. Right of the line they are scaled down."
LABELS = ("", "1⁄16", "⅛", "¼", "½", "1", "2", "4", "8", "16", "")


class NormChart(TitledChart):
    """A histogram: what lies right of the line at 1 is clipped, and hatched besides its colour."""

    margins: ClassVar[QMarginsF] = QMarginsF(8, 30, 8, 24)

    def __init__(self, session: Session) -> None:
        super().__init__(session, "train_norms", TITLE)
        named(self, "train_norms", TOLD, TIP)
        self._spread: Spread | None = None

    @property
    def clipped(self) -> float | None:
        """The share of the rows that is clipped; ``None`` where no row was seen."""
        spread = self._spread
        if spread is None or not sum(spread.counts):
            return None
        above = sum(c for c, edge in zip(spread.counts[1:], spread.edges, strict=True) if edge >= 1)
        return above / sum(spread.counts)

    def begin(self, steps: int) -> None:
        """Show nothing."""
        self._spread = None
        self.setAccessibleName(TOLD)
        self.update()

    def take(self, spread: Spread) -> None:
        """Show the newest histogram."""
        self._spread = spread
        if self.clipped is not None:
            self.setAccessibleName(f"{TOLD}: {100 * self.clipped:.0f} % of the rows clipped at step {spread.step}")
        self.update()

    def figure(self) -> str:
        """Return the share that is clipped."""
        return "–" if self.clipped is None else f"{100 * self.clipped:.0f} % clipped"

    def draw(self, painter: QPainter, box: QRectF, theme: Theme) -> None:
        """Draw bars, the line at the clipping norm and the edges."""
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.drawLine(box.bottomLeft(), box.bottomRight())
        bins = len(LABELS) - 1
        width = box.width() / bins
        counts = self._spread.counts if self._spread is not None else (0,) * bins
        most = max(1, *counts)
        below, above = (QColor(theme.series(STYLES[name])) for name in ("private", "sanitized"))
        first = LABELS.index("1")
        for at, count in enumerate(counts):
            bar = QRectF(box.left() + at * width + 1, 0, width - 2, count / most * box.height())
            bar.moveBottom(box.bottom())
            painter.fillRect(bar, below if at < first else above)
            if at >= first:
                painter.fillRect(bar, QBrush(QColor(theme.surface), Qt.BrushStyle.BDiagPattern))
        x = box.left() + first * width
        painter.setPen(QPen(QColor(theme.danger), 1.5, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
        painter.setPen(QColor(theme.muted))
        for at, text in enumerate(LABELS):
            place = QRectF(box.left() + at * width - 20, box.bottom() + 4, 40, 16)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
