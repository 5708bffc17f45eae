"""A table whose rows are a few stretches of equal chances, as a linear map: products in time O(m + k), not O(m·k).

Mechanisms with sliding windows are of this kind. A row is the running sum of its steps, of which few are not zero:
P v = Σ_t step_t·(v_t + v_{t+1} + …), and f P is the running sum of the steps weighted by f.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.local.sampler import TOTAL

Floats = NDArray[np.float64]

MOST_STEPS = 16
"""Steps of a row, on average, up to which a table is stored by them."""

_BLOCK = 256
_EXACT = 1e-9


class OfIntegers:
    """A table as a linear map that holds its integers (m, k)."""

    def __init__(self, weights: NDArray[np.uint64]) -> None:
        self.inputs, self.outputs = weights.shape
        self._weights = weights

    def rows(self, cells: NDArray[np.int64]) -> Floats:
        """Return the rows of some values."""
        out: Floats = self._weights[cells].astype(np.float64) / float(TOTAL)
        return out


class RunTable(OfIntegers):
    """Rows of a few stretches; a straight line in the answers is the solution where it has the wanted expectation."""

    decides = False

    def __init__(self, weights: NDArray[np.uint64], row: NDArray[np.int64], column: NDArray[np.int64]) -> None:
        """Take the steps of a table, ordered by row; each row has one.

        Args:
            weights: the integers (m, k).
            row: (t,) the row of each step.
            column: (t,) the column that it leads into.
        """
        super().__init__(weights)
        self._row, self._column = row, column
        before = np.where(column > 0, weights[row, column - 1], np.uint64(0))
        # Unsigned differences wrap; as signed integers they are exact, for no weight exceeds 2^63.
        self._step = (weights[row, column] - before).view(np.int64).astype(np.float64) / float(TOTAL)
        self._first = np.flatnonzero(np.diff(row, prepend=-1))
        self._given = weights.max(axis=0) > 0  # of other answers a running sum would leave a rounding error

    def forward(self, values: Floats) -> Floats:
        """Return P·values."""
        tail = np.cumsum(values[::-1])[::-1]
        out: Floats = np.add.reduceat(self._step * tail[self._column], self._first)
        return out

    def backward(self, frequencies: Floats) -> Floats:
        """Return frequencies·P."""
        steps = np.bincount(self._column, weights=self._step * frequencies[self._row], minlength=self.outputs)
        out: Floats = np.cumsum(steps) * self._given
        return out

    def solved(self, wanted: Floats) -> Floats | None:
        """Return a straight line in the answers, except the last one, where that has the wanted expectation."""
        line = np.linspace(-1.0, 1.0, self.outputs - 1)
        separate = np.append(line, 0.0), np.append(np.zeros(self.outputs - 1), 1.0)
        whole = (np.linspace(-1.0, 1.0, self.outputs),)
        for answers in (whole, separate):
            basis = np.column_stack([np.ones(self.outputs), *answers])
            expected = np.column_stack([self.forward(column) for column in basis.T])
            found = np.linalg.lstsq(expected, wanted, rcond=None)[0]
            if np.abs(expected @ found - wanted).max() <= _EXACT * max(float(np.abs(wanted).max()), 1e-300):
                out: Floats = basis @ found
                return out
        return None


def by_runs(weights: NDArray[np.uint64]) -> RunTable | None:
    """Return the table by its steps, or ``None`` where it has many."""
    rows, columns, steps = [], [], 0
    for start in range(0, len(weights), _BLOCK):
        block = weights[start : start + _BLOCK]
        row, column = np.nonzero(np.diff(block, axis=1, prepend=np.uint64(0)))
        steps += row.size
        if steps > MOST_STEPS * (start + len(block)):
            return None
        rows.append(row + start)
        columns.append(column)
    row = np.concatenate(rows)
    return RunTable(weights, row, np.concatenate(columns)) if np.unique(row).size == len(weights) else None
