"""The alias method with integer thresholds: it samples *exactly* the integer table.

Each row of weights summing to 2^63 is cut into K = 2^b equal buckets of 2^(63−b) (k columns padded with zero
weights to K). A bucket belongs to its own column below a threshold and to one other column, its alias, above it
(Walker 1977; Vose 1991, here in integers, so that nothing is rounded). Uniform bits, w = 16 or 32 of them, give the
bucket (low b bits) and the first w−b bits of the position in it. A table of words of w bits has the alias and the first
w−b bits of the threshold in the same places: one look-up, and mostly all that is needed. Only where position and
threshold begin with the same bits are the other 63−w bits of the position drawn. That has the probability 2^(b−w) in
any bucket, whatever its threshold: the work of a draw says nothing of the cell or the output.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.entropy import Entropy

TOTAL_BITS = 63
TOTAL = 1 << TOTAL_BITS
_FEW = 10  # most bits of a bucket for which 16 bits are drawn at first: one draw in 64 then needs the others
_CHUNK = 1 << 16  # draws at a time: the working set stays in the second-level cache


class AliasSampler:
    """Samples rows of an integer table."""

    def __init__(self, weights: NDArray[np.uint64]) -> None:
        """Build the buckets of ``weights``, uint64 (m, k) with rows summing to 2**63."""
        self.rows, columns = weights.shape
        self.bits = max(1, int(columns - 1).bit_length())  # b, the binary logarithm of the number of buckets
        self.word = np.dtype(np.uint16 if self.bits <= _FEW else np.uint32)
        self.later = np.uint64(TOTAL_BITS - 8 * self.word.itemsize)  # bits that are drawn only where they are needed
        thresholds, alias = _buckets(weights, self.bits)
        # Of each bucket, (m·K,): the first bits of its threshold above its alias, and the other bits.
        low = self.word.type(self.bits)
        self.first = ((thresholds >> self.later).astype(self.word) << low | alias.astype(self.word)).ravel()
        self.rest = (thresholds & ((np.uint64(1) << self.later) - np.uint64(1))).ravel()

    def sample(self, cells: NDArray[np.uint16], entropy: Entropy) -> NDArray[np.uint16]:
        """Return one draw from row ``cells[i]`` for each i.

        Args:
            cells: (n,) rows, 0 ≤ cell < m.
            entropy: the source of random bits.

        Raises:
            IndexError: a cell is outside the table.
        """
        if cells.size and int(cells.max()) >= self.rows:
            raise IndexError("a cell is outside the mechanism's table")
        out = np.empty(cells.shape, dtype=np.uint16)
        word, low = self.word, self.word.type(self.bits)
        mask = word.type((1 << self.bits) - 1)
        for start in range(0, cells.size, _CHUNK):
            part = cells[start : start + _CHUNK]
            drawn = entropy.words(-(-part.size * word.itemsize // 8)).view(word)[: part.size]
            index = part.astype(np.int64)
            index <<= self.bits
            index += drawn & mask
            found = self.first.take(index)
            position, border = drawn >> low, found >> low
            own = position < border
            undecided = np.flatnonzero(position == border)
            if len(undecided):
                rest = entropy.words(len(undecided)) >> (np.uint64(64) - self.later)
                own[undecided] = rest < self.rest[index[undecided]]
            found ^= (found ^ drawn) * own  # np.where would branch, which takes ten times as long
            out[start : start + _CHUNK] = found & mask
        return out


def _buckets(weights: NDArray[np.uint64], bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Return thresholds and aliases, both (m, 2**bits).

    A column lighter than a bucket is topped up by the first heavier one that has something left when all lighter
    columns before it are; a heavier one that has given so much that it is lighter itself, by the next heavier one.
    """
    rows, columns = weights.shape
    buckets, capacity = 1 << bits, np.uint64(1 << (TOTAL_BITS - bits))
    thresholds = np.zeros((rows, buckets), dtype=np.uint64)
    thresholds[:, :columns] = weights
    alias = np.tile(np.arange(buckets, dtype=np.uint16), (rows, 1))
    for own, other in zip(thresholds, alias, strict=True):
        light, heavy = np.flatnonzero(own < capacity), np.flatnonzero(own >= capacity)
        need = capacity - own[light]
        needed, given = np.cumsum(need), np.cumsum(own[heavy] - capacity)
        # The sums are exact, so what is needed and what is given fit exactly.
        if not len(heavy) or given[-1] != (needed[-1] if len(light) else 0):
            raise ValueError("the rows of the table do not all sum to 2**63")
        other[light] = heavy[np.searchsorted(given, needed - need)]
        last = np.searchsorted(needed, given, side="right")  # the column that it cannot top up without being lighter
        some = np.flatnonzero(last < len(light))
        own[heavy] = capacity
        own[heavy[some]] = capacity + given[some] - needed[last[some]]
        other[heavy[some]] = heavy[some + 1]
    # A full bucket is its own alias: no threshold is beyond the last position.
    thresholds[thresholds == capacity] -= np.uint64(1)
    return thresholds, alias
