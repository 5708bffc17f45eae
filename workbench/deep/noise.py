"""Gaussian noise from a cryptographic stream.

This is the one place where released randomness is not exact on a public grid: samples are double-precision numbers,
not draws from an exact discrete distribution, and the guarantee is that of the real-valued Gaussian they stand for.
Every model card says so (:data:`GAUSSIAN_SENTENCE`).
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy

GAUSSIAN_SENTENCE = (
    "The noise is a double-precision Gaussian from a ChaCha20 stream keyed by operating-system entropy; the guarantee "
    "is that of the real-valued Gaussian and does not cover the lowest bits of floating-point arithmetic."
)

_BLOCK = 2**15
"""Numbers that are made at once: fewer would cost more to start than to make, more would leave the cache."""

_BYTES_OF_A_KEY = 2**30
"""A new key long before the 32-bit block counter (256 GiB) could repeat."""


class ChaCha20Entropy:
    """Random words from ChaCha20 (RFC 8439), keyed by ``os.urandom``: cryptographic, and fast enough for noise."""

    releasable = True

    def __init__(self) -> None:
        self._zeros = b""
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
        if len(self._zeros) != size:
            self._zeros = bytes(size)  # kept: most draws are of one size
        return np.frombuffer(self._stream.update(self._zeros), dtype=np.uint64)


class GaussianNoise:
    """Independent N(0, scale²) numbers by the Box–Muller transform of 53-bit uniforms.

    The radius √(−2 ln u), u a multiple of 2⁻⁵³ in (0, 1], ends at 8.57 standard deviations (mass beyond: 1e-17).

    Attributes:
        scale: standard deviation, the noise multiplier times the clipping norm: σC.
    """

    def __init__(self, scale: float, entropy: Entropy) -> None:
        """Make the source.

        Raises:
            ParameterError: the scale is not a number above 0.
        """
        if not 0 < scale < float("inf"):
            raise ParameterError(f"the noise scale {scale} is not a number above 0")
        self.scale = scale
        self._entropy = entropy
        self._whole = np.empty(_BLOCK, dtype=np.uint64)
        self._uniform = np.empty(_BLOCK)
        self._block = np.empty(_BLOCK)
        self._ready = self._block[:0]
        self._process = os.getpid()

    @property
    def releasable(self) -> bool:
        """Whether the noise is cryptographic."""
        return self._entropy.releasable

    def draw(self, count: int) -> NDArray[np.float64]:
        """Return ``count`` independent numbers, none of which was returned before; they are the caller's to change."""
        if os.getpid() != self._process:
            # A forked process must not use the numbers that its parent has made and not yet used.
            self._process, self._ready = os.getpid(), self._block[:0]
        drawn = np.empty(count)
        filled = 0
        while filled < count:
            if count - filled >= _BLOCK:
                taken = _BLOCK
                self._make(drawn[filled : filled + taken])
            else:
                if not len(self._ready):
                    self._make(self._block)
                    self._ready = self._block
                taken = min(len(self._ready), count - filled)
                drawn[filled : filled + taken] = self._ready[:taken]
                self._ready = self._ready[taken:]
            filled += taken
        return drawn

    def _make(self, block: NDArray[np.float64]) -> None:
        """Fill ``block`` with new numbers: the cosines of all pairs, then their sines."""
        import torch  # its functions of arrays are several times as fast as those of NumPy

        # Below 2⁵³ signed and unsigned are the same, and signed ones convert faster.
        np.right_shift(self._entropy.words(_BLOCK), np.uint64(11), out=self._whole)
        self._uniform[:] = self._whole.view(np.int64)
        radius, angle = torch.from_numpy(self._uniform).view(2, -1)
        cosines, sines = torch.from_numpy(block).view(2, -1)
        radius.add_(1).mul_(2.0**-53).log_().mul_(-2).sqrt_().mul_(self.scale)
        angle.mul_(2 * np.pi * 2.0**-53)
        torch.cos(angle, out=cosines).mul_(radius)
        torch.sin(angle, out=sines).mul_(radius)
