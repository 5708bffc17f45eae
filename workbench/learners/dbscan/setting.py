"""What follows from the public facts of a DBSCAN fit: the grid, and from when on a cell is dense."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.dbscan.parameters import DbscanParameters
from workbench.learners.encoding import grid_of
from workbench.learners.plain import FitSetting
from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact, floor_double

COUNTS = "cells"
Cells = NDArray[np.int64]

_MOST_CELLS = 20_000
_MOST_PARTS = 16
_ROWS_A_CELL = 0.5  # n·ε of noise's own unit for each cell: with less, dense cells cannot be told from noise
_FALSE_CELLS = 0.1  # expected number of empty cells that noise makes dense
_DENSE_SHARE = 0.01
_PARTS_WITHOUT_NOISE = 8


class Setting(FitSetting[DbscanParameters]):
    """The public facts of a fit, and what follows from them."""

    @cached_property
    def _free(self) -> tuple[bool, ...]:
        """Whether each encoded column is a number, which is cut into parts; the others have two or three values."""
        sources = self.encoding.sources
        attributes = self.facts.attributes
        return tuple(
            attributes[source].numeric and place == sources.index(source) for place, source in enumerate(sources)
        )

    def _sizes(self, parts: int) -> tuple[int, ...]:
        found = []
        for place, source in enumerate(self.encoding.sources):
            attribute = self.facts.attributes[source]
            if not self._free[place]:
                found.append(2)
                continue
            lower, upper = attribute.bounds()
            whole = int(min(upper - lower + 1, parts)) if attribute.kind == "integer" else parts
            found.append(max(whole, 2))
        return tuple(found)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of parts of each encoded column, (D,).

        Raises:
            ParameterError: the grid has more cells than can be counted.
        """
        if self.parameters.parts is not None:
            sizes = self._sizes(self.parameters.parts)
        else:
            known = self.rows * self.epsilon / _ROWS_A_CELL if self.private else math.inf
            most = _MOST_PARTS if self.private else _PARTS_WITHOUT_NOISE
            tried = (self._sizes(parts) for parts in range(most, 2, -1))
            sizes = next((s for s in tried if math.prod(s) <= min(known, _MOST_CELLS)), self._sizes(2))
        if math.prod(sizes) > _MOST_CELLS:
            raise ParameterError(
                f"the grid of {len(sizes)} columns has {math.prod(sizes):,} cells, and each of them is counted",
                "DBSCAN",
                ("use fewer columns", "give fewer parts"),
            )
        return sizes

    @cached_property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.sizes)

    @cached_property
    def share(self) -> Decimal:
        """ε of the counts: all of it."""
        return exact(self.epsilon)

    @cached_property
    def budget(self) -> float:
        """ε of the counts as a double that is not above it; infinite without noise."""
        return floor_double(self.share) if self.private else math.inf

    @cached_property
    def least(self) -> int:
        """The least noisy count of a dense cell.

        Noise alone reaches t with probability e^(−εt)/(1 + e^(−ε)); of all cells this makes few dense.
        """
        asked = self.parameters.min_rows or max(2, round(_DENSE_SHARE * self.rows))
        if not self.private:
            return asked
        odds = _FALSE_CELLS / self.cells * (1 + math.exp(-self.budget))
        return max(asked, math.ceil(-math.log(min(odds, 1.0)) / self.budget), 1)

    def cell(self, X: ArrayLike) -> Cells:
        """Return the parts of each row (n, D), each computed from its own row in whole numbers.

        Raises:
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        size = grid_of(1)
        encoded = self.encoding.encode(X, size)
        return np.asarray((encoded + size) * np.array(self.sizes) // (2 * size + 1))

    def number(self, cells: Cells) -> Cells:
        """Return the number of each cell (n,) of parts (n, D)."""
        return np.asarray(np.ravel_multi_index(tuple(cells.T), self.sizes), dtype=np.int64)

    def groups(self, counts: NDArray[np.int64]) -> tuple[Cells, NDArray[np.int64]]:
        """Return the dense cells (m, D) and the group of each (m,), the largest group first.

        Dense cells that share a side are of one group.
        """
        dense = np.flatnonzero(counts >= self.least)
        places = np.column_stack(np.unravel_index(dense, self.sizes)) if len(dense) else np.zeros((0, self.width), int)
        where = {int(number): i for i, number in enumerate(dense)}
        group = np.full(len(dense), -1, dtype=np.int64)
        weights: list[int] = []
        for begin in range(len(dense)):
            if group[begin] >= 0:
                continue
            waiting, weight = [begin], 0
            group[begin] = len(weights)
            while waiting:
                at = waiting.pop()
                weight += int(counts[dense[at]])
                for number in self._beside(places[at]):
                    other = where.get(number)
                    if other is not None and group[other] < 0:
                        group[other] = len(weights)
                        waiting.append(other)
            weights.append(weight)
        rank = np.argsort(np.argsort([-weight for weight in weights], kind="stable"), kind="stable")
        return places.astype(np.int64), rank[group].astype(np.int64) if len(dense) else group

    def _beside(self, place: Cells) -> Iterator[int]:
        """Yield the numbers of the cells that share a side with one."""
        for column, size in enumerate(self.sizes):
            for step in (-1, 1):
                if 0 <= place[column] + step < size:
                    other = place.copy()
                    other[column] += step
                    yield int(np.ravel_multi_index(tuple(other), self.sizes))
