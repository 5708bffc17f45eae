"""One table model: each column is declared as data, each cell is one value that answers all that Qt asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QPixmap

from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.error_text import in_the_window
from workbench.gui.session.session import Session
from workbench.gui.session.undo import PlanEdit
from workbench.gui.style.language import again, tr
from workbench.params import ParameterError

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
Roles = Qt.ItemDataRole

EXACT = Roles.UserRole  # the role of what is copied: a figure is shown rounded and copied with all digits

ALONE: Callable[[int], Sequence[int]] = lambda at: (at,)  # noqa: E731 - a value, which a view replaces
"""Which rows are edited with one, where there is no view with a selection."""

KEPT = 8192  # cells that are kept: more than a large screen shows

SHOWN = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
TICKABLE, EDITABLE = SHOWN | Qt.ItemFlag.ItemIsUserCheckable, SHOWN | Qt.ItemFlag.ItemIsEditable
"""Made once: where every row is selected, Qt asks for the flags of every cell each time it paints."""

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class Cell(NamedTuple):
    """What is in a cell."""

    text: str = ""  # what is shown
    look: str = ""  # the colour it is shown in, a name of the theme's or a colour; empty for the table's own
    tip: str = ""  # its tool tip; empty for that of the column
    exact: str = ""  # what is copied where it is more than what is shown
    key: Any = None  # what it is sorted by; `None` goes last
    value: str | None = None  # the text an editor begins with; `None` where the cell cannot be edited
    ticked: bool | None = None  # whether it is ticked; `None` where it has no box
    right: bool | None = None  # whether it is on the right; `None` for the side of its column
    picture: QPixmap | None = None  # what is drawn before the text
    spoken: str = ""  # what a screen reader says, where that is not the text


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str  # its heading
    # Returns the cell in a row; `None` where the model is given lines of cells.
    cell: Callable[[int], Cell] | None = None
    help: str = ""  # the tool tip of the heading, and of cells that have none
    width: int = 0  # in points, in a window of 1280
    grows: float = 0.0  # its share of what a wider window adds
    right: bool = False  # whether its cells are on the right, as figures are
    whole: bool = False  # whether its texts are never shortened, as figures are not: a date, a status
    sorts: bool = True  # whether a click on the heading sorts
    # The words that its cells are edited by, or what returns those of a row; there is always room for them.
    choices: Sequence[str] | Callable[[int], Sequence[str]] = ()
    field: str = ""  # the object name of the text field that its cells are edited in
    spoken: str = ""  # what a screen reader calls that field
    called: str = ""  # what an error calls a cell, where that is not the title
    hint: str = ""  # what a field of words, on the left, shows while it is empty
    # Takes (row, text); returns `False` or raises ParameterError where it refuses.
    edit: Callable[[int, str], bool | None] | None = None
    tick: Callable[[int, bool], bool | None] | None = None  # takes (row, ticked), in the same way


def in_two_lines(title: str) -> str:
    """Return a heading broken at the space nearest to its middle, unless it has two lines already."""
    gaps = [] if "\n" in title else [at for at, letter in enumerate(title) if letter == " "]
    at = min(gaps, key=lambda at: abs(2 * at + 1 - len(title)), default=len(title))
    return f"{title[:at]}\n{title[at + 1 :]}" if gaps else title


class TableModel(QAbstractTableModel):
    """Rows under declared columns.

    Attributes:
        columns: what is in each column.
    """

    _stacked = False

    def __init__(self, session: Session, columns: Sequence[Column]) -> None:
        super().__init__()
        self.session, self.columns = session, tuple(columns)
        self._lines: Sequence[Sequence[Cell]] = ()
        self._cells: dict[tuple[int, int], Cell] = {}
        session.theme_changed.connect(self.refresh)

    # -- what a page gives --------------------------------------------------------------------------------------------

    def height(self) -> int:
        return len(self._lines)

    def whole_height(self) -> int:
        """Return the number of rows, shown or not."""
        return self.height()

    def show_lines(self, lines: Sequence[Sequence[Cell]], *, same: bool = False) -> None:
        """Show lines of cells, with the selection and the order of the former ones where these are the ``same``."""
        if same and len(lines) == len(self._lines):
            self._lines = lines
            self.refresh()
        else:
            self.beginResetModel()
            self._lines = lines
            self.endResetModel()

    def retitle(self, at: int, title: str, help_text: str) -> None:
        columns = list(self.columns)
        columns[at] = replace(columns[at], title=title, help=help_text)
        self.columns = tuple(columns)
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, at, at)

    def stack_headings(self, *, stacked: bool) -> None:
        """Write headings of several words in two lines, where those in one would take too much room."""
        if stacked != self._stacked:
            self._stacked = stacked
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)

    def beginResetModel(self) -> None:  # noqa: N802 - Qt's name
        super().beginResetModel()
        self._cells.clear()

    def endResetModel(self) -> None:  # noqa: N802 - Qt's name
        self._cells.clear()
        super().endResetModel()

    def refresh(self) -> None:
        self._cells.clear()
        if self.rowCount():
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, len(self.columns) - 1))

    def forget_cells(self) -> None:
        """Make the cells anew when they are asked for, without a word to the view."""
        self._cells.clear()

    def name_at(self, at: int) -> str:
        """Return the words that a row is found by."""
        return self.cell(at, 0).text

    def order(self) -> list[int]:
        """Return the rows in the order in which they are shown while no heading sorts them."""
        return list(range(self.height()))

    def needs_at(self, at: int) -> bool:
        """Return whether a row has an open fact, an error or a warning."""
        return False

    def sort_key(self, at: int, column: int) -> Any:
        """Return what a row is sorted by under a heading; ``None`` goes last."""
        return self.cell(at, column).key

    def cell(self, at: int, column: int) -> Cell:
        """Return a cell, made once until something changes."""
        cell = self._cells.get((at, column))
        if cell is None:
            made = self.columns[column].cell
            cell = made(at) if made is not None else self._lines[at][column]
            if len(self._cells) >= KEPT:
                self._cells.clear()
            self._cells[at, column] = cell
        return cell

    # -- Qt's interface -----------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        return 0 if parent.isValid() else self.height()

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Roles.DisplayRole) -> Any:  # noqa: N802
        if orientation == Qt.Orientation.Horizontal:
            column = self.columns[section]
            match role:
                case Roles.DisplayRole:
                    return in_two_lines(again(column.title)) if self._stacked else again(column.title)
                case Roles.ToolTipRole:
                    return again(column.help) or None
                case Roles.TextAlignmentRole:
                    return RIGHT if column.right else LEFT
        return None

    def data(self, index: Index, role: int = Roles.DisplayRole) -> Any:
        cell, column = self.cell(index.row(), index.column()), self.columns[index.column()]
        match role:
            case Roles.DisplayRole:
                return cell.text
            case Roles.EditRole:
                return cell.value or ""
            case Roles.UserRole:
                return cell.exact or cell.text
            case Roles.ToolTipRole:
                return cell.tip or again(column.help) or None
            case Roles.ForegroundRole if cell.look:
                return QColor(getattr(self.session.theme, cell.look, cell.look))
            case Roles.TextAlignmentRole:
                return RIGHT if (column.right if cell.right is None else cell.right) else LEFT
            case Roles.CheckStateRole if cell.ticked is not None:
                return Qt.CheckState.Checked if cell.ticked else Qt.CheckState.Unchecked
            case Roles.DecorationRole:
                return cell.picture
            case Roles.AccessibleTextRole:
                return cell.spoken or None
        return None


class EditedModel(TableModel):
    """Rows whose cells are edited, of several rows at once.

    What is only read has the flags of Qt: where every row is selected, it asks for those of every cell.
    """

    refused = Signal(str)  # (sentence) why the last edit was not taken; empty after one that was

    def __init__(self, session: Session, columns: Sequence[Column]) -> None:
        super().__init__(session, columns)
        self.chosen = ALONE  # which rows are edited with one

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        cell = self.cell(index.row(), index.column())
        if cell.ticked is not None:
            return TICKABLE
        return EDITABLE if cell.value is not None else SHOWN

    def state(self) -> Any:
        """Return what is edited where that is no part of the plan, which has steps of its own."""
        return None

    def restore(self, state: Any) -> None:
        """Take back what :meth:`state` returned."""

    def keep_step(self, words: str, before: Any) -> None:
        """Make what differs from ``before`` a step that can be undone."""
        after = self.state()
        if after != before:
            self.session.undo_stack.push(PlanEdit(words, before, after, self.restore))

    @contextmanager
    def one_step(self, words: str) -> Iterator[None]:
        """Take all edits of a block, each of its own row, as one step; where one is refused, none of them."""
        chosen, before = self.chosen, self.state()
        self.chosen = ALONE
        try:
            with self.session.one_step(words):
                yield
        except ParameterError:
            self.restore(before)
            raise
        finally:
            self.chosen = chosen
            self.refresh()
        self.keep_step(words, before)

    def refuse(self, at: int, place: int, text: str, error: ParameterError) -> None:
        self.refused.emit(in_the_window(error))

    def setData(self, index: Index, value: Any, role: int = Roles.EditRole) -> bool:  # noqa: N802 - Qt's name
        at, column = index.row(), self.columns[index.column()]
        flags, before = self.flags(index), self.state()
        try:
            if role == Roles.CheckStateRole and column.tick and flags == TICKABLE:
                taken = column.tick(at, Qt.CheckState(value) == Qt.CheckState.Checked)
            elif role == Roles.EditRole and column.edit and flags == EDITABLE:
                taken = column.edit(at, str(value))
            else:
                return False
        except ParameterError as error:
            self.refuse(at, index.column(), str(value), error)
            return False
        if taken is False:
            return False
        self.keep_step(tr("change {title}", title=again(column.title).lower()), before)
        self.refused.emit("")
        return True


class PlanModel(EditedModel):
    """One row for each column of the plan; every edit is a step that can be undone."""

    def __init__(self, session: Session, columns: Sequence[Column]) -> None:
        super().__init__(session, columns)
        session.table_changed.connect(self.start_over)

    def height(self) -> int:
        return len(self.session.plan.columns) if self.session.opened is not None else 0

    def start_over(self) -> None:
        """Show another table: nothing of the former one stays."""
        self.beginResetModel()
        self.endResetModel()

    def column_at(self, at: int) -> DraftColumn:
        return self.session.plan.columns[at]

    def name_at(self, at: int) -> str:
        return self.column_at(at).name

    def edited_with(self, at: int) -> tuple[DraftColumn, ...]:
        """Return the columns that an edit in a row is for: all that are selected, where the row is one of them."""
        return tuple(map(self.column_at, self.chosen(at)))
