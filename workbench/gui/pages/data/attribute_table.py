"""The attribute table: a spreadsheet to be filled by keys; Tab goes to the next fact, choices open on a key."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QSize, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from workbench.data.schema import KINDS, ROLES
from workbench.gui.pages.data.attribute_model import BARS, KIND, LOWER, NAME, NO_ROLE, ROLE, UPPER, AttributeModel
from workbench.gui.pages.data.attribute_model import MISSING as MISSING_COLUMN
from workbench.gui.pages.data.histogram import HistogramDelegate
from workbench.gui.session.session import Session
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.cell_delegates import ChoiceDelegate, Index, InkDelegate

WIDTHS = {NAME: 146, ROLE: 122, KIND: 96, LOWER: 106, UPPER: 106, MISSING_COLUMN: 72, BARS: 102}
ROOMY = {NAME: 0.25, LOWER: 0.3, UPPER: 0.3}
"""Which columns take what a wider window leaves; the last takes the rest."""

SQUEEZE = 40
"""Pixels that the names give at most to a narrow window."""


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
        if editor.text() != index.data(Qt.ItemDataRole.EditRole):
            model.setData(index, editor.text())


class AttributeTable(QTableView):
    """One row per attribute."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("attribute_table")
        self.setAccessibleName("Attributes: role, kind and public facts of each")
        self.attributes = AttributeModel(session)
        self.setModel(self.attributes)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(
            triggers.DoubleClicked | triggers.EditKeyPressed | triggers.AnyKeyPressed | triggers.SelectedClicked
        )
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(ROW)
        heads = self.horizontalHeader()
        heads.setHighlightSections(False)
        heads.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        heads.setStretchLastSection(True)
        heads.setMinimumSectionSize(56)
        for column, width in WIDTHS.items():
            heads.resizeSection(column, width)
        self.setItemDelegateForColumn(ROLE, ChoiceDelegate((NO_ROLE, *ROLES), self))
        self.setItemDelegateForColumn(KIND, ChoiceDelegate(KINDS, self))
        self.setItemDelegateForColumn(MISSING_COLUMN, InkDelegate(self))
        for column in (LOWER, UPPER):
            self.setItemDelegateForColumn(column, FactDelegate(self))
        self.setItemDelegateForColumn(BARS, HistogramDelegate(session, self))
        self._spans: list[bool] = []
        self.attributes.modelReset.connect(self._span)
        session.plan_changed.connect(self._span)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Give names and facts the room of a wider window, and take what is missing from the names."""
        super().resizeEvent(event)
        extra = self.viewport().width() - sum(WIDTHS.values())
        # What a scroll bar takes is taken from the names, so that it does not bring a second one with it.
        shares = ROOMY if extra >= 0 else {NAME: 1.0}
        for column in ROOMY:
            change = max(int(shares.get(column, 0.0) * extra), -SQUEEZE)
            self.horizontalHeader().resizeSection(column, WIDTHS[column] + change)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for room for three attributes."""
        return QSize(200, 4 * ROW)

    def next_open(self) -> QModelIndex:
        """Return the first cell whose fact nobody has declared, or an invalid index."""
        for row in range(self.attributes.rowCount()):
            for fact in self.attributes.column_at(row).unfilled:
                return self.attributes.index(row, UPPER if fact == "upper" else LOWER)
        return QModelIndex()

    def edit_fact(self, index: QModelIndex) -> None:
        """Begin to edit a fact."""
        if index.isValid():
            self.setFocus()
            self.setCurrentIndex(index)
            self.edit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Let Return edit a cell as F2 does."""
        index = self.currentIndex()
        plain = not event.modifiers() or event.modifiers() == Qt.KeyboardModifier.KeypadModifier
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain and index.isValid():
            if index.flags() & Qt.ItemFlag.ItemIsEditable and self.state() != QAbstractItemView.State.EditingState:
                self.edit(index)
            return
        super().keyPressEvent(event)

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:  # noqa: N802
        """Let Tab, pressed while a fact is edited, go to the next cell that can be edited."""
        steps = {QAbstractItemView.CursorAction.MoveNext: 1, QAbstractItemView.CursorAction.MovePrevious: -1}
        if action not in steps or not self.currentIndex().isValid():
            return super().moveCursor(action, modifiers)
        width = self.attributes.columnCount()
        place = self.currentIndex().row() * width + self.currentIndex().column()
        while 0 <= (place := place + steps[action]) < width * self.attributes.rowCount():
            index = self.attributes.index(*divmod(place, width))
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
