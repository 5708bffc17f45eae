"""One row per attribute: role, kind, public facts, missing values, distribution; the facts are edited in place."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt
from PySide6.QtGui import QColor

from workbench.gui.pages.data.attribute_edits import fact_edit, kind_edit, role_edit
from workbench.gui.pages.data.facts import ROLE_MEANING, in_short, read, written
from workbench.gui.pages.data.hints import unsettled
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA
from workbench.gui.session.error_text import suspicion_text, without_place
from workbench.gui.session.session import Session
from workbench.gui.widgets.cell_delegates import Index
from workbench.gui.widgets.settings_table import ALONE
from workbench.params import ParameterError

if TYPE_CHECKING:
    from workbench.data.columns.profile import ColumnProfile

TITLES = ("Attribute", "Role", "Kind", "Lower bound", "Upper bound", "Missing", "Spread")
NAME, ROLE, KIND, LOWER, UPPER, MISSING, BARS = range(7)
HELP = (
    "The column of the table",
    "What the column is in a disclosure: who somebody is, what is to be hidden, or what is to be predicted",
    "What the values are",
    "Public lower bound, or the public list of values: from what everybody may know, never from the rows",
    "Public upper bound: from what everybody may know, never from the rows",
    "Rows without a value",
    "How the values are spread: private, not for release",
)
OPEN_TEXT = "not declared"
NO_ROLE = "–"
NOWHERE = QModelIndex()
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_GUESSED_IN = {ROLE: "action", KIND: "kind"}
"""Which guess is marked in which column."""

HISTOGRAM = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True)
class Refused:
    """What was typed for a fact and could not be taken.

    Attributes:
        text: what was typed.
        reason: why it is refused.
        is_current: the value of the fact meanwhile.
    """

    text: str
    reason: str
    is_current: object


class AttributeModel(QAbstractTableModel):
    """The draft's columns beside their private profile; every edit is a step that can be undone."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._wrong: dict[tuple[str, str], Refused] = {}
        self.chosen = ALONE
        session.table_changed.connect(self._reset)
        session.plan_changed.connect(self._follow_plan)
        session.theme_changed.connect(self._refresh)

    def column_at(self, at: int) -> DraftColumn:
        """Return the draft of one attribute."""
        return self._session.plan.columns[at]

    def profile_at(self, at: int) -> ColumnProfile | None:
        """Return the private profile of one attribute, ``None`` where the table has no such column."""
        name = self.column_at(at).name
        opened = self._session.opened
        return opened.profiles.get(name) if opened else None

    def name_at(self, at: int) -> str:
        """Return the name of one attribute."""
        return self.column_at(at).name

    def needs_at(self, at: int) -> bool:
        """Whether something of an attribute is open, wrong, guessed or suspected, or was read off the rows."""
        column = self.column_at(at)
        taken = column.protected and column.bounds_origin == "data"
        stated = bool(column.problems()) or bool(column.unconfirmed) or taken
        return stated or any(s.what != "missing" for s in unsettled(column, self.profile_at(at)))

    def sort_key(self, at: int, column: int) -> Any:
        """Return what an attribute is sorted by under a heading; ``None`` goes last."""
        drawn, profile = self.column_at(at), self.profile_at(at)
        if column == NAME:
            return drawn.name.casefold()
        if column in (ROLE, KIND):
            return drawn.role if column == ROLE else drawn.kind
        if column == MISSING:
            return profile.missing if profile else None
        return getattr(drawn, {LOWER: "lower", UPPER: "upper"}[column]) if drawn.protected else None

    def fact_of(self, index: Index) -> str:
        """Return the fact a cell holds; empty where it holds none."""
        column = self.column_at(index.row())
        if not column.protected:
            return ""
        if column.numeric:
            return {LOWER: "lower", UPPER: "upper"}.get(index.column(), "")
        return "domain" if index.column() == LOWER and column.kind == "category" else ""

    def problem_of(self, at: int) -> str:
        """Return the sentence about what was typed for an attribute and refused, or about its facts."""
        column = self.column_at(at)
        typed = next((why.reason for (name, _), why in self._wrong.items() if name == column.name), "")
        return typed or next((p.text for p in column.problems() if not p.open), "")

    def leave(self, left: int) -> None:
        """Forget what was refused, unless it was in the row that is ``left``: Tab refuses an entry as it goes on."""
        if left < self.rowCount():
            name = self.column_at(left).name if left >= 0 else ""
            kept = {key: why for key, why in self._wrong.items() if key[0] == name}
            if kept != self._wrong:
                self._wrong = kept
                self._refresh()

    # -- Qt's interface -------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of attributes."""
        return 0 if parent.isValid() or self._session.opened is None else len(self._session.plan.columns)

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return 0 if parent.isValid() else len(TITLES)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a title and what it means."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return HELP[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in (LOWER, UPPER, MISSING) else _LEFT
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return whether a cell can be edited."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        editable = index.column() in (ROLE, KIND) or self.fact_of(index)
        return flags | Qt.ItemFlag.ItemIsEditable if editable else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        column = self.column_at(index.row())
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(index, column)
        if role == Qt.ItemDataRole.EditRole:
            return self._value(index, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._ink(index, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if index.column() == MISSING or self.fact_of(index) in ("lower", "upper") else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(index, column)
        if role == HISTOGRAM and index.column() == BARS:
            profile = self.profile_at(index.row())
            return profile.histogram if profile else ()
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802 - Qt's name
        """Take what was entered into a cell; what is refused stays in sight with its reason."""
        if role != Qt.ItemDataRole.EditRole:
            return False
        column = self.column_at(index.row())
        columns = self.edited_with(index.row())
        plan = self._session.plan
        if index.column() == ROLE:
            wanted = None if value in ("", NO_ROLE) else str(value)
            if wanted == "target" and len(columns) > 1:
                self._session.notify("warning", "Select one target.")
                return False
            self._session.edit(*role_edit(plan, columns, wanted, self._profiled_kind))
            return True
        if index.column() == KIND:
            self._session.edit(*kind_edit(plan, columns, str(value)))
            return True
        fact = self.fact_of(index)
        return bool(fact) and self._take_fact(column, columns, fact, str(value))

    def edited_with(self, at: int) -> tuple[DraftColumn, ...]:
        """Return the columns that an edit in a row is for: all that are selected, where the row is one of them."""
        return tuple(map(self.column_at, self.chosen(at)))

    # -- within ---------------------------------------------------------------------------------------------------

    def _profiled_kind(self, name: str) -> str:
        opened = self._session.opened
        profile = opened.profiles.get(name) if opened else None
        return profile.kind if profile else "category"

    def _take_fact(self, column: DraftColumn, columns: Sequence[DraftColumn], fact: str, text: str) -> bool:
        key = (column.name, fact)
        try:
            value = read(column, fact, text, self._decimal())
        except ParameterError as error:
            self._wrong = {key: Refused(text, without_place(error), getattr(column, fact))}
            self._refresh()
            return False
        self._wrong = {}
        self._session.edit(*fact_edit(self._session.plan, column, columns, fact, value))
        self._refresh()
        return True

    def retyped(self, column: DraftColumn) -> dict[str, Any]:
        """Return the bounds that were typed for a column and refused, as far as ``column`` lets them be read now."""
        out = {}
        for (name, fact), why in self._wrong.items():
            if name == column.name:
                with contextlib.suppress(ParameterError):  # it stays refused, with its reason
                    out[fact] = read(column, fact, why.text, self._decimal())
        return out

    def _text(self, index: Index, column: DraftColumn) -> str:
        profile = self.profile_at(index.row())
        match index.column():
            case 0:
                return column.name + ("  ⚠" if unsettled(column, profile) else "")
            case 1:
                return f"{column.role or NO_ROLE}{' ?' if 'action' in column.unconfirmed else ''}"
            case 2:
                return f"{column.kind or NO_ROLE}{' ?' if 'kind' in column.unconfirmed else ''}"
            case 5:
                stated = f"{profile.missing:,}" if profile and profile.missing else NO_ROLE
                return f"{stated} ⚠" if "missing" in column.unfilled else stated
            case 6:
                return ""
        if not column.protected:
            words = {"drop": "dropped: not released", "keep": "kept as it is: not protected"}
            return words[column.action] if index.column() == LOWER else ""
        if column.kind == "boolean":
            return written(column, "domain") if index.column() == LOWER else ""
        fact = self.fact_of(index)
        if not fact:
            return ""
        if (column.name, fact) in self._wrong:
            return "✕ " + self._wrong[column.name, fact].text
        text = in_short(column, fact)
        if not text:
            return OPEN_TEXT
        # The sign stands first: the end of a long list is cut off.
        sign = "✕ " if self._contradicted(column, fact) else "⚠ (data) " if column.bounds_origin == "data" else ""
        return sign + text

    def _value(self, index: Index, column: DraftColumn) -> str:
        if index.column() == ROLE:
            return column.role or NO_ROLE
        if index.column() == KIND:
            return column.kind or ""
        fact = self.fact_of(index)
        if (column.name, fact) in self._wrong:
            return self._wrong[column.name, fact].text
        return written(column, fact) if fact else ""

    def _ink(self, index: Index, column: DraftColumn) -> QColor | None:
        theme = self._session.theme
        if column.action == "keep" and index.column() == LOWER:
            return QColor(theme.warn)
        if _GUESSED_IN.get(index.column()) in column.unconfirmed:
            return QColor(theme.warn)
        if not column.protected:
            return QColor(theme.muted)
        fact = self.fact_of(index)
        if (column.name, fact) in self._wrong or self._contradicted(column, fact):
            return QColor(theme.danger)
        if fact and (getattr(column, fact) is None or column.bounds_origin == "data"):
            return QColor(theme.warn)
        if index.column() == MISSING and "missing" in column.unfilled:
            return QColor(theme.warn)
        return QColor(theme.muted) if self._text(index, column) == NO_ROLE else None

    def _tip(self, index: Index, column: DraftColumn) -> str:
        profile = self.profile_at(index.row())
        if index.column() == NAME and profile is not None:
            return "\n".join((column.name, *(suspicion_text(s) for s in unsettled(column, profile))))
        if index.column() == ROLE:
            return ROLE_MEANING[column.role]
        fact = self.fact_of(index)
        if (column.name, fact) in self._wrong:
            return self._wrong[column.name, fact].reason
        if self._contradicted(column, fact):
            return self.problem_of(index.row())
        if fact and column.bounds_origin == "data":
            return FROM_DATA
        if index.column() == MISSING and "missing" in column.unfilled:
            return "Say below the table what happens if a value is missing: stop the release, or keep it as ‘missing’"
        return in_short(column, fact) if fact == "domain" else HELP[index.column()]

    def _contradicted(self, column: DraftColumn, fact: str) -> bool:
        return column.crossed and fact in ("lower", "upper")

    def _decimal(self) -> str:
        opened = self._session.opened
        return opened.table.dialect.decimal if opened and opened.table.dialect else "."

    def _follow_plan(self) -> None:
        """Show another plan; what was typed and refused stays in sight until its fact is something else."""
        columns = {c.name: c for c in self._session.plan.columns}
        self._wrong = {
            (name, fact): why
            for (name, fact), why in self._wrong.items()
            if name in columns and _asks(columns[name], fact) and getattr(columns[name], fact) == why.is_current
        }
        self._refresh()

    def _reset(self) -> None:
        self.beginResetModel()
        self._wrong.clear()
        self.endResetModel()

    def _refresh(self) -> None:
        if self.rowCount():
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, len(TITLES) - 1))


def _asks(column: DraftColumn, fact: str) -> bool:
    return column.protected and fact in column.needs
