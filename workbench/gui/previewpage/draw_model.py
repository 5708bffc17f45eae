"""One side of the preview as a virtual model; on the sanitised side a changed cell is tinted and bold."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from workbench.gui.state import Session

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

Index = QModelIndex | QPersistentModelIndex
BLOCK = 128
KEPT = 16
MISSING = "missing"
LONGEST = 200
NOWHERE = QModelIndex()


class DrawModel(QAbstractTableModel):
    """Rows of a preview as text, shape (rows, columns); only the rows in sight become Python values."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._frame: pl.DataFrame | None = None
        self._changed: dict[str, NDArray[np.bool_]] = {}
        self._blocks: OrderedDict[int, list[tuple[Any, ...]]] = OrderedDict()
        self._bold = QFont()
        self._bold.setWeight(QFont.Weight.DemiBold)

    def show_frame(self, frame: pl.DataFrame | None, changed: dict[str, NDArray[np.bool_]] | None = None) -> None:
        """Show other cells; columns and scroll place stay where the shape is the same."""
        same = frame is not None and self._frame is not None and frame.shape == self._frame.shape
        same = same and frame.columns == self._frame.columns  # type: ignore[union-attr]
        if not same:
            self.beginResetModel()
        self._frame, self._changed = frame, changed or {}
        self._blocks.clear()
        if not same:
            self.endResetModel()
        elif frame is not None and frame.height:
            self.dataChanged.emit(self.index(0, 0), self.index(frame.height - 1, frame.width - 1))

    def name_of(self, column: int) -> str:
        """Return the name of a column; empty where there is none."""
        return self._frame.columns[column] if self._frame is not None and 0 <= column < self._frame.width else ""

    def is_changed(self, index: Index) -> bool:
        """Whether a cell became another one in the draw."""
        changed = self._changed.get(self.name_of(index.column()))
        return changed is not None and bool(changed[index.row()])

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of rows."""
        return self._frame.height if self._frame is not None and not parent.isValid() else 0

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return self._frame.width if self._frame is not None and not parent.isValid() else 0

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            value = self._cell(index.row(), index.column())
            text = MISSING if value is None else value if len(value) <= LONGEST else value[:LONGEST] + "…"
            spoken = role == Qt.ItemDataRole.AccessibleTextRole and self.is_changed(index)
            return f"{text}, changed" if spoken else text
        if role == Qt.ItemDataRole.BackgroundRole and self.is_changed(index):
            from workbench.gui.theme import mixed

            theme = self._session.theme
            return QColor(mixed(theme.surface, theme.warn, 0.16))
        if role == Qt.ItemDataRole.FontRole and self.is_changed(index):
            return self._bold
        if role == Qt.ItemDataRole.ForegroundRole and self._cell(index.row(), index.column()) is None:
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
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        elif role == Qt.ItemDataRole.DisplayRole:
            return f"{section + 1:,}"
        return None

    def _cell(self, at: int, column: int) -> str | None:
        block, within = divmod(at, BLOCK)
        rows = self._blocks.get(block)
        if rows is None:
            assert self._frame is not None
            rows = self._frame.slice(block * BLOCK, BLOCK).rows()
            self._blocks[block] = rows
            if len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        value: str | None = rows[within][column]
        return value
