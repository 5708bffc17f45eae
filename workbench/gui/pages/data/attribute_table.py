"""The attribute table: a spreadsheet to be filled by keys; Tab goes to the next fact, choices open on a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractItemDelegate, QAbstractItemView, QWidget

from workbench.data.schema import KINDS, ROLES
from workbench.gui.pages.data.attribute_edits import Edit, role_edit
from workbench.gui.pages.data.attribute_model import BARS, KIND, LOWER, NAME, NO_ROLE, ROLE, UPPER, AttributeModel
from workbench.gui.pages.data.facts import changes, kind_changes, read, role_changes
from workbench.gui.pages.data.histogram import HistogramDelegate
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import of_all, protect_changes
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import EDITABLE
from workbench.params import ParameterError
from workbench.params.field import did_you_mean

PLACES = (NAME, ROLE, KIND, LOWER, UPPER)
TITLES = {
    NAME: tr_later("attribute"),
    ROLE: tr_later("role"),
    KIND: tr_later("kind"),
    LOWER: tr_later("lower bound or values"),
    UPPER: tr_later("upper bound"),
}


def pasted(
    plan: DraftPlan,
    names: Sequence[str],
    place: int,
    block: Sequence[Sequence[str]],
    kind_of: Callable[[str], str],
    decimal: str = ".",
) -> Edit:
    """Return the plan with a block of cells over its columns; an empty cell changes nothing.

    Args:
        plan: the plan.
        names: the columns that the rows of the block are for, from the current one down; a block of one row is for
            all of them. Where the block begins with names, these say which column each row is for.
        place: the column of the table in which the block begins.
        block: its cells.
        kind_of: the kind that a column seems to have, by its name.
        decimal: the decimal mark of the file.

    Raises:
        ParameterError: a cell is refused; row and column are named.
    """
    width = max(map(len, block), default=0)
    if not width:
        raise ParameterError(tr("the clipboard holds no cells"), hint=tr("copy a block of cells first"))
    if place not in PLACES or place + width > len(PLACES):
        what = tr("the block is {width} wide, which do not fit from here on", width=count(width, "column"))
        raise ParameterError(what, hint=tr("start further left"))
    if place == NAME:
        targets = [cells[0] for cells in block]
    else:
        targets = list(names) if len(block) == 1 else list(names[: len(block)])
    rows = list(block) * len(targets) if len(block) == 1 and place != NAME else list(block)
    if len(rows) > len(targets):
        what = tr(
            "the block has {rows}, and there are {targets} from here on",
            rows=count(len(rows), "row"),
            targets=count(len(targets), "column"),
        )
        raise ParameterError(what, hint=tr("start further up"))
    drafts: Mapping[str, DraftColumn] = {c.name: c for c in plan.columns}
    for at, (name, cells) in enumerate(zip(targets, rows, strict=True), start=1):
        if name not in drafts:
            raise ParameterError(
                tr(
                    "row {row}: the table has no column {name}{did_you_mean}",
                    row=at,
                    name=repr(name),
                    did_you_mean=tr_sentence(did_you_mean(name, drafts)),
                )
            )
        for step, text in enumerate(cells):
            where = place + step
            if where == NAME or not text:
                continue
            try:
                made = _taken(plan.column(name), where, text, kind_of, decimal)
            except ParameterError as error:
                what = tr(
                    "row {row} ({name}), {fact}: {problem}",
                    row=at,
                    name=name,
                    fact=tr(TITLES[where]),
                    problem=tr_sentence(error.what),
                )
                raise ParameterError(what, hint=error.remedies) from None
            if made.get("role") == "target":
                plan = plan.with_target(None)
            plan = plan.with_columns({name: made})
    return tr("paste {rows} of facts", rows=count(len(rows), "row")), plan


def _taken(
    column: DraftColumn, place: int, text: str, kind_of: Callable[[str], str], decimal: str
) -> Mapping[str, Any]:
    if place == ROLE:
        role = None if text == NO_ROLE else _one_of(text, ROLES)
        back = protect_changes(column, kind_of(column.name)) if role == "target" and column.action == "drop" else {}
        return {**back, "role": role} if role == "target" else role_changes(column, role, kind_of(column.name))
    if not column.protected:
        raise ParameterError(
            tr("the column is not released, and needs no facts"), hint=tr("tick it among the questions")
        )
    if place == KIND:
        kind = _one_of(text, KINDS)
        return kind_changes(column, kind) if kind != column.kind else {"kind": kind}
    fact = {LOWER: "lower", UPPER: "upper"}[place] if column.numeric else "domain" if place == LOWER else ""
    if fact not in column.needs:
        raise ParameterError(
            tr("a column of kind {kind} has no such fact", kind=tr(column.kind or "")), hint=tr("leave the cell empty")
        )
    return changes(column, fact, read(column, fact, text, decimal))


def _one_of(text: str, known: Sequence[str]) -> str:
    """Return the word that ``text`` is, as the plan or as the window writes it."""
    found = next((word for word in known if text.lower() in (word, tr(word).lower())), None)
    if found is None:
        near = tr_sentence(did_you_mean(text, known))
        raise ParameterError(
            tr("{text} is not known{did_you_mean}", text=repr(text), did_you_mean=near),
            hint=tr("write {words}", words=", ".join(map(tr, known))),
        )
    return found


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
        """Take a block over the facts of the columns, each read as a fact is."""
        model, names = self.attributes, [self.attributes.name_at(row) for row in rows]
        words, plan = pasted(model.session.plan, names, column, block, model.kind_of, model.decimal)
        model.session.edit(words, plan)
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
        """Tell of an entry that ended by Return; one that ended by Esc, Tab or a click is followed by none."""
        by_return = self._filling and hint == QAbstractItemDelegate.EndEditHint.SubmitModelCache
        self._filling = False
        super().closeEditor(editor, hint)
        if by_return and self.next_open() != self.currentIndex():  # else it was refused
            QTimer.singleShot(0, self.filled.emit)

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
