"""The line at the foot of the window that says what has just happened."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QStatusBar

INDENT = 6
"""Points left and right of the words."""


class StatusLine(QStatusBar):
    """Ends a message that is too long for the window with …, where Qt would cut a letter; its tooltip has all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("status_bar")
        self.setSizeGripEnabled(False)
        self.messageChanged.connect(self._report_whole)

    @property
    def shown(self) -> str:
        """What can be read of the message."""
        room = self.width() - 2 * INDENT
        return self.fontMetrics().elidedText(self.currentMessage(), Qt.TextElideMode.ElideRight, room)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Tell at the pointer what no longer fits."""
        super().resizeEvent(event)
        self._report_whole()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what there is room for."""
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(self.foregroundRole()))
            box = QRectF(self.rect()).adjusted(INDENT, 0, -INDENT, 0)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, self.shown)

    def _report_whole(self) -> None:
        whole = self.currentMessage()
        self.setToolTip(whole if self.shown != whole else "")
