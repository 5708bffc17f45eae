"""A keyed 64-bit hash of each cell's canonical form: equal for cells with the same content, stable for years.

Nearly every cell is in canonical form already, so the hash is made of its bytes, in a few array operations for
thousands of cells at a time. A cell that may be written differently (a zero at the end of a fraction, a blank, a letter
beyond ASCII) is detected by its bytes and put into canonical form first. A missing cell hashes to 0, so that
the sum of a row's hashes depends neither on the order of its columns nor on empty ones.
"""

from __future__ import annotations

import decimal
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_LIKE_A_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]{1,4})?$"
_LARGEST_EXPONENT = 400
_EXACT = decimal.Context(prec=100_000, Emin=-20_000, Emax=20_000, traps=[decimal.Inexact, decimal.InvalidOperation])


def canonical(cells: pl.Series) -> pl.Series:
    """Return cells in canonical form, shape (n,); null where a cell is missing, empty or blank."""
    texts = cells.str.normalize("NFC").str.strip_chars()
    number = texts.str.contains(_LIKE_A_NUMBER).fill_null(value=False)
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

Placed = tuple[tuple[str, ...], pl.Series]
"""Values, and the index of each cell of a column among them; null if a cell is not one of them."""


class ByValue:
    """Results computed from the values of each column, kept from part to part while the values stay the same."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[str, ...], Any]] = {}

    def of(self, column: int, values: tuple[str, ...], make: Callable[[pl.Series, int], Any]) -> Any:
        """Return ``make(values, column)``, computed once for the same values."""
        known = self._known.get(column)
        if known is None or known[0] != values:
            self._known[column] = known = values, make(pl.Series(values, dtype=pl.String), column)
        return known[1]


INLINE = 12  # bytes of the longest cell that fits into its view


@dataclass(frozen=True, eq=False)
class CellWords:
    """The cells of one piece of a column, or some of them."""

    cells: pl.Series  # the piece itself
    start: int  # which of its cells is the first here
    views: Words  # shape (n, 2)
    buffers: tuple[Words, ...]  # the word at each byte of where long cells lie
    missing: NDArray[np.bool_] | None  # which cells are null, or `None` where none is

    def part(self, start: int, stop: int) -> CellWords:
        """Return some of the cells, without a copy."""
        missing = None if self.missing is None else self.missing[start:stop]
        return CellWords(self.cells, self.start + start, self.views[start:stop], self.buffers, missing)

    def parts(self) -> Iterator[CellWords]:
        """Yield the cells, so few at a time that what is made of them stays in the processor's cache."""
        for start in range(0, len(self.views), _AT_ONCE):
            yield self.part(start, start + _AT_ONCE)

    def at(self, index: NDArray[np.int64]) -> pl.Series:
        """Return the text of some cells."""
        return self.cells.gather(index + self.start)

    @property
    def lengths(self) -> NDArray[np.uint32]:
        """The length of each cell in bytes."""
        return self.views.view(np.uint32)[:, 0]

    def long(self) -> NDArray[np.int64]:
        """Return which cells do not fit into their views."""
        return np.flatnonzero(self.lengths > INLINE)


def pieces(series: pl.Series) -> Iterator[CellWords]:
    """Yield a column of text in its pieces, in order."""
    for chunk in series.get_chunks():
        if chunk.len() == 0:
            continue
        array = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
        _, views, *data = array.buffers()
        words = np.frombuffer(views, np.uint64)[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
        missing = chunk.is_null().to_numpy() if chunk.null_count() else None
        yield CellWords(chunk, 0, words, tuple(_words_in(b) for b in data), missing)


def _words_in(data: Any) -> Words:
    """View a buffer, without a copy, as one word of eight bytes for each byte that such a word can begin at."""
    size = 0 if data is None else len(data)
    return np.ndarray((max(size - 7, 0),), np.uint64, data if size > 7 else bytes(8), strides=(1,))


_AT_ONCE = 1 << 15
_LONGEST = 512  # bytes of a cell up to which words are mixed; of longer ones the bytes are digested one by one

_PLAIN = 0.98  # share of cells in canonical form from which on a column is plain

_TEXT, _NUMBER, _DOUBTFUL, _BELOW_ZERO = 0, 1, 2, 3
_MIX = [np.uint64(m) for m in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)]
_EVERY = np.uint64(0x0101010101010101)
_HIGH, _LETTER = np.uint64(0x8080808080808080), np.uint64(0x4040404040404040)
_FIRST_FOUR = np.uint64(0xFFFFFFFF00000000)


class CellHash:
    """The hash under one key.

    Args:
        key: 32 bytes; whoever does not know it can neither compute nor forge a hash.
    """

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.blake2b(key, digest_size=32, person=b"cells").digest()
        self._seed, self._other = (np.uint64(int.from_bytes(self._key[k : k + 8], "little")) for k in (0, 8))

    def hashes(self, cells: pl.Series) -> Words:
        """Return the hash of each cell of a column of text, shape (n,)."""
        out = np.empty(cells.len(), np.uint64)
        done = 0
        for piece in pieces(cells):
            for part in piece.parts():
                out[done : done + len(part.views)] = self._checked(part)
                done += len(part.views)
        return out

    def plain(self, some: pl.Series) -> bool:
        """Return whether nearly all cells are short and in canonical form: then their words alone make their hashes."""
        mixed = [np.empty(0, np.uint64), *(self._mixed(piece.views[:, 0], piece.views[:, 1]) for piece in pieces(some))]
        hashes = self.hashes(some)
        return bool(((np.concatenate(mixed) == hashes) | (hashes == 0)).mean() >= _PLAIN)

    def quick_hashes(self, cells: pl.Series, limit: int = 0) -> tuple[Words, Words]:
        """Return the hashes of :meth:`plain` cells in order, several times as fast, and again those below ``limit``.

        Of the few other cells the first are those of the cells as they are written; the second may miss some.
        """
        found = [np.empty(0, np.uint64)]
        for piece in pieces(cells):
            for part in piece.parts():
                mixed = self._mixed(part.views[:, 0], part.views[:, 1])
                if part.buffers:
                    long = part.long()
                    mixed[long] = self._of_long(part, long)[0]  # their views say where they lie in memory
                if part.missing is not None:
                    mixed[part.missing] = 0
                found.append(mixed)
        quick = np.concatenate(found)
        low = self.hashes(cells.gather(np.flatnonzero(quick < np.uint64(limit)))) if limit else quick[:0]
        return quick, low[low < np.uint64(limit)]

    def doubtful(self, cells: pl.Series) -> NDArray[np.int64]:
        """Return which cells may not be in their canonical form, but for zeros at the end of a short fraction."""
        found, done = [np.empty(0, np.int64)], 0
        for piece in pieces(cells):
            for part in piece.parts():
                found.append(self._looked_at(part)[1] + done)
                done += len(part.views)
        return np.concatenate(found)

    def _looked_at(self, part: CellWords) -> tuple[Words, NDArray[np.int64]]:
        """Return the hashes of cells, and which of them may not be in canonical form, so that theirs is wrong."""
        hashes, doubtful = self._of_inline(part)
        long = part.long()
        if len(long):
            hashes[long], doubtful[long] = self._of_long(part, long)
        if part.missing is not None:
            hashes[part.missing] = 0
            doubtful &= ~part.missing
        return hashes, np.flatnonzero(doubtful)

    def _checked(self, part: CellWords) -> Words:
        hashes, index = self._looked_at(part)
        if len(index):
            hashes[index] = self._as_written(canonical(part.at(index)))
        return hashes

    def _as_written(self, cells: pl.Series) -> Words:
        """Return the hashes of cells that are in canonical form."""
        parts = []
        for piece in pieces(cells):
            hashes = self._mixed(piece.views[:, 0], piece.views[:, 1])
            long = piece.long()
            if len(long):
                hashes[long], _ = self._of_long(piece, long)
            if piece.missing is not None:
                hashes[piece.missing] = 0
            parts.append(hashes)
        return np.concatenate(parts) if parts else np.empty(0, np.uint64)

    def _mixed(self, first: Words, second: Words) -> Words:
        mixed = (first ^ self._seed) * _MIX[0]
        mixed ^= mixed >> np.uint64(32)
        mixed += second ^ self._other
        mixed *= _MIX[1]
        mixed ^= mixed >> np.uint64(29)
        mixed *= _MIX[2]
        mixed ^= mixed >> np.uint64(32)
        return mixed

    def _of_inline(self, part: CellWords) -> tuple[Words, NDArray[np.bool_]]:
        """Return the hashes of short cells, and which cells may not be in canonical form."""
        first, second = part.views[:, 0], part.views[:, 1]
        start = _START.take(part.views.view(np.uint16)[:, 2])
        last = _last_bytes(part.views)
        seen = (first & _FIRST_FOUR) | second
        doubtful = (start == _DOUBTFUL) | (last <= 0x20) | ((seen & _HIGH) != 0)
        number = start == _NUMBER
        below = np.flatnonzero(start == _BELOW_ZERO)
        if len(below):
            # Only -0.something is canonical as it is.
            plain = (part.views.view(np.uint8)[below, 6] == ord(".")) & (last[below] > ord("0"))
            doubtful[below] |= ~plain
            number[below] = True
        if number.any():
            other = ((seen & _LETTER) != 0) | _holds(second, ",") | _holds(first & _FIRST_FOUR, ",")
            doubtful |= number & other
            padded = np.flatnonzero(number & ~doubtful & (last <= ord("0")))
            padded = padded[_holds(first[padded] & _FIRST_FOUR, ".") | _holds(second[padded], ".")]
            regular = _one_point(part.views[padded])
            doubtful[padded[~regular]] = True
            padded = padded[regular]
            if len(padded):
                trimmed = _without_zeros(part.views[padded])
                hashes = self._mixed(first, second)
                hashes[padded] = self._mixed(trimmed[:, 0], trimmed[:, 1])
                return hashes, doubtful
        return self._mixed(first, second), doubtful

    def _of_long(self, part: CellWords, index: NDArray[np.int64]) -> tuple[Words, NDArray[np.bool_]]:
        """Return the hashes of the cells ``index``, which are longer than a view, and which may not be canonical."""
        views = part.views[index]
        quarters = views.view(np.uint32)
        lengths = quarters[:, 0].astype(np.int64)
        hashes, seen, marked = np.empty(len(index), np.uint64), np.zeros(len(index), np.uint64), lengths > _LONGEST
        last = np.zeros(len(index), np.uint64)
        for number in np.unique(quarters[:, 2]):
            mine = np.flatnonzero((quarters[:, 2] == number) & ~marked)
            buffer, offset, length = part.buffers[number], quarters[mine, 3].astype(np.int64), lengths[mine]
            mixed = self._mixed(length.astype(np.uint64), np.zeros(len(mine), np.uint64))
            going = np.arange(len(mine))
            for at in range(0, _LONGEST, 8):
                going = going[length[going] > at]
                if not len(going):
                    break
                # The last word ends with the cell, so it may say again what the word before it said.
                found = buffer[offset[going] + np.minimum(at, length[going] - 8)]
                mixed[going] = self._mixed(mixed[going], found)
                seen[mine[going]] |= found
                marked[mine[going]] |= _holds(found, ",")
                last[mine[going]] = found >> np.uint64(56)
            hashes[mine] = mixed
        start = _START.take(views.view(np.uint16)[:, 2])
        number = (start == _NUMBER) | (start == _BELOW_ZERO)
        doubtful = (start == _DOUBTFUL) | (last <= 0x20) | ((seen & _HIGH) != 0)
        doubtful |= (start == _BELOW_ZERO) & (views.view(np.uint8)[:, 6] != ord("."))
        doubtful |= number & (marked | ((seen & _LETTER) != 0) | (last <= ord("0")))
        for position in np.flatnonzero(lengths > _LONGEST):
            text = part.at(index[position : position + 1]).item().encode()
            digest = hashlib.blake2b(text, digest_size=8, key=self._key).digest()
            hashes[position], doubtful[position] = int.from_bytes(digest, "little"), not text.isascii()
        return hashes, doubtful


def _last_bytes(views: Words) -> NDArray[np.uint8]:
    """Return the last byte of each short cell; of a long one some other byte."""
    lengths = np.minimum(views.view(np.uint32)[:, 0], INLINE).astype(np.int64)
    found: NDArray[np.uint8] = (
        np.ascontiguousarray(views).view(np.uint8).reshape(-1).take(np.arange(len(views)) * 16 + 3 + lengths)
    )
    return found


def _holds(words: Words, mark: str) -> NDArray[np.bool_]:
    """Return which words have the byte ``mark`` somewhere."""
    turned = words ^ (_EVERY * np.uint64(ord(mark)))
    found: NDArray[np.bool_] = ((turned - _EVERY) & ~turned & _HIGH) != 0
    return found


def _one_point(views: Words) -> NDArray[np.bool_]:
    """Return which views of short cells with a point hold nothing else but digits and a minus before them."""
    octets = views.view(np.uint8).reshape(-1, 16)[:, 4:]
    others = ((octets - np.uint8(ord("0"))) > 9) & (octets != 0)
    found: NDArray[np.bool_] = others.sum(axis=1, dtype=np.uint8) == 1 + (octets[:, 0] == ord("-"))
    return found


def _without_zeros(views: Words) -> Words:
    """Return views of short numbers with a point, without the zeros at their end and a point before them."""
    out = views.copy()
    octets, lengths = out.view(np.uint8), out.view(np.uint32)[:, 0]
    going = np.arange(len(out))
    for mark in ("0", "."):
        while len(going):
            at = 3 + lengths[going].astype(np.int64)
            going = going[octets[going, at] == ord(mark)]
            octets[going, 3 + lengths[going].astype(np.int64)] = 0
            lengths[going] -= 1
            if mark == ".":
                break
        going = np.arange(len(out))
    return out


def _starts() -> NDArray[np.uint8]:
    """Return what each pair of first bytes says about a cell; an absent byte is 0."""
    out = np.full((256, 256), _TEXT, np.uint8)  # [second, first]
    digits = [ord(d) for d in "0123456789"]
    out[:, :0x21] = _DOUBTFUL  # blank or empty
    out[:, digits] = _NUMBER
    out[[*digits, ord(","), ord("e"), ord("E")], ord("0")] = _DOUBTFUL
    out[[*digits, ord("."), ord(",")], ord("+")] = _DOUBTFUL
    out[digits, ord(".")] = out[digits, ord(",")] = _DOUBTFUL
    out[digits, ord("-")] = _NUMBER
    out[[ord("."), ord(",")], ord("-")] = _DOUBTFUL
    out[ord("0"), ord("-")] = _BELOW_ZERO
    return out.reshape(-1)


_START = _starts()
