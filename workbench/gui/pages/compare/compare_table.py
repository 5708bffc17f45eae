"""The table of all runs: sorted by a click on a heading, filtered by typing, its lines pinned by a tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent

from workbench.gui.pages.compare.cells import (
    DATASET,
    DELTA,
    EPSILON,
    FIGURE,
    HEADINGS,
    MODEL,
    PIN,
    PLACE,
    REPEATS,
    RIGHT,
    TIME,
    TIPS,
    WAY,
    Cell,
    cells,
    searched,
)
from workbench.gui.pages.compare.lines import Line
from workbench.gui.session.session import Session
from workbench.gui.widgets.cell_delegates import Index, InkDelegate, TickDelegate, tick
from workbench.gui.widgets.copy_rows import CopyRows
from workbench.gui.widgets.settings_table import ALONE, SettingsTable
from workbench.render.comparison_figure import free_style
from workbench.render.palette import SIGNS, STYLES
from workbench.studies.curve import MOST_REGIMES
from workbench.studies.metrics import Metric

EXACT = Qt.ItemDataRole.UserRole
NOWHERE = QModelIndex()
TOO_MANY = f"At most {MOST_REGIMES} lines can be drawn together: untick one of them first."
NOT_DRAWN = "This model cannot be drawn, because its card states no accuracy on a public test table"
WIDTHS = {
    PIN: 58,
    MODEL: 142,
    WAY: 158,
    EPSILON: 86,
    FIGURE: 148,
    REPEATS: 84,
    DATASET: 76,
    TIME: 122,
    DELTA: 62,
    PLACE: 150,
}
"""In a window of 1280 the last columns are scrolled to: a figure that is cut reads as another one."""

ROOMY = {MODEL: 0.5, WAY: 0.15, DATASET: 0.1}
"""The columns that grow when the window does; the last one takes what is left."""


class RunsModel(QAbstractTableModel):
    """All lines and which of them are pinned.

    Attributes:
        lines: the lines, in the order in which they came.
        pins: the keys of the pinned lines in the order in which they were pinned, each with the style it is drawn in.

    Signals:
        pinned: a person has pinned a line, or no longer.
        refused: (sentence) why a line cannot be pinned.
    """

    pinned = Signal()
    refused = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.chosen: Callable[[int], Sequence[int]] = ALONE
        self.lines: tuple[Line, ...] = ()
        self.pins: dict[str, str] = {}
        self._session = session
        self._cells: list[tuple[Cell, ...]] = []
        self._metric: Metric | None = None

    def show_lines(self, lines: tuple[Line, ...], metric: Metric | None, epsilon: float | None) -> None:
        """Show ``lines`` with their figures of ``metric`` at ``epsilon``; pins of lines that have gone are dropped."""
        same = [line.key for line in lines] == [line.key for line in self.lines]
        if not same:
            self.beginResetModel()
        self.lines, self._metric = lines, metric
        self._cells = [cells(line, metric, epsilon) for line in lines]
        known = {line.key for line in lines}
        self.pins = {key: style for key, style in self.pins.items() if key in known}
        if not same:
            self.endResetModel()
        elif lines:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, FIGURE, FIGURE)
            self.dataChanged.emit(self.index(0, 0), self.index(len(lines) - 1, len(HEADINGS) - 1))

    def pin(self, keys: Sequence[str]) -> None:
        """Pin these lines in place of the former ones."""
        self.pins = {}
        for line in self.lines:
            if line.key in keys and len(self.pins) < MOST_REGIMES:
                self.pins[line.key] = free_style(line.kind, self.pins.values())
        if self.lines:
            self.dataChanged.emit(self.index(0, PIN), self.index(len(self.lines) - 1, PIN))

    def pinned_lines(self) -> list[tuple[Line, str]]:
        """Return the pinned lines in the order of the pins, each with its style."""
        by_key = {line.key: line for line in self.lines}
        return [(by_key[key], style) for key, style in self.pins.items()]

    # -- what the table asks ----------------------------------------------------------------------------------------

    def name_at(self, at: int) -> str:
        """Return the words that a line is found by."""
        return searched(self.lines[at])

    def needs_at(self, at: int) -> bool:
        """Return that no line needs the person."""
        return False

    def sort_key(self, at: int, column: int) -> Any:
        """Return what a line is sorted by; the pinned ones come first."""
        return self.lines[at].key not in self.pins if column == PIN else self._cells[at][column].key

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of lines."""
        return 0 if parent.isValid() else len(self.lines)

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return 0 if parent.isValid() else len(HEADINGS)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let the pin be ticked where there is something to draw."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        checkable = index.column() == PIN and self.lines[index.row()].can_be_drawn
        return flags | Qt.ItemFlag.ItemIsUserCheckable if checkable else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        if index.column() == PIN:
            return self._pin_data(self.lines[index.row()], role)
        cell = self._cells[index.row()][index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell.text
            case Qt.ItemDataRole.ToolTipRole:
                return cell.tip or cell.text
            case Qt.ItemDataRole.ForegroundRole:
                return QColor(getattr(self._session.theme, cell.look))
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(index.column())
        return (cell.exact or cell.text) if role == EXACT else None

    def _pin_data(self, line: Line, role: int) -> Any:
        style = STYLES[self.pins[line.key]] if line.key in self.pins else None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return SIGNS[style.marker] if style is not None else ""
            case Qt.ItemDataRole.ForegroundRole:
                return QColor(self._session.theme.series(style)) if style is not None else None
            case Qt.ItemDataRole.CheckStateRole if line.can_be_drawn:
                return Qt.CheckState.Checked if style is not None else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.ToolTipRole:
                return TIPS[PIN] if line.can_be_drawn else NOT_DRAWN
            case Qt.ItemDataRole.AccessibleTextRole:
                return "pinned" if style is not None else "not pinned"
        return ("pinned" if style is not None else "") if role == EXACT else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802 - Qt's name
        """Pin a line, or no longer."""
        line = self.lines[index.row()]
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != PIN or not line.can_be_drawn:
            return False
        if Qt.CheckState(value) != Qt.CheckState.Checked:
            self.pins.pop(line.key, None)
        elif line.key not in self.pins:
            if len(self.pins) >= MOST_REGIMES:
                self.refused.emit(TOO_MANY)
                return False
            self.pins[line.key] = free_style(line.kind, self.pins.values())
        self.dataChanged.emit(index, index)
        self.pinned.emit()
        return True

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a heading, or what it means."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                title = "Figure" if self._metric is None else self._metric.title
                return title if section == FIGURE else HEADINGS[section]
            case Qt.ItemDataRole.ToolTipRole if section == FIGURE and self._metric is not None:
                better = "higher" if self._metric.higher else "lower"
                return f"{self._metric.title} ({self._metric.unit}; {better} is better): mean ± its standard error"
            case Qt.ItemDataRole.ToolTipRole:
                return TIPS.get(section)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(section)
        return None


class RunsTable(SettingsTable):
    """One row for each line; Space or Return pins the row that the keys are in."""

    def __init__(self, session: Session, model: RunsModel) -> None:
        super().__init__(
            session,
            model,
            "compare_table",
            "Every study of this session and every released model",
            widths=WIDTHS,
            roomy=ROOMY,
        )
        self._runs = model
        self.setItemDelegate(InkDelegate(self))
        self.setItemDelegateForColumn(PIN, TickDelegate(session, self))
        CopyRows(self, session, private=self._private, role=EXACT)

    def tick(self, index: Index) -> None:
        """Pin a line, or no longer, as Space does."""
        tick(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Pin the current line, whichever of its cells is the current one."""
        keys = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() in keys and not event.modifiers() and self.currentIndex().isValid():
            at = self._runs.index(self.currentIndex().row(), PIN)
            if at.flags() & Qt.ItemFlag.ItemIsUserCheckable:
                self.tick(at)
            else:
                self._runs.refused.emit(f"{NOT_DRAWN}.")
            return
        super().keyPressEvent(event)

    def _private(self, rows: Sequence[int]) -> bool:
        """Whether some of these rows were computed from private ones."""
        return any(self._runs.lines[row].study is not None for row in rows)


def _side(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in RIGHT else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
