"""Gaussian noise from a ChaCha20 stream that is computed on the device itself.

The promise is that of :mod:`workbench.deep.noise`: the same cipher, keyed by the operating system, and independent
double-precision numbers with the law of a Gaussian up to the lowest bits. They are made by the Box–Muller transform
instead of by rejection, because every number then takes the same operations, so that making them can be replayed.

Of two 64-bit words the upper 53 bits are the radius' and the angle's; the lower 22 together continue those of the
radius, whose uniform u is a multiple of 2⁻⁷⁵ in (0, 1]. So √(−2 ln u) ends at 10.2 standard deviations, and the mass
beyond is 3·10⁻²³ for each pair: below 10⁻¹¹ together for 10 million parameters in 10,000 steps.

**What a device makes is compared, not believed.** A recording that does nothing, or the same again, would let sums go
without noise, and nobody would see it. So at the start and at every new key whole fills are compared with the library's
ChaCha20 and with the transform as the processor computes it, and of every other fill some numbers are, before anything
that was made with them is kept or released (:meth:`DeviceNoise.require_made`).
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
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

_FILLS_COMPARED = 2
"""Whole fills that are compared at the start and at a new key; what repeats the first one fails at the second."""

_PAIRS_COMPARED, _FILLS_LISTED = 8, 256
"""Pairs of numbers of every other fill that are compared, and after how many fills at the latest."""

LISTED = (_FILLS_LISTED, 2, _PAIRS_COMPARED)
"""Shape of the numbers that are kept to be compared."""

_OF_DOUBLES, _OF_SINGLES = 1e-9, 2e-6
"""How far numbers may be from the processor's, relative to the scale: rounding takes a thousandth of the first, and
a third of the second from the largest that occur."""

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
            raise ParameterError(f"{blocks} blocks at once are not possible", hint=f"give 1 to {_BLOCKS_OF_A_KEY:,}")
        self._keys = keys or OsEntropy()
        self._blocks = blocks
        self._key = torch.zeros(WORDS_OF_A_KEY, dtype=torch.int32, device=device)
        self._first = torch.zeros(1, dtype=torch.int32, device=device)
        self.words = torch.zeros(blocks, WORDS_OF_A_BLOCK, dtype=torch.int32, device=device)
        require_chacha20(device)
        self.take_key()

    def __reduce__(self) -> str:
        """Refuse to be pickled: two copies would give the same noise."""
        raise TypeError("a noise stream cannot be copied into another process; make one there")

    @property
    def releasable(self) -> bool:
        """Whether its keys are cryptographic."""
        return self._keys.releasable

    @property
    def next(self) -> int:
        """The first block that was never used."""
        return self._next

    def fits(self, calls: int) -> bool:
        """Return whether so many calls of :meth:`advance` take no new key."""
        return os.getpid() == self._process and self._next + calls * self._blocks <= _BLOCKS_OF_A_KEY

    def take_key(self) -> None:
        """Go on with a new key."""
        self._secret = self._keys.words(4).tobytes()
        self._key.copy_(key_words(self._secret))
        self._next = 0
        self._process = os.getpid()

    def advance(self) -> None:
        """Count the next blocks as used, and tell the device where they begin; :meth:`make` then makes them."""
        if not self.fits(1):
            self.take_key()
        self._first.fill_(self._next)
        self._next += self._blocks

    def library_words(self, first: int, blocks: int) -> Tensor:
        """Return the words (blocks, 16) of the present key as the library makes them, in the memory of the host."""
        return _library_words(self._secret, first, blocks)

    def make(self) -> None:
        """Fill :attr:`words` from what :meth:`advance` told; reads nothing back, so that it can be replayed."""
        self.words.copy_(keystream(self._key, self._first, self._blocks))


class DeviceNoise:
    """Independent N(0, scale²) numbers on a device.

    Attributes:
        scale: standard deviation, the noise multiplier times the clipping norm: σC.
        replay_differs: whether a faster way was offered and left aside, because it did not make the same numbers.
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
            raise ParameterError(f"{at_once} numbers at once are not possible", hint="give a multiple of 16")
        blocks = at_once // _NUMBERS_OF_A_BLOCK
        if (_FILLS_COMPARED + 1) * blocks > _BLOCKS_OF_A_KEY:
            raise ParameterError(f"{at_once} numbers at once are not possible", hint="give fewer")
        self.scale = scale
        self._blocks = blocks
        self._stream = KeyStream(device, blocks, keys)
        self._numbers = torch.zeros(at_once, dtype=torch.float64, device=device)
        self._used = at_once
        self._process = os.getpid()
        self._listed = torch.zeros(LISTED, dtype=torch.float64, device=device)
        self._firsts: list[int] = []
        """Where the fills begin of which numbers are listed."""
        self._fill: Callable[[], None] = repeat(self._make)
        # Capturing may have run it, with a counter that the stream has not yet counted: those numbers are never used.
        self.replay_differs = self._fill != self._make and not self._makes_noise(self._fill)
        if self.replay_differs or self._fill == self._make:
            self.in_order()

    def __reduce__(self) -> str:
        """Refuse to be copied: both copies would add the same numbers."""
        raise TypeError("a noise stream cannot be copied into another process; make one there")

    @property
    def releasable(self) -> bool:
        """Whether the noise is cryptographic."""
        return self._stream.releasable

    def in_order(self) -> None:
        """Make numbers by operations that are started one by one from now on.

        Raises:
            WorkbenchError: they do not make what they should either.
        """
        self._fill = self._make
        self._require_noise()
        self._used = len(self._numbers)

    def add_to(self, total: Tensor) -> None:
        """Add a number that was never used before to every coordinate of ``total`` (P,), double precision.

        Raises:
            WorkbenchError: the device no longer makes what it should.
        """
        if os.getpid() != self._process:
            # A forked process must not use the numbers that its parent has made and not yet used.
            self._process, self._used = os.getpid(), len(self._numbers)
        done = 0
        while done < len(total):
            if self._used == len(self._numbers):
                self._refill()
            taken = min(len(self._numbers) - self._used, len(total) - done)
            total[done : done + taken].add_(self._numbers[self._used : self._used + taken])
            done, self._used = done + taken, self._used + taken

    def require_made(self) -> None:
        """Compare some numbers of every fill since the last call with those of the library's keystream.

        Waits for the device. To be called before anything that the noise went into is kept or shown.

        Raises:
            WorkbenchError: they differ.
        """
        found = self._listed[: len(self._firsts)].cpu()
        for first, numbers in zip(self._firsts, found, strict=True):
            words = torch.cat([self._stream.library_words(first + part, 1) for part in (0, self._blocks // 2)])
            if not self._alike(numbers.flatten(), words):
                raise _no_noise(self._numbers.device)
        self._firsts.clear()

    def leaves_in(self, finish: Callable[[], Tensor], base: Tensor, divisor: int, tolerance: float) -> bool:
        """Return whether what leaves ``finish`` is ``base`` with new noise, every number of it.

        Args:
            finish: calls :meth:`add_to` once for a sum that is ``base``, and returns what leaves, in single precision.
            base: the sum without noise (P,), double precision, in the memory of the host.
            divisor: what the noisy sum is divided by.
            tolerance: how far the sum itself may be from ``base``.
        """
        at_once = len(self._numbers)
        if not self._stream.fits(-(-len(base) // at_once)):
            self._renew()
        self._used, begin = at_once, self._stream.next
        if not self._stream.fits(-(-len(base) // at_once)):
            return False  # more numbers than a key has
        found, most = finish(), _OF_SINGLES * self.scale + tolerance
        for number, start in enumerate(range(0, len(base), at_once)):
            part = slice(start, start + at_once)
            expected = torch.empty(at_once, dtype=torch.float64)
            words = self._stream.library_words(begin + number * self._blocks, self._blocks)
            fill_with_gaussians(expected, words, self.scale)
            there = base[part]
            off = found[part].cpu().double().mul_(divisor).sub_(there).sub_(expected[: len(there)])
            if not bool((off.abs_() <= most).all()):
                return False
        return True

    def _refill(self) -> None:
        """Make the next numbers, and list those that are compared later."""
        if not self._stream.fits(1):
            self._renew()
        elif len(self._firsts) == _FILLS_LISTED:
            self.require_made()
        self._firsts.append(self._stream.next)
        self._stream.advance()
        self._fill()
        self._listed[len(self._firsts) - 1].copy_(self._numbers.view(2, -1)[:, :_PAIRS_COMPARED])
        self._used = 0

    def _renew(self) -> None:
        """Take a new key, once all that was made with the last one is compared; compare whole fills of the new one."""
        self.require_made()
        self._stream.take_key()
        self._require_noise()

    def _require_noise(self) -> None:
        # Not the time to choose another way: what was made before would be in doubt, too.
        if not self._makes_noise(self._fill):
            raise _no_noise(self._numbers.device)

    def _makes_noise(self, fill: Callable[[], None]) -> bool:
        """Return whether ``fill`` makes the library's keystream and the numbers of it; they are used for nothing."""
        for _ in range(_FILLS_COMPARED):
            words = self._stream.library_words(self._stream.next, self._blocks)
            self._stream.advance()
            fill()
            same = torch.equal(self._stream.words.cpu(), words)
            if not same or not self._alike(self._numbers.cpu(), words):
                return False
        return True

    def _alike(self, found: Tensor, words: Tensor) -> bool:
        """Return whether ``found`` are the numbers of ``words``, both in the memory of the host."""
        expected = torch.empty_like(found)
        fill_with_gaussians(expected, words, self.scale)
        return bool(((found - expected).abs_() <= _OF_DOUBLES * self.scale).all())

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
    key, begin = os.urandom(32), 2**24 - _TRIED // 2
    first = torch.tensor([begin], dtype=torch.int32).to(device)
    found = keystream(key_words(key).to(device), first, _TRIED)
    if not torch.equal(found.cpu(), _library_words(key, begin, _TRIED)):
        raise WorkbenchError(
            "the device does not compute ChaCha20 as it should",
            str(device),
            "train with --device cpu, or update PyTorch",
        )


def _library_words(key: bytes, first: int, blocks: int) -> Tensor:
    """Return blocks of the keystream (blocks, 16) from the library, in the memory of the host."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    stream = Cipher(ChaCha20(key, first.to_bytes(4, "little") + bytes(12)), mode=None).encryptor()
    words = np.frombuffer(stream.update(bytes(4 * WORDS_OF_A_BLOCK * blocks)), dtype="<i4").astype(np.int32)
    return torch.from_numpy(words).view(blocks, WORDS_OF_A_BLOCK)


def _no_noise(device: torch.device) -> WorkbenchError:
    return WorkbenchError(
        "the device does not make the noise that it should", str(device), "train with --device cpu, or update PyTorch"
    )
