"""The attribute table: a spreadsheet to be filled by keys; Tab goes to the next fact, choices open on a key."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView

from workbench.gui.pages.data.attribute_model import BARS, LOWER, UPPER, AttributeModel
from workbench.gui.pages.data.histogram import HistogramDelegate
from workbench.gui.session.session import Session
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import EDITABLE


class AttributeTable(SettingsTable):
    """One row per attribute."""

    def __init__(self, session: Session) -> None:
        self.attributes = AttributeModel(session)
        accessible = "Attributes: role, kind and public facts of each"
        super().__init__(session, self.attributes, "attribute_table", accessible)
        self.setMouseTracking(True)
        self.setItemDelegateForColumn(BARS, HistogramDelegate(session, self.attributes, self))
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
            if index.column() in (LOWER, UPPER) and index.flags() == EDITABLE:
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
