"""How cells of a table of settings are edited and painted."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, Qt, QTimer
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QComboBox, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from workbench.gui.widgets.choice_box import ChoiceBox

Index = QModelIndex | QPersistentModelIndex


class ChoiceDelegate(QStyledItemDelegate):
    """Edits a cell by a list of words, which is open at once."""

    def __init__(self, choices: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self._choices = choices

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        """Return the list."""
        combo = ChoiceBox(parent)
        combo.setObjectName("choice_editor")
        combo.addItems(list(self._choices))
        combo.activated.connect(lambda: self._done(combo))
        QTimer.singleShot(0, combo, combo.showPopup)
        return combo

    def setEditorData(self, editor: QWidget, index: Index) -> None:  # noqa: N802 - Qt's name
        """Show the present word."""
        assert isinstance(editor, QComboBox)
        editor.setCurrentText(index.data(Qt.ItemDataRole.EditRole))

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:  # noqa: N802
        """Take the word."""
        assert isinstance(editor, QComboBox)
        if editor.currentText() != index.data(Qt.ItemDataRole.EditRole):
            model.setData(index, editor.currentText())

    def _done(self, combo: QComboBox) -> None:
        self.commitData.emit(combo)
        self.closeEditor.emit(combo, QStyledItemDelegate.EndEditHint.NoHint)


class InkDelegate(QStyledItemDelegate):
    """Keeps the colour of a cell where its row is selected."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: N802 - Qt's name
        """Draw what is selected in the ink of what is not."""
        super().initStyleOption(option, index)
        ink = index.data(Qt.ItemDataRole.ForegroundRole)
        if ink is not None:
            option.palette.setColor(QPalette.ColorRole.HighlightedText, ink)
