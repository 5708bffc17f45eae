"""Gaussian noise from a cryptographic stream.

This is the one place where released randomness is not exact on a public grid: samples are double-precision numbers,
not draws from an exact discrete distribution, and the guarantee is that of the real-valued Gaussian they stand for.
Every model card says so (:data:`GAUSSIAN_SENTENCE`).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.deep.compiled import as_written
from workbench.deep.ziggurat import PART, Ziggurat
from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy

GAUSSIAN_SENTENCE = (
    "The noise is a double-precision Gaussian from a ChaCha20 stream keyed by operating-system entropy; the guarantee "
    "is that of the real-valued Gaussian and does not cover the lowest bits of floating-point arithmetic."
)

ADDED_ON_GPU = (
    "The gradients were computed, clipped and summed on a GPU, where the noise was added: this program was tested on "
    "processors only, and never on a GPU."
)
MADE_ON_GPU = (
    "Gradients, sums and noise were computed on a GPU, the noise by the Box–Muller transform. Before the first step "
    "the noise of whole trial steps was compared with the processor's, and during the run some numbers of every piece "
    "of it; but this program was tested on processors only, and never on a GPU."
)

_BLOCK = 8 * PART
"""Numbers that are made ahead: what is rare in making them is done once for all."""

_BYTES_OF_A_KEY = 2**30
"""A new key long before the 32-bit block counter (256 GiB) could repeat."""


class ChaCha20Entropy:
    """Random words from ChaCha20 (RFC 8439), keyed by ``os.urandom``: cryptographic, and fast enough for noise."""

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


class GaussianNoise:
    """Independent N(0, scale²) numbers from 53 random bits and more each, by rejection (:class:`Ziggurat`).

    They end at 12.5 standard deviations (mass beyond: 1e-35).

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
        self._source = Ziggurat(scale, entropy)
        self._block = np.empty(_BLOCK)
        self._used = _BLOCK
        """Numbers of the block that were returned; as many as it has before the first one is made."""
        self._process = os.getpid()

    def __reduce__(self) -> str:
        """Refuse to be copied: the copy has the numbers that were made ahead, too, and would return them again."""
        raise TypeError("a source of noise cannot be copied; make another one")

    @property
    def releasable(self) -> bool:
        """Whether the noise is cryptographic."""
        return self._entropy.releasable

    def draw(self, count: int) -> NDArray[np.float64]:
        """Return ``count`` independent numbers, none of which was returned before; they are the caller's to change."""
        if os.getpid() != self._process:
            # A forked process must not use the numbers that its parent has made and not yet used.
            self._process, self._used = os.getpid(), _BLOCK
        start, end = self._used, self._used + count
        if end <= _BLOCK:
            self._used = end
            return self._block[start:end].copy()
        drawn = np.empty(count)
        filled = 0
        while filled < count:
            if self._used == _BLOCK:
                if count - filled >= _BLOCK:
                    self._source.fill(drawn[filled : filled + _BLOCK])
                    filled += _BLOCK
                    continue
                self._source.fill(self._block)
                self._used = 0
            start, taken = self._used, min(_BLOCK - self._used, count - filled)
            self._used += taken
            drawn[filled : filled + taken] = self._block[start : start + taken]
            filled += taken
        return drawn

    def add_to(self, values: NDArray[Any], out: NDArray[Any], over: float = 1.0) -> None:
        """Write (values + noise)/over into ``out``, with as many numbers of :meth:`draw` as ``values`` (P,) has.

        The sum and its part are in double precision, and rounded once to that of ``out``.

        Raises:
            ValueError: ``out`` does not have the length of ``values``.
        """
        start, end = self._used, self._used + len(values)
        if end > _BLOCK or os.getpid() != self._process:
            drawn = self.draw(len(values))
        else:
            self._used = end
            drawn = self._block[start:end]  # nobody reads these numbers again
        _added(values, drawn, 1.0 / over, out)


@as_written
def _added(values: NDArray[Any], drawn: NDArray[np.float64], times: float, out: NDArray[Any]) -> None:
    """Write (values + drawn)·times into ``out``; all three have one length."""
    if not len(values) == len(drawn) == len(out):
        raise ValueError("values and what is to be written have different lengths")
    for i in range(len(out)):
        out[i] = (values[i] + drawn[i]) * times
