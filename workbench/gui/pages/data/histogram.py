"""A histogram small enough for a cell, and the same a little larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from workbench.gui.pages.data.attribute_model import HISTOGRAM
from workbench.gui.session.session import Session
from workbench.gui.widgets.formatting import count
from workbench.render.palette import Theme

if TYPE_CHECKING:
    from workbench.data.columns.profile import Bin


WIDEST = 180.0
"""A cell's picture is no wider, however wide its column."""


def paint_bars(painter: QPainter, box: QRectF, bars: Sequence[Bin], theme: Theme) -> None:
    """Draw ``bars`` into ``box``, the tallest as high as it; a bar that is not empty is never invisible."""
    if not bars:
        return
    most = max(b.count for b in bars) or 1
    width = box.width() / len(bars)
    gap = max(1.0, 0.08 * width) if width >= 4 else 0.0
    colour = QColor(theme.accent)
    colour.setAlphaF(0.65)
    tops = [max(box.height() * bar.count / most, 1.5) if bar.count else 0.0 for bar in bars]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    # One call: a page has hundreds of bars, and each call may have to wait for the interpreter.
    painter.drawRects(
        [
            QRectF(box.left() + position * width, box.bottom() - top, width - gap, top)
            for position, top in enumerate(tops)
        ]
    )
    painter.fillRect(QRectF(box.left(), box.bottom(), box.width(), 1), QColor(theme.line))


def bar_at(x: float, box: QRectF, bars: Sequence[Bin]) -> Bin | None:
    """Return the bar at a place, or ``None``."""
    if not bars or not box.left() <= x < box.right():
        return None
    return bars[int((x - box.left()) / box.width() * len(bars))]


class HistogramDelegate(QStyledItemDelegate):
    """Draws the bars of a cell; the tooltip names the bar under the pointer."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw one cell."""
        super().paint(painter, option, index)
        paint_bars(painter, _inside(option), index.data(HISTOGRAM) or (), self._session.theme)

    def helpEvent(  # noqa: N802 - Qt's name
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        """Name the bar under the pointer."""
        bar = bar_at(event.pos().x(), _inside(option), index.data(HISTOGRAM) or ())
        text = f"{bar.label}: {count(bar.count, 'row')} (private)" if bar else ""
        QToolTip.showText(event.globalPos(), text, view)
        return True


def _inside(option: QStyleOptionViewItem) -> QRectF:
    box = QRectF(option.rect).adjusted(11, 6, -11, -6)
    box.setWidth(min(box.width(), WIDEST))
    return box


class Histogram(QWidget):
    """The bars of one attribute, with the ends of the range below them."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("attribute_histogram")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self._session = session
        self._bars: Sequence[Bin] = ()
        session.theme_changed.connect(self.update)

    def show_bars(self, bars: Sequence[Bin], name: str) -> None:
        """Show the histogram of the attribute called ``name``."""
        self._bars = bars
        most = max(bars, key=lambda b: b.count, default=None)
        told = f", most rows at {most.label}" if most else ""
        self.setAccessibleName(f"Distribution of {name}{told}")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the picture."""
        return QSize(220, 110)

    def event(self, event: object) -> bool:
        """Name the bar under the pointer."""
        if isinstance(event, QHelpEvent):
            bar = bar_at(event.pos().x(), self._box(), self._bars)
            QToolTip.showText(event.globalPos(), f"{bar.label}: {count(bar.count, 'row')}" if bar else "", self)
            return True
        return super().event(event)  # type: ignore[arg-type]

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw bars and ends."""
        if not self._bars:
            return
        theme = self._session.theme
        with QPainter(self) as painter:
            box = self._box()
            paint_bars(painter, box, self._bars, theme)
            painter.setPen(QColor(theme.muted))
            face = self.font()
            face.setPixelSize(12)
            painter.setFont(face)
            first, last = self._bars[0].label.split(" – ")[0], self._bars[-1].label.split(" – ")[-1]
            below = QRectF(box.left(), box.bottom() + 3, box.width(), 16)
            half = below.adjusted(0, 0, -box.width() / 2, 0)
            metrics = painter.fontMetrics()
            room = int(half.width())
            left = metrics.elidedText(first, Qt.TextElideMode.ElideRight, room)
            painter.drawText(half, Qt.AlignmentFlag.AlignLeft, left)
            if len(self._bars) > 1:
                right = metrics.elidedText(last, Qt.TextElideMode.ElideRight, room)
                painter.drawText(below.adjusted(box.width() / 2, 0, 0, 0), Qt.AlignmentFlag.AlignRight, right)

    def _box(self) -> QRectF:
        return QRectF(self.rect()).adjusted(0, 4, 0, -20)
