"""Rows as cells of public grids, and the splits that can be made between the cells.

A column of a table becomes one or more columns of cells by declared facts alone (:mod:`workbench.learners.encoding`):
a number lies in one of 16 equal parts of its bounds (an integer with fewer values in a part of its own), a category of
two values or one value of a larger domain in one of two cells. A missing number lies in the middle; where it is allowed
to be missing, a column of its own says so, and a split can be made there.

One more column is the mean of all numbers of a row, each scaled by its bounds, in 64 parts: columns of one table often
rise and fall together, and then one cut through their mean says more than a cut through any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.encoding import Encoding

Cells = NDArray[np.int64]

_SIZE = 1 << 12  # K of the encoding; whole numbers of a mean of numbers stay exact
_PARTS, _MEAN_PARTS = 16, 64


@dataclass(frozen=True)
class Columns:
    """The columns of cells of a table, all of them from declared facts.

    Attributes:
        attributes: the public facts about the columns of X, in order.
    """

    attributes: tuple[Attribute, ...]

    @property
    def _encoding(self) -> Encoding:
        return Encoding(self.attributes)

    def _own(self) -> list[tuple[int, bool]]:
        """Return the number of cells of each encoded column, and whether its two ends are ends of a line."""
        found: list[tuple[int, bool]] = []
        sources = self._encoding.sources
        for place, source in enumerate(sources):
            attribute = self.attributes[source]
            first = place == sources.index(source)
            if attribute.numeric and first:
                lower, upper = attribute.bounds()
                values = upper - lower + 1 if attribute.kind == "integer" else _PARTS
                found.append((int(min(max(values, 2), _PARTS)), True))
            else:
                found.append((2, first and not attribute.numeric and len(attribute.values()) == 2))
        return found

    @property
    def _in_mean(self) -> list[int]:
        """The encoded columns that enter the mean; none where there is only one."""
        lines = [place for place, (_, line) in enumerate(self._own()) if line]
        return lines if len(lines) > 1 else []

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each column, (D,)."""
        own = tuple(cells for cells, _ in self._own())
        return (*own, _MEAN_PARTS) if self._in_mean else own

    def cells(self, X: ArrayLike) -> Cells:
        """Return the cell of each row in each column (n, D), each computed from its own row in whole numbers.

        Raises:
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        encoded = self._encoding.encode(X, _SIZE)
        sizes = np.array([cells for cells, _ in self._own()])
        cells = (encoded + _SIZE) * sizes // (2 * _SIZE + 1)
        among = self._in_mean
        if among:
            width = len(among) * _SIZE
            mean = (encoded[:, among].sum(axis=1) + width) * _MEAN_PARTS // (2 * width + 1)
            cells = np.column_stack([cells, mean])
        return np.asarray(cells)


@dataclass(frozen=True)
class Split:
    """How the rows of a node are sent on: in two by a cut through a column, or in ``parts`` equal parts of it.

    Attributes:
        sizes: the number of cells of each column.
        parts: into how many children; a power of two.
    """

    sizes: tuple[int, ...]
    parts: int

    def options(self, column: int) -> int:
        """Return in how many ways a column can be split: at every border of its cells, or in equal parts."""
        return self.sizes[column] - 1 if self.parts == 2 else 1

    @property
    def starts(self) -> NDArray[np.int64]:
        """The number of the first way of each column (D,), and at the end how many ways there are."""
        return np.cumsum([0, *(self.options(column) for column in range(len(self.sizes)))])

    def child(self, cells: Cells, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the child of each row, (n,).

        Args:
            cells: of the rows (n, D).
            chosen: the number of the way in which each row's node is split, (n,).
        """
        column = np.searchsorted(self.starts, chosen, side="right") - 1
        cell = cells[np.arange(len(cells)), column]
        if self.parts == 2:
            return np.asarray(cell > chosen - self.starts[column], dtype=np.int64)
        return np.asarray(cell * self.parts // np.array(self.sizes)[column])

    def children(self, histogram: NDArray[np.float64], column: int) -> NDArray[np.float64]:
        """Return what each way of splitting a column sends to each child, (nodes, ways, children, kinds).

        Args:
            histogram: how many rows of each kind lie in each cell, (nodes, cells, kinds).
            column: the column.
        """
        nodes, size, kinds = histogram.shape
        if self.parts == 2:
            low = histogram.cumsum(axis=1)
            return np.stack([low[:, :-1], low[:, -1:] - low[:, :-1]], axis=2)
        out = np.zeros((nodes, 1, self.parts, kinds))
        for cell in range(size):
            out[:, 0, cell * self.parts // size] += histogram[:, cell]
        return out
