"""Rewrite the bytes of a file with comment lines, blanks around cells or a two-character delimiter into plain CSV.

The fast check (:mod:`workbench.data.csv.precheck`) and the fast parser know one byte between cells and nothing else.
So the lines and blanks that are not part of the table are removed first, and a delimiter of two characters becomes
one byte that the file does not hold. Quote marks are counted for that: what follows an odd number of them is
inside a cell. Where a stray mark makes the count wrong, it is still stray in what is rewritten, since a blank goes
only where it touches a delimiter or a line end; so the check refuses it and the exact reader decides, which takes four
to seven times as long (for 15 MB 0.7 to 1.9 s of the processor in place of 0.16 to 0.26).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.data.csv import encoding
from workbench.data.csv.encoding import AnyBytes, Bytes
from workbench.data.csv.options import Dialect
from workbench.signals.cancel import CancelToken

Offsets = NDArray[np.int64]

_LF, _CR, _UNIT = 10, 13, 0x1F


def _none() -> Offsets:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class NormalForm:
    """A body of plain CSV."""

    body: AnyBytes
    delimiter: str  # the character between its cells; empty for one column
    removed: Offsets = field(default_factory=_none)  # the places in `body` at which comment lines were, in rising order


def is_plain(dialect: Dialect) -> bool:
    """Return whether a body so written is plain CSV as it is."""
    return not (dialect.blanks or dialect.comment or len(dialect.delimiter) == 2)


def normal_form(body: AnyBytes, dialect: Dialect, cancel: CancelToken) -> NormalForm | None:
    """Return the normal form of ``body``, or ``None`` if only the exact reader can read it."""
    if is_plain(dialect):
        return NormalForm(body, dialect.delimiter)
    if not (dialect.delimiter + dialect.quote + dialect.comment).isascii():
        return None
    parts: list[Bytes] = []
    removed: list[Offsets] = []
    size = inside = 0
    for piece in _whole_lines(body, cancel):
        if piece is None:
            return None
        rewritten = _rewrite(piece, dialect, inside)
        if rewritten is None:
            return None
        out, gone, inside = rewritten
        removed.append(gone + size)
        parts.append(out)
        size += len(out)
    delimiter = chr(_UNIT) if len(dialect.delimiter) == 2 else dialect.delimiter
    return NormalForm(np.concatenate(parts), delimiter, np.concatenate(removed)) if size else None


def _whole_lines(body: AnyBytes, cancel: CancelToken) -> Iterator[Bytes | None]:
    """Yield ``body`` in pieces that end in LF; ``None`` where a line is longer than a piece or a CR is alone."""
    start = 0
    while start < len(body):
        cancel.check()
        piece = np.asarray(body[start : start + encoding.CHUNK])
        if start + len(piece) < len(body):
            ends = np.flatnonzero(piece == _LF)
            if not len(ends):
                yield None
                return
            piece = piece[: int(ends[-1]) + 1]
        returns = np.flatnonzero(piece == _CR)
        if len(returns) and (int(returns[-1]) + 1 == len(piece) or (piece[returns + 1] != _LF).any()):
            yield None
            return
        yield piece
        start += len(piece)


def _rewrite(piece: Bytes, dialect: Dialect, inside: int) -> tuple[Bytes, Offsets, int] | None:
    """Return a piece without comment lines and blanks, where comment lines were, and whether it ends inside a cell."""
    kept = np.ones(len(piece), np.bool_)
    comments = _none()
    if dialect.comment:
        ends = np.append(np.flatnonzero(piece == _LF) + 1, len(piece))
        starts = np.append(0, ends[:-1])
        chosen = (starts < len(piece)) & (piece[np.minimum(starts, len(piece) - 1)] == ord(dialect.comment))
        comments = starts[chosen]
        kept = ~_covered(len(piece), comments, ends[chosen])
    outside = np.full(len(piece), inside == 0)
    if dialect.quote:
        marks = (piece == ord(dialect.quote)) & kept
        within = (np.cumsum(marks, dtype=np.uint8) + np.uint8(inside)) & 1
        if (within[comments[comments > 0] - 1] == 1).any() or (inside and len(comments) and comments[0] == 0):
            return None  # the line is inside a quoted cell
        inside = int(within[-1])
        outside = within == 0
    if len(dialect.delimiter) == 2:
        if (piece == _UNIT).any():
            return None
        first = _pairs(piece, dialect.delimiter, outside & kept)
        piece = piece.copy()
        piece[first] = _UNIT
        kept[first + 1] = False
    out, outside = piece[kept], outside[kept]
    gone: Offsets = (np.cumsum(kept, dtype=np.int64) - kept)[comments]
    if dialect.blanks and len(out):
        lost = _around_cells(out, outside, dialect)
        gone -= np.append(0, np.cumsum(lost, dtype=np.int64))[gone]
        out = out[~lost]
    return out, gone, inside


def _pairs(piece: Bytes, delimiter: str, open_to: NDArray[np.bool_]) -> Offsets:
    """Return where ``delimiter``, two characters, is outside of quotes; from the left where it could overlap."""
    one, two = map(ord, delimiter)
    hits: Offsets = np.flatnonzero((piece[:-1] == one) & (piece[1:] == two) & open_to[:-1] & open_to[1:])
    if one != two or not len(hits):
        return hits
    fresh = np.append(True, np.diff(hits) > 1)
    run_start = hits[np.maximum.accumulate(np.where(fresh, np.arange(len(hits)), 0))]
    taken: Offsets = hits[(hits - run_start) % 2 == 0]
    return taken


def _around_cells(out: Bytes, outside: NDArray[np.bool_], dialect: Dialect) -> NDArray[np.bool_]:
    """Return which bytes are blanks that touch a delimiter, a line end, or an end of the text."""
    delimiter = chr(_UNIT) if len(dialect.delimiter) == 2 else dialect.delimiter
    places = np.flatnonzero(_one_of(out, dialect.blanks) & outside)
    if not len(places):
        return np.zeros(len(out), np.bool_)
    gaps = np.diff(places) > 1
    starts, ends = places[np.append(True, gaps)], places[np.append(gaps, True)] + 1
    left, right = np.maximum(starts - 1, 0), np.minimum(ends, len(out) - 1)
    edge = _one_of(out, f"\r\n{delimiter}") & outside
    touching = (starts == 0) | (ends == len(out)) | edge[left] | edge[right]
    return _covered(len(out), starts[touching], ends[touching])


def _one_of(out: Bytes, characters: str) -> NDArray[np.bool_]:
    """Return which bytes are one of ``characters``."""
    found = np.zeros(256, np.bool_)
    found[[ord(c) for c in characters]] = True
    hits: NDArray[np.bool_] = found[out]
    return hits


def _covered(size: int, starts: Offsets, ends: Offsets) -> NDArray[np.bool_]:
    """Return which of ``size`` places lie in one of the half-open, disjoint ranges."""
    steps = np.zeros(size + 1, np.int8)
    steps[starts] += 1  # no two ranges start, and none end, at one place
    steps[ends] -= 1
    return np.cumsum(steps[:-1], dtype=np.int8) > 0
