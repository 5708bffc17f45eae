"""Check the bytes of a large delimited file without reading its cells, so that a fast parser can be trusted with it.

A fast parser pads short rows and treats stray quote marks as text. This check first proves that every line has the same
number of cells and that quote marks occur only where RFC 4180 allows them; anything else goes to the exact reader
of :mod:`workbench.data.csv.strict_reader`, which names the fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.data.csv.encoding import AnyBytes, between
from workbench.signals.cancel import CancelToken

CHUNK = 1 << 20  # bytes that are checked at a time: so few that what is found in them stays in the processor's cache
_LF, _CR = 10, 13
_MOST_STARTS = 1 << 20


@dataclass(frozen=True)
class Shape:
    """What the check found."""

    records: int
    one_line_each: bool  # whether each is on one line
    quoted: bool  # whether any cell is quoted
    # Where every record begins whose number, counted from 0, is a multiple of `stride`.
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64), compare=False)
    stride: int = field(default=1, compare=False)  # a power of two


def regular_shape(
    view: AnyBytes, delimiter: int | None, quote: int | None, width: int, cancel: CancelToken
) -> Shape | None:
    """Return the shape of ``view``, or ``None`` where it is not provably regular.

    Regular means: lines end in LF or CRLF, each record has ``width`` cells, and each quote mark opens a cell (it
    follows a delimiter or a line end), closes one (it comes before one of them) or is doubled inside one.

    Args:
        view: the bytes of the records, in an encoding in which the marks are single ASCII bytes.
        delimiter: the byte between cells; ``None`` for one column.
        quote: the byte around cells; ``None`` where nothing is quoted.
        width: the number of cells that each record must have.
        cancel: checked once per piece of 1 MiB, which bounds the memory of the check.
    """
    if not len(view):
        return None
    bits, inside, before = _Bits(), 0, _Before()
    one_line_each, quoted = True, False
    records = separators = 0
    starts, stride = [np.zeros(1, np.int64)], 1
    for start in range(0, len(view), CHUNK):
        cancel.check()
        piece = between(view, start, start + CHUNK).tobytes()
        returns, separating, quotes = (bits.of(piece, byte) for byte in (_CR, delimiter, quote))
        ends = bits.places(piece, _LF)
        if not (inside or before.closing or before.returned or quotes.any() or returns.any()):
            before = _Before(int(piece[-1] in (_LF, delimiter)))
        else:
            feeds = bits.of(piece, _LF)
            marks, closing = feeds | returns | separating | quotes, np.zeros_like(feeds)
            if inside or quotes.any():
                quoted = True
                within = _within(quotes, inside)
                inside ^= int(np.bitwise_count(quotes).sum(dtype=np.int64)) & 1
                closing = quotes & ~within  # an opening mark is within what it opens
                if (quotes & within & ~_next(marks, before.mark)).any():
                    return None
                one_line_each &= not ((feeds | returns) & within).any()
                feeds, returns, separating = (found & ~within for found in (feeds, returns, separating))
                ends = ends[_at(feeds, ends)]
            if _beyond(_next(closing, before.closing), marks, len(piece)):
                return None
            if _beyond(_next(returns, before.returned), feeds, len(piece)):
                return None
            before = _Before(*(_last(found, len(piece)) for found in (marks, closing, returns)))
        done, counts = _counted(separating, ends)
        if not _regular(counts, done, separators, width):
            return None
        separators = done - int(counts[-1]) if len(counts) else separators + done
        starts.append(start + ends[(-records - 1) % stride :: stride] + 1)
        records += len(ends)
        while sum(map(len, starts)) > _MOST_STARTS:
            starts, stride = [np.concatenate(starts)[::2]], 2 * stride
    if inside or before.returned:
        return None
    if int(piece[-1]) != _LF:
        if separators != width - 1:
            return None
        records += 1
    return Shape(records, one_line_each, quoted, np.concatenate(starts), stride)


Bits = NDArray[np.uint64]  # a bit for each byte of a piece, the lowest first; behind the last byte they are 0


@dataclass(frozen=True)
class _Before:
    """Whether the byte before a piece is a mark, closes a cell, or is a carriage return between cells: 1, else 0."""

    mark: int = 1
    closing: int = 0
    returned: int = 0


class _Bits:
    """Finds a byte in pieces; the memory for that is kept, as to get new memory takes longer than to look."""

    def __init__(self) -> None:
        size = -(-CHUNK // 64) * 64
        self._marked, self._nowhere = np.empty(size, np.bool_), np.zeros(size // 64, np.uint64)

    def of(self, piece: bytes, byte: int | None) -> Bits:
        """Return where a byte is, not to be written to; nowhere, if it is ``None``."""
        words = -(-len(piece) // 64)
        if byte is None or byte not in piece:  # most files have no quote mark and no carriage return
            return self._nowhere[:words]
        self._mark(piece, byte)
        self._marked[len(piece) :] = False
        return np.packbits(self._marked[: 64 * words], bitorder="little").view("<u8")

    def places(self, piece: bytes, byte: int) -> NDArray[np.int64]:
        """Return the places of a byte, in order."""
        return np.flatnonzero(self._mark(piece, byte))

    def _mark(self, piece: bytes, byte: int) -> NDArray[np.bool_]:
        return np.equal(np.frombuffer(piece, np.uint8), np.uint8(byte), out=self._marked[: len(piece)])


def _next(found: Bits, before: int) -> Bits:
    """Return the places behind those that were found; ``before`` says whether the last one of the former piece was."""
    out = found << np.uint64(1)
    out[1:] |= found[:-1] >> np.uint64(63)
    out[0] |= np.uint64(before)
    return out


def _at(found: Bits, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    there: NDArray[np.bool_] = (found[places >> 6] >> (places & 63).astype(np.uint64)) & np.uint64(1) != 0
    return there


def _last(found: Bits, size: int) -> int:
    """Return whether the last byte of a piece is among those that were found: 1, else 0."""
    return int(found[-1] >> np.uint64((size - 1) % 64)) & 1


def _beyond(some: Bits, allowed: Bits, size: int) -> bool:
    """Whether some of the first ``size`` places are not allowed."""
    wrong = some & ~allowed
    wrong[-1] &= np.uint64(2**64 - 1 >> -size % 64)
    return bool(wrong.any())


def _within(quotes: Bits, inside: int) -> Bits:
    """Return which places come after an odd number of quote marks, themselves included.

    Args:
        quotes: where the marks are.
        inside: whether the piece begins after an odd number of them: 1, else 0.
    """
    within = quotes.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        within ^= within << np.uint64(shift)
    odd = within >> np.uint64(63)
    within ^= np.uint64(0) - ((np.cumsum(odd) - odd + np.uint64(inside)) & np.uint64(1))
    return within


def _counted(between: Bits, ends: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """Return how many delimiters a piece has, and how many are before each of some places."""
    upto = np.cumsum(np.bitwise_count(between), dtype=np.int64)
    word, lower = ends >> 6, (np.uint64(1) << (ends & 63).astype(np.uint64)) - np.uint64(1)
    own = between[word]
    return int(upto[-1]), upto[word] - np.bitwise_count(own) + np.bitwise_count(own & lower)


def _regular(counts: NDArray[np.int64], done: int, separators: int, width: int) -> bool:
    """Return whether each record that ends in a piece has all its cells, and the one that is cut off has not too many.

    Args:
        counts: delimiters before each line end.
        done: delimiters in all.
        separators: those of the record that was begun before.
        width: the number of cells.
    """
    if not len(counts):
        return separators + done < width
    each = np.diff(counts, prepend=-separators)
    return bool((each == width - 1).all()) and done - int(counts[-1]) < width
