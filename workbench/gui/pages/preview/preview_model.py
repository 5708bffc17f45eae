"""One side of the preview as a virtual model; on the sanitised side a changed cell is tinted and bold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.fast_table import tint
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.table_model import Index

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray


class DrawModel(RowsModel):
    """Rows of a preview as text, shape (rows, columns), and which of them a draw has changed."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._changed: dict[str, NDArray[np.bool_]] = {}
        self._bold = QFont()
        self._bold.setWeight(QFont.Weight.DemiBold)

    def show_draw(self, frame: pl.DataFrame | None, changed: dict[str, NDArray[np.bool_]] | None = None) -> None:
        """Show the rows of a draw and mark what it has changed."""
        self._changed = changed or {}
        self.show_frame(frame)

    def changes(self, rows: range, column: int) -> list[bool]:
        """Whether each of some neighbouring cells of a column became another one in the draw."""
        changed = self._changed.get(self.name_of(column))
        return super().changes(rows, column) if changed is None else changed[self.rows_of(rows)].tolist()

    def decimal_of(self, name: str) -> str | None:
        """Return the decimal mark of a column: a drawn one is written with a point."""
        return None if name in self._changed else super().decimal_of(name)

    def is_changed(self, row: int, column: int) -> bool:
        """Whether a cell became another one in the draw."""
        return self.changes(range(row, row + 1), column)[0]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        roles = Qt.ItemDataRole
        if role == roles.AccessibleTextRole:
            cell = str(index.data())
            return tr("{cell}, changed", cell=cell) if self.is_changed(index.row(), index.column()) else cell
        if role == roles.BackgroundRole and self.is_changed(index.row(), index.column()):
            return QColor(tint(self.session.theme))
        if role == roles.FontRole and self.is_changed(index.row(), index.column()):
            return self._bold
        return super().data(index, role)
