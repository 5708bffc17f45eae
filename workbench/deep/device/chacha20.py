"""ChaCha20 (RFC 8439) in whole-number operations of tensors, so that noise is made where it is added.

The 16 words of a block are a square of 4 × 4; a row of it for all blocks is one tensor, so that the four quarter
rounds of a round are done at once. Words are held as signed 32-bit integers, whose sums wrap as the cipher wants it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

WORDS_OF_A_KEY, WORDS_OF_A_BLOCK = 8, 16
MOST_BLOCKS = 2**32
"""Blocks of a key: the counter is one word."""

_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<i4")
_DOUBLE_ROUNDS = 10


def key_words(key: bytes) -> Tensor:
    """Return a key of 32 bytes as the words (8,) that :func:`keystream` takes."""
    if len(key) != 4 * WORDS_OF_A_KEY:
        raise ValueError(f"a key has 32 bytes, not {len(key)}")
    return torch.from_numpy(np.frombuffer(key, dtype="<i4").astype(np.int32))


def keystream(key: Tensor, first: Tensor, blocks: int) -> Tensor:
    """Return ``blocks`` blocks of the keystream with nonce 0, as words (blocks, 16) in the order of the bytes.

    No value is read back from the device.

    Args:
        key: words (8,), int32.
        first: the number of the first block (1,), int32: the caller's counter modulo 2³².
        blocks: how many.
    """
    counters = torch.arange(blocks, dtype=torch.int32, device=key.device) + first
    start = torch.zeros(4, 4, blocks, dtype=torch.int32, device=key.device)
    start[0] = _constants(key.device).view(4, 1)
    start[1] = key[:4].view(4, 1)
    start[2] = key[4:].view(4, 1)
    start[3, 0] = counters
    a, b, c, d = start.clone().unbind(0)
    for _ in range(_DOUBLE_ROUNDS):
        _quarter_rounds(a, b, c, d)
        b, c, d = b.roll(-1, 0), c.roll(-2, 0), d.roll(-3, 0)
        _quarter_rounds(a, b, c, d)
        b, c, d = b.roll(1, 0), c.roll(2, 0), d.roll(3, 0)
    mixed = torch.stack((a, b, c, d)).add_(start)
    return mixed.view(WORDS_OF_A_BLOCK, blocks).t().contiguous()


def _constants(device: torch.device) -> Tensor:
    """Return the four words that every block begins with; made without a copy from the host."""
    words = torch.empty(4, dtype=torch.int32, device=device)
    for place, word in enumerate(_CONSTANTS):
        words[place].fill_(int(word))
    return words


def _quarter_rounds(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> None:
    """Mix the rows in place, each column by itself."""
    a.add_(b)
    _turn(d.bitwise_xor_(a), 16)
    c.add_(d)
    _turn(b.bitwise_xor_(c), 12)
    a.add_(b)
    _turn(d.bitwise_xor_(a), 8)
    c.add_(d)
    _turn(b.bitwise_xor_(c), 7)


def _turn(words: Tensor, bits: int) -> None:
    """Rotate 32-bit words to the left, in place."""
    # A shift to the right copies the sign into the upper bits: they are cut off.
    carried = (words >> (32 - bits)).bitwise_and_((1 << bits) - 1)
    words.bitwise_left_shift_(bits).bitwise_or_(carried)
