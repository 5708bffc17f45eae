"""A public lattice of a numeric column, finer than the noise, and the values that each of its cells stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from workbench.sanitize.plan import Column

LEAST_CELLS, MOST_CELLS = 1 << 10, 1 << 24
"""Cells of a lattice; whole numbers may leave fewer."""

_CELLS_OF_A_ROW = 64
"""Cells for each row that the noise cannot tell from the next, values being spread evenly."""

_EXACT = 1 << 51  # multiples up to here and halves of them are exact as doubles

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lattice:
    """Multiples of a public step; a value belongs to the nearest one.

    Attributes:
        lower: least value.
        upper: largest value.
        times: the step is ``times``/``parts``.
        parts: a power of ten, or 1.
        whole: whether values are whole numbers.
    """

    lower: float
    upper: float
    times: int
    parts: int
    whole: bool

    @classmethod
    def of(cls, column: Column, strength: float) -> Lattice:
        """Return the lattice for noise of 1/``strength`` of the rows; its step is 1, 2 or 5 times 10^k."""
        lower, upper = column.bounds()
        wanted = min(max(_CELLS_OF_A_ROW * strength, LEAST_CELLS), MOST_CELLS)
        # Not finer than doubles of this size are.
        step = max((upper - lower) / wanted, max(abs(lower), abs(upper)) / _EXACT * 10)
        power = Decimal(step).adjusted()
        times = next(m for m in (5, 2, 1) if Decimal(m).scaleb(power) <= Decimal(step))
        whole = column.kind != "real"
        if power >= 0:
            return cls(lower, upper, times * 10**power, 1, whole)
        return cls(lower, upper, 1, 1, whole) if whole else cls(lower, upper, times, 10**-power, whole)

    @property
    def origin(self) -> int:
        """The multiple of the step that is cell 0."""
        return self._nearest(self.lower)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self._nearest(self.upper) - self.origin + 1

    def _nearest(self, value: float) -> int:
        return int(self._codes(np.array([value]))[0])

    def _codes(self, x: Floats) -> NDArray[np.int64]:
        found = np.floor(x / float(self.times) * float(self.parts) + 0.5).astype(np.int64)
        # The rounding of a quotient must not put a value beyond the border that is written.
        found -= x < self._border(found)
        found += x >= self._border(found + 1)
        return found

    def _border(self, multiple: NDArray[np.int64]) -> Floats:
        """Return the border between a multiple of the step and the one before."""
        return np.asarray((2 * multiple - 1) * float(self.times) / (2.0 * self.parts))

    def codes(self, x: Floats) -> NDArray[np.int64]:
        """Return the cell of each value; those outside the bounds are clamped."""
        return self._codes(np.clip(x, self.lower, self.upper)) - self.origin

    def value(self, cell: int) -> float:
        """Return the value that a cell is written as."""
        return float(np.clip((cell + self.origin) * self.times / self.parts, self.lower, self.upper))

    def ends(self, first: int, last: int) -> tuple[float, float]:
        """Return the least and the largest value that cells ``first`` to ``last`` can hold."""
        low, beyond = (float(b) for b in self._border(np.array([first, last + 1]) + self.origin))
        if self.whole:
            low, beyond = math.ceil(low), math.ceil(beyond) - 1
        return max(low, self.lower), min(beyond, self.upper)
