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

_AT_ONCE = 2**13
"""Numbers that are made at once, where fewer are asked for: small networks use them in several steps."""

_BYTES_OF_A_KEY = 2**30
"""A new key long before the 32-bit block counter (256 GiB) could repeat."""


class ChaCha20Entropy:
    """Random words from ChaCha20 (RFC 8439), keyed by ``os.urandom``: cryptographic, and fast enough for noise."""

    releasable = True

    def __init__(self) -> None:
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
        return np.frombuffer(self._stream.update(bytes(size)), dtype=np.uint64)


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
        self._ready: NDArray[np.float64] = np.empty(0)
        self._process = os.getpid()

    @property
    def releasable(self) -> bool:
        """Whether the noise is cryptographic."""
        return self._entropy.releasable

    def draw(self, count: int) -> NDArray[np.float64]:
        """Return ``count`` independent numbers, none of which was returned before."""
        # A forked process must not use the numbers that its parent has made and not yet used.
        if len(self._ready) < count or os.getpid() != self._process:
            self._process = os.getpid()
            # Whole draws: what is left over at the end would be thrown away.
            self._ready = self._made(count * -(-_AT_ONCE // max(1, count)))
        drawn, self._ready = self._ready[:count], self._ready[count:]
        return drawn

    def _made(self, count: int) -> NDArray[np.float64]:
        import torch  # its functions of arrays are several times as fast as those of NumPy

        pairs = -(-count // 2)
        uniform = torch.from_numpy((self._entropy.words(2 * pairs) >> np.uint64(11)).astype(np.float64))
        radius = uniform[:pairs].add_(1).mul_(2.0**-53).log_().mul_(-2).sqrt_().mul_(self.scale)
        angle = uniform[pairs:].mul_(2 * np.pi * 2.0**-53)
        drawn: NDArray[np.float64] = torch.cat([radius * angle.cos(), radius * angle.sin()]).numpy()
        return drawn[:count]
