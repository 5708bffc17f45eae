"""The classes of a set of images: how many images each has, and some of them; all of it private."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.thumbnail import thumbnail
from workbench.render.fonts import font

if TYPE_CHECKING:
    from workbench.data.images.overview import ClassSeen

SHOWN = 40
"""Classes that have a line; of more, the rest is counted in one."""

LINE, THUMB, GAP = 44, 38, 4
NAME, FIGURE = 120, 64
"""Widths of the name and of the number in front of the pictures."""


class ClassSheet(QWidget):
    """One line for each class: its name, how many images it has, and as many of them as there is room for."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        named(self, "images_sheet")
        self._session = session
        self._seen: tuple[ClassSeen, ...] = ()
        self._drawn: dict[tuple[int, int], QPixmap] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        session.theme_changed.connect(self.update)

    def show_classes(self, seen: tuple[ClassSeen, ...]) -> None:
        """Show other classes."""
        self._seen, self._drawn = seen, {}
        stated = ", ".join(f"{one.name}: {count(one.images, 'image')}" for one in seen[:SHOWN])
        self.setAccessibleName(tr("Private, not for release. Images of each class: {stated}", stated=stated))
        self.setFixedHeight(LINE * self._lines + 4)
        self.update()

    @property
    def _lines(self) -> int:
        return min(len(self._seen), SHOWN) + (len(self._seen) > SHOWN)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for one line a class."""
        return QSize(600, LINE * self._lines + 4)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the lines that are in sight."""
        theme = self._session.theme
        middle = Qt.AlignmentFlag.AlignVCenter
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            for at, one in enumerate(self._seen[:SHOWN]):
                top = LINE * at
                if not event.rect().intersects(QRectF(0, top, self.width(), LINE).toRect()):
                    continue
                painter.setFont(font(13))
                painter.setPen(QColor(theme.text))
                name = painter.fontMetrics().elidedText(one.name, Qt.TextElideMode.ElideRight, NAME - 8)
                painter.drawText(QRectF(0, top, NAME, LINE), middle | Qt.AlignmentFlag.AlignLeft, name)
                painter.setPen(QColor(theme.text if one.images else theme.warn))
                painter.drawText(
                    QRectF(NAME, top, FIGURE, LINE), middle | Qt.AlignmentFlag.AlignRight, tr_number(one.images, ",")
                )
                self._paint_pictures(painter, at, top)
            if len(self._seen) > SHOWN:
                rest = self._seen[SHOWN:]
                stated = tr(
                    "{classes} with {images}",
                    classes=count(len(rest), "more class", "more classes"),
                    images=count(sum(r.images for r in rest), "image"),
                )
                painter.setPen(QColor(theme.muted))
                painter.drawText(QRectF(0, LINE * SHOWN, self.width(), LINE), middle, stated)

    def _paint_pictures(self, painter: QPainter, at: int, top: int) -> None:
        left = NAME + FIGURE + 20
        for number in range(min(len(self._seen[at].examples), max(0, (self.width() - left) // (THUMB + GAP)))):
            if (at, number) not in self._drawn:
                self._drawn[at, number] = thumbnail(self._seen[at].examples[number], THUMB)
            drawn = self._drawn[at, number]
            painter.drawPixmap(left + number * (THUMB + GAP), top + (LINE - drawn.height()) // 2, drawn)
