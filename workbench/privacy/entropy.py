"""Where random bits come from, and whether what is drawn from them may be released."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Entropy(Protocol):
    """A source of independent uniform 64-bit words."""

    releasable: bool

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` uniform words."""
        ...


class OsEntropy:
    """The operating system's cryptographic generator: the only source a release may draw from."""

    releasable = True

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` uniform words from ``os.urandom``."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededEntropy:
    """A reproducible stream for studies and tests; nothing drawn from it can be released."""

    releasable = False

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of the seeded stream."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


def permutation(count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return a uniformly random order of ``count`` rows: the ranks of independent 64-bit keys.

    Keys that tie would favour the stable order, so a draw with a tie is thrown away whole (n²/2⁶⁵ of the draws).
    """
    while True:
        keys = entropy.words(count)
        order = np.argsort(keys, kind="stable")
        ranked = keys[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order
