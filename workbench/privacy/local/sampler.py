"""The alias method with integer thresholds: it samples *exactly* the integer table, in constant work per draw.

Each row of weights summing to 2^63 is cut into K = 2^b equal buckets of 2^(63−b) (k columns padded with zero
weights to K). A bucket belongs to its own column below a threshold and to one other column, its alias, above it
(Walker 1977; Vose 1991, here in integers, so that nothing is rounded). One uniform 64-bit word gives the bucket
(low b bits) and the position in it (top 63−b bits). Threshold and alias share one 64-bit entry: one look-up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.entropy import Entropy

TOTAL_BITS = 63
TOTAL = 1 << TOTAL_BITS
_CHUNK = 1 << 16  # words at a time: the working set stays in the second-level cache


class AliasSampler:
    """Samples rows of an integer table.

    Attributes:
        entries: uint64 (m·K,), ``threshold << b | alias`` of each bucket.
        bits: b, the binary logarithm of the number of buckets.
    """

    def __init__(self, weights: NDArray[np.uint64]) -> None:
        """Build the buckets of ``weights``, uint64 (m, k) with rows summing to 2**63."""
        self.rows, columns = weights.shape
        self.bits = max(1, int(columns - 1).bit_length())
        thresholds, alias = _buckets(weights, self.bits)
        self.entries = ((thresholds << np.uint64(self.bits)) | alias.astype(np.uint64)).ravel()

    def sample(self, cells: NDArray[np.uint16], entropy: Entropy) -> NDArray[np.uint16]:
        """Return one draw from row ``cells[i]`` for each i.

        Args:
            cells: (n,) rows, 0 ≤ cell < m.
            entropy: the source of n words.

        Raises:
            IndexError: a cell is outside the table.
        """
        if cells.size and int(cells.max()) >= self.rows:
            raise IndexError("a cell is outside the mechanism's table")
        out = np.empty(cells.shape, dtype=np.uint16)
        bits, mask = np.uint64(self.bits), np.uint64((1 << self.bits) - 1)
        position_shift = np.uint64(self.bits + 1)  # 64-bit words, 63-bit rows: one bit is left unused
        for start in range(0, cells.size, _CHUNK):
            part = cells[start : start + _CHUNK]
            words = entropy.words(part.size)
            bucket = (words & mask).astype(np.uint32)
            index = part.astype(np.uint32)
            index <<= np.uint32(self.bits)
            index += bucket
            entry = self.entries.take(index)
            own = (words >> position_shift) < (entry >> bits)
            out[start : start + _CHUNK] = np.where(own, bucket, (entry & mask).astype(np.uint32))
        return out


def _buckets(weights: NDArray[np.uint64], bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Return thresholds and aliases, both (m, 2**bits), for all rows at once.

    Columns are taken in order of weight: the lightest open column is topped up by the heaviest one, whose
    remainder is itself topped up by the next heaviest once it falls below a bucket. Every step closes one bucket
    of every row, so 2**bits steps close all, whatever the weights.
    """
    rows, columns = weights.shape
    buckets, capacity = 1 << bits, np.uint64(1 << (TOTAL_BITS - bits))
    padded = np.zeros((rows, buckets), dtype=np.uint64)
    padded[:, :columns] = weights
    order = np.argsort(padded, axis=1, kind="stable").astype(np.uint16)
    ordered = np.take_along_axis(padded, order, axis=1)
    thresholds = np.empty_like(padded)
    alias = np.empty((rows, buckets), dtype=np.uint16)

    row = np.arange(rows)
    low = np.zeros(rows, dtype=np.int64)
    high = np.full(rows, buckets - 1, dtype=np.int64)
    left = ordered[:, -1].copy()  # what the heaviest column still has to give
    for _ in range(buckets - 1):
        short = left < capacity  # the heavy column itself is now the one to be topped up
        heavy = order[row, high]
        following = np.maximum(high - 1, 0)
        light = order[row, low]
        have = np.where(short, left, ordered[row, low])
        closed = np.where(short, heavy, light)
        giver = np.where(short, order[row, following], heavy)
        thresholds[row, closed] = have
        alias[row, closed] = giver
        need = capacity - have
        left = np.where(short, ordered[row, following], left) - need
        high = np.where(short, following, high)
        low = np.where(short, low, low + 1)
    last = order[row, high]
    # The sums are exact, so what is left fills the last bucket exactly: it is its own alias, whatever its threshold.
    if not np.all(left == capacity):
        raise ValueError("the rows of the table do not all sum to 2**63")
    thresholds[row, last] = capacity - np.uint64(1)
    alias[row, last] = last
    return thresholds, alias


def decoded(sampler: AliasSampler, columns: int) -> NDArray[np.uint64]:
    """Return the weights that ``sampler`` really samples, uint64 (m, columns): the check that it is exact."""
    buckets = 1 << sampler.bits
    entries = sampler.entries.reshape(sampler.rows, buckets)
    thresholds = entries >> np.uint64(sampler.bits)
    alias = (entries & np.uint64(buckets - 1)).astype(np.int64)
    capacity = np.uint64(1 << (TOTAL_BITS - sampler.bits))
    weights = thresholds.copy()
    row = np.broadcast_to(np.arange(sampler.rows)[:, None], alias.shape)
    np.add.at(weights, (row, alias), capacity - thresholds)
    return weights[:, :columns]
