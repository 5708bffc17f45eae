"""Columns as a synthesiser sees them: the public grid of each, cut into a few coarse cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.grid import Grid, grid, smallest_type
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy
from workbench.privacy.local.cells import CellArray
from workbench.signals.cancel import NEVER, CancelToken
from workbench.work.work import ColumnReader

DEFAULT_CUTS = 16
LEAST_CUTS = 5
MOST_CUTS = 256

_CUTS_BY_ROOM = 2.6

Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class CoarseColumn:
    """One column: fine cells of its public grid, joined into ``cuts`` coarse ones."""

    grid: Grid  # the public grid; a released value is the text of one of its cells
    cuts: int  # number of coarse cells that hold a value
    starts: tuple[int, ...] | None = None  # first fine cell of each; `None` where they are of equal width

    @property
    def name(self) -> str:
        """The column's name."""
        return self.grid.attribute.name

    @property
    def ordered(self) -> bool:
        """Whether neighbouring coarse cells are near each other."""
        return self.grid.cells.numeric

    @property
    def size(self) -> int:
        """Number of coarse cells, the one for missing values included."""
        return self.cuts + int(self.grid.cells.missing)

    def firsts(self) -> NDArray[np.int64]:
        """Return the first fine cell of each coarse one and, last, the number of fine cells: (cuts + 1,)."""
        if self.starts is not None:
            return np.array([*self.starts, self.grid.cells.size], dtype=np.int64)
        # Fine cell i lies in coarse cell ⌊i·cuts/size⌋.
        return -(-np.arange(self.cuts + 1, dtype=np.int64) * self.grid.cells.size // self.cuts)

    def encode(self, table: Table) -> Codes:
        """Return the coarse cell of each row, (n,); a missing value is the last one.

        Raises:
            InputError: a value does not fit the column; the message names its row.
        """
        return self.coarse(self.grid.encode(table))

    def coarse(self, fine: CellArray) -> Codes:
        """Return the coarse cell of each fine one, (n,)."""
        wide = fine.astype(np.int64)
        if self.starts is not None:
            found = np.searchsorted(np.array(self.starts), wide, side="right") - 1
            return np.where(wide == self.grid.cells.size, self.cuts, found).astype(np.int32)
        return np.where(wide == self.grid.cells.size, self.cuts, wide * self.cuts // self.grid.cells.size).astype(
            np.int32
        )

    def draw(self, codes: Codes, entropy: Entropy) -> CellArray:
        """Return a fine cell for each coarse one, (n,), uniformly within it."""
        if self.cuts == self.grid.cells.size:
            return codes.astype(np.uint32)
        firsts = self.firsts()
        held = np.minimum(codes, self.cuts - 1)
        width = (firsts[1:] - firsts[:-1])[held]
        within = (entropy.words(len(codes)) >> np.uint64(11)).astype(np.float64) * 2.0**-53 * width
        fine = np.where(codes == self.cuts, self.grid.cells.size, firsts[held] + within.astype(np.int64))
        return fine.astype(np.uint32)


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows as coarse cells. Everything in it is private."""

    codes: Codes  # (n, d) the coarse cells
    # (n,) whether the row counts; an empty row, whose every value is missing, contributes nothing.
    present: NDArray[np.bool_]

    def counts(self, columns: Sequence[int], sizes: Sequence[int]) -> NDArray[np.int64]:
        """Return the exact table of some columns, shape ``sizes``: one row is in one of its cells, or in none."""
        code = np.zeros(len(self.codes), dtype=np.int64)
        for column, size in zip(columns, sizes, strict=True):
            code = code * size + self.codes[:, column]
        code = code if self.present.all() else code[self.present]
        return np.bincount(code, minlength=math.prod(sizes)).reshape(tuple(sizes))


class CountsTables(Protocol):
    """Private rows, of which tables can be counted."""

    def counts(self, columns: Sequence[int], sizes: Sequence[int]) -> NDArray[np.int64]:
        """Return the exact table of some columns, as :meth:`CodedRows.counts`."""
        ...


class CountedTables(ColumnReader):
    """Tables of columns, and of pairs or threes of them, counted part by part: memory hangs on no number of rows."""

    def __init__(self, columns: Sequence[CoarseColumn], target: int | None, beside: int = 1) -> None:
        """Begin with no row.

        Of all tables of ``beside`` columns and one more, only those with the target are counted, where there is one.
        """
        super().__init__([column.encode for column in columns])
        self._columns = tuple(columns)
        places = range(len(columns))
        tables = itertools.combinations(places, min(1 + beside, max(len(columns), 2)))
        self._tables = [*((place,) for place in places), *(t for t in tables if target is None or target in t)]
        self._counts: dict[tuple[int, ...], NDArray[np.int64]] = {}

    @property
    def rows(self) -> Self:
        """The tables, in place of the rows."""
        return self

    @property
    def cells(self) -> int:
        """How many cells all tables have."""
        return sum(math.prod(self._columns[place].size for place in table) for table in self._tables)

    def made(self, part: Table, columns: list[Codes]) -> list[NDArray[np.int64]]:
        rows = _present(self._columns, columns)
        return [rows.counts(table, [self._columns[place].size for place in table]) for table in self._tables]

    def keep(self, made: list[NDArray[np.int64]]) -> None:
        for table, found in zip(self._tables, made, strict=True):
            self._counts[table] = self._counts.get(table, np.int64(0)) + found

    def counts(self, columns: Sequence[int], sizes: Sequence[int]) -> NDArray[np.int64]:
        """Return the exact table of some columns; of two in either order."""
        places = tuple(columns)
        if places not in self._tables:
            return self.counts(places[::-1], sizes[::-1]).T
        return self._counts.get(places, np.zeros(tuple(sizes), np.int64))


class KeptRows(ColumnReader):
    """Rows as coarse cells, read part by part and kept: a byte or two for each value."""

    def __init__(self, columns: Sequence[CoarseColumn]) -> None:
        super().__init__([column.encode for column in columns])
        self._columns = tuple(columns)
        self._parts: list[CodedRows] = []

    def made(self, part: Table, columns: list[Codes]) -> CodedRows:
        return _present(self._columns, columns)

    def keep(self, made: CodedRows) -> None:
        self._parts.append(made)

    @property
    def rows(self) -> CodedRows:
        """The rows of all parts that were read."""
        return CodedRows(np.vstack([p.codes for p in self._parts]), np.concatenate([p.present for p in self._parts]))


def public_cuts(rows: int, strength: float, beside: int) -> int:
    """Return the default number of cuts of a column of numbers: 16, fewer where so many cells would be mostly noise.

    It is √(n·ε/((d − 1)·k)) times a constant, for tables with a target of k cells, from public numbers alone; measured
    on diabetes, iris and people. ``strength`` is that of the noise of each of the d − 1 tables, as the ε of Laplace
    noise; ``beside`` is k, 2 where there is no target.
    """
    room = rows * strength / max(beside, 1)
    return int(min(max(LEAST_CUTS, _CUTS_BY_ROOM * math.sqrt(room)), DEFAULT_CUTS))


def coarse_columns(attributes: Sequence[Attribute], cuts: int = DEFAULT_CUTS) -> tuple[CoarseColumn, ...]:
    """Return the columns with so many public cuts, unless a grid has fewer; names keep their declared values.

    Raises:
        ParameterError: there is no column, or a fact is not declared.
    """
    if not attributes:
        raise ParameterError("there are no columns to synthesise", hint="protect at least one column in the plan")
    grids = [grid(attribute) for attribute in attributes]
    return tuple(CoarseColumn(g, min(cuts, g.cells.size) if g.cells.numeric else g.cells.size) for g in grids)


def coded(columns: Sequence[CoarseColumn], table: Table, cancel: CancelToken = NEVER) -> CodedRows:
    """Return the rows of ``table`` as coarse cells, column by column.

    Raises:
        InputError: a value does not fit its column; the message names column and row.
        CancelledError: ``cancel`` was set.
    """
    found = []
    for column in columns:
        cancel.check()
        found.append(column.encode(table))
    return _present(columns, found)


def coded_cells(columns: Sequence[CoarseColumn], cells: NDArray[np.uint32]) -> CodedRows:
    """Return rows, of which the (n, d) fine cells are known, as coarse cells."""
    return _present(columns, [column.coarse(cells[:, j]) for j, column in enumerate(columns)])


def _present(columns: Sequence[CoarseColumn], found: Sequence[Codes]) -> CodedRows:
    codes = np.empty((len(found[0]), len(columns)), smallest_type(max(c.size for c in columns)), order="F")
    missing = np.ones(len(codes), dtype=bool)
    for j, (column, own) in enumerate(zip(columns, found, strict=True)):
        codes[:, j] = own
        missing &= (own == column.cuts) & column.grid.cells.missing
    return CodedRows(codes, ~missing)
