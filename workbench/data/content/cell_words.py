"""The bytes of text cells as 64-bit words, without a copy: two words a cell as polars itself holds them.

Arrow's string views have 16 bytes a cell: its length (4 bytes) and, if it is at most 12 bytes long, the bytes
themselves, padded with zeros; of a longer one the first four bytes, the number of a buffer and an offset into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Words = NDArray[np.uint64]

INLINE = 12
"""Bytes of the longest cell that stands in its view."""


@dataclass(frozen=True, eq=False)
class CellWords:
    """The cells of one piece of a column.

    Attributes:
        cells: the piece itself.
        views: shape (n, 2).
        buffers: the bytes of long cells as whole words, one word of zeros beyond the end.
        missing: which cells are null, or ``None`` where none is.
    """

    cells: pl.Series
    views: Words
    buffers: tuple[Words, ...]
    missing: NDArray[np.bool_] | None

    def part(self, start: int, stop: int) -> CellWords:
        """Return some of the cells, without a copy."""
        missing = None if self.missing is None else self.missing[start:stop]
        return CellWords(self.cells[start:stop], self.views[start:stop], self.buffers, missing)

    @property
    def lengths(self) -> NDArray[np.uint32]:
        """The length of each cell in bytes."""
        return self.views.view(np.uint32)[:, 0]

    def long(self) -> NDArray[np.int64]:
        """Return which cells do not stand in their views."""
        return np.flatnonzero(self.lengths > INLINE)


def pieces(series: pl.Series) -> Iterator[CellWords]:
    """Yield a column of text in its pieces, in order."""
    for chunk in series.get_chunks():
        if chunk.len() == 0:
            continue
        array = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
        _, views, *data = array.buffers()
        words = np.frombuffer(views, np.uint64)[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
        buffers = tuple(_whole_words(b) for b in data)
        missing = chunk.is_null().to_numpy() if chunk.null_count() else None
        yield CellWords(chunk, words, buffers, missing)


def words_at(buffer: Words, offsets: NDArray[np.int64]) -> Words:
    """Return the eight bytes from each of ``offsets`` on as one word."""
    index, within = offsets >> 3, (offsets & 7).astype(np.uint64) << np.uint64(3)
    low = buffer.take(index) >> within
    # A shift by 64 is undefined, so it is made in two steps.
    high = (buffer.take(index + 1) << np.uint64(1)) << (np.uint64(63) - within)
    low |= high
    return low


def _whole_words(data: Any) -> Words:
    octets = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    out = np.zeros(len(octets) // 8 + 2, np.uint64)
    out.view(np.uint8)[: len(octets)] = octets
    return out
