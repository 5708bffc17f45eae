"""One draw of a preview as one realisation: rows, spread and correlations are looks at the same drawn cells.

Every look asks for a part of the rows only: the first ones, evenly spaced ones, or all. To draw a million rows of forty
columns for the two thousand that are shown would take seconds, so the rows are split into parts, each of which is drawn
from a stream of its own, keyed by the number of the draw, the column and the part. What two looks have in common is the
same then, whichever was taken first, and nothing has to be kept between them. The streams follow from a key that this
process drew for itself and keeps: whoever finds a picture of a preview cannot draw it again, and nothing of it can be
released.
"""

from __future__ import annotations

import dataclasses
import secrets
from dataclasses import dataclass

import numpy as np

from workbench.data.columns.grid import Grid
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.entropy import KeyedEntropy, SeededEntropy
from workbench.privacy.local.cells import CellArray
from workbench.sanitize.calibrated_columns import ProtectedColumn, protected_column
from workbench.sanitize.engine import check_columns, sampled
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken

FIRST_ROWS = 2000
SPACED_ROWS = 100_000
"""Most rows, evenly spaced, from which the correlations of a large table are computed: enough for two decimals."""

FIRST, SPACED, REST = range(3)

_KEY = secrets.token_bytes(32)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some rows of one protected column."""

    grid: Grid
    before: CellArray  # (n,) the cells as they are
    after: CellArray  # (n,) the cells as they were drawn


class Realisation:
    """Draw ``number`` of a plan for a table, which is checked here and once; a column is drawn when it is asked for.

    Attributes:
        table: the rows as the plan reads them.
        every: evenly spaced rows are so many rows from each other.
        first: the table of the first rows. spaced: the table of the evenly spaced rows.
    """

    def __init__(self, table: Table, plan: Plan, number: int, cancel: CancelToken) -> None:
        check_columns(plan, table)
        table = plan.rows_of(table, SeededEntropy(0))
        self.table, self._plan, self._number, self._cancel = table, plan, number, cancel
        self.every = max(1, -(-table.rows // SPACED_ROWS))
        self.first = dataclasses.replace(table, frame=table.frame.head(FIRST_ROWS))
        self.spaced = table
        if self.every > 1:
            self.spaced = dataclasses.replace(table, frame=table.frame.gather_every(self.every), first_line=None)

    def first_rows(self, name: str) -> Drawn:
        """Return the first rows of a protected column."""
        column = self._column(name)
        before = column.grid.encode(self.first)
        return Drawn(column.grid, before, self._part(column, before, FIRST))

    def spaced_rows(self, name: str) -> Drawn:
        """Return evenly spaced rows of a protected column."""
        column = self._column(name)
        before = column.grid.encode(self.spaced)
        first = self._part(column, column.grid.encode(self.first), FIRST)[:: self.every]
        return Drawn(column.grid, before, np.concatenate([first, self._part(column, before[first.size :], SPACED)]))

    def all_rows(self, name: str) -> Drawn:
        """Return all rows of a protected column."""
        column = self._column(name)
        before = column.grid.encode(self.table)  # in a long table this is most of the wait
        after = np.empty_like(before)
        begin = min(FIRST_ROWS, before.size)
        after[:begin] = self._part(column, before[:begin], FIRST)
        spaced = slice(-(-begin // self.every) * self.every, None, self.every)
        after[spaced] = self._part(column, before[spaced], SPACED)
        if self.every > 1:
            rest = np.ones(before.size, dtype=np.bool_)
            rest[:begin] = rest[spaced] = False
            after[rest] = self._part(column, before[rest], REST)
        return Drawn(column.grid, before, after)

    def _column(self, name: str) -> ProtectedColumn:
        self._cancel.check()
        if self._plan.column(name).action != "protect":
            raise ParameterError("only a protected column is drawn", f"column {name}")
        return protected_column(self._plan, name)

    def _part(self, column: ProtectedColumn, cells: CellArray, part: int) -> CellArray:
        which = (column.column.name.encode(), str(self._number).encode(), str(part).encode())
        return sampled(column, cells, None, KeyedEntropy(_KEY, *which), self._cancel)
