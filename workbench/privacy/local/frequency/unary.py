"""Unary encoding: a report of k bits, each drawn by itself (Wang, Blocki, Li & Jha 2017).

* ``oue``, optimised (sec. 4.3): p = 1/2, q = 1/(e^ε + 1). Variance of a rare value's frequency: 4e^ε/(e^ε − 1)² from
  one record, whatever the number of values.
* ``sue``, symmetric (sec. 4.2), which is basic one-time RAPPOR (Erlingsson, Pihur & Korolova 2014):
  p = e^(ε/2)/(e^(ε/2) + 1), q = 1 − p. That variance is e^(ε/2)/(e^(ε/2) − 1)², which is more.
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
from workbench.privacy.local.sampler import TOTAL
from workbench.privacy.local.sliding_window import odds

_BITS_AT_ONCE = 1 << 20


class UnaryEncoding:
    """The bit of the value is 1 with probability p, every other bit with probability q, in integers over 2^63.

    Two values differ in two bits: the report that reveals most has a ratio of p(1 − q)/((1 − p)q), which is e^ε.
    """

    def __init__(self, size: int, p: int, q: int, claim: float) -> None:
        """Check the integers and compute the exact ε.

        Raises:
            ParameterError: fewer than 2 values, or the exact ε is above ``claim``.
        """
        if not size >= 2:
            raise ParameterError("a frequency oracle needs at least 2 values", hint="declare a wider domain")
        self.size, self._p, self._q = size, p, q
        if not 0 < q < p < TOTAL:
            raise ParameterError("a probability of the encoding is too small for its integers")
        self.exact_ratio = Fraction(p * (TOTAL - q), (TOTAL - p) * q)
        self.exact_epsilon = log_up(self.exact_ratio)
        if not log_at_most(self.exact_ratio, claim):
            raise ParameterError(f"the encoding has epsilon {self.exact_epsilon:.6g}, above {claim:g}")
        self.own, self.other = p / TOTAL, q / TOTAL

    def integers(self) -> tuple[int, int]:
        """Return p and q as numbers of 2^63."""
        return self._p, self._q

    def encode(self, values: NDArray[np.int64], entropy: Entropy) -> NDArray[np.bool_]:
        """Return (n, k) bits, one row for each of the (n,) values."""
        if values.size and not (int(values.min()) >= 0 and int(values.max()) < self.size):
            raise IndexError("a value is outside the oracle's domain")
        out = np.empty((values.size, self.size), dtype=np.bool_)
        step = max(1, _BITS_AT_ONCE // self.size)
        for start in range(0, values.size, step):
            part = values[start : start + step]
            words = (entropy.words(part.size * self.size) >> np.uint64(1)).reshape(part.size, self.size)
            chance = np.full(words.shape, self._q, dtype=np.uint64)
            chance[np.arange(part.size), part] = self._p
            out[start : start + step] = words < chance
        return out

    def supports(self, reports: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many reports have each bit, (k,)."""
        out: NDArray[np.int64] = reports.sum(axis=0, dtype=np.int64)
        return out


def optimised(size: int, epsilon: float) -> UnaryEncoding:
    """Return the encoding of ``size`` values; q is rounded up, so that ε is not exceeded."""
    used = capped(epsilon)
    return UnaryEncoding(size, TOTAL // 2, math.ceil(TOTAL / (odds(used) + 1)), used)


def symmetric(size: int, epsilon: float) -> UnaryEncoding:
    """Return the encoding of ``size`` values; q is rounded up, so that ε is not exceeded."""
    used = capped(epsilon)
    q = math.ceil(TOTAL / (odds(used / 2) + 1))
    return UnaryEncoding(size, TOTAL - q, q, used)


OUE = OracleKind(name="oue", title="optimised unary encoding", report="a vector of {k} bits", build=optimised)
SUE = OracleKind(name="sue", title="symmetric unary encoding", report="a vector of {k} bits", build=symmetric)
