"""A mechanism for one record as a finite table of integers, and its exact ε.

Input cell i of m gives output cell j of k with probability ``weights[i, j] / 2**63``. The same integers are
sampled (see :mod:`workbench.privacy.local.sampler`), so ε is not an assumption about a formula but the largest ratio
in any column of the numbers actually used: ε = ln max_j (max_i w_ij / min_i w_ij), for replace-one neighbours
and hence for zero-out neighbours too.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy
from workbench.privacy.local.cells import WHOLE
from workbench.privacy.local.channel import Channel, channel_of
from workbench.privacy.local.sampler import TOTAL, TOTAL_BITS, AliasSampler

_BUILDING = threading.Lock()  # two threads that draw by one table build what it is sampled with once

EPSILON_CAP = 30.0  # a row of 2^63 cannot hold every weight ≥ 1 much beyond this ε: larger shares use this table

EPSILON_LEAST = 1e-6
"""Below this the integers are too coarse to reach ε closely; a smaller share would not protect more in practice."""

EPSILON_MOST = 1e6

_BLOCK = 1 << 15
"""Entries of a table that are processed at a time: they fit the processor's cache and need no second table."""


def capped(epsilon: float) -> float:
    """Return the ε of the table that is used for a share of ``epsilon``.

    Raises:
        ParameterError: the share is outside [1e-6, 1e6].
    """
    if not EPSILON_LEAST <= epsilon <= EPSILON_MOST:
        raise ParameterError(
            f"epsilon = {epsilon:g} is outside {EPSILON_LEAST:g} to {EPSILON_MOST:g}",
            hint="give the column another share",
        )
    return min(epsilon, EPSILON_CAP)


class MechanismTable:
    """A finite mechanism whose ε was computed on the integers that are sampled.

    Attributes:
        weights: uint64 (m, k), read-only; each row sums to 2**63.
        inputs: number of input cells, m.
        outputs: number of output cells, k.
        exact_ratio: the largest ratio in a column, e^ε exactly.
        exact_epsilon: ln of it, rounded up to a double.
    """

    def __init__(self, weights: NDArray[np.uint64], claim: float) -> None:
        """Check the table and compute its ε.

        Args:
            weights: uint64 (m, k).
            claim: the ε it is built for.

        Raises:
            ParameterError: a row does not sum to 2**63, a column is zero for some inputs only (ε = ∞), or the
                exact ε is above ``claim``.
        """
        if weights.dtype != np.uint64 or weights.ndim != 2 or min(weights.shape) < 2:
            raise ParameterError("a mechanism table is a uint64 matrix of at least 2 by 2")
        self.weights = np.ascontiguousarray(weights)
        self.weights.setflags(write=False)
        self.inputs, self.outputs = self.weights.shape
        _check_rows(self.weights)
        self.exact_ratio = largest_ratio(self.weights)
        self.exact_epsilon = log_up(self.exact_ratio)
        if not log_at_most(self.exact_ratio, claim):
            raise ParameterError(f"the table has epsilon {self.exact_epsilon:.6g}, above the {claim:g} it is built for")
        self._sampler: AliasSampler | None = None
        self._channel: Channel | None = None

    def probabilities(self, rows: slice = WHOLE) -> NDArray[np.float64]:
        """Return the (m, k) transition probabilities, or some rows, each the double nearest to its exact value."""
        return self.weights[rows].astype(np.float64) / float(TOTAL)

    def channel(self) -> Channel:
        """Return the table as a linear map, made on first use."""
        if self._channel is None:
            self._channel = channel_of(self.weights)
        return self._channel

    def sample(self, cells: NDArray[np.uint16], entropy: Entropy) -> NDArray[np.uint16]:
        """Draw an output cell for each input cell, exactly from the table.

        Args:
            cells: (n,) input cells, 0 ≤ cell < m.
            entropy: the source of random words.

        Raises:
            IndexError: a cell is outside the table.
        """
        with _BUILDING:
            if self._sampler is None:
                self._sampler = AliasSampler(self.weights)
        return self._sampler.sample(cells, entropy)

    def digest(self) -> str:
        """Return the SHA-256 of the shape and the weights (big-endian), to recognise a rebuilt table."""
        seen = hashlib.sha256(f"{self.inputs}x{self.outputs}:".encode())
        for rows in blocks(self.inputs, self.outputs):
            seen.update(self.weights[rows].astype(">u8").tobytes())
        return seen.hexdigest()


def _check_rows(weights: NDArray[np.uint64]) -> None:
    # The exact sum wraps at 2**64; the floating sum rules out 2**63 + a multiple of 2**64.
    exact = weights.sum(axis=1, dtype=np.uint64)
    rough = weights.sum(axis=1, dtype=np.float64)
    if not (np.all(exact == np.uint64(TOTAL)) and np.allclose(rough, float(TOTAL), rtol=1e-6)):
        raise ParameterError(f"a row of a mechanism table does not sum to 2^{TOTAL_BITS}")


def largest_ratio(weights: NDArray[np.uint64]) -> Fraction:
    """Return the largest ratio of two entries of one column, exactly.

    Raises:
        ParameterError: a column is zero for some inputs and not for others: ε would be infinite.
    """
    high, low = weights.max(axis=0), weights.min(axis=0)
    used = high > 0
    if np.any(low[used] == 0):
        raise ParameterError("an output is possible for some inputs and impossible for others: epsilon is infinite")
    high, low = high[used], low[used]
    rough = high.astype(np.float64) / low.astype(np.float64)
    # Doubles only nominate; the comparison among the nominees is exact.
    near = np.flatnonzero(rough >= rough.max() * (1 - 1e-9))
    return max(Fraction(int(high[j]), int(low[j])) for j in near)


def _log(ratio: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def log_up(ratio: Fraction) -> float:
    """Return ln(ratio), rounded up to a double."""
    exact = _log(ratio)
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def log_at_most(ratio: Fraction, epsilon: float) -> bool:
    """Return whether ln(ratio) ≤ epsilon, decided with 50 digits on the double that ``epsilon`` is."""
    return _log(ratio) <= Decimal(epsilon)


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield blocks of rows of a table that fit the processor's cache."""
    step = max(1, _BLOCK // columns)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def integer_rows(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return integer weights proportional to ``rows`` up to rounding, each row summing to 2**63.

    Args:
        rows: float64 (m, k), positive.

    Raises:
        ParameterError: a weight would round to zero.
    """
    scaled = rows * (float(TOTAL) / rows.sum(axis=1, keepdims=True))
    weights = scaled.astype(np.uint64)
    # The residue is below k·2**10 either way: spread it evenly so that no single ratio moves.
    residue = (np.uint64(TOTAL) - weights.sum(axis=1, dtype=np.uint64)).astype(np.int64)
    each, rest = np.divmod(residue, rows.shape[1])
    signed = weights.astype(np.int64) + each[:, None] + (np.arange(rows.shape[1])[None, :] < rest[:, None])
    if signed.min() < 1:
        raise ParameterError("a probability of the mechanism is too small for its integer table")
    out: NDArray[np.uint64] = signed.astype(np.uint64)
    return out
