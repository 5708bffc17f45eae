"""The attribute table: a spreadsheet to be filled by keys; Tab goes to the next fact, choices open on a key."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QStyleOptionViewItem, QWidget

from workbench.data.schema import KINDS, ROLES
from workbench.gui.pages.data.attribute_model import BARS, KIND, LOWER, NAME, NO_ROLE, ROLE, UPPER, AttributeModel
from workbench.gui.pages.data.attribute_model import MISSING as MISSING_COLUMN
from workbench.gui.pages.data.histogram import HistogramDelegate
from workbench.gui.session.session import Session
from workbench.gui.widgets.cell_delegates import ChoiceDelegate, Index, InkDelegate
from workbench.gui.widgets.settings_table import SettingsTable

WIDTHS = {NAME: 134, ROLE: 136, KIND: 108, LOWER: 110, UPPER: 110, MISSING_COLUMN: 76, BARS: 76}
ROOMY = {NAME: 0.25, LOWER: 0.3, UPPER: 0.3}
"""Which columns take what a wider window leaves; the last takes the rest."""


class FactDelegate(InkDelegate):
    """Edits a public fact as text."""

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        """Return the field."""
        field = QLineEdit(parent)
        field.setObjectName("fact_editor")
        field.setFrame(False)
        field.setAlignment(index.data(Qt.ItemDataRole.TextAlignmentRole))  # a figure stays where it stands
        model = index.model()
        if isinstance(model, AttributeModel) and model.fact_of(index) == "domain":
            field.setPlaceholderText("value, value, …")
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:  # noqa: N802 - Qt's name
        """Show what is declared, ready to be replaced."""
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data(Qt.ItemDataRole.EditRole))
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:  # noqa: N802
        """Take the text if it differs."""
        assert isinstance(editor, QLineEdit)
        several = isinstance(model, AttributeModel) and len(model.edited_with(index.row())) > 1
        if editor.text() != index.data(Qt.ItemDataRole.EditRole) or (several and editor.isModified()):
            model.setData(index, editor.text())


class AttributeTable(SettingsTable):
    """One row per attribute."""

    def __init__(self, session: Session) -> None:
        self.attributes = AttributeModel(session)
        super().__init__(
            session,
            self.attributes,
            "attribute_table",
            "Attributes: role, kind and public facts of each",
            widths=WIDTHS,
            roomy=ROOMY,
            unsorted=(BARS,),
        )
        self.setMouseTracking(True)
        self.setItemDelegateForColumn(ROLE, ChoiceDelegate((NO_ROLE, *ROLES), self))
        self.setItemDelegateForColumn(KIND, ChoiceDelegate(KINDS, self))
        self.setItemDelegateForColumn(MISSING_COLUMN, InkDelegate(self))
        for column in (LOWER, UPPER):
            self.setItemDelegateForColumn(column, FactDelegate(self))
        self.setItemDelegateForColumn(BARS, HistogramDelegate(session, self))
        self._spans: list[bool] = []
        self.attributes.modelReset.connect(self._span)
        session.plan_changed.connect(self._span)

    def next_open(self) -> QModelIndex:
        """Return the first cell whose fact nobody has declared, of a row in sight if there is one."""
        shown = list(self.in_sight())
        hidden = sorted({*range(self.attributes.rowCount())} - {*shown})
        for row in (*shown, *hidden):
            for fact in self.attributes.column_at(row).unfilled:
                return self.attributes.index(row, UPPER if fact == "upper" else LOWER)
        return QModelIndex()

    def edit_fact(self, index: QModelIndex) -> None:
        """Begin to edit a fact."""
        if index.isValid():
            self.setFocus()
            self.setCurrentIndex(index)
            self.edit(index)

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:  # noqa: N802
        """Let Tab, pressed while a fact is edited, go to the next cell that can be edited."""
        steps = {QAbstractItemView.CursorAction.MoveNext: 1, QAbstractItemView.CursorAction.MovePrevious: -1}
        if action not in steps or not self.currentIndex().isValid():
            return super().moveCursor(action, modifiers)
        width, rows = self.attributes.columnCount(), list(self.in_sight())
        if self.currentIndex().row() not in rows:
            return super().moveCursor(action, modifiers)
        place = rows.index(self.currentIndex().row()) * width + self.currentIndex().column()
        while 0 <= (place := place + steps[action]) < width * len(rows):
            index = self.attributes.index(rows[place // width], place % width)
            if index.column() in (LOWER, UPPER) and self.attributes.fact_of(index):
                return index
        return self.currentIndex()

    def _span(self) -> None:
        """Give a list of values, and a word about what is dropped, the room of both bounds."""
        rows = range(self.attributes.rowCount())
        wide = [not (c.protected and c.numeric) for c in map(self.attributes.column_at, rows)]
        if len(wide) != len(self._spans):
            self.clearSpans()
            self._spans = [False] * len(wide)
        for row, (was, now) in enumerate(zip(self._spans, wide, strict=True)):
            if was != now:
                self.setSpan(row, LOWER, 1, 2 if now else 1)
        self._spans = wide
