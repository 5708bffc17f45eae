"""The bytes of text cells as 64-bit words, without a copy: two words a cell as polars itself holds them.

Arrow's string views have 16 bytes a cell: its length (4 bytes) and, if it is at most 12 bytes long, the bytes
themselves, padded with zeros; of a longer one the first four bytes, the number of a buffer and an offset into it.

The canonical form of a cell: its content, however it was written.

Blanks around it are trimmed, letters composed (Unicode NFC), and a number is its value: ``1.50``, ``+1,5`` and
``15e-1`` are all ``1.5``. Only the cell itself matters, never the dialect it was read with or another row.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]{1,4})?$"
_LARGEST_EXPONENT = 400
_EXACT = decimal.Context(prec=100_000, Emin=-20_000, Emax=20_000, traps=[decimal.Inexact, decimal.InvalidOperation])


def canonical(cells: pl.Series) -> pl.Series:
    """Return cells in canonical form, shape (n,); null where a cell is missing, empty or blank."""
    texts = cells.str.normalize("NFC").str.strip_chars()
    number = texts.str.contains(_NUMBER).fill_null(value=False)
    if number.any():
        texts = texts.scatter(number.arg_true(), _numbers(texts.filter(number)))
    return texts.replace("", None)


def _numbers(texts: pl.Series) -> pl.Series:
    """Return numbers in their one way of writing: no sign but a minus, no needless zero, a point."""
    texts = texts.str.replace(",", ".", literal=True)
    power = texts.str.contains("[eE]")
    if power.any():
        values = [_spelt_out(text) for text in texts.filter(power)]
        texts = texts.scatter(power.arg_true(), pl.Series(values, dtype=pl.String))
    frame = pl.DataFrame({"text": texts}).select(
        pl.col("text").str.starts_with("-").alias("negative"),
        pl.col("text").str.strip_chars_start("+-").str.strip_chars_start("0").alias("digits"),
    )
    digits = pl.col("digits")
    trimmed = (
        pl.when(digits.str.contains(".", literal=True))
        .then(digits.str.strip_chars_end("0").str.strip_chars_end("."))
        .otherwise(digits)
    )
    whole = pl.when(trimmed.str.contains(r"^(\.|$)")).then(pl.lit("0") + trimmed).otherwise(trimmed)
    signed = pl.when(pl.col("negative") & (whole != "0")).then(pl.lit("-") + whole).otherwise(whole)
    return frame.select(signed.alias("text"))["text"]


def _spelt_out(text: str) -> str:
    """Return a number with an exponent without it, unless that would be very long."""
    value = decimal.Decimal(text)
    if value and abs(value.adjusted()) > _LARGEST_EXPONENT:
        return text.lower()
    return f"{_EXACT.plus(value):f}"


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
