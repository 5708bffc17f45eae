"""A histogram small enough for a cell, and the same a little larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QRectF, QSize
from PySide6.QtGui import QHelpEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QToolTip, QWidget

from workbench.gui.pages.data.attribute_model import AttributeModel
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import SCALE, Chart, Drawing, paint_marks, range_below, row_ticks
from workbench.gui.widgets.chart_marks import Scale
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.table_model import Index

if TYPE_CHECKING:
    from workbench.data.columns.profile import Bin


WIDEST = 180.0
"""A cell's picture is no wider, however wide its column."""


def label_of(bar: Bin) -> str:
    """Return what a bar is called: a value as it is in the table, or what collects the others."""
    return tr("other values") if bar.label == "other values" else bar.label


def drawing_of(bars: Sequence[Bin]) -> Drawing:
    """Return the bars of one attribute with their scale and the ends of the range."""
    most = max(*(bar.count for bar in bars), 1)
    return Drawing(
        (mark.bars({at: bar.count for at, bar in enumerate(bars)}, alpha=0.65),),
        x=Scale(0, len(bars)),
        y=Scale(0, most),
        left=row_ticks(most),
        grid=True,
        below=range_below([label_of(bar) for bar in bars]),
        words=lambda x: words_of(bars, int(x)),
    )


def words_of(bars: Sequence[Bin], at: int) -> str:
    """Return what one of the bars stands for."""
    return f"{label_of(bars[at])}: {count(bars[at].count, 'row')}"


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
        if bars := self._bars(index):
            paint_marks(painter, _inside(option), self._session.theme, drawing_of(bars))

    def helpEvent(  # noqa: N802 - Qt's name
        self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        bars = self._bars(index)
        share = (event.pos().x() - _inside(option).left()) / _inside(option).width()
        words = words_of(bars, int(share * len(bars))) if bars and 0 <= share < 1 else ""
        QToolTip.showText(event.globalPos(), tr("{words} (private)", words=words) if words else "", view)
        return True


def _inside(option: QStyleOptionViewItem) -> QRectF:
    box = QRectF(option.rect).adjusted(11, 6, -11, -6)
    box.setWidth(min(box.width(), WIDEST))
    return box


class Histogram(Chart):
    """The bars of one attribute, with the ends of the range below them."""

    name = "attribute_histogram"
    margins = QMarginsF(SCALE, 8, 0, 20)
    usual = QSize(220, 110)

    def show_bars(self, bars: Sequence[Bin], name: str) -> None:
        """Show the histogram of the attribute called ``name``."""
        most = max(bars, key=lambda b: b.count, default=None)
        self.show_drawing(drawing_of(bars) if bars else None)
        self.setAccessibleName(
            tr("Distribution of {name}, most rows at {place}", name=name, place=label_of(most))
            if most
            else tr("Distribution of {name}", name=name)
        )
