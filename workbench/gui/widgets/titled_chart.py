"""A small painted chart: its title at the left, its newest figure at the right, and a box for what is drawn."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QMarginsF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.render.fonts import font
from workbench.render.palette import Theme

HEAD = 20
"""Pixels of the line above the box."""


class TitledChart(QWidget):
    """The frame of a chart; a subclass draws what is inside."""

    margins: ClassVar[QMarginsF] = QMarginsF(40, 30, 8, 24)
    """Room around the box, in pixels, for the head and the figures of the axes."""

    usual: ClassVar[QSize] = QSize(220, 120)
    """A size that it can be read at."""

    least: ClassVar[QSize] = QSize(140, 88)

    def __init__(self, session: Session, name: str, title: str) -> None:
        """Make the chart.

        Args:
            session: whose colours it takes.
            name: its object name.
            title: what it shows.
        """
        super().__init__()
        named(self, name, title)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._session, self._title = session, title
        session.theme_changed.connect(self.update)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return a size that it can be read at."""
        return self.usual

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the least such size."""
        return self.least

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw title, figure and content."""
        theme = self._session.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(font(13))
            painter.setPen(QColor(theme.text))
            head, figure = QRectF(0, 0, self.width(), HEAD), self.figure()
            room = painter.fontMetrics().horizontalAdvance(figure) + 12 if figure else 0
            title = painter.fontMetrics().elidedText(self._title, Qt.TextElideMode.ElideRight, self.width() - room)
            painter.drawText(head, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, title)
            painter.drawText(head, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, figure)
            painter.setFont(font(11))
            self.draw(painter, QRectF(self.rect()).marginsRemoved(self.margins), theme)

    def figure(self) -> str:
        """Return what stands at the right of the title."""
        return ""

    def draw(self, painter: QPainter, box: QRectF, theme: Theme) -> None:
        """Draw the content into ``box``, with its figures around it."""
        raise NotImplementedError
