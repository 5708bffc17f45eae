"""The table of shares: actions and mechanisms open on a key, shares are typed, locks are ticked."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtWidgets import QComboBox, QLineEdit, QStyleOptionViewItem, QWidget

from workbench.gui.pages.protect.share_model import ACTION, ACTIONS, ERROR, LOCK, MECHANISM, NAME, SHARE, ShareModel
from workbench.gui.session.session import Session
from workbench.gui.widgets.cell_delegates import ChoiceDelegate, Index, InkDelegate, TickDelegate, tick
from workbench.gui.widgets.explain import Explainable
from workbench.gui.widgets.settings_table import SettingsTable

WIDTHS = {NAME: 130, ACTION: 88, MECHANISM: 240, SHARE: 88, LOCK: 56, ERROR: 148}
"""What a window of 1280 needs: a figure that is cut reads as another one, a name does not."""

ROOMY = {NAME: 0.2, MECHANISM: 0.1, LOCK: 0.1}
"""Which columns take what a wider window leaves; the last takes the rest."""


class MechanismDelegate(ChoiceDelegate):
    """Edits a mechanism by the list of those that fit the attribute, each with its error."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__((), parent)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        """Return the list."""
        model = index.model()
        assert isinstance(model, ShareModel)
        self._choices = [words for words, _ in model.choices_at(index.row())]
        combo = super().createEditor(parent, option, index)
        assert isinstance(combo, QComboBox)
        combo.view().setMinimumWidth(340)
        return combo


class ShareDelegate(InkDelegate):
    """Edits a share as text."""

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        """Return the field."""
        field = QLineEdit(parent)
        field.setObjectName("share_editor")
        field.setAccessibleName("Share of ε")
        field.setFrame(False)
        field.setAlignment(Qt.AlignmentFlag.AlignRight)
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:  # noqa: N802 - Qt's name
        """Show the present share, ready to be replaced."""
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data(Qt.ItemDataRole.EditRole))
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:  # noqa: N802
        """Take the text if it differs."""
        assert isinstance(editor, QLineEdit)
        if editor.text() != index.data(Qt.ItemDataRole.EditRole):
            model.setData(index, editor.text())


class ShareTable(SettingsTable):
    """One row per attribute."""

    def __init__(self, session: Session, model: ShareModel) -> None:
        super().__init__(
            session,
            model,
            "share_table",
            "Attributes: action, mechanism, share of ε and expected error of each",
            widths=WIDTHS,
            roomy=ROOMY,
        )
        self.setItemDelegateForColumn(ACTION, ChoiceDelegate(ACTIONS, self))
        self.setItemDelegateForColumn(MECHANISM, MechanismDelegate(self))
        self.setItemDelegateForColumn(SHARE, ShareDelegate(self))
        self.setItemDelegateForColumn(ERROR, InkDelegate(self))
        self.setItemDelegateForColumn(LOCK, TickDelegate(session, self))
        Explainable(self, session, lambda: model.asked_at(self.currentIndex().row()))

    def tick(self, index: Index) -> None:
        """Lock a share, or free it, as Space does."""
        tick(index)
