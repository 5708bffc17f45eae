"""The marks that identify a table: of its file's bytes, of its content however it was read, of its rows and columns.

All are keyed and stay in the ledger. None depends on the name of the file or of a column, on the order of rows or
columns, or on how a number is written; the mark of the bytes does not depend on how they are read. The same bytes or
the same content are the same table; most rows in common make it a version of that table
(:mod:`workbench.release.ledger.sketch`); columns in common raise a doubt that a person decides
(:mod:`workbench.release.ledger.resemblance`).
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from workbench.data.content.cell_hash import CellHash, Words
from workbench.data.databases.address import title_of
from workbench.data.rows_in_parts import each_column, each_part
from workbench.data.table import Table
from workbench.params import InputError
from workbench.release.ledger.column_marks import NO_COLUMNS, ColumnMarker, ColumnMarks, Counted
from workbench.release.ledger.sketch import LOOK, NO_SKETCHES, EachPart, Sketcher, Sketches

_CELL, _MISSING, _ESCAPE, _ROW = "\x1f", "\x1e", "\x1d", "\n"
"""What is between cells, for a missing one, before an escaped character, and after a row of a fingerprint."""
_ROWS_AT_ONCE = 1 << 18

_WIDE_LOOK = 1 << 13
"""Rows that are looked at for whether the cells of a column are in canonical form, where there are very many."""

_EVERY_ROW = 1 << 20
"""Rows up to which the content mark is of every row; beyond, of their number and the sketch, where there is one."""


@dataclass(frozen=True, eq=False)
class Identity:
    """The keyed marks of one table."""

    content: str  # of its cells, 64 hexadecimal digits
    file: str = ""  # of the bytes of its file; empty for a table that was not read from one
    sketches: Sketches = NO_SKETCHES  # of its rows
    columns: ColumnMarks = NO_COLUMNS
    former: str = ""  # the fingerprint that earlier versions knew it by; empty where the ledger has none of those
    others: tuple[Identity, ...] = ()  # the same marks under the keys of ledgers that were merged into this one
    title: str = ""  # the name of its file, by which a person knows it; no mark
    second: Identity | None = None  # the marks of the table that is joined with it

    @property
    def exact(self) -> tuple[str, ...]:
        """The marks that two tables share only if they are the same."""
        return tuple(mark for mark in (self.file, self.content) if mark)


LONGEST_TITLE = 200

_KNOWN: weakref.WeakKeyDictionary[Table, dict[bytes, Identity]] = weakref.WeakKeyDictionary()


def identify(table: Table, key: bytes, *, former: bool = False) -> Identity:
    """Return the marks of ``table`` under the ledger's ``key``; computed once for each table that was read.

    ``former`` says whether the ledger has accounts that only the fingerprint of earlier versions finds.
    """
    known = _KNOWN.setdefault(table, {})
    if (name := _name(key, former)) not in known:
        marking = Marking(table, key, former=former)
        for found in each_part(table, marking.of_part):
            marking.take(found)
        marking.finish()
    return known[name]


def _name(key: bytes, former: bool) -> bytes:
    return hashlib.sha256(key + bytes([former])).digest()


class Marking:
    """Makes the marks of a table of its parts; whoever reads the parts anyway hands them over."""

    def __init__(self, table: Table, key: bytes, *, former: bool = False, each: EachPart | None = None) -> None:
        """Prepare the marks that :func:`identify` returns afterwards; some rows are read for that.

        ``each`` yields in order what a function makes of each part, where rows are read again; by default on this
        computer. What it is given can be sent to workers, and does not have the key.
        """
        self._each: EachPart = each or partial(each_part, table)
        self._table, self._key, self._former, self._hashing = table, key, former, CellHash(key)
        self._every = table.rows <= _EVERY_ROW
        some = table.at(_spaced(table.rows, LOOK))
        wide = None if self._every else table.at(_spaced(table.rows, _WIDE_LOOK))
        self._marker = ColumnMarker(some, wide, table.rows, self._hashing)
        self._sketcher = Sketcher(some, table.rows, key, self._hashing) if table.rows else None
        self._rows: list[Words] = []

    def of_part(self, part: Table) -> _OfPart:
        """Return what a part adds to the marks; can be called in threads."""
        frame, placed = part.frame, [part.placed.get(name) for name in part.names]
        rows = np.zeros(part.rows if self._every else 0, np.uint64)
        columns = []
        for position, cells in enumerate(each_column(frame)):
            hashes = self._hashing.hashes(cells) if self._every else None
            if hashes is not None:
                rows += hashes
            columns.append(self._marker.of_column(position, cells, hashes, placed[position]))
        return _OfPart(rows, columns, self._sketcher.of_part(frame, placed) if self._sketcher is not None else [])

    def sent(self) -> Marking:
        """Return what has the same :meth:`of_part` on a worker: without the ledger's key, and without any cell.

        It holds what was derived from the key for hashes and ranks of cells, one way. Nothing in a ledger can be
        recognised with that: its marks are made of hashes with the key itself, or encrypted under it.
        """
        there = copy.copy(self)
        del there._table, there._key, there._each
        there._marker = self._marker.sent()
        there._sketcher = None if self._sketcher is None else self._sketcher.sent()
        return there

    def take(self, found: _OfPart) -> None:
        """Take what :meth:`of_part` found."""
        self._rows.append(found.rows)
        for position, column in enumerate(found.columns):
            self._marker.take(position, column)
        if self._sketcher is not None:
            self._sketcher.take(found.chosen)

    def finish(self) -> None:
        """Make the marks; rows are read again only where a column or the rows are of an unusual kind."""
        table, key, marker = self._table, self._key, self._marker
        marker.finish()
        found = NO_SKETCHES if self._sketcher is None else self._sketcher.made(marker.listed, self._each)
        rows = np.concatenate([np.empty(0, np.uint64), *self._rows])
        if self._every:
            sums = _sums([rows])
        elif not found.parts:
            sums = _sums(self._each(partial(_hashed, self._hashing, range(len(table.names)))))
        stated = found.encode() if not self._every and found.parts else sums
        if self._every and marker.free > 1 and marker.listed:
            listed = self._each(partial(_hashed, self._hashing, marker.listed))
            rows -= np.concatenate([np.empty(0, np.uint64), *listed])
        content = keyed(key, b"content", table.rows.to_bytes(8, "big") + stated)
        of_file = keyed(key, b"file", table.digest) if table.digest else ""
        former = _fingerprint_where_it_fits(table, key) if self._former else ""
        title = title_of(table.source)[:LONGEST_TITLE]
        made = Identity(content, of_file, found, marker.made(rows), former, title=title)
        _KNOWN.setdefault(table, {})[_name(key, self._former)] = made


def _hashed(hashing: CellHash, columns: Iterable[int], part: Table) -> Words:
    rows = np.zeros(part.rows, np.uint64)
    for position in columns:
        rows += hashing.hashes(part.frame.to_series(position).alias(""))
    return rows


@dataclass(frozen=True, eq=False)
class _OfPart:
    """What a part adds to the marks: the hashes of its rows, of its columns' cells, and the rows for sketches."""

    rows: Words
    columns: list[list[Counted]]
    chosen: list[tuple[Words, NDArray[np.int64]]]


def _spaced(rows: int, some: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, max(rows - 1, 0), min(rows, some)).astype(np.int64))


def _sums(parts: Iterable[Words]) -> bytes:
    """Return two numbers that do not depend on the order of the rows: two different sums over their hashes."""
    factors, sums = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F), [0, 0]
    for rows in parts:
        for k, factor in enumerate(factors):
            mixed = rows * np.uint64(factor)
            mixed ^= mixed >> np.uint64(31)
            mixed *= np.uint64(factor)
            sums[k] = (sums[k] + int(np.sum(mixed, dtype=np.uint64))) % 2**64
    return b"".join(one.to_bytes(8, "big") for one in sums)


def keyed(key: bytes, purpose: bytes, stated: bytes) -> str:
    """Return the mark of something under a ledger's key, 64 hexadecimal digits."""
    return hmac.new(key, b"privacy-workbench " + purpose + b"\0" + stated, hashlib.sha256).hexdigest()


def _fingerprint_where_it_fits(table: Table, key: bytes) -> str:
    """Return the mark of earlier versions, which read no table that did not fit into memory."""
    try:
        return fingerprint(table.replaced(), key)  # the copy forgets the rows again
    except InputError as error:
        if error.code != "table-too-large":
            raise
        return ""


def fingerprint(table: Table, key: bytes) -> str:
    """Return the mark that the first format of a ledger knows a table by, 32 hexadecimal digits.

    It is of the *sorted* column names and the *sorted* rows as text.
    """
    mac = hmac.new(key, digestmod=hashlib.sha256)
    names = sorted(table.names)
    for name in names:
        mac.update(len(name.encode()).to_bytes(8, "big") + name.encode())
    rows = table.frame.select(pl.concat_str([_cell(n) for n in names], separator=_CELL).alias("row"))
    ordered = rows["row"].sort()
    for start in range(0, ordered.len(), _ROWS_AT_ONCE):
        mac.update((ordered[start : start + _ROWS_AT_ONCE].str.join(_ROW).item() + _ROW).encode())
    return mac.hexdigest()[:32]


def _cell(name: str) -> pl.Expr:
    """Return the column with control characters escaped, so that different rows never become the same text."""
    text = cs.by_name(name).as_expr()  # pl.col takes a name such as * or ^a$ for a pattern
    for mark in (_ESCAPE, _CELL, _MISSING, _ROW):
        text = text.str.replace_all(mark, _ESCAPE + f"{ord(mark):02x}", literal=True)
    return text.fill_null(_MISSING)
