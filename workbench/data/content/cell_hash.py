"""A keyed 64-bit hash of each cell's canonical form: equal for cells with the same content, stable for years.

Nearly every cell is in canonical form already, so the hash is made of its bytes, in a few array operations for
thousands of cells at a time. A cell that may be written differently (a zero at the end of a fraction, a blank, a letter
beyond ASCII) is detected by its bytes and put into canonical form first. A missing cell hashes to 0, so that
the sum of a row's hashes depends neither on the order of its columns nor on empty ones.
"""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.content.cell_words import INLINE, CellWords, Words, canonical, pieces, words_at

_AT_ONCE = 1 << 15
_LONGEST = 512
"""Bytes of a cell up to which words are mixed; of longer ones the bytes are digested one by one."""

_PLAIN = 0.98
"""Share of cells in canonical form from which on a column is plain."""

_TEXT, _NUMBER, _DOUBTFUL, _BELOW_ZERO = 0, 1, 2, 3
_MIX = [np.uint64(m) for m in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)]
_EVERY = np.uint64(0x0101010101010101)
_HIGH, _LETTER = np.uint64(0x8080808080808080), np.uint64(0x4040404040404040)
_FIRST_FOUR = np.uint64(0xFFFFFFFF00000000)


class CellHash:
    """The hash under one key.

    Args:
        key: 32 bytes; whoever does not know it can neither tell nor forge a hash.
    """

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.blake2b(key, digest_size=32, person=b"cells").digest()
        self._seed, self._other = (np.uint64(int.from_bytes(self._key[k : k + 8], "little")) for k in (0, 8))

    def hashes(self, cells: pl.Series) -> Words:
        """Return the hash of each cell of a column of text, shape (n,)."""
        out = np.empty(cells.len(), np.uint64)
        done = 0
        for piece in pieces(cells):
            for start in range(0, len(piece.views), _AT_ONCE):
                part = piece.part(start, min(start + _AT_ONCE, len(piece.views)))
                out[done : done + len(part.views)] = self._checked(part)
                done += len(part.views)
        return out

    def plain(self, some: pl.Series) -> bool:
        """Return whether nearly all cells are short and in canonical form: then their words alone make their hashes."""
        mixed = [np.empty(0, np.uint64), *(self._mixed(piece.views[:, 0], piece.views[:, 1]) for piece in pieces(some))]
        hashes = self.hashes(some)
        return bool(((np.concatenate(mixed) == hashes) | (hashes == 0)).mean() >= _PLAIN)

    def quick_hashes(self, cells: pl.Series, limit: int | None = None) -> Words:
        """Return the hashes of :meth:`plain` cells (those below ``limit``), in order, several times as fast.

        Those of the few other cells may be missing, or be of the cells as they are written.
        """
        found = [np.empty(0, np.uint64)]
        for piece in pieces(cells):
            for start in range(0, len(piece.views), _AT_ONCE):
                part = piece.part(start, min(start + _AT_ONCE, len(piece.views)))
                mixed = self._mixed(part.views[:, 0], part.views[:, 1])
                if part.buffers:
                    long = part.long()
                    mixed[long] = self._of_long(part, long)[0]  # their views say where they lie in memory
                if part.missing is not None:
                    mixed[part.missing] = 0
                if limit is not None:
                    hashes = self.hashes(part.cells.filter(pl.Series(mixed < np.uint64(limit))))
                    mixed = hashes[hashes < np.uint64(limit)]
                found.append(mixed)
        return np.concatenate(found)

    def doubtful(self, cells: pl.Series) -> NDArray[np.int64]:
        """Return which cells may not stand in their canonical form, but for zeros at the end of a short fraction."""
        found, done = [np.empty(0, np.int64)], 0
        for piece in pieces(cells):
            for start in range(0, len(piece.views), _AT_ONCE):
                part = piece.part(start, min(start + _AT_ONCE, len(piece.views)))
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
            hashes[index] = self._as_written(canonical(part.cells.gather(index)))
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
            # Only -0.something is canonical as it stands.
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
                found = words_at(buffer, offset[going] + np.minimum(at, length[going] - 8))
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
            text = part.cells[int(index[position])].encode()
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
