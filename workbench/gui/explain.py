"""What ε means: how far the belief about one person can move, in words, numbers and a curve."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.state import Session
from workbench.gui.text import plain
from workbench.gui.widgets import Card, Elided, Facts, button, label, row
from workbench.privacy.belief import DELTA_NOTE, posterior
from workbench.render.fonts import font
from workbench.render.palette import BAND_OPACITY

PRIORS = (0.01, 0.1, 0.5)
POINTS = 60


class BeliefCurve(QWidget):
    """Belief before (across) and the range in which it stays after the release (upwards)."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("belief_curve")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._session = session
        self._epsilon = 0.0
        session.theme_changed.connect(self.update)

    def show_epsilon(self, epsilon: float) -> None:
        """Draw the range for ``epsilon``."""
        self._epsilon = epsilon
        self.setAccessibleName(f"Belief after the release against belief before it, at ε = {epsilon:g}")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the picture."""
        return QSize(200, 132)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw axes, the line of no change and the range around it."""
        theme = self._session.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(36, 8, -8, -30)

        def place(before: float, after: float) -> QPointF:
            return QPointF(box.left() + before * box.width(), box.bottom() - after * box.height())

        painter.setPen(QPen(QColor(theme.line), 1))
        for share in (0.0, 0.5, 1.0):
            painter.drawLine(place(0, share), place(1, share))
        beliefs = [posterior(self._epsilon, i / POINTS) for i in range(POINTS + 1)]
        high = [place(b.prior, b.high) for b in beliefs]
        low = [place(b.prior, b.low) for b in beliefs]
        band = QPainterPath()
        band.addPolygon(QPolygonF([*high, *reversed(low)]))
        accent = QColor(theme.accent)
        faint = QColor(accent)
        faint.setAlphaF(BAND_OPACITY)
        painter.fillPath(band, faint)
        painter.setPen(QPen(accent, 2))
        painter.drawPolyline(QPolygonF(high))
        painter.drawPolyline(QPolygonF(low))
        painter.setPen(QPen(QColor(theme.muted), 1, Qt.PenStyle.DashLine))
        painter.drawLine(place(0, 0), place(1, 1))
        painter.setPen(QColor(theme.muted))
        painter.setFont(font(11))
        for share, text in ((0.0, "0"), (0.5, "50 %"), (1.0, "100 %")):
            height = place(0, share).y()
            painter.drawText(QRectF(0, height - 8, 32, 16), _RIGHT, text)
        painter.drawText(
            QRectF(box.left(), box.bottom() + 4, box.width(), 14),
            Qt.AlignmentFlag.AlignHCenter,
            "belief before, 0–100 %",
        )


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class ExplainPanel(Card):
    """A panel beside the gauges, shown when somebody asks what an ε means."""

    def __init__(self, session: Session) -> None:
        super().__init__(spacing=6)
        self.setObjectName("explain_panel")
        self.setAccessibleName("What ε means")
        self._title = Elided("", "heading")
        close = button("Close", "explain_close", "link", tip="Close this explanation (Esc)")
        close.clicked.connect(self.hide)
        self._text = label("", wrap=True, name="explain_text")
        self._facts = Facts()
        self._curve = BeliefCurve(session)
        head = QWidget()
        line = row(close)
        line.insertWidget(0, self._title, 1)
        head.setLayout(line)
        for part in (head, self._text, self._facts, self._curve):
            self.body.addWidget(part)
        session.explain_asked.connect(self.explain)
        self.hide()

    def explain(self, epsilon: Decimal, delta: Decimal = Decimal(0)) -> None:
        """Say what ``epsilon`` means."""
        self._title.set_whole(f"ε = {plain(epsilon)} means")
        belief = posterior(float(epsilon), 0.1)
        note = f" {DELTA_NOTE[:1].upper()}{DELTA_NOTE[1:]}." if delta else ""
        self._text.setText(
            f"Somebody who thought a thing about one person 10 % likely can come to at most "
            f"{_percent(belief.high)} by seeing the release, and to at least {_percent(belief.low)}.{note}"
        )
        for prior in PRIORS:
            reached = posterior(float(epsilon), prior)
            self._facts.show_line(f"prior_{prior}", f"from {_percent(prior)}", f"to at most {_percent(reached.high)}")
        self._curve.show_epsilon(float(epsilon))
        self.show()


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
