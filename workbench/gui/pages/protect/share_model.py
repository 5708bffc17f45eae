"""One row per attribute: what is done with it, by which mechanism, for which share of ε, and how far off it will be."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal
from PySide6.QtGui import QColor

from workbench.gui.pages.protect.share_edits import fits, split, with_action, with_lock, with_share
from workbench.gui.pages.protect.tasks import Outlook
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA, of_all
from workbench.gui.session.session import Session
from workbench.gui.widgets.cell_delegates import Index
from workbench.gui.widgets.explain import Asked, of_one_row
from workbench.gui.widgets.formatting import at_most, count, entered, listed
from workbench.gui.widgets.settings_table import ALONE
from workbench.params import ParameterError

TITLES = ("Attribute", "Action", "Mechanism", "Share of ε", "Lock", "Expected error")
NAME, ACTION, MECHANISM, SHARE, LOCK, ERROR = range(6)
HELP = (
    "The column of the table",
    "protect: each value through a mechanism. drop: the column is left out. keep: published as it is",
    "How a value is made uncertain; ★ is the advisor's choice, the best for what the column is for",
    "What the column takes of the plan's ε; a share that is typed is locked",
    "A locked share stays when others are moved; the free ones share what is left",
    "How far a released value is off on average, if every value is equally likely; for means and counts, ±: in 95 of "
    "100 releases the figure over the rows of this table is within that margin. It follows from the mechanism alone",
)
ACTIONS = ("protect", "drop", "keep")
AUTO = "auto"
NOTHING = "–"
NOWHERE = QModelIndex()
KEPT = "Published as it is: no ε covers it, and the certificate will say so. Protect or drop it, if you can."
USELESS = "Mostly noise: writing the same value in every row would be about as close, at no privacy cost."
NOISE = "Even over all rows a mean or a count would be mostly noise."
BARE = "Nearly every value leaves as it is: the mechanism hides almost nothing at this share."
TARGET_NEEDS = "The target starts with more than the others: a model needs its classes most. Split evenly undoes that"
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class ShareModel(QAbstractTableModel):
    """The draft's columns with their shares and outlooks; every edit is a step that can be undone.

    Signals:
        refused: (sentence) why the last edit was not taken; empty after one that was.
    """

    refused = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._outlooks: dict[str, Outlook] = {}
        self._split: dict[str, Decimal] = {}
        self.problem = ""
        self.chosen = ALONE
        self._rows = 0
        session.theme_changed.connect(self.refresh)
        self.follow_plan()

    # -- what the rows are ----------------------------------------------------------------------------------------

    def column_at(self, at: int) -> DraftColumn:
        """Return the draft of one attribute."""
        return self._session.plan.columns[at]

    def name_at(self, at: int) -> str:
        """Return the name of one attribute."""
        return self.column_at(at).name

    def needs_at(self, at: int) -> bool:
        """Whether an attribute is open or wrong, kept, read off the rows, mostly noise, faded or hardly hidden."""
        column, outlook = self.column_at(at), self.outlook_at(at)
        taken = column.protected and column.bounds_origin == "data"
        warned = outlook is not None and (outlook.useless or outlook.bare or outlook.faded)
        return bool(column.problems()) or column.action == "keep" or taken or warned

    def sort_key(self, at: int, column: int) -> Any:
        """Return what an attribute is sorted by under a heading; errors by their part of that of a constant answer."""
        drawn, outlook = self.column_at(at), self.outlook_at(at)
        if column == NAME:
            return drawn.name.casefold()
        if column == ACTION:
            return drawn.action
        if column == SHARE:
            return self._split.get(drawn.name)
        if column == LOCK:
            return drawn.epsilon is None if drawn.protected else None
        if outlook is None:
            return None
        return outlook.used.title.casefold() if column == MECHANISM else outlook.noise

    def edited_with(self, at: int) -> tuple[DraftColumn, ...]:
        """Return the columns that an edit in a row is for: all that are selected, where the row is one of them."""
        return tuple(map(self.column_at, self.chosen(at)))

    def shares(self) -> dict[str, Decimal]:
        """Return the shares as they stand; empty where the locked ones do not fit into ε."""
        return self._split

    def asked_at(self, at: int) -> Asked | None:
        """Return the share of an attribute as a question about what it means, ``None`` where it has none."""
        name = self.column_at(at).name if 0 <= at < self.rowCount() else ""
        return of_one_row(self._session, self._split[name], name) if name in self._split else None

    def outlook_at(self, at: int) -> Outlook | None:
        """Return the newest outlook of an attribute; :meth:`current` tells whether it is up to date."""
        column = self.column_at(at)
        return self._outlooks.get(column.name) if column.protected and not column.problems() else None

    def current(self, at: int) -> bool:
        """Whether the outlook of an attribute is about its present share and mechanism."""
        outlook, column = self.outlook_at(at), self.column_at(at)
        return outlook is not None and outlook.column == column and outlook.share == self._split.get(column.name)

    def outdated(self) -> tuple[tuple[DraftColumn, Decimal], ...]:
        """Return the columns, each with its share, whose outlook is to be computed: of hundreds an edit touches few."""
        return tuple(
            (column, self._split[column.name])
            for at, column in enumerate(self._session.plan.columns)
            if column.name in self._split and not column.problems() and not self.current(at)
        )

    def choices_at(self, at: int) -> tuple[tuple[str, str], ...]:
        """Return (words, name in a plan) of every mechanism that can be chosen for an attribute."""
        outlook, column = self.outlook_at(at), self.column_at(at)
        if outlook is None:
            return ((AUTO, AUTO),) if column.mechanism == AUTO else ((AUTO, AUTO), (column.mechanism,) * 2)
        made = [(f"advisor's choice ★  {outlook.relevant(outlook.candidates[0])}", AUTO)]
        made += [(f"{c.title}  {outlook.relevant(c)}", c.name) for c in outlook.candidates]
        return tuple(made)

    def follow_plan(self) -> None:
        """Take the plan as it is now."""
        plan = self._session.plan
        try:
            self._split, self.problem = split(plan), ""
        except ParameterError as error:
            self._split, self.problem = {}, str(error)
        if len(plan.columns) != self._rows:
            self.beginResetModel()
            self._rows = len(plan.columns)
            self.endResetModel()
        self.refresh()

    def forget(self) -> None:
        """Forget the outlooks: they belong to another table, which :meth:`follow_plan` then shows."""
        self._outlooks.clear()

    def take_outlooks(self, outlooks: tuple[Outlook, ...]) -> None:
        """Show what a job has computed."""
        self._outlooks |= {o.column.name: o for o in outlooks}
        self.refresh()

    def useless(self) -> list[Outlook]:
        """Return the outlooks of the columns that are mostly noise at their share."""
        shown = [self.outlook_at(at) for at in range(self._rows)]
        return [outlook for outlook in shown if outlook is not None and outlook.useless]

    def refresh(self) -> None:
        """Tell the view that any cell may differ."""
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(self._rows - 1, len(TITLES) - 1))

    # -- Qt's interface -------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of attributes."""
        return 0 if parent.isValid() else self._rows

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
            left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            return RIGHT if section in (SHARE, ERROR) else left
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return whether a cell can be edited or ticked."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        protected = self.column_at(index.row()).protected
        if index.column() == LOCK and protected:
            return flags | Qt.ItemFlag.ItemIsUserCheckable
        editable = index.column() == ACTION or (protected and index.column() in (MECHANISM, SHARE))
        return flags | Qt.ItemFlag.ItemIsEditable if editable else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        column = self.column_at(index.row())
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(index, column)
        if role == Qt.ItemDataRole.EditRole:
            return self._value(index, column)
        if role == Qt.ItemDataRole.CheckStateRole and index.column() == LOCK and column.protected:
            return Qt.CheckState.Unchecked if column.epsilon is None else Qt.CheckState.Checked
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._ink(index, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in (SHARE, ERROR):
            return RIGHT
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(index, column)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802 - Qt's name
        """Take an edit, or say why not."""
        try:
            if role == Qt.ItemDataRole.CheckStateRole and index.column() == LOCK:
                self._lock(index.row(), Qt.CheckState(value) == Qt.CheckState.Checked)
            elif role == Qt.ItemDataRole.EditRole:
                self._edit(index, str(value))
            else:
                return False
        except ParameterError as error:
            self.refused.emit(str(error))
            return False
        self.refused.emit("")
        return True

    # -- edits ----------------------------------------------------------------------------------------------------

    def _lock(self, at: int, locked: bool) -> None:
        columns = [c for c in self.edited_with(at) if c.protected and (c.epsilon is not None) != locked]
        plan = self._session.plan
        for column in columns:
            plan = with_lock(plan, column.name, locked)
        self._session.edit(f"{'lock' if locked else 'free'} the share of {of_all(columns)}", plan)

    def _edit(self, index: Index, text: str) -> None:
        session, columns = self._session, self.edited_with(index.row())
        if index.column() == ACTION:
            profiles = session.opened.profiles if session.opened else {}
            kinds = {name: profile.kind for name, profile in profiles.items()}
            session.edit(f"{text} {of_all(columns)}", with_action(session.plan, columns, text, kinds))
        elif index.column() == MECHANISM:
            chosen = next((name for words, name in self.choices_at(index.row()) if words == text), None)
            if chosen is not None:
                self._choose(columns, chosen)
        elif index.column() == SHARE:
            columns = tuple(c for c in columns if c.protected)
            share, plan = _number(text, columns[0].name), session.plan
            for column in columns:
                plan = with_share(plan, column.name, share, lock=True)
            session.edit(f"give {of_all(columns)} {entered(share)} of ε", plan)

    def _choose(self, columns: Sequence[DraftColumn], mechanism: str) -> None:
        fitting = [c for c in columns if c.protected and fits(c, mechanism)]
        made = self._session.plan.with_columns({c.name: {"mechanism": mechanism} for c in fitting})
        self._session.edit(f"choose the mechanism of {of_all(fitting)}", made)
        others = [c.name for c in columns if c.protected and c not in fitting]
        if others:
            self._session.notify(
                "info", f"Chosen for {count(len(fitting), 'column')}; it does not fit {listed(others)}."
            )

    # -- words ----------------------------------------------------------------------------------------------------

    def _text(self, index: Index, column: DraftColumn) -> str:
        kind = index.column()
        if kind == NAME:
            return column.name + ("  ⚠" if column.protected and column.bounds_origin == "data" else "")
        if kind == ACTION:
            return "keep ⚠" if column.action == "keep" else column.action
        if not column.protected:
            if column.action == "keep":
                return {MECHANISM: "published as it is", SHARE: NOTHING, ERROR: "not protected"}.get(kind, "")
            return {MECHANISM: NOTHING, SHARE: NOTHING, ERROR: NOTHING}.get(kind, "")
        if kind == SHARE:
            share = self._split.get(column.name, column.epsilon)
            return at_most(share) if share is not None else NOTHING
        if kind == LOCK:
            return "locked" if column.epsilon is not None else ""
        outlook = self.outlook_at(index.row())
        if column.problems():
            return "not declared yet" if kind == ERROR else NOTHING
        if outlook is None:
            return "…"
        if kind == MECHANISM:
            return outlook.used.title + ("  ★" if outlook.advised else "")
        return outlook.relevant(outlook.used) + (" ⚠" if outlook.useless or outlook.bare or outlook.faded else "")

    def _value(self, index: Index, column: DraftColumn) -> str:
        if index.column() == ACTION:
            return column.action
        if index.column() == MECHANISM:
            return next((words for words, name in self.choices_at(index.row()) if name == column.mechanism), "")
        share = self._split.get(column.name, column.epsilon)
        return entered(Decimal(f"{share:.6g}")) if index.column() == SHARE and share is not None else ""

    def _ink(self, index: Index, column: DraftColumn) -> QColor | None:
        theme, outlook = self._session.theme, self.outlook_at(index.row())
        if column.action == "keep" and index.column() in (ACTION, ERROR):
            return QColor(theme.warn)
        if not column.protected or (index.column() == LOCK):
            return QColor(theme.muted)
        if index.column() == NAME and column.bounds_origin == "data":
            return QColor(theme.warn)
        if index.column() == ERROR and (
            column.problems() or (outlook is not None and (outlook.useless or outlook.bare or outlook.faded))
        ):
            return QColor(theme.warn)
        if index.column() == ERROR and not self.current(index.row()):
            return QColor(theme.muted)
        return None

    def _tip(self, index: Index, column: DraftColumn) -> str:
        outlook = self.outlook_at(index.row())
        if column.action == "keep":
            return KEPT
        if index.column() == NAME and column.bounds_origin == "data" and column.protected:
            return FROM_DATA
        if index.column() == ERROR and outlook is not None and outlook.useless:
            return NOISE if outlook.for_statistics else USELESS
        if index.column() == ERROR and outlook is not None and outlook.bare:
            return BARE
        if index.column() == ERROR and outlook is not None and outlook.faded:
            return outlook.faded_words
        if index.column() == SHARE and column.name in self._split:
            more = f". {TARGET_NEEDS}" if column.role == "target" and column.weight > 1 else ""
            return f"{entered(self._split[column.name])} exactly{more}"
        return column.name if index.column() == NAME else HELP[index.column()]


def _number(text: str, name: str) -> Decimal:
    try:
        share = Decimal(text.strip())
    except InvalidOperation:
        share = Decimal("NaN")
    if not share.is_finite() or len(share.normalize().as_tuple().digits) > 15:
        raise ParameterError(f"{text.strip()!r} is not a share", f"column {name}", "write a number such as 0.3")
    return share
