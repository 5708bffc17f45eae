"""Where the accuracy of a network goes: without privacy, with clipping alone, with clipping and noise."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.pages.train.messages import went_words
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.render.fonts import font
from workbench.render.palette import STYLES

Stages = tuple[tuple[str, float, int], ...]
"""(name, accuracy, rows it was measured on) of each training."""

LINE, NAME = 20, 150


class WhereChart(QWidget):
    """One bar for each training, and a sentence on what clipping and noise cost; hidden while nothing is known."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        named(self, "train_where_chart", "Where the accuracy went")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._session = session
        self.stages: Stages = ()
        session.theme_changed.connect(self.update)
        self.hide()

    def show_stages(self, stages: Stages) -> None:
        """Show the result of a study; nothing where there is none."""
        self.stages = stages
        self.setVisible(bool(stages))
        self.setAccessibleName(f"Where the accuracy went: {went_words(stages)}" if stages else "")
        self.setToolTip(went_words(stages) if stages else "")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of a line for each bar and one for the sentence."""
        return QSize(360, (len(self.stages) + 1) * LINE)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the least such size."""
        return QSize(200, (len(self.stages) + 1) * LINE)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw names, bars, figures and the sentence."""
        theme = self._session.theme
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        with QPainter(self) as painter:
            painter.setFont(font(13))
            styles = ("no-privacy", "sanitized", "private")
            for at, (name, accuracy, _) in enumerate(self.stages):
                y = at * LINE
                painter.setPen(QColor(theme.muted))
                painter.drawText(QRectF(0, y, NAME, LINE), left, name)
                room = self.width() - NAME - 60
                bar = QRectF(NAME, y + 4, max(1.0, accuracy * room), LINE - 8)
                painter.fillRect(bar, QColor(theme.series(STYLES[styles[at]])))
                painter.setPen(QColor(theme.text))
                painter.drawText(QRectF(bar.right() + 6, y, 54, LINE), left, f"{accuracy:.3f}")
            painter.setPen(QColor(theme.text))
            place = QRectF(0, len(self.stages) * LINE, self.width(), LINE)
            stated = went_words(self.stages) if self.stages else ""
            shown = painter.fontMetrics().elidedText(stated, Qt.TextElideMode.ElideRight, self.width())
            painter.drawText(place, left, shown)
