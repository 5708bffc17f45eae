"""Check the bytes of a large delimited file without reading its cells, so that a fast parser can be trusted with it.

A fast parser pads short rows and treats stray quote marks as text. This check first proves that every line has the same
number of cells and that quote marks occur only where RFC 4180 allows them; anything else goes to the exact reader
of :mod:`workbench.data.csv.strict_reader`, which names the fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.data.csv.encoding import AnyBytes, Bytes
from workbench.signals.cancel import CancelToken

CHUNK = 1 << 21
"""Bytes that are checked at a time: so few that what is found in them stays in the processor's cache."""
_LF, _CR = 10, 13
_MOST_STARTS = 1 << 20


@dataclass(frozen=True)
class Shape:
    """What the check found.

    Attributes:
        one_line_each: whether each is on one line.
        quoted: whether any cell is quoted.
        starts: where every record begins whose number, counted from 0, is a multiple of ``stride``.
        stride: a power of two.
    """

    records: int
    one_line_each: bool
    quoted: bool
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64), compare=False)
    stride: int = field(default=1, compare=False)


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
        cancel: checked once per piece of 2 MiB, which bounds the memory of the check.
    """
    size = len(view)
    if size == 0:
        return None
    wanted = [byte for byte in (_LF, _CR, delimiter, quote) if byte is not None]
    separators = inside = records = 0
    one_line_each, quoted = True, False
    starts, stride = [np.zeros(1, np.int64)], 1
    places = _Places(wanted)
    for start in range(0, size, CHUNK):
        cancel.check()
        # With the byte before the piece and the one behind it, where there are such.
        before = min(start, 1)
        around = np.asarray(view[start - before : start + CHUNK + 1])
        piece = around[before : before + CHUNK]
        positions = places.of(piece)
        kinds = piece[positions]
        if quote is not None and (inside or (kinds == quote).any()):
            quoted = True
            if not _quotes_are_clean(around, before + positions[kinds == quote], inside, wanted):
                return None
            outer, inside = _outside_quotes(kinds == quote, inside)
            one_line_each &= not np.any(((kinds == _LF) | (kinds == _CR)) & ~outer)
            positions, kinds = positions[outer], kinds[outer]
        returns = kinds == _CR
        if returns.any():
            if not _followed_by_lf(around, before + positions[returns]):
                return None
            positions, kinds = positions[~returns], kinds[~returns]
        ends = np.flatnonzero(kinds == _LF)
        if not np.array_equal(ends, np.arange((width - 1 - separators) % width, len(kinds), width)):
            return None
        starts.append(start + positions[ends[(-records - 1) % stride :: stride]] + 1)
        records += len(ends)
        while sum(map(len, starts)) > _MOST_STARTS:
            starts, stride = [np.concatenate(starts)[::2]], 2 * stride
        separators = (separators + len(kinds)) % width
    if inside:
        return None
    if int(piece[-1]) != _LF:
        if separators != width - 1:
            return None
        records += 1
    return Shape(records, one_line_each, quoted, np.concatenate(starts), stride)


class _Places:
    """Finds bytes in pieces; what it needs for that is kept, as new memory for each piece takes longer than to look."""

    def __init__(self, wanted: list[int]) -> None:
        self._wanted = wanted
        self._marked, self._also = np.empty((2, CHUNK), np.bool_)

    def of(self, piece: Bytes) -> NDArray[np.int64]:
        """Return where in a piece any of the bytes is."""
        marked, also = self._marked[: len(piece)], self._also[: len(piece)]
        np.equal(piece, self._wanted[0], out=marked)
        for byte in self._wanted[1:]:
            if np.equal(piece, byte, out=also).any():
                np.logical_or(marked, also, out=marked)
        return np.flatnonzero(marked)


def _outside_quotes(quotes: NDArray[np.bool_], inside: int) -> tuple[NDArray[np.bool_], int]:
    """Return which of some marks are outside quotes, and whether the last one leaves a cell open.

    Args:
        quotes: (n,) whether each mark is a quote mark; none of those counts as outside.
        inside: whether the marks begin inside a quoted cell: 1, else 0.
    """
    # A mark is inside quotes after an odd number of quote marks, itself included.
    within = (np.cumsum(quotes, dtype=np.uint8) + np.uint8(inside)) & 1
    return (within == 0) & ~quotes, int(within[-1]) if len(within) else inside


def _quotes_are_clean(view: Bytes, marks: NDArray[np.int64], inside: int, wanted: list[int]) -> bool:
    """Whether each opening mark follows, and each closing mark precedes, a delimiter, a line end or another mark."""
    allowed = np.zeros(256, np.bool_)
    allowed[wanted] = True
    opening, closing = marks[inside::2], marks[1 - inside :: 2]
    before = np.asarray(view[opening[opening > 0] - 1])
    after = np.asarray(view[closing[closing < len(view) - 1] + 1])
    return bool(allowed[before].all() and allowed[after].all())


def _followed_by_lf(view: Bytes, returns: NDArray[np.int64]) -> bool:
    following = returns + 1
    return int(following[-1]) < len(view) and bool((np.asarray(view[following]) == _LF).all())
