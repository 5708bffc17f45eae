"""The rows of a table as a virtual model: only the rows in sight are ever turned into Python values."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from workbench.gui.state import Session

if TYPE_CHECKING:
    from workbench.data.table import Table

Index = QModelIndex | QPersistentModelIndex
BLOCK = 128
"""Rows that are fetched at once."""

KEPT = 16
"""Blocks that are kept."""

MISSING = "missing"
LONGEST = 200
NOWHERE = QModelIndex()


class FrameModel(QAbstractTableModel):
    """The cells of one table as text, shape (rows, columns)."""

    def __init__(self, session: Session, table: Table | None = None) -> None:
        super().__init__()
        self._session = session
        self._table = table
        self._blocks: OrderedDict[int, list[tuple[Any, ...]]] = OrderedDict()

    def set_table(self, table: Table | None) -> None:
        """Show another table."""
        self.beginResetModel()
        self._table = table
        self._blocks.clear()
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of rows."""
        return self._table.rows if self._table is not None and not parent.isValid() else 0

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return len(self._table.names) if self._table is not None and not parent.isValid() else 0

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        if role == Qt.ItemDataRole.DisplayRole:
            value = self._cell(index.row(), index.column())
            return MISSING if value is None else value if len(value) <= LONGEST else value[:LONGEST] + "…"
        if role == Qt.ItemDataRole.ForegroundRole and self._cell(index.row(), index.column()) is None:
            return QColor(self._session.theme.muted)
        return None

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's name or a row's number."""
        if self._table is None:
            return None
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self._table.names[section]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        elif role == Qt.ItemDataRole.DisplayRole:
            return f"{section + 1:,}"
        return None

    def _cell(self, at: int, column: int) -> str | None:
        block, within = divmod(at, BLOCK)
        rows = self._blocks.get(block)
        if rows is None:
            assert self._table is not None
            rows = self._table.frame.slice(block * BLOCK, BLOCK).rows()
            self._blocks[block] = rows
            if len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        value: str | None = rows[within][column]
        return value
