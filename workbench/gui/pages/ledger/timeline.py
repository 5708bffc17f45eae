"""What was spent over time, as a picture: one step for each release, up to the cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.formatting import at_least, at_most, count
from workbench.render.fonts import font
from workbench.render.palette import STYLES

HEIGHT = 96
DATE, SAMPLE = 124, 18
"""Points that the date at either end takes, and the piece of a line before its name."""

STYLE_NAMES = ("private", "sanitized", "third", "fourth", "fifth")
DASHES = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)


@dataclass(frozen=True)
class Spending:
    """The releases of one account.

    Attributes:
        name: what a person calls it.
        charges: (time, ε) of each release that counts, oldest first.
        cap: its cap, ``None`` where it has none.
        refused: times of refused releases.
    """

    name: str
    charges: tuple[tuple[datetime, float], ...]
    cap: float | None
    refused: tuple[datetime, ...] = ()

    @property
    def total(self) -> float:
        """The sum of all charges."""
        return sum(epsilon for _, epsilon in self.charges)


class Timeline(QWidget):
    """Spent ε over time: a line per account, the cap if there is one account, and a cross per refusal."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__()
        named(self, name, "Spending over time")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._session = session
        self._lines: tuple[Spending, ...] = ()
        session.theme_changed.connect(self.update)

    @property
    def lines(self) -> tuple[Spending, ...]:
        """What is drawn."""
        return self._lines

    def show_lines(self, lines: Sequence[Spending]) -> None:
        """Draw ``lines``, of which the first few have colours of their own."""
        self._lines = tuple(line for line in lines if line.charges or line.refused)
        words = [
            f"{line.name}: {count(len(line.charges), 'release')}, ε = {at_most(line.total)}"
            + (f" of {at_least(line.cap)}" if line.cap is not None else "")
            for line in self._lines
        ]
        self.setAccessibleDescription("; ".join(words))
        self.setToolTip("\n".join([*words, "A cross is a refused release."] if words else []))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return a size that steps can be read at."""
        return QSize(480, HEIGHT)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the least such size."""
        return QSize(200, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the steps."""
        times = [t for line in self._lines for t, _ in line.charges] + [t for line in self._lines for t in line.refused]
        if not times:
            return
        theme = self._session.theme
        first, last = min(times), max(times)
        span = max((last - first).total_seconds(), 1.0)
        only = self._lines[0].cap if len(self._lines) == 1 else None
        top = max([line.total for line in self._lines] + ([only] if only is not None else [])) * 1.08 or 1.0
        box = QRectF(44, 20, self.width() - 56, self.height() - 42)

        def place(time: datetime, epsilon: float) -> QPointF:
            across = 0.02 + 0.96 * (time - first).total_seconds() / span
            return QPointF(box.left() + across * box.width(), box.bottom() - epsilon / top * box.height())

        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(font(11))
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawLine(box.bottomLeft(), box.bottomRight())
            painter.setPen(QColor(theme.muted))
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(0, box.top() - 8, 38, 16), side, f"ε {top / 1.08:.3g}")
            painter.drawText(QRectF(0, box.bottom() - 8, 38, 16), side, "0")
            under = QRectF(box.left(), box.bottom() + 4, box.width(), 16)
            form = "%Y-%m-%d" if span > 86_400 else "%H:%M"
            painter.drawText(under, Qt.AlignmentFlag.AlignLeft, first.strftime("%Y-%m-%d %H:%M"))
            painter.drawText(under, Qt.AlignmentFlag.AlignRight, last.strftime(form))
            if only is not None:
                painter.setPen(QPen(QColor(theme.danger), 1, Qt.PenStyle.DashLine))
                at = place(first, only).y()
                painter.drawLine(QPointF(box.left(), at), QPointF(box.right(), at))
                painter.setPen(QColor(theme.danger))
                painter.drawText(QPointF(box.left() + 4, at - 4), f"cap ε = {at_least(only)}")
            across = box.left() + DATE
            for number, line in enumerate(self._lines):
                colour = QColor(theme.series(STYLES[STYLE_NAMES[number % len(STYLE_NAMES)]]))
                painter.setPen(QPen(colour, 2, DASHES[number % len(DASHES)]))
                painter.drawPolyline(QPolygonF(_steps(line, box, place)))
                if len(self._lines) > 1:
                    across = self._name(painter, line.name, across, box)
                painter.setPen(QPen(QColor(theme.danger), 1.5))
                for time in line.refused:
                    at_cross = place(time, 0.0) - QPointF(0, 6)
                    painter.drawLine(at_cross - QPointF(3, 3), at_cross + QPointF(3, 3))
                    painter.drawLine(at_cross - QPointF(3, -3), at_cross + QPointF(3, -3))

    def _name(self, painter: QPainter, name: str, across: float, box: QRectF) -> float:
        """Draw a piece of a line and its name between the dates, where there is room; return where the next goes."""
        wide = painter.fontMetrics().horizontalAdvance(name)
        end = across + SAMPLE + 4 + wide
        if end > box.right() - DATE:
            return box.right()
        middle = box.bottom() + 12
        painter.drawLine(QPointF(across, middle), QPointF(across + SAMPLE, middle))
        painter.drawText(QPointF(across + SAMPLE + 4, middle + 4), name)
        return end + 16


def _steps(line: Spending, box: QRectF, place: Callable[[datetime, float], QPointF]) -> list[QPointF]:
    points, spent = [QPointF(box.left(), box.bottom())], 0.0
    for time, epsilon in line.charges:
        points.append(place(time, spent))
        spent += epsilon
        points.append(place(time, spent))
    points.append(QPointF(box.right(), points[-1].y()))
    return points
