"""A drop-down that is not changed by scrolling past it, and a field that narrows a list."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from PySide6.QtCore import QEvent, QSignalBlocker, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLineEdit,
    QListWidget,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
    QWidget,
)

MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class ChoiceBox(QComboBox):
    """A drop-down that takes the mouse wheel only while it has the keyboard; else the page is scrolled.

    Words that are too long end in an ellipsis, and are read whole above the tip.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel does not give it the keyboard either

    def offer(self, entries: Iterable[tuple[str, object]], chosen: object = None) -> None:
        """Offer entries of (words, value) and choose a value, where there is none such the first; without a signal."""
        listed = list(entries)
        with QSignalBlocker(self):
            if [(self.itemText(i), self.itemData(i)) for i in range(self.count())] != listed:
                self.clear()
                for words, value in listed:
                    self.addItem(words, value)
            values = [value for _, value in listed]
            self.setCurrentIndex(values.index(chosen) if chosen in values else 0)

    def give_way(self, letters: int) -> None:
        """Be no wider than so many letters where there is little room: the longest entry would widen the window."""
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(letters)

    def ask_for_its_words(self) -> None:
        """Ask for the room of the words that are chosen now, at any size of text."""
        metrics = self.fontMetrics()
        self.give_way(ceil(metrics.horizontalAdvance(self.currentText()) / metrics.horizontalAdvance("X")))

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the wheel to the page, unless the person is choosing here."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw it as Qt does, but with words that end where the room does."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self._shortened()
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and self._shortened() != self.currentText():
            QToolTip.showText(event.globalPos(), f"{self.currentText()}\n\n{self.toolTip()}".strip(), self)
            return True
        return super().event(event)

    def _shortened(self) -> str:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self).width()
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)


class SearchField(QLineEdit):
    """Narrows a list that is beside it; the arrows walk along that while the keyboard is here."""

    def __init__(self, listed: QListWidget) -> None:
        super().__init__()
        self._listed = listed

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.key() in MOVES:
            QApplication.sendEvent(self._listed, QKeyEvent(event.type(), event.key(), event.modifiers()))
        else:
            super().keyPressEvent(event)
