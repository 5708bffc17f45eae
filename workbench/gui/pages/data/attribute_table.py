"""The attribute table: a spreadsheet to be filled by keys; Tab goes to the next fact, choices open on a key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractItemDelegate, QAbstractItemView, QWidget

from workbench.gui.pages.data.attribute_model import BARS, LOWER, UPPER, AttributeModel
from workbench.gui.pages.data.facts import role_edit
from workbench.gui.pages.data.histogram import HistogramDelegate
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import of_all, protect_changes
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.settings_table import SettingsTable, paste_cells
from workbench.gui.widgets.table_model import EDITABLE

NOT_RELEASED, RELEASED = tr_later("Not Released"), tr_later("Release It Protected")
ROLE_TITLES = (
    ("identifier", tr_later("Identifier: Not Released")),
    ("quasi-identifier", tr_later("Quasi-identifier")),
    ("sensitive", tr_later("Sensitive")),
    (None, tr_later("No Role")),
)


class AttributeTable(SettingsTable):
    """One row per attribute.

    Signals:
        filled: an entry that :meth:`edit_fact` began was ended by Return: the person goes on.
    """

    filled = Signal()

    def __init__(self, session: Session) -> None:
        self._filling = False
        self.attributes = AttributeModel(session)
        accessible = tr("Attributes: role, kind and public facts of each")
        super().__init__(session, self.attributes, "attribute_table", accessible, private=True)  # missing values
        self.verticalHeader().setDefaultSectionSize(ROW - 4)
        self.setMouseTracking(True)
        self.setItemDelegateForColumn(BARS, HistogramDelegate(session, self.attributes, self))
        self._spans: list[bool] = []
        self.attributes.modelReset.connect(self._span)
        session.plan_changed.connect(self._span)
        self._actions()

    # -- what can be done with the selected columns -------------------------------------------------------------------

    def _actions(self) -> None:
        """Make what the context menu offers; the keys of some work without it."""
        tip = tr("Leave the selected columns out, or release them again")
        self._drop = self.add_action("drop", tr(NOT_RELEASED), self.toggle_drop, tip)
        self.customContextMenuRequested.connect(self._word_drop)
        for role, words in ROLE_TITLES:
            name = f"role_{(role or 'none').replace('-', '_')}"
            self.add_action(name, tr(words), partial(self._take_role, role), tr("The role of the selected columns"))
        self.add_action("target", tr("Use as Target"), self._take_target, tr("The column that models predict"))

    def _word_drop(self) -> None:
        current = self.currentIndex()
        gone = current.isValid() and self.attributes.column_at(current.row()).action == "drop"
        self._drop.setText(tr(RELEASED) if gone else tr(NOT_RELEASED))

    def _selected(self) -> tuple[DraftColumn, ...]:
        current = self.currentIndex()
        return self.attributes.edited_with(current.row()) if current.isValid() else ()

    def toggle_drop(self) -> None:
        """Leave the selected columns out, or protect them again where the current one is left out already."""
        columns = self._selected()
        if not columns:
            return
        session = self.attributes.session
        back = self.attributes.column_at(self.currentIndex().row()).action == "drop"
        fitting = [c for c in columns if (c.action == "drop") == back]
        made = {
            c.name: protect_changes(c, self.attributes.kind_of(c.name)) if back else {"action": "drop"} for c in fitting
        }
        named = of_all(fitting)
        words = tr("protect {columns}", columns=named) if back else tr("drop {columns}", columns=named)
        session.edit(words, session.plan.with_columns(made))

    def _take_role(self, role: str | None) -> None:
        session, columns = self.attributes.session, self._selected()
        if columns:
            session.edit(*role_edit(session.plan, columns, role, self.attributes.kind_of))

    def _take_target(self) -> None:
        session, current = self.attributes.session, self.currentIndex()
        if current.isValid():
            column = self.attributes.column_at(current.row())
            if column.role == "target":
                session.set_target(None)
            else:
                session.edit(*role_edit(session.plan, (column,), "target", self.attributes.kind_of))

    def paste_block(self, rows: Sequence[int], column: int, block: Sequence[Sequence[str]]) -> str:
        """Take a block over the facts of the columns, of which none lies beyond the upper bound."""
        words = tr("paste {rows} of facts", rows=count(len(block), "row"))
        with self.attributes.one_step(words):
            paste_cells(self.attributes, rows, column, block, UPPER + 1)
        return words

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Show what is released first: it may have been chosen on another page."""
        super().showEvent(event)
        if self.horizontalHeader().sortIndicatorSection() < 0:
            self._sort(-1, Qt.SortOrder.AscendingOrder)

    def retranslate(self) -> None:
        self.attributes.refresh()

    # -- what is still to be declared ---------------------------------------------------------------------------------

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
            self._filling = True

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:  # noqa: N802
        """Report an entry that ended by Return; one that ended by Esc, Tab or a click is followed by none."""
        by_return = self._filling and hint == QAbstractItemDelegate.EndEditHint.SubmitModelCache
        self._filling = False
        super().closeEditor(editor, hint)
        if by_return and not self._is_open(self.currentIndex()):  # else it was refused
            QTimer.singleShot(0, self.filled.emit)

    def _is_open(self, index: QModelIndex) -> bool:
        column = self.attributes.column_at(index.row())
        # What a missing value means is open too, and is chosen below the table.
        return self.next_open() == index and any(fact in column.needs for fact in column.unfilled)

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
