"""A mechanism's table as a linear map: its products with vectors and its inverse, without a dense copy where possible.

Correcting statistics for the noise means multiplying by the table P many times: P g is the expectation of g(answer)
for each true value, f P the distribution of answers for frequencies f. Four forms, all of the same table:

* :class:`TwoChances`: randomised response, p on the diagonal and q elsewhere; everything in closed form.
* :class:`DistanceTable`: rows r_i·κ(|i − j|), a missing cell beside them: products by fast Fourier transform, the
  inverse by Levinson's recursion. Detected by comparing every integer of the table, not assumed from its name.
* :class:`RunTable`: rows of a few stretches of equal chances, such as a window of likely answers.
* :class:`DenseTable`: any other table, and any small one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.local.sampler import TOTAL

Floats = NDArray[np.float64]

MOST_STEPS = 16  # steps of a row, on average, up to which a table is stored by them

_RUNS_AT_ONCE = 256
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
    for start in range(0, len(weights), _RUNS_AT_ONCE):
        block = weights[start : start + _RUNS_AT_ONCE]
        row, column = np.nonzero(np.diff(block, axis=1, prepend=np.uint64(0)))
        steps += row.size
        if steps > MOST_STEPS * (start + len(block)):
            return None
        rows.append(row + start)
        columns.append(column)
    row = np.concatenate(rows)
    return RunTable(weights, row, np.concatenate(columns)) if np.unique(row).size == len(weights) else None


DENSE_UPTO = 512  # cells up to which a table is small: a dense copy and its singular values take negligible time

RUNS_FROM = 128
"""Cells from which a table of a few stretches a row is taken by them: its singular values would take long."""

_BLOCK = 256  # rows converted at a time
_SAME = 1e-9
_ROUNDED = float(1 << 20)  # generous bound on the rounding error of an entry of 2^63
_RANK = 1e-12  # a smaller singular value, relative to the largest, is a rounding error
_LARGEST = 1e9  # a solution this many times the wanted values comes from rounding errors, not from the table


class Channel(Protocol):
    """The table P, (m, k), as a map."""

    inputs: int
    outputs: int
    decides: bool  # whether `solved` finds a solution wherever there is one, to rounding

    def forward(self, values: Floats) -> Floats:
        """Return P·values, (m,): the expectation of values(answer) for each true value."""
        ...

    def backward(self, frequencies: Floats) -> Floats:
        """Return frequencies·P, (k,): how the answers are distributed."""
        ...

    def rows(self, cells: NDArray[np.int64]) -> Floats:
        """Return the rows (c, k) of some true values."""
        ...

    def solved(self, wanted: Floats) -> Floats | None:
        """Return g with P g = wanted as nearly as the table allows, or ``None`` where no direct solver applies.

        The caller checks the residual; of several solutions it is the one of least mean square under equal use of
        the true values.
        """
        ...


class TwoChances:
    """Randomised response over ``size`` values: each is kept with chance ``keep``, any other has chance ``other``."""

    def __init__(self, keep: float, other: float, size: int) -> None:
        self.keep, self.other = keep, other
        self.decides = True
        self.inputs = self.outputs = size

    def forward(self, values: Floats) -> Floats:
        """Return (p − q)·values + q·Σvalues."""
        out: Floats = (self.keep - self.other) * values + self.other * values.sum()
        return out

    def backward(self, frequencies: Floats) -> Floats:
        """Return the same: the table is symmetric."""
        return self.forward(frequencies)

    def rows(self, cells: NDArray[np.int64]) -> Floats:
        """Return the rows of some values."""
        out = np.full((len(cells), self.outputs), self.other)
        out[np.arange(len(cells)), cells] = self.keep
        return out

    def solved(self, wanted: Floats) -> Floats | None:
        """Return (wanted − q·Σwanted)/(p − q): the rows sum to 1 (Sherman & Morrison 1950)."""
        if self.keep <= self.other:
            return None
        out: Floats = (wanted - self.other * wanted.sum()) / (self.keep - self.other)
        return out


class DenseTable(OfIntegers):
    """Any table, from its integers; up to 512 cells as doubles, beyond that converted as it is used."""

    def __init__(self, weights: NDArray[np.uint64]) -> None:
        super().__init__(weights)
        small = max(weights.shape) <= DENSE_UPTO
        self._chances = weights.astype(np.float64) / float(TOTAL) if small else None
        self.decides = small
        self._parts: tuple[Floats, Floats, Floats, Floats] | None = None
        self._factor: tuple[Floats, NDArray[np.int32]] | None = None  # of a large table: one for all its solutions

    def forward(self, values: Floats) -> Floats:
        """Return P·values."""
        if self._chances is not None:
            out: Floats = self._chances @ values
            return out
        return np.concatenate([block @ values for block in self._blocks()])

    def backward(self, frequencies: Floats) -> Floats:
        """Return frequencies·P."""
        if self._chances is not None:
            whole: Floats = frequencies @ self._chances
            return whole
        out = np.zeros(self.outputs)
        for at, block in enumerate(self._blocks()):
            out += frequencies[at * _BLOCK : at * _BLOCK + len(block)] @ block
        return out

    def solved(self, wanted: Floats) -> Floats | None:
        """Return the solution by singular values of a small table, by elimination of a large square one."""
        if self._chances is not None:
            if self._parts is None:
                self._parts = _singular_parts(self._chances)
            left, singular, right, root = self._parts
            small: Floats = (right.T @ ((left.T @ wanted) / singular)) / root
            return small
        if self.inputs != self.outputs:
            return None
        from scipy.linalg import LinAlgWarning, lu_factor, lu_solve

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)  # of a singular table, whose solutions are not sensible
            if self._factor is None:
                chances = np.concatenate(list(self._blocks()))
                self._factor = lu_factor(chances, overwrite_a=True, check_finite=False)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                out: Floats = lu_solve(self._factor, wanted, check_finite=False)
        return _sensible(out, wanted)

    def _blocks(self) -> Iterator[Floats]:
        for start in range(0, self.inputs, _BLOCK):
            yield self._weights[start : start + _BLOCK].astype(np.float64) / float(TOTAL)


def _singular_parts(chances: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return u, s, v' of the singular values of P that are not rounding, and the metric they are taken in."""
    mean = chances.mean(axis=0)
    root = np.where(mean > 0, np.sqrt(mean), 1.0)  # an answer that is never given has no weight, and no value
    u, s, vt = np.linalg.svd(chances / root, full_matrices=False)
    kept = s > s[0] * _RANK
    return u[:, kept], s[kept], vt[kept], root


class DistanceTable(OfIntegers):
    """Rows r_i·κ(|i − j|) over s equally spaced cells and, where there is one, a missing cell after them."""

    def __init__(self, weights: NDArray[np.uint64], profile: Floats, scale: Floats) -> None:
        """Decompose the table.

        Args:
            weights: the integers.
            profile: (s,) κ, κ(0) = 1.
            scale: (s,) r, the diagonal of P.
        """
        super().__init__(weights)
        self._profile, self._scale = profile, scale
        self._size = profile.size
        self.decides = False
        self._missing = self.outputs > self._size
        if self._missing:
            self._column = weights[: self._size, -1].astype(np.float64) / float(TOTAL)
            self._row = weights[-1].astype(np.float64) / float(TOTAL)
        self._length = 1 << int(2 * self._size - 1).bit_length()
        wrapped = np.zeros(self._length)
        wrapped[: self._size] = profile
        wrapped[self._length - self._size + 1 :] = profile[:0:-1]
        self._spectrum = np.fft.rfft(wrapped)

    def _convolved(self, values: Floats) -> Floats:
        spectrum = np.fft.rfft(values, self._length) * self._spectrum
        out: Floats = np.fft.irfft(spectrum, self._length)[: self._size]
        return out

    def forward(self, values: Floats) -> Floats:
        """Return P·values."""
        out = self._scale * self._convolved(values[: self._size])
        if not self._missing:
            return out
        return np.append(out + self._column * values[-1], self._row @ values)

    def backward(self, frequencies: Floats) -> Floats:
        """Return frequencies·P."""
        inner = frequencies[: self._size]
        out = self._convolved(self._scale * inner)
        if not self._missing:
            return out
        whole: Floats = np.append(out, self._column @ inner) + frequencies[-1] * self._row
        return whole

    def solved(self, wanted: Floats) -> Floats | None:
        """Return the solution by Levinson's recursion, refined once; the missing cell by its Schur complement."""
        from scipy.linalg import LinAlgError

        try:
            out = self._direct(wanted)
            out = out + self._direct(wanted - self.forward(out))
        except LinAlgError:
            return None
        return _sensible(out, wanted)

    def _direct(self, wanted: Floats) -> Floats:
        from scipy.linalg import solve_toeplitz

        right = (wanted[: self._size] / self._scale)[:, None]
        if self._missing:
            right = np.hstack([right, (self._column / self._scale)[:, None]])
        inner = solve_toeplitz(self._profile, right, check_finite=False)
        if not self._missing:
            out: Floats = inner[:, 0]
            return out
        row, last = self._row[:-1], self._row[-1]
        value = (wanted[-1] - row @ inner[:, 0]) / (last - row @ inner[:, 1])
        return np.append(inner[:, 0] - value * inner[:, 1], value)


def _sensible(solution: Floats, wanted: Floats) -> Floats | None:
    most = _LARGEST * max(float(np.abs(wanted).max()), 1e-300)
    return solution if np.all(np.isfinite(solution)) and np.abs(solution).max() <= most else None


def channel_of(weights: NDArray[np.uint64]) -> Channel:
    """Return the map of an integer table, in the cheapest form that every one of its integers fits."""
    inputs, outputs = weights.shape
    if inputs == outputs and np.all(weights[0, 1:] == weights[0, 1]):
        keep, other = weights[0, 0], weights[0, 1]
        # Rows sum to one power of two: if all but the diagonal is one number, the diagonal is one too.
        if all(np.count_nonzero(row == other) >= outputs - 1 and row[i] == keep for i, row in enumerate(weights)):
            return TwoChances(float(keep) / TOTAL, float(other) / TOTAL, outputs)
    if inputs == outputs and outputs > DENSE_UPTO:
        for size in (outputs, outputs - 1):
            found = _by_distance(weights, size)
            if found is not None:
                return found
    runs = by_runs(weights) if outputs > RUNS_FROM else None
    return DenseTable(weights) if runs is None else runs


def _by_distance(weights: NDArray[np.uint64], size: int) -> DistanceTable | None:
    profile = weights[0, :size].astype(np.float64) / float(weights[0, 0])
    both = np.concatenate([profile[:0:-1], profile])
    expected = np.lib.stride_tricks.sliding_window_view(both, size)[::-1]  # row i: κ(|i − j|)
    scale = np.diagonal(weights)[:size].astype(np.float64)
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        actual = weights[start:stop, :size].astype(np.float64)
        off = np.abs(expected[start:stop] * scale[start:stop, None] - actual)
        if np.any(off > _SAME * actual + _ROUNDED):
            return None
    return DistanceTable(weights, profile, scale / float(TOTAL))
