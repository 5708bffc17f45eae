"""The reserved line at the foot of the window: what has just happened, or what went wrong."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QStatusBar

from workbench.gui.shell.banner import Banner

INDENT = 6
"""Points left and right of the words."""


class StatusLine(QStatusBar):
    """Ends a message that is too long for the window with …, where Qt would cut a letter; its tooltip has all of it.

    An error or a warning covers it by a banner, for which the room is kept, so that no page moves when one appears.
    """

    def __init__(self, banner: Banner) -> None:
        super().__init__()
        self.setObjectName("status_bar")
        self.setSizeGripEnabled(False)
        self._banner = banner
        self.addPermanentWidget(banner, 1)
        self.messageChanged.connect(self._report_whole)

    @property
    def shown(self) -> str:
        """What can be read of the message."""
        room = self.width() - 2 * INDENT
        return self.fontMetrics().elidedText(self.currentMessage(), Qt.TextElideMode.ElideRight, room)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Tell at the pointer what no longer fits."""
        super().resizeEvent(event)
        self.keep_room()
        self._report_whole()

    def keep_room(self) -> None:
        """Keep the height that a banner needs in the present size of text."""
        self.setFixedHeight(self._banner.reserved + 8)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the size of text."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.keep_room()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what there is room for."""
        if self._banner.isVisible():
            return
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(self.foregroundRole()))
            box = QRectF(self.rect()).adjusted(INDENT, 0, -INDENT, 0)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, self.shown)

    def _report_whole(self) -> None:
        whole = self.currentMessage()
        self.setToolTip(whole if self.shown != whole else "")
