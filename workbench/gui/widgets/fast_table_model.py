"""Rows of a table as a virtual model: only the cells in sight are ever turned into Python values."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt
from PySide6.QtGui import QColor

from workbench.gui.session.session import Session
from workbench.gui.widgets.table_model import Index

if TYPE_CHECKING:
    import polars as pl

BLOCK = 128
"""Rows of one column that are fetched at once."""

KEPT = 512
"""Such pieces that are kept: more than a large screen shows of a wide table."""

MISSING = "missing"
LONGEST = 200
NOWHERE = QModelIndex()
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def presented(cell: str | None) -> str:
    """Return what stands in a cell for a person."""
    if cell is None:
        return MISSING
    return cell if len(cell) <= LONGEST else cell[:LONGEST] + "…"


class RowsModel(QAbstractTableModel):
    """The text cells of one frame, shape (rows, columns)."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._frame: pl.DataFrame | None = None
        self._names: tuple[str, ...] = ()
        self._numbers: frozenset[int] = frozenset()
        self._blocks: OrderedDict[tuple[int, int], list[str | None]] = OrderedDict()
        session.plan_changed.connect(self._plan_changed)

    def show_frame(self, frame: pl.DataFrame | None) -> None:
        """Show other cells; columns and scroll place stay where shape and names are the same."""
        former = self._frame
        same = frame is not None and former is not None
        same = same and (frame.shape, frame.columns) == (former.shape, former.columns)  # type: ignore[union-attr]
        if not same:
            self.beginResetModel()
        self._frame = frame
        self._names = tuple(frame.columns) if frame is not None else ()
        self._numbers = self._numbers_now()
        self._blocks.clear()
        if not same:
            self.endResetModel()
        elif frame is not None and frame.height and frame.width:
            self.dataChanged.emit(self.index(0, 0), self.index(frame.height - 1, frame.width - 1))

    def cells(self, rows: range, column: int) -> list[str | None]:
        """Return the texts of neighbouring cells of a column; ``None`` of a missing one."""
        first, last = rows.start // BLOCK, (rows.stop - 1) // BLOCK
        pieces = [text for block in range(first, last + 1) for text in self._piece(column, block)]
        return pieces[rows.start - first * BLOCK : rows.stop - first * BLOCK]

    def _piece(self, column: int, block: int) -> list[str | None]:
        piece = self._blocks.get((column, block))
        if piece is None:
            assert self._frame is not None
            piece = self._frame.to_series(column).slice(block * BLOCK, BLOCK).to_list()
            self._blocks[column, block] = piece
            if len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        return piece

    def cell(self, row: int, column: int) -> str | None:
        """Return the text of a cell; ``None`` of a missing one."""
        return self._piece(column, row // BLOCK)[row % BLOCK]

    def shown(self, row: int, column: int) -> str:
        """Return what stands in a cell for a person."""
        return presented(self.cell(row, column))

    def name_of(self, column: int) -> str:
        """Return the name of a column; empty where there is none."""
        return self._names[column] if 0 <= column < len(self._names) else ""

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers, which line up on the right."""
        return column in self._numbers

    def changes(self, rows: range, column: int) -> list[bool]:
        """Whether each of some neighbouring cells of a column became another one in a draw."""
        return [False] * len(rows)

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of rows."""
        return self._frame.height if self._frame is not None and not parent.isValid() else 0

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return len(self._names) if not parent.isValid() else 0

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        if role == Qt.ItemDataRole.DisplayRole:
            return self.shown(index.row(), index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if self.is_number(index.column()) else _LEFT
        if role == Qt.ItemDataRole.ForegroundRole and self.cell(index.row(), index.column()) is None:
            return QColor(self._session.theme.muted)
        return None

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's name or a row's number."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self.name_of(section)
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if self.is_number(section) else _LEFT
        elif role == Qt.ItemDataRole.DisplayRole:
            return f"{section + 1:,}"
        return None

    def _plan_changed(self) -> None:
        """Line up the columns that are numbers now."""
        numbers = self._numbers_now()
        if numbers != self._numbers:
            self._numbers = numbers
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self._names) - 1)
            if self.rowCount():
                self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, len(self._names) - 1))

    def _numbers_now(self) -> frozenset[int]:
        numeric = self._session.plan.numeric
        return frozenset(at for at, name in enumerate(self._names) if name in numeric)
