"""A histogram small enough for a cell, and the same a little larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QToolTip, QWidget

from workbench.gui.pages.data.attribute_model import AttributeModel
from workbench.gui.session.session import Session
from workbench.gui.widgets.bar_chart import SCALE, BarChart, bar_at, ends_of, paint_ground
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.table_model import Index
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
    paint_ground(painter, box, theme)


def words_of(bars: Sequence[Bin], at: int | None) -> str:
    """Return what one of the bars stands for; empty without one."""
    return "" if at is None else f"{bars[at].label}: {count(bars[at].count, 'row')}"


class HistogramDelegate(QStyledItemDelegate):
    """Draws the bars of a cell; the tooltip names the bar under the pointer."""

    def __init__(self, session: Session, attributes: AttributeModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._session, self._attributes = session, attributes

    def _bars(self, index: Index) -> Sequence[Bin]:
        profile = self._attributes.profile_at(index.row())
        return profile.histogram if profile else ()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one cell."""
        super().paint(painter, option, index)
        paint_bars(painter, _inside(option), self._bars(index), self._session.theme)

    def helpEvent(  # noqa: N802 - Qt's name
        self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        """Name the bar under the pointer."""
        bars = self._bars(index)
        words = words_of(bars, bar_at(event.pos().x(), _inside(option), len(bars)))
        QToolTip.showText(event.globalPos(), f"{words} (private)" if words else "", view)
        return True


def _inside(option: QStyleOptionViewItem) -> QRectF:
    box = QRectF(option.rect).adjusted(11, 6, -11, -6)
    box.setWidth(min(box.width(), WIDEST))
    return box


class Histogram(BarChart):
    """The bars of one attribute, with the ends of the range below them."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "attribute_histogram", (220, 110), (SCALE, 8, 0, 20))
        self._bars: Sequence[Bin] = ()

    def show_bars(self, bars: Sequence[Bin], name: str) -> None:
        """Show the histogram of the attribute called ``name``."""
        self._bars = bars
        most = max(bars, key=lambda b: b.count, default=None)
        stated = f", most rows at {most.label}" if most else ""
        self.setAccessibleName(f"Distribution of {name}{stated}")
        self.update()

    def words_at(self, x: float) -> str:
        """Return what the bar at a place stands for."""
        return words_of(self._bars, bar_at(x, self._box(), len(self._bars)))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw bars and ends."""
        if not self._bars:
            return
        with QPainter(self) as painter:
            self._write_scale(painter, self._box(), max(*(bar.count for bar in self._bars), 1))
            paint_bars(painter, self._box(), self._bars, self._session.theme)
            first, last = ends_of([bar.label for bar in self._bars])
            self._write_ends(painter, first, last if len(self._bars) > 1 else "")
