"""Choose rows by their content: the same rows in any order, for a fraction of the cost of reading them.

Each row gets a *rank*, a keyed number from a few bits of each of its cells: the lowest bits of its bytes. They are 0
for ``0``, for the decimal mark, for a blank and for no byte at all, so the rank of a row is the same for ``1.50`` and
``1.5``. Ranks are only for choosing; many rows may share one. A row's rank is a sum over its cells, so it does
not depend on the order of columns, and the rank without a column is the difference.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.content.cell_hash import ByValue, CellHash, Words, canonical, pieces
from workbench.data.rows_in_parts import each_column

Ranks = NDArray[np.uint16]
Codes = tuple[tuple[str, ...], NDArray[np.unsignedinteger[Any]]]
"""Values, and the place of each cell of a column among them."""

_AT_ONCE = 1 << 17
_ANY = np.uint64(0x9E3779B97F4A7C15)
_DEEPEST = 12  # most zero bits of a rank that are required, of 16: with more, too few ranks would be left

_RARE = 2  # looked-at cells whose rank may differ from that of the canonical form: only such rows are chosen wrongly

_LOWEST = np.uint64(0x0101010101010100)  # the lowest bit of each byte but the one on which the length of the cell falls
_PREFIX = np.uint64(0xFFFFFFFF00000000)


class RowChoice:
    """Chooses rows of a table from the parts that it is given.

    Rows with the same rank are chosen together, so there may be more than are wanted, and where most rows share a few
    ranks, none.
    """

    def __init__(
        self, some: pl.DataFrame, rows: int, key: bytes, without: Sequence[Sequence[int]], wanted: Sequence[int]
    ) -> None:
        """Prepare the choices.

        Args:
            some: rows of the table, evenly spaced, by which it is decided what ranks are made of.
            rows: the number of its rows.
            key: 32 bytes.
            without: the columns that each choice leaves out.
            wanted: how many rows each of them is to have.
        """
        # The positions of the columns that each choice leaves out; none for the choice of whole rows.
        self.without = without
        # How low a rank is at least, in leading zero bits, of each choice: about four times as many rows as wanted.
        self.least = [min(_DEEPEST, max(0, (rows // (4 * most)).bit_length() - 1)) for most in wanted]
        digest = hashlib.blake2b(key, digest_size=16, person=b"ranks").digest()
        # Multiplying by a random odd number makes the first bits of a rank look random.
        self._factor = np.uint64(int.from_bytes(digest[:8], "little") | 1)
        self._base = np.uint16(int.from_bytes(digest[8:10], "little"))
        self._hashing = CellHash(b"")
        self._rewritten = [self._needs_canonical(cells, rows) for cells in each_column(some)]
        self._values = ByValue()  # their shares

    def of_part(
        self, frame: pl.DataFrame, codes: Sequence[Codes | None]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return for each choice the rows of a part with a low rank, and how low it is, in leading zero bits.

        Of columns whose cells are known as ``codes`` these are looked up, which is quicker.
        """
        columns: list[_Column | _Coded] = []
        for position, (cells, coded) in enumerate(zip(each_column(frame), codes, strict=True)):
            if coded is None:
                columns.append(self._column(cells, position))
            else:
                columns.append(_Coded(self._values.of(position, coded[0], self._shares), coded[1]))
        rows = frame.height
        edges = sorted({0, rows, *range(0, rows, _AT_ONCE), *(edge for column in columns for edge in column.edges)})
        found = list(_low_ranks(columns, list(itertools.pairwise(edges)), self.without, self.least, self._base))
        return [
            (np.concatenate([span[k][0] for span in found]), levels(np.concatenate([span[k][1] for span in found])))
            for k in range(len(self.without))
        ]

    def _needs_canonical(self, some: pl.Series, rows: int) -> bool:
        """Return whether some cells' ranks would differ from those of their canonical form."""
        few = min(_RARE, rows // 100)
        if len(self._hashing.doubtful(some)) <= few:  # no more ranks than these can differ
            return False
        both = np.empty((2, some.len()), np.uint16)
        for shares, form in zip(both, (some, canonical(some)), strict=True):
            _Column(form.rechunk(), _ANY).shares(0, some.len(), shares, np.empty(some.len(), np.uint64))
        return int(np.count_nonzero(both[0] != both[1])) > few

    def _column(self, cells: pl.Series, position: int) -> _Column:
        return _Column(self._canonical(cells) if self._rewritten[position] else cells, self._factor)

    def _shares(self, values: pl.Series, position: int) -> Ranks:
        out = np.empty(values.len(), np.uint16)
        self._column(values, position).shares(0, values.len(), out, np.empty(values.len(), np.uint64))
        return out

    def _canonical(self, cells: pl.Series) -> pl.Series:
        index = self._hashing.doubtful(cells)
        return cells.clone().scatter(index, canonical(cells.gather(index))) if len(index) else cells


class _Column:
    """One column's pieces, and how its cells enter the rank of their row."""

    def __init__(self, cells: pl.Series, factor: np.uint64) -> None:
        self._factor = factor
        self.pieces = list(pieces(cells))
        self.edges = [0, *np.cumsum([len(piece.views) for piece in self.pieces]).tolist()]

    def shares(self, start: int, stop: int, out: Ranks, scratch: Words) -> None:
        """Write the share in their row's rank of the cells from ``start`` to ``stop``, within one piece, into ``out``.

        Few operations, each into memory that is at hand: this runs for every cell of a table. The two words of a view
        are laid over each other, so a bit may belong to two bytes of the cell; the fifth falls upon the length and is
        left out.

        Args:
            start: the first cell.
            stop: one beyond the last.
            out: so many numbers.
            scratch: as many or more.
        """
        position = bisect.bisect_right(self.edges, start) - 1
        piece, offset = self.pieces[position], self.edges[position]
        first, last = start - offset, stop - offset
        views = piece.views[first:last]
        bits = scratch[: stop - start]
        np.bitwise_xor(views[:, 0], views[:, 1], out=bits)
        if piece.buffers:
            long = piece.part(first, last).long()
            bits[long] = views[long, 0] & _PREFIX  # what else is in the view says where the cell lies in memory
        np.bitwise_and(bits, _LOWEST, out=bits)
        if piece.missing is not None:
            bits[piece.missing[first:last]] = 0
        np.multiply(bits, self._factor, out=bits)
        # The upper bits of a product depend on all others, and there is less to go through afterwards.
        np.copyto(out, bits.view(np.uint16)[3::4])


class _Coded:
    """One column of which the share of each value is known, and the place of each cell among the values."""

    edges: Sequence[int] = ()

    def __init__(self, known: Ranks, places: NDArray[np.unsignedinteger[Any]]) -> None:
        self._known, self._places = known, places

    def shares(self, start: int, stop: int, out: Ranks, _scratch: Words) -> None:
        """Write the shares of some cells into ``out``."""
        self._known.take(self._places[start:stop], out=out, mode="clip")


def _low_ranks(
    columns: Sequence[_Column | _Coded],
    spans: list[tuple[int, int]],
    without: Sequence[Sequence[int]],
    least: Sequence[int],
    base: np.uint16,
) -> Iterator[list[tuple[NDArray[np.int64], Ranks]]]:
    """Yield for each span the rows whose rank is low, and their ranks, once for each set that is left out."""
    ceilings = [np.uint16((1 << (16 - level)) - 1) for level in least]
    left_out = {position for positions in without for position in positions}
    sums, unkept, others, lowest = (np.empty(_AT_ONCE, np.uint16) for _ in range(4))
    kept = {position: np.empty(_AT_ONCE, np.uint16) for position in left_out}
    scratch = np.empty(_AT_ONCE, np.uint64)
    for start, stop in spans:
        size = stop - start
        total, rest, low = sums[:size], others[:size], lowest[:size]
        total[:] = base
        for position, column in enumerate(columns):
            share = kept.get(position, unkept)[:size]
            column.shares(start, stop, share, scratch)
            np.add(total, share, out=total)
        # Rows are looked at set by set only where the lowest of the ranks of all sets with one ceiling is low.
        near = {}
        for ceiling in set(ceilings):
            for k, positions in enumerate(itertools.compress(without, [c == ceiling for c in ceilings])):
                _left(total, kept, positions, rest if k else low)
                if k:
                    np.minimum(low, rest, out=low)
            index = np.less_equal(low, ceiling).nonzero()[0]
            near[ceiling] = index, total[index], {position: share[index] for position, share in kept.items()}
        out = []
        for positions, ceiling in zip(without, ceilings, strict=True):
            index, some, shares = near[ceiling]
            ranks = np.empty_like(some)
            _left(some, shares, positions, ranks)
            is_low = ranks <= ceiling
            out.append((index[is_low] + start, ranks[is_low]))
        yield out


def _left(total: Ranks, shares: dict[int, Ranks], positions: Sequence[int], out: Ranks) -> None:
    """Write the ranks without the columns ``positions`` into ``out``."""
    if not positions:
        np.copyto(out, total)
    for k, position in enumerate(positions):
        np.subtract(out if k else total, shares[position][: len(total)], out=out)


def levels(numbers: Words | Ranks) -> NDArray[np.int64]:
    """Return how many zero bits each number begins with."""
    width = 8 * numbers.dtype.itemsize
    found: NDArray[np.int64] = width - np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
    return np.maximum(found, 0)  # a number just below a power of two may be rounded up to it
