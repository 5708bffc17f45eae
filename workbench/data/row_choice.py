"""Choose rows by what they hold: the same rows wherever they stand, for a fraction of the cost of reading them.

Each row gets a *rank*, a keyed number from a few bits of each of its cells: the lowest bit of each of 12 bytes. It is
0 for ``0``, for the decimal mark, for a blank and for no byte at all, so the rank of a row is the same for ``1.50``
and ``1.5``. Ranks are only for choosing; many rows may share one. A row's rank is a sum over its cells, so it does
not depend on the order of columns, and the rank without a column is the difference.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.canonical import canonical
from workbench.data.cell_hash import CellHash
from workbench.data.cell_words import Words, pieces

Ranks = NDArray[np.uint32]

_AT_ONCE = 1 << 15
_ANY = np.uint64(0x9E3779B97F4A7C15)
_LOOK = 1024
"""Cells of each column that are looked at to see whether it is written in canonical form."""

_RARE = 2
"""Of so many of them may the rank differ from that of the canonical form: those rows are chosen wrongly, no more."""

_LOWEST, _LOWEST_OF_PREFIX, _DOWN = np.uint64(0x0101010101010101), np.uint64(0x10101010), np.uint64(28)
"""The lowest bit of the last eight bytes of a short cell; those of its first four go between them."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Rows with a low rank.

    Attributes:
        index: which rows, shape (m,).
        level: how low each rank is, in leading zero bits, shape (m,).
        least: the least level of the choice: all rows at this level or above are here.
    """

    index: NDArray[np.int64]
    level: NDArray[np.int64]
    least: int

    def at(self, level: int) -> Chosen:
        """Return the rows at ``level`` or above."""
        high = self.level >= level
        return Chosen(self.index[high], self.level[high], max(level, self.least))


def choose_rows(frame: pl.DataFrame, key: bytes, without: Sequence[Sequence[int]], wanted: int) -> list[Chosen]:
    """Return for each set of columns that is left out about ``wanted`` rows, or all where there are fewer.

    Rows with the same rank are chosen together, so there may be more, and where most rows share a few ranks, none.

    Args:
        frame: cells of text.
        key: 32 bytes.
        without: the positions of the columns that each choice leaves out; an empty one for none.
        wanted: how many rows each choice is to have.
    """
    rows = frame.height
    least = min(24, max(0, (rows // (4 * wanted)).bit_length() - 1))
    digest = hashlib.blake2b(key, digest_size=16, person=b"ranks").digest()
    # A rank is a linear function of the bits: multiplying by a random odd number makes its first bits look random.
    factor, base = (
        np.uint64(int.from_bytes(digest[:8], "little") | 1),
        np.uint32(int.from_bytes(digest[8:12], "little")),
    )
    columns = [_Column(_canonical_where_needed(series), factor) for series in frame.iter_columns()]
    edges = sorted({0, rows, *range(0, rows, _AT_ONCE), *(edge for column in columns for edge in column.edges)})
    spans = list(itertools.pairwise(edges))
    workers = max(1, min(4, os.cpu_count() or 1, len(spans) // 8))
    parts = [spans[k * len(spans) // workers : (k + 1) * len(spans) // workers] for k in range(workers)]

    def work(mine: list[tuple[int, int]]) -> list[list[tuple[NDArray[np.int64], Ranks]]]:
        return list(_low_ranks(columns, mine, without, least, base))

    with ThreadPoolExecutor(workers) as pool:
        found = [span for part in pool.map(work, parts) for span in part]
    out = []
    for position in range(len(without)):
        index = np.concatenate([span[position][0] for span in found])
        level = levels(np.concatenate([span[position][1] for span in found]))
        chosen = Chosen(index, level, least)
        while chosen.at(chosen.least + 1).index.size >= wanted:
            chosen = chosen.at(chosen.least + 1)
        out.append(chosen)
    return out


class _Column:
    """One column's pieces, and how its cells enter the rank of their row."""

    def __init__(self, cells: pl.Series, factor: np.uint64) -> None:
        self.pieces = list(pieces(cells))
        self.edges = [0, *np.cumsum([len(piece.views) for piece in self.pieces]).tolist()]
        self._factor = factor

    def ranks(self, start: int, stop: int, out: Ranks, scratch: Words) -> None:
        """Write the share in their row's rank of the cells from ``start`` to ``stop``, within one piece, into ``out``.

        Few operations, each into memory that is at hand: this runs for every cell of a table.

        Args:
            start: the first cell.
            stop: one beyond the last.
            out: at least as many numbers.
            scratch: shape (2, at least as many).
        """
        size = stop - start
        position = bisect.bisect_right(self.edges, start) - 1
        piece, offset = self.pieces[position], self.edges[position]
        views = piece.views[start - offset : stop - offset]
        bits, prefix = scratch[0, :size], scratch[1, :size]
        np.bitwise_and(views[:, 1], _LOWEST, out=bits)
        if piece.buffers:
            bits[piece.part(start - offset, stop - offset).long()] = 0
        np.right_shift(views[:, 0], _DOWN, out=prefix)
        np.bitwise_and(prefix, _LOWEST_OF_PREFIX, out=prefix)
        np.bitwise_or(bits, prefix, out=bits)
        if piece.missing is not None:
            bits[piece.missing[start - offset : stop - offset]] = 0
        np.multiply(bits, self._factor, out=bits)
        # The upper half of a product depends on all bits, and there is half as much to go through afterwards.
        np.copyto(out[:size], bits.view(np.uint32)[1::2])


def _low_ranks(
    columns: list[_Column], spans: list[tuple[int, int]], without: Sequence[Sequence[int]], least: int, base: np.uint32
) -> Iterator[list[tuple[NDArray[np.int64], Ranks]]]:
    """Yield for each span the rows whose rank is low, and their ranks, once for each set that is left out."""
    ceiling = np.uint32((1 << (32 - least)) - 1)
    left_out = {position for positions in without for position in positions}
    ranks, unkept, others = (np.empty(_AT_ONCE, np.uint32) for _ in range(3))
    shares = {position: np.empty(_AT_ONCE, np.uint32) for position in left_out}
    scratch, low = np.empty((2, _AT_ONCE), np.uint64), np.empty(_AT_ONCE, np.bool_)
    for start, stop in spans:
        size = stop - start
        rank, rest, is_low = ranks[:size], others[:size], low[:size]
        rank[:] = base
        for position, column in enumerate(columns):
            share = shares.get(position, unkept)
            column.ranks(start, stop, share, scratch)
            rank += share[:size]
        out = []
        for positions in without:
            np.copyto(rest, rank)
            for position in positions:
                np.subtract(rest, shares[position][:size], out=rest)
            index = np.less_equal(rest, ceiling, out=is_low).nonzero()[0]
            out.append((index + start, rest[index]))
        yield out


def levels(numbers: Words | Ranks) -> NDArray[np.int64]:
    """Return how many zero bits each number begins with."""
    width = 8 * numbers.dtype.itemsize
    found: NDArray[np.int64] = width - np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
    return np.maximum(found, 0)  # a number just below a power of two may be rounded up to it


def _canonical_where_needed(cells: pl.Series) -> pl.Series:
    """Return the column, in canonical form where some cells' ranks would differ from those of their canonical form."""
    rows = cells.len()
    some = cells.gather(np.linspace(0, rows - 1, min(rows, _LOOK)).astype(np.int64))
    hashing, few = CellHash(b""), min(_RARE, rows // 100)
    if len(hashing.doubtful(some)) <= few:  # no more ranks than these can differ
        return cells
    both = np.empty((2, some.len()), np.uint32)
    for ranks, form in zip(both, (some, canonical(some)), strict=True):
        _Column(form.rechunk(), _ANY).ranks(0, some.len(), ranks, np.empty((2, some.len()), np.uint64))
    if np.count_nonzero(both[0] != both[1]) > few:
        index = hashing.doubtful(cells)
        return cells.clone().scatter(index, canonical(cells.gather(index))) if len(index) else cells
    return cells
