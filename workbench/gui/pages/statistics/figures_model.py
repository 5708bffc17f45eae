"""One row for each protected column: which figures of it are asked for, and what to expect of each."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal
from PySide6.QtGui import QColor

from workbench.gui.pages.statistics.tasks import Checked, Expected
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.session import Session
from workbench.gui.widgets.cell_delegates import Index
from workbench.gui.widgets.settings_table import ALONE
from workbench.params import ParameterError
from workbench.statistics.asked import Statistic

TITLES = ("Column", "Histogram", "Bins", "Mean", "Quantiles", "Sum", "Most frequent")
NAME, HISTOGRAM, BINS, MEAN, QUANTILES, SUM, MODE = range(7)
STATISTICS = {HISTOGRAM: "histogram", MEAN: "mean", QUANTILES: "quantiles", SUM: "sum", MODE: "mode"}
HELP = (
    "A column that the plan protects",
    "How many rows are in each bin; of numbers also which share of all rows is below each bin's end",
    "Into how many bins a range of numbers is cut; auto: every value by itself where there are few, else 20 bins",
    "The mean of the values",
    "The values that 25 %, 50 % and 75 % of the rows do not pass",
    "The sum of the values",
    "The most frequent value, without its count. It is right 95 % of the time if it leads by at least the rows shown",
)
NOT_FOR = "Not for such values"
MAKES_GROUPS = "This column makes the groups"
AUTO = "auto"
NOWHERE = QModelIndex()
SHOWN = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
TICKABLE, EDITABLE = SHOWN | Qt.ItemFlag.ItemIsUserCheckable, SHOWN | Qt.ItemFlag.ItemIsEditable
"""Made once: where every row is selected, Qt asks for the flags of every cell each time it paints."""

RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def fits(column: DraftColumn, at: int) -> bool:
    """Whether a figure (or bins of one's own) can be asked for of a column."""
    if at in (MEAN, SUM):
        return column.kind in ("integer", "real")
    if at == MODE:
        return not column.numeric
    return column.numeric if at in (QUANTILES, BINS) else at == HISTOGRAM


class FiguresModel(QAbstractTableModel):
    """The protected columns with their ticks; what is ticked follows the usual request until it is changed.

    Signals:
        changed: something else is asked for.
        refused: (sentence) why the last edit was not taken; empty after one that was.
    """

    changed = Signal()
    refused = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.chosen = ALONE
        self._columns: tuple[DraftColumn, ...] = ()
        self._ticks: dict[str, set[int]] = {}
        self._bins: dict[str, int] = {}
        self._by: tuple[str, ...] = ()
        self._checked: Checked | None = None
        session.theme_changed.connect(self.refresh)

    # -- what is asked for ----------------------------------------------------------------------------------------

    def start_over(self) -> None:
        """Statistic for what is usual of another table."""
        self._ticks.clear()
        self._bins.clear()
        self._by = ()
        self.follow()

    def follow(self) -> None:
        """Show the columns that the plan protects now; one of another kind than before begins as is usual."""
        former = {column.name: column.kind for column in self._columns}
        columns = self._session.plan.protected
        if [c.name for c in columns] != [c.name for c in self._columns]:
            self.beginResetModel()
            self._columns = columns
            self.endResetModel()
        else:
            self._columns = columns
        for column in columns:
            if column.name not in self._ticks or former.get(column.name) != column.kind:
                self._ticks[column.name] = _usual(column)
                self._bins.pop(column.name, None)
        self.refresh()

    def tick_all(self, *, usual: bool) -> None:
        """Tick what is usual of every column, or nothing."""
        for column in self._columns:
            self._ticks[column.name] = _usual(column) if usual else set()
        self._bins.clear()
        self._edited()

    def group_by(self, names: tuple[str, ...]) -> None:
        """Statistic for every figure of each group that these columns make."""
        self._by = names
        self._checked = None
        self.refresh()

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns that make the groups."""
        return self._by

    def wanted(self) -> tuple[Statistic, ...]:
        """Return what is asked for, in the order of the columns."""
        by = self._by or None
        return tuple(
            Statistic(
                statistic=STATISTICS[at],
                column=column.name,
                bins=self._bins.get(column.name) if at == HISTOGRAM else None,
                by=by,
            )
            for column in self._columns
            for at in sorted(self._ticks[column.name])
            if self.can(column, at)
        )

    def can(self, column: DraftColumn, at: int) -> bool:
        """Whether a figure can be asked for of a column now."""
        return column.name not in self._by and fits(column, at)

    def show_checked(self, checked: Checked | None) -> None:
        """Show what to expect, or that it is not known yet."""
        self._checked = checked
        self.refresh()

    def refresh(self) -> None:
        """Tell the view that any cell may differ."""
        if self._columns:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._columns) - 1, len(TITLES) - 1))

    # -- what the table asks --------------------------------------------------------------------------------------

    def name_at(self, at: int) -> str:
        """Return the name of one column."""
        return self._columns[at].name

    def needs_at(self, at: int) -> bool:
        """Return that no column needs the person."""
        return False

    def sort_key(self, at: int, column: int) -> Any:
        """Return what a column is sorted by under a heading: ticked ones come first."""
        drawn = self._columns[at]
        if column == NAME:
            return drawn.name.casefold()
        return self._bins.get(drawn.name) if column == BINS else not self._ticked(drawn, column)

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns of the plan."""
        return 0 if parent.isValid() else len(self._columns)

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of headings."""
        return 0 if parent.isValid() else len(TITLES)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a heading and what it means."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return HELP[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section == BINS else Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return whether a cell can be edited or ticked."""
        column, at = self._columns[index.row()], index.column()
        if at == NAME or not self.can(column, at):
            return SHOWN
        if at != BINS:
            return TICKABLE
        return EDITABLE if HISTOGRAM in self._ticks[column.name] else SHOWN

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        column, at = self._columns[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(column, at)
            case Qt.ItemDataRole.EditRole if at == BINS:
                return str(self._bins.get(column.name, ""))
            case Qt.ItemDataRole.CheckStateRole if at in STATISTICS and self.can(column, at):
                return Qt.CheckState.Checked if self._ticked(column, at) else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.ForegroundRole:
                return self._ink(column, at)
            case Qt.ItemDataRole.TextAlignmentRole if at == BINS:
                return RIGHT
            case Qt.ItemDataRole.ToolTipRole:
                return self._tip(column, at)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802 - Qt's name
        """Tick figures or set bins, of all selected columns that can have them; or say why not."""
        at, columns = index.column(), [self._columns[row] for row in self.chosen(index.row())]
        columns = [column for column in columns if self.can(column, at)]
        if role == Qt.ItemDataRole.CheckStateRole and at in STATISTICS:
            on = Qt.CheckState(value) == Qt.CheckState.Checked
            for column in columns:
                (self._ticks[column.name].add if on else self._ticks[column.name].discard)(at)
        elif role == Qt.ItemDataRole.EditRole and at == BINS:
            try:
                bins = _bins(str(value), columns[0].name)
            except ParameterError as error:
                self.refused.emit(str(error))
                return False
            for column in columns:
                self._bins.pop(column.name, None)
                if bins is not None:
                    self._bins[column.name] = bins
        else:
            return False
        self.refused.emit("")
        self._edited()
        return True

    # -- words ----------------------------------------------------------------------------------------------------

    def _edited(self) -> None:
        self._checked = None
        self.refresh()
        self.changed.emit()

    def _ticked(self, column: DraftColumn, at: int) -> bool:
        return at in self._ticks[column.name] and self.can(column, at)

    def _expected(self, column: DraftColumn, at: int) -> Expected | None:
        if self._checked is None or at not in STATISTICS or not self._ticked(column, at):
            return None
        return self._checked.expected.get((STATISTICS[at], column.name))

    def _text(self, column: DraftColumn, at: int) -> str:
        if at == NAME:
            return column.name
        if at == BINS:
            shown = self._ticked(column, HISTOGRAM) and self.can(column, at)
            return str(self._bins.get(column.name, AUTO)) if shown else ""
        found = self._expected(column, at)
        if found is not None:
            return found.words + (" ⚠" if found.noisy else "")
        return "…" if self._ticked(column, at) else ""

    def _ink(self, column: DraftColumn, at: int) -> QColor | None:
        theme, found = self._session.theme, self._expected(column, at)
        if found is not None and found.noisy:
            return QColor(theme.warn)
        return QColor(theme.muted) if at == BINS and column.name not in self._bins else None

    def _tip(self, column: DraftColumn, at: int) -> str:
        if at == NAME:
            return column.name
        if column.name in self._by:
            return MAKES_GROUPS
        found = self._expected(column, at)
        return found.stated if found is not None else HELP[at] if fits(column, at) else NOT_FOR


def _usual(column: DraftColumn) -> set[int]:
    """Return what is asked for where nobody chose, as the command does: a histogram, and the mean of a number."""
    return {HISTOGRAM, MEAN} if fits(column, MEAN) else {HISTOGRAM}


def _bins(text: str, name: str) -> int | None:
    from workbench.statistics.asked import Statistic

    if text.strip().casefold() in ("", AUTO):
        return None
    found = Statistic.declared()["bins"].parse(text.strip(), f"bins of {name}")
    assert found is None or isinstance(found, int)
    return found
