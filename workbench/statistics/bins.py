"""Bins of a column and groups of rows, from declared facts alone: empty ones are included."""

from __future__ import annotations

import datetime
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.grid import Grid
from workbench.data.columns.values import numbers
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.sanitize.plan import Column

FEW = 32  # cells up to which each is a bin of its own where nobody said how many

MANY = 20  # bins of a column with more cells

GROUPING = 10  # bins of a numeric column that makes groups

FINE = 256  # most bins from which quantiles are read

_LAST_BITS = 8

NOBODY = -1  # code of a row that counts in no bin or group: a value is missing


class ReadRows:
    """The columns of some rows as they are declared, each read once."""

    def __init__(self, table: Table) -> None:
        """Take the rows; a column is read when it is first asked for."""
        self._table, self.rows = table, table.rows
        self._numbers: dict[str, NDArray[np.float64]] = {}
        self._cells: dict[str, Any] = {}

    def numbers(self, grid: Grid) -> NDArray[np.float64]:
        """Return the numbers of a column (n,); NaN where a value is missing.

        Raises:
            InputError: a value does not fit what is declared; its row is named.
        """
        name = grid.attribute.name
        if name not in self._numbers:
            self._numbers[name] = numbers(self._table, grid.attribute)
        return self._numbers[name]

    def cells(self, grid: Grid) -> Any:
        """Return the cells of a column (n,), as :meth:`numbers`."""
        name = grid.attribute.name
        if name not in self._cells:
            numeric = grid.cells.values is not None
            self._cells[name] = grid.cells_of(self.numbers(grid)) if numeric else grid.encode(self._table)
        return self._cells[name]


@dataclass(frozen=True, eq=False)
class Bins:
    """Neighbouring cells of a column's public grid, taken together."""

    column: Column  # what is declared about it
    grid: Grid  # its cells
    width: int  # cells of a bin; 1 for names
    count: int  # number of bins

    @classmethod
    def of(cls, column: Column, wanted: int | None, most: int = MANY) -> Bins:
        """Return ``wanted`` bins of ``column``, or as many as are usual: all cells up to :data:`FEW`, else ``most``."""
        grid = column.grid()
        cells = grid.cells.size
        if wanted is None:
            wanted = cells if not column.numeric or cells <= FEW else most
        width = -(-cells // min(wanted, cells)) if column.numeric else 1
        return cls(column, grid, width, -(-cells // width))

    @property
    def exact(self) -> bool:
        """Whether a bin is one number and nothing is rounded to it."""
        return self.width == 1 and self.column.kind == "integer" and self.grid.step == 1

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers of the cells of a numeric column, (cells,)."""
        values = self.grid.cells.values
        assert values is not None
        return values

    @property
    def called(self) -> str:
        """What it is called in the names of queries."""
        return self.column.name

    @property
    def optional(self) -> bool:
        """Whether a row may have no value here."""
        return self.column.missing == "own-value"

    def first(self, index: int) -> int:
        """Return the first cell of a bin."""
        return index * self.width

    def last(self, index: int) -> int:
        """Return the last cell of a bin."""
        return min((index + 1) * self.width, self.grid.cells.size) - 1

    def least(self, cell: int) -> float:
        """Return the least value that is rounded to a cell of numbers."""
        lower, upper = self.column.bounds()
        border = lower + (cell - 0.5) * self.grid.step
        if self.column.kind == "real":
            # What is rounded to a cell is decided by a quotient, whose last bits are not those of the border.
            border -= _LAST_BITS * math.ulp(max(abs(lower), abs(upper)))
        return max(border if self.column.kind == "real" else math.ceil(border), lower)

    def most(self, cell: int) -> float:
        """Return the largest value that is rounded to a cell of numbers."""
        lower, upper = self.column.bounds()
        if cell == self.grid.cells.size - 1:
            return upper
        if self.column.kind == "real":
            border = lower + (cell + 0.5) * self.grid.step
            return min(border + _LAST_BITS * math.ulp(max(abs(lower), abs(upper))), upper)
        return self.least(cell + 1) - 1

    def labels(self) -> list[str]:
        """Return the name of each bin: a value, or the first and last one."""
        names = self.grid.labels
        if self.width == 1:
            return list(names)
        ends = ((self.first(i), self.last(i)) for i in range(self.count))
        return [names[a] if a == b else f"{names[a]} to {names[b]}" for a, b in ends]

    def codes(self, rows: ReadRows) -> NDArray[np.int64]:
        """Return the bin of each row (n,); :data:`NOBODY` where the value is missing."""
        cells = rows.cells(self.grid).astype(np.int64)
        found: NDArray[np.int64] = np.where(cells >= self.grid.cells.size, NOBODY, cells // self.width)
        return found

    def counts(self, rows: ReadRows) -> NDArray[np.int64]:
        """Return how many rows are in each bin."""
        cells = np.bincount(rows.cells(self.grid), minlength=self.grid.cells.size)[: self.grid.cells.size]
        return np.add.reduceat(cells, np.arange(0, len(cells), self.width))


_MOST_DAYS = 50_000


@dataclass(frozen=True, eq=False)
class Periods(Bins):
    """Days, weeks, months, quarters or years of dates (``born:month``), from the lower bound to the upper one.

    Of the first and the last a part may be outside the bounds.
    """

    period: str  # one of `PERIODS`
    starts: NDArray[np.int64]  # the first day of each, as a day number; `count` of them
    names: tuple[str, ...]  # what each is called: 2026-03-14, 2026-W11, 2026-03, 2026-Q1, 2026

    @classmethod
    def between(cls, column: Column, period: str) -> Periods:
        """Return the periods of a column of dates.

        Raises:
            ParameterError: it has no dates, or there are too many periods.
        """
        if column.kind != "date":
            what = f"only dates have a {period}"
            raise ParameterError(what, f"column {column.name}", "leave the period out, or declare dates")
        first, last = (int(bound) for bound in column.bounds())
        if last - first >= _MOST_DAYS and period == "day":
            what = f"there are more than {_MOST_DAYS:,} days between the bounds"
            raise ParameterError(what, f"column {column.name}", "group by week, month or year")
        starts: dict[str, int] = {}
        for day in range(first, last + 1):
            starts.setdefault(_name(datetime.date.fromordinal(day), period), day)
        return cls(column, column.grid(), 1, len(starts), period, np.array([*starts.values()]), tuple(starts))

    @property
    def called(self) -> str:
        return f"{self.column.name}:{self.period}"

    def labels(self) -> list[str]:
        return list(self.names)

    def codes(self, rows: ReadRows) -> NDArray[np.int64]:
        x = rows.numbers(self.grid)
        missing = np.isnan(x)
        days = np.clip(np.where(missing, self.starts[0], x), *self.column.bounds())
        return np.where(missing, NOBODY, np.searchsorted(self.starts, days, side="right") - 1)


def _name(day: datetime.date, period: str) -> str:
    if period == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if period == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[period]]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that columns make together; without a column all rows are one group."""

    by: tuple[Bins, ...]  # the bins of these columns

    @property
    def count(self) -> int:
        """Number of groups."""
        return math.prod(bins.count for bins in self.by)

    @property
    def optional(self) -> bool:
        """Whether a row may be in no group."""
        return any(bins.optional for bins in self.by)

    def labels(self) -> list[str]:
        """Return the name of each group: ``City=Graz, Sex=f``."""
        parts = [[f"{b.column.name}={label}" for label in b.labels()] for b in self.by]
        return [", ".join(combined) for combined in itertools.product(*parts)]

    def codes(self, rows: ReadRows) -> NDArray[np.int64]:
        """Return the group of each row (n,), as :meth:`Bins.codes`."""
        found = np.zeros(rows.rows, dtype=np.int64)
        for bins in self.by:
            own = bins.codes(rows)
            found = np.where((found == NOBODY) | (own == NOBODY), NOBODY, found * bins.count + own)
        return found


def require_countable(cells: int, most: int, what: str) -> None:
    """Raise :class:`ParameterError` where a query has more numbers than are released at once."""
    if cells > most:
        raise ParameterError(
            f"it has {cells:,} figures, and one release has at most {most:,}", what, "use fewer bins or groups"
        )
