"""Rows of a table as a virtual model: only the cells in sight are ever turned into Python values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr_number
from workbench.gui.widgets.table_model import Cell, Column, Roles, TableModel

if TYPE_CHECKING:
    import polars as pl

BLOCK = 128
"""Rows of one column that are fetched at once."""

KEPT = 512
"""Such pieces that are kept: more than a large screen shows of a wide table."""

MISSING = "missing"
LONGEST = 200


def presented(cell: str | None) -> str:
    """Return the text of a cell for a person."""
    if cell is None:
        return MISSING
    return cell if len(cell) <= LONGEST else cell[:LONGEST] + "…"


class RowsModel(TableModel):
    """The text cells of one frame, shape (rows, columns).

    Attributes:
        numeric: the columns that are numbers; ``None`` for those of the plan.
    """

    def __init__(self, session: Session, numeric: Collection[str] | None = None) -> None:
        super().__init__(session, ())
        self.numeric = numeric
        self._frame: pl.DataFrame | None = None
        self._blocks: OrderedDict[tuple[int, int], list[str | None]] = OrderedDict()
        session.plan_changed.connect(self._plan_changed)

    def height(self) -> int:
        """Return the number of rows."""
        return self._frame.height if self._frame is not None else 0

    def show_frame(self, frame: pl.DataFrame | None) -> None:
        """Show other cells; columns and scroll place stay where shape and names are the same."""
        former = self._frame
        same = frame is not None and former is not None
        same = same and (frame.shape, frame.columns) == (former.shape, former.columns)  # type: ignore[union-attr]
        if not same:
            self.beginResetModel()
        self._frame = frame
        self.columns = self._columns_of(frame.columns if frame is not None else ())
        self._blocks.clear()
        if same:
            self.refresh()
        else:
            self.endResetModel()

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

    def value_at(self, row: int, column: int) -> str | None:
        """Return the text of a cell; ``None`` of a missing one."""
        return self._piece(column, row // BLOCK)[row % BLOCK]

    def name_of(self, column: int) -> str:
        """Return the name of a column; empty where there is none."""
        return self.columns[column].title if 0 <= column < len(self.columns) else ""

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers, which line up on the right."""
        return self.columns[column].right

    def changes(self, rows: range, column: int) -> list[bool]:
        """Whether each of some neighbouring cells of a column became another one in a draw."""
        return [False] * len(rows)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Roles.DisplayRole) -> Any:  # noqa: N802
        if orientation == Qt.Orientation.Vertical:
            return tr_number(section + 1, ",") if role == Roles.DisplayRole else None
        return super().headerData(section, orientation, role)

    def _plan_changed(self) -> None:
        columns = self._columns_of([column.title for column in self.columns])
        if [column.right for column in columns] != [column.right for column in self.columns]:
            self.columns = columns
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)
            self.refresh()

    def _columns_of(self, names: Iterable[str]) -> tuple[Column, ...]:
        numeric = self.session.plan.numeric if self.numeric is None else self.numeric
        return tuple(Column(name, partial(self._cell_at, at), right=name in numeric) for at, name in enumerate(names))

    def _cell_at(self, column: int, row: int) -> Cell:
        value = self.value_at(row, column)
        return Cell(presented(value), "muted" if value is None else "")
