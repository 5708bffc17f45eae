"""Sources of random bits, each with whether its values may be released."""

from __future__ import annotations

import hashlib
import os
from importlib import import_module
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import check_here

_KEYED_BLOCK = 4096

_BYTES_OF_A_KEY = 2**30  # a new ChaCha20 key long before the 32-bit block counter (256 GiB) could repeat


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


def load_cipher() -> None:
    """Load the library of :class:`ChaCha20Entropy`; otherwise it counts to the memory of the run that draws first."""
    import_module("cryptography.hazmat.primitives.ciphers.algorithms")


class ChaCha20Entropy:
    """Random words from ChaCha20 (RFC 8439), keyed by ``os.urandom``: cryptographic, and fast enough for DP-SGD."""

    releasable = True

    def __init__(self) -> None:
        self._zeros = memoryview(b"")
        self._key()

    def _key(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

        # The nonce's first four bytes are the block counter; with a fresh key for each stream zeros are sound.
        self._stream = Cipher(ChaCha20(os.urandom(32), bytes(16)), mode=None).encryptor()
        self._left = _BYTES_OF_A_KEY
        self._process = os.getpid()

    def __reduce__(self) -> str:
        """Refuse to be pickled: two copies would give the same noise."""
        raise TypeError("a noise stream cannot be copied into another process; make one there")

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` uniform words."""
        size = 8 * count
        # A forked process inherits the stream's state: it takes a key of its own before its first word.
        if size > self._left or os.getpid() != self._process:
            self._key()
        self._left -= size
        if len(self._zeros) < size:
            self._zeros = memoryview(bytes(size))  # kept, to be the input of every draw
        return np.frombuffer(self._stream.update(self._zeros[:size]), dtype=np.uint64)


class SeededEntropy:
    """A reproducible stream for studies and tests; nothing drawn from it can be released."""

    releasable = False

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of the seeded stream."""
        check_here()
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


class KeyedEntropy:
    """A stream made from a secret key and a name: repeatable for the holder of the key, random to everybody else.

    It is SHAKE-128 of key, name and the number of the block. Nothing drawn from it can be released: a release is never
    a draw that somebody has seen.
    """

    releasable = False

    def __init__(self, key: bytes, *name: bytes) -> None:
        parts = (key, *name)
        self._prefix = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        self._block = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of the stream."""
        # Block by block, so that the interpreter is free for the window in between.
        out = np.empty(count, dtype=np.uint64)
        for start in range(0, count, _KEYED_BLOCK):
            check_here()
            part = out[start : start + _KEYED_BLOCK]
            stream = hashlib.shake_128(self._prefix + self._block.to_bytes(8, "big"))
            part[:] = np.frombuffer(stream.digest(8 * part.size), dtype=np.uint64)
            self._block += 1
        return out


_SORTED = 1 << 15  # rows whose order is drawn by sorting keys: so few that these stay in the processor's cache


def permutation(count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return a uniformly random order of ``count`` rows: of a few, the ranks of independent keys.

    Many are put into buckets first, and the order in each of these is drawn (:mod:`workbench.release.spilled_rows`
    says why every order has the same probability then, too).
    """
    if count > _SORTED:
        order, edges = in_buckets(count, 1 << min((count // _SORTED).bit_length(), 16), entropy)
        for first, last in pairwise(edges.tolist()):
            order[first:last] = order[first:last][permutation(last - first, entropy)]
        return order
    # Each key has the number of its row as its last bits: to sort them is twice as fast as to sort their places. The
    # order of ties among the other bits would not be random, so a draw with a tie is discarded (fewer than one in 2²⁰).
    number = np.uint64(_SORTED - 1)
    while True:
        keys = entropy.words(count) & ~number
        keys |= np.arange(count, dtype=np.uint64)
        keys.sort()
        ranked = keys & ~number
        if not np.any(ranked[1:] == ranked[:-1]):
            return (keys & number).astype(np.int64)


def in_buckets(count: int, buckets: int, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of each bucket, and where these begin and end; each row is in a uniformly random one.

    Args:
        count: how many rows there are.
        buckets: how many buckets: a power of two, at most 2^16.
        entropy: chooses.
    """
    chosen = entropy.words((count + 3) // 4).view(np.uint16)[:count] & np.uint16(buckets - 1)
    edges = np.append(0, np.cumsum(np.bincount(chosen, minlength=buckets)))
    return np.argsort(chosen, kind="stable"), edges


def uniform_below(total: int, entropy: Entropy) -> int:
    """Return a uniformly random whole number 0 … ``total`` − 1, of any size: draws of enough bits until one is below.

    At most one draw in two is discarded. The number of draws depends on ``total`` alone.
    """
    bits = (total - 1).bit_length()
    count = -(-bits // 64)
    while True:
        drawn = int.from_bytes(entropy.words(count).tobytes(), "little") >> (64 * count - bits)
        if drawn < total:
            return drawn
