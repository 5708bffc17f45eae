"""Optimised local hashing: the value is hashed to one of g cells, the cell goes through randomised response.

Wang, Blocki, Li & Jha 2017, sec. 4.4: g = e^ε + 1, to the nearest whole number. A report is the hash function, drawn
anew for each row and independent of its value, and the answered cell: as short for a million values as for three. It
supports every value that its function sends to the answered cell.

The functions are h(x) = ((a·x + b) mod M) mod g with M = 2^31 − 1 and uniform a and b: two different values have all
pairs of residues equally often, so that the chance q of a support by accident is known exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy
from workbench.privacy.local.frequency.base import OracleKind
from workbench.privacy.local.mechanism_table import capped, log_at_most, log_up
from workbench.privacy.local.mechanisms.grr import answered, integer_probabilities
from workbench.privacy.local.sampler import TOTAL

MODULUS = (1 << 31) - 1
MOST_CELLS = 1 << 16
_PAIRS_AT_ONCE = 1 << 22


def best_cells(epsilon: float) -> float:
    """Return e^ε + 1, the number of cells with the least variance, before it is rounded."""
    return math.exp(epsilon) + 1


class LocalHashing:
    """Reports (n, 3) int64: a and b of the hash function, and the answered cell."""

    def __init__(self, size: int, epsilon: float) -> None:
        """Choose g and the integers of randomised response over g cells.

        Raises:
            ParameterError: fewer than 2 values, or more than the hash distinguishes.
        """
        if not 2 <= size <= MODULUS:
            raise ParameterError(f"local hashing is for 2 to {MODULUS} values, and there are {size}")
        used = capped(epsilon)
        self.size = size
        self.cells = int(min(max(math.floor(best_cells(used) + 0.5), 2), MOST_CELLS))
        self._p, self._q = integer_probabilities(used, self.cells)
        self.exact_ratio = Fraction(self._p, self._q)
        self.exact_epsilon = log_up(self.exact_ratio)
        if not log_at_most(self.exact_ratio, used):
            raise ParameterError("randomised response is above its share of epsilon")
        each, more = divmod(MODULUS, self.cells)
        meeting = Fraction(more * (each + 1) ** 2 + (self.cells - more) * each**2, MODULUS**2)
        p, q = Fraction(self._p, TOTAL), Fraction(self._q, TOTAL)
        self.own, self.other = float(p), float(meeting * p + (1 - meeting) * q)

    def encode(self, values: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """Return a report for each of the (n,) values."""
        if values.size and not (int(values.min()) >= 0 and int(values.max()) < self.size):
            raise IndexError("a value is outside the oracle's domain")
        drawn = (entropy.words(2 * values.size) >> np.uint64(1)).reshape(values.size, 2) % np.uint64(MODULUS)
        functions = drawn.astype(np.int64)
        cells = self.hashed(functions, values)
        return np.column_stack([functions, answered(cells, self._p, self._q, entropy)])

    def hashed(self, functions: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell, (n,), to which each of (n, 2) functions sends its value."""
        out: NDArray[np.int64] = (functions[:, 0] * values + functions[:, 1]) % MODULUS % self.cells
        return out

    def answer_chances(self) -> tuple[int, int]:
        """Return the chances, as numbers of 2^63, of the hashed cell and of any other one."""
        return self._p, self._q

    def supports(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each value, (k,)."""
        domain, out = np.arange(self.size), np.zeros(self.size, dtype=np.int64)
        step = max(1, _PAIRS_AT_ONCE // self.size)
        for start in range(0, len(reports), step):
            part = reports[start : start + step]
            cells = (part[:, 0, None] * domain[None, :] + part[:, 1, None]) % MODULUS % self.cells
            out += (cells == part[:, 2, None]).sum(axis=0)
        return out


OLH = OracleKind(
    name="olh", title="optimised local hashing", report="a hash function and one of its cells", build=LocalHashing
)
