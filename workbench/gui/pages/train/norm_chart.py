"""The sizes of the rows' gradients beside the clipping norm, and the share that is clipped."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.render.fonts import font
from workbench.render.palette import STYLES
from workbench.signals.events import Spread

TITLE = "gradient norms, in clipping norms"
LABELS = ("", "1⁄16", "⅛", "¼", "½", "1", "2", "4", "8", "16", "")


class NormChart(QWidget):
    """A histogram: what lies right of the line at 1 is clipped, and hatched besides its colour."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        named(self, "train_norms", TITLE)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._session = session
        self._spread: Spread | None = None
        session.theme_changed.connect(self.update)

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
        self.setAccessibleName(TITLE)
        self.update()

    def take(self, spread: Spread) -> None:
        """Show the newest histogram."""
        self._spread = spread
        if self.clipped is not None:
            self.setAccessibleName(f"{TITLE}: {100 * self.clipped:.0f} % of the rows clipped at step {spread.step}")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return a size that it can be read at."""
        return QSize(220, 120)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the least such size."""
        return QSize(140, 88)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw title, share, bars, the line at the clipping norm and the edges."""
        theme = self._session.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(font(13))
            painter.setPen(QColor(theme.text))
            head = QRectF(0, 0, self.width(), 20)
            told = "–" if self.clipped is None else f"{100 * self.clipped:.0f} % clipped"
            room = painter.fontMetrics().horizontalAdvance(told) + 12
            title = painter.fontMetrics().elidedText(TITLE, Qt.TextElideMode.ElideRight, self.width() - room)
            painter.drawText(head, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, title)
            painter.drawText(head, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, told)
            box = QRectF(8, 30, self.width() - 16, self.height() - 54)
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
            painter.setFont(font(11))
            painter.setPen(QColor(theme.muted))
            for at, text in enumerate(LABELS):
                place = QRectF(box.left() + at * width - 20, box.bottom() + 4, 40, 16)
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
