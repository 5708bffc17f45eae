"""Gaussian noise from a ChaCha20 stream that is computed on the device itself.

The promise is that of :mod:`workbench.deep.noise`: the same cipher, keyed by the operating system, and independent
double-precision numbers with the law of a Gaussian up to the lowest bits. They are made by the Box–Muller transform
instead of by rejection, because every number then takes the same operations, so that making them can be replayed.

Of two 64-bit words the upper 53 bits are the radius' and the angle's; the lower 22 together continue those of the
radius, whose uniform u is a multiple of 2⁻⁷⁵ in (0, 1]. So √(−2 ln u) ends at 10.2 standard deviations, and the mass
beyond is 3·10⁻²³ for each pair: below 10⁻¹¹ together for 10 million parameters in 10,000 steps.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch import Tensor

from workbench.deep.device.chacha20 import MOST_BLOCKS, WORDS_OF_A_BLOCK, WORDS_OF_A_KEY, key_words, keystream
from workbench.params import ParameterError, WorkbenchError
from workbench.privacy.entropy import Entropy, OsEntropy

NUMBERS_AT_ONCE = 2**19
"""Numbers that are made at once (4 MB, and 20 MB while they are made)."""

_BLOCKS_OF_A_KEY = 2**24
"""A new key after 1 GiB, long before the 32-bit counter could repeat."""

_NUMBERS_OF_A_BLOCK = WORDS_OF_A_BLOCK // 2
_TRIED = 64

Repeat = Callable[[Callable[[], None]], Callable[[], None]]
"""Makes of a function over fixed tensors one that does the same again, perhaps faster."""


class KeyStream:
    """Words of ChaCha20 on a device; no block is used twice, and nothing of it can be copied or kept.

    The position is the host's: the device is told the number of the next block before it is made, and the host has
    counted it before. A fresh key comes from the operating system for every stream, after every 1 GiB, in a forked
    process, and so for every part of a run that goes on after a pause.

    Attributes:
        words: the words of the last call of :meth:`advance` (blocks, 16), overwritten by the next one.
    """

    def __init__(self, device: torch.device | str, blocks: int, keys: Entropy | None = None) -> None:
        """Make the stream.

        Args:
            device: where it is computed.
            blocks: blocks of one call.
            keys: what keys are drawn from, the operating system by default. A seeded source makes a stream that can
                never be released.

        Raises:
            WorkbenchError: the device does not compute ChaCha20.
        """
        if not 1 <= blocks <= _BLOCKS_OF_A_KEY < MOST_BLOCKS:
            raise ParameterError(f"{blocks} blocks at once are not possible", mend=f"give 1 to {_BLOCKS_OF_A_KEY:,}")
        self._keys = keys or OsEntropy()
        self._blocks = blocks
        self._key = torch.zeros(WORDS_OF_A_KEY, dtype=torch.int32, device=device)
        self._first = torch.zeros(1, dtype=torch.int32, device=device)
        self.words = torch.zeros(blocks, WORDS_OF_A_BLOCK, dtype=torch.int32, device=device)
        require_chacha20(device)
        self._take_key()

    def __reduce__(self) -> str:
        """Refuse to be pickled: two copies would give the same noise."""
        raise TypeError("a noise stream cannot be copied into another process; make one there")

    @property
    def releasable(self) -> bool:
        """Whether its keys are cryptographic."""
        return self._keys.releasable

    def _take_key(self) -> None:
        self._key.copy_(key_words(self._keys.words(4).tobytes()))
        self._next = 0
        self._process = os.getpid()

    def advance(self) -> None:
        """Count the next blocks as used, and tell the device where they begin; :meth:`make` then makes them."""
        if os.getpid() != self._process or self._next + self._blocks > _BLOCKS_OF_A_KEY:
            self._take_key()
        self._first.fill_(self._next)
        self._next += self._blocks

    def make(self) -> None:
        """Fill :attr:`words` from what :meth:`advance` told; reads nothing back, so that it can be replayed."""
        self.words.copy_(keystream(self._key, self._first, self._blocks))


class DeviceNoise:
    """Independent N(0, scale²) numbers on a device.

    Attributes:
        scale: standard deviation, the noise multiplier times the clipping norm: σC.
    """

    def __init__(
        self,
        scale: float,
        device: torch.device | str,
        keys: Entropy | None = None,
        *,
        at_once: int = NUMBERS_AT_ONCE,
        repeat: Repeat = lambda function: function,
    ) -> None:
        """Make the source.

        Args:
            scale: the standard deviation.
            device: where the numbers are made and added.
            keys: see :class:`KeyStream`.
            at_once: numbers that are made at once, a multiple of 16.
            repeat: makes the making of them faster, by capturing it.

        Raises:
            ParameterError: the scale is not a number above 0.
            WorkbenchError: the device does not compute ChaCha20.
        """
        if not 0 < scale < float("inf"):
            raise ParameterError(f"the noise scale {scale} is not a number above 0")
        if at_once % (2 * _NUMBERS_OF_A_BLOCK):
            raise ParameterError(f"{at_once} numbers at once are not possible", mend="give a multiple of 16")
        self.scale = scale
        self._stream = KeyStream(device, at_once // _NUMBERS_OF_A_BLOCK, keys)
        self._numbers = torch.zeros(at_once, dtype=torch.float64, device=device)
        self._used = at_once
        self._process = os.getpid()
        self._fill: Callable[[], None] = repeat(self._make)
        # Capturing may have run it, with a counter that the stream has not yet counted: those numbers are never used.

    @property
    def releasable(self) -> bool:
        """Whether the noise is cryptographic."""
        return self._stream.releasable

    def add_to(self, total: Tensor) -> None:
        """Add a number that was never used before to every coordinate of ``total`` (P,), double precision."""
        if os.getpid() != self._process:
            # A forked process must not use the numbers that its parent has made and not yet used.
            self._process, self._used = os.getpid(), len(self._numbers)
        done = 0
        while done < len(total):
            if self._used == len(self._numbers):
                self._stream.advance()
                self._fill()
                self._used = 0
            taken = min(len(self._numbers) - self._used, len(total) - done)
            total[done : done + taken].add_(self._numbers[self._used : self._used + taken])
            done, self._used = done + taken, self._used + taken

    def _make(self) -> None:
        """Make new numbers: the cosines of all pairs, then their sines; reads nothing back."""
        self._stream.make()
        fill_with_gaussians(self._numbers, self._stream.words, self.scale)


def fill_with_gaussians(numbers: Tensor, words: Tensor, scale: float) -> None:
    """Make N(0, scale²) of random words by the Box–Muller transform, in double precision.

    Args:
        numbers: is filled: the cosines of all pairs, then their sines, (k,).
        words: 32-bit words, 2k of them.
        scale: the standard deviation.
    """
    # Little-endian pairs of words are 64-bit words; below 2⁵³ signed and unsigned are the same.
    long = words.view(-1).view(torch.int64).view(2, -1)
    radius, angle = (long >> 11).bitwise_and_(2**53 - 1).to(torch.float64).unbind(0)
    high, low = long.bitwise_and(2**11 - 1).unbind(0)
    rest = high.mul_(2**11).add_(low).add_(1).to(torch.float64)
    radius.add_(rest, alpha=2.0**-22).mul_(2.0**-53).log_().mul_(-2).sqrt_().mul_(scale)
    angle.mul_(2 * torch.pi * 2.0**-53)
    cosines, sines = numbers.view(2, -1).unbind(0)
    torch.cos(angle, out=cosines).mul_(radius)
    torch.sin(angle, out=sines).mul_(radius)


def require_chacha20(device: torch.device | str) -> None:
    """Compare what ``device`` computes with the library's ChaCha20, bit for bit.

    Raises:
        WorkbenchError: they differ, so noise made there would not be what is promised.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    key, begin = os.urandom(32), 2**24 - _TRIED // 2
    nonce = begin.to_bytes(4, "little") + bytes(12)
    expected = Cipher(ChaCha20(key, nonce), mode=None).encryptor().update(bytes(4 * WORDS_OF_A_BLOCK * _TRIED))
    first = torch.tensor([begin], dtype=torch.int32).to(device)
    found = keystream(key_words(key).to(device), first, _TRIED)
    if found.cpu().numpy().astype("<i4").tobytes() != expected:
        raise WorkbenchError(
            "the device does not compute ChaCha20 as it should",
            str(device),
            "train with --device cpu, or update PyTorch",
        )
