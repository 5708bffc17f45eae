"""Rows of a table as a virtual model: only the cells in sight are ever turned into Python values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr_number
from workbench.gui.widgets.formatting import plain
from workbench.gui.widgets.table_model import Cell, Column, Roles, TableModel
from workbench.signals.cancel import CancelToken

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

BLOCK = 128  # rows of one column that are fetched at once

KEPT = 512  # such pieces that are kept: more than a large screen shows of a wide table

MISSING = "missing"
LONGEST = 200


def presented(cell: str | None) -> str:
    """Return the text of a cell for a person."""
    if cell is None:
        return MISSING
    return cell if len(cell) <= LONGEST else cell[:LONGEST] + "…"


def in_few_digits(cell: str | None) -> str | None:
    """Return a number that was computed as a person reads it; the file has all of its digits.

    What comes of a row without a value stays, and so does a class that is a number, such as a zip code.
    """
    try:
        number = float(cell or "")
    except ValueError:
        return cell
    return plain(number) if cell == repr(number) else cell


Numbers = Callable[[], "pl.Series"]
"""Reads a column as numbers, shape (rows,), null where a cell is none; called in a worker."""


class RowsModel(TableModel):
    """The text cells of one frame, shape (rows, columns): all of its rows, or some of them in another order."""

    frame_changed = Signal(bool)  # other cells are shown; whether under the same names

    def __init__(self, session: Session, numeric: Collection[str] | None = None) -> None:
        super().__init__(session, ())
        self.numeric = numeric  # the columns that are numbers; `None` for those of the plan
        self.figures: Collection[str] = ()  # columns beside those of the table that are numbers, written with a point
        self.frame: pl.DataFrame | None = None  # the cells, all rows in their own order
        self._order: NDArray[np.int64] | None = None
        self._blocks: OrderedDict[tuple[int, int], list[str | None]] = OrderedDict()
        session.plan_changed.connect(self._plan_changed)

    def height(self) -> int:
        return self.whole_height() if self._order is None else len(self._order)

    def whole_height(self) -> int:
        """Return the number of rows, shown or not."""
        return self.frame.height if self.frame is not None else 0

    def show_frame(self, frame: pl.DataFrame | None) -> None:
        """Show other cells; columns, order and scroll place stay where shape and names are the same."""
        former = self.frame
        named_so = frame is not None and former is not None and frame.columns == former.columns
        same = named_so and frame.height == former.height  # type: ignore[union-attr]
        if not same:
            self.beginResetModel()
            self._order = None
        self.frame = frame
        self.columns = self._columns_of(frame.columns if frame is not None else ())
        self._blocks.clear()
        if same:
            self.refresh()
        else:
            self.endResetModel()
        self.frame_changed.emit(named_so)

    def show_order(self, order: NDArray[np.int64] | None) -> None:
        """Show these rows of the frame in this order; ``None``: all of them in their own."""
        if order is None and self._order is None:
            return
        self.beginResetModel()
        self._order = order
        self._blocks.clear()
        self.endResetModel()

    def rows_of(self, rows: range) -> slice | NDArray[np.int64]:
        """Return which rows of the frame neighbouring rows are."""
        shown = slice(rows.start, rows.stop)
        return shown if self._order is None else self._order[shown]

    def place_of(self, row: int) -> int:
        """Return where a row of the frame is shown; −1 where it is not."""
        if self._order is None:
            return row
        found = (self._order == row).nonzero()[0]
        return int(found[0]) if len(found) else -1

    def row_of(self, place: int) -> int:
        """Return which row of the frame is shown at a place; where none is, the frame's last."""
        if self._order is None or not 0 <= place < len(self._order):
            return min(place, self.whole_height() - 1)
        return int(self._order[place])

    def numbers_of(self, column: int) -> Numbers:
        """Return what reads a column as numbers, to sort by them; dates as the plan says that they are written."""
        assert self.frame is not None
        cells, name = self.frame.to_series(column).alias(""), self.frame.columns[column]
        if self.numeric is not None or name in self.figures:
            return partial(_numbers, cells, None)
        draft = next((c for c in self.session.plan.columns if c.name == name), None)
        if draft is not None and draft.kind == "date":
            return partial(_days, cells, draft.date_order)
        return partial(_numbers, cells, self.decimal_of(name))

    def decimal_of(self, name: str) -> str | None:
        """Return the decimal mark that a person stated for the cells of a column."""
        return self.session.opened.table.decimal if self.session.opened is not None else None

    def cells(self, rows: range, column: int) -> list[str | None]:
        """Return the texts of neighbouring cells of a column; ``None`` of a missing one."""
        first, last = rows.start // BLOCK, (rows.stop - 1) // BLOCK
        pieces = [text for block in range(first, last + 1) for text in self._piece(column, block)]
        if self.columns[column].title in self.figures:
            pieces = [in_few_digits(text) for text in pieces]
        return pieces[rows.start - first * BLOCK : rows.stop - first * BLOCK]

    def _piece(self, column: int, block: int) -> list[str | None]:
        piece = self._blocks.get((column, block))
        if piece is None:
            assert self.frame is not None
            piece = self.frame.to_series(column)[self.rows_of(range(block * BLOCK, (block + 1) * BLOCK))].to_list()
            self._blocks[column, block] = piece
            if len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        return piece

    def value_at(self, row: int, column: int) -> str | None:
        """Return the text of a cell; ``None`` of a missing one."""
        return self._piece(column, row // BLOCK)[row % BLOCK]

    def shown(self, cell: str | None, column: int) -> str:
        """Return the text of a cell as it is shown: of a figure four digits. A copy of the cell has all of them."""
        made = self.figures and cell and self.name_of(column) in self.figures
        return presented(in_few_digits(cell) if made else cell)

    def name_of(self, column: int) -> str:
        """Return the name of a column; empty where there is none."""
        return self.columns[column].title if 0 <= column < len(self.columns) else ""

    def is_number(self, column: int) -> bool:
        return self.columns[column].right

    def changes(self, rows: range, column: int) -> list[bool]:
        """Whether each of some neighbouring cells of a column became another one in a draw."""
        return [False] * len(rows)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Roles.DisplayRole) -> Any:  # noqa: N802
        if orientation == Qt.Orientation.Vertical:
            return tr_number(self.row_of(section) + 1, ",") if role == Roles.DisplayRole else None
        return super().headerData(section, orientation, role)

    def _plan_changed(self) -> None:
        columns = self._columns_of([column.title for column in self.columns])
        if [column.right for column in columns] != [column.right for column in self.columns]:
            self.columns = columns
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)
            self.refresh()

    def _columns_of(self, names: Iterable[str]) -> tuple[Column, ...]:
        numeric = self.session.plan.numeric if self.numeric is None else self.numeric
        return tuple(
            Column(name, partial(self._cell_at, at), right=name in numeric or name in self.figures)
            for at, name in enumerate(names)
        )

    def _cell_at(self, column: int, row: int) -> Cell:
        value = self.value_at(row, column)
        if value is not None and self.columns[column].title in self.figures:
            whole = value.removesuffix(".0")  # a count is a whole number, whatever type its column has
            return Cell(presented(in_few_digits(value)), tip=whole, exact=whole)
        return Cell(presented(value), "muted" if value is None else "")


def arranged(
    frames: Sequence[pl.DataFrame],
    text: str,
    by: tuple[pl.Series, Numbers] | None,
    descending: bool,
    cancel: CancelToken,
) -> NDArray[np.int64] | None:
    """Return the rows to show, in their order; ``None`` for all of them in their own. Runs in a worker.

    Args:
        frames: whose rows, alike in number, are looked through: a row is shown where one of its cells holds the text.
        text: lower-case letters; empty for every row.
        by: the cells, and what reads them as numbers, that sort the rows: numbers, then words, then missing cells.
        descending: whether numbers and words are from the highest; missing cells are last all the same.
        cancel: stops it.
    """
    import polars as pl

    if not text and by is None:
        return None
    rows = frames[0].height
    kept = pl.Series([not text], dtype=pl.Boolean).new_from_index(0, rows)
    from workbench.data.rows_in_parts import each_column

    for cells in (cells for frame in frames for cells in each_column(frame) if text):
        cancel.check()
        kept |= cells.fill_null(MISSING).str.to_lowercase().str.contains(text, literal=True)
    if by is None:
        return kept.arg_true().to_numpy()
    cells, read = by
    table = pl.DataFrame({"cell": cells, "number": read()}).with_row_index("row").filter(kept)
    cancel.check()
    cell, number, known = pl.col("cell"), pl.col("number"), []
    words = number.is_null() & cell.is_not_null()
    for those, key in ((number.is_not_null(), number), (words, cell.str.to_lowercase())):
        known.append(table.filter(those).sort(key, descending=descending, maintain_order=True))
        cancel.check()
    if descending:
        known.reverse()
    return pl.concat([*known, table.filter(cell.is_null())])["row"].cast(pl.Int64).to_numpy()


def _numbers(cells: pl.Series, mark: str | None) -> pl.Series:
    from workbench.data.columns.values import doubles

    return doubles(cells, mark).fill_nan(None)


def _days(cells: pl.Series, date_order: str | None) -> pl.Series:
    import polars as pl

    from workbench.data.columns.values import day_numbers
    from workbench.data.schema import Attribute
    from workbench.data.table import Table

    table = Table(cells.to_frame("day"), "", replaces_invalid=True)
    days = day_numbers(table, Attribute(name="day", kind="date", date_order=date_order, missing="own-value"))
    return pl.Series(days, nan_to_null=True)
