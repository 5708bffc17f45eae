"""The marks that identify a table: of its file's bytes, of its content however it was read, of its rows and columns.

All are keyed and stay in the ledger. None depends on the name of the file or of a column, on the order of rows or
columns, or on how a number is written; the mark of the bytes does not depend on how they are read. The same bytes or
the same content are the same table; most rows in common make it a version of that table
(:mod:`workbench.release.ledger.sketch`); columns in common raise a doubt that a person decides
(:mod:`workbench.release.ledger.resemblance`).
"""

from __future__ import annotations

import hashlib
import hmac
import weakref
from dataclasses import dataclass

import numpy as np
import polars as pl

from workbench.data.content.cell_hash import CellHash
from workbench.data.content.cell_words import Words
from workbench.data.databases.address import title_of
from workbench.data.table import Table
from workbench.release.ledger.column_marks import NO_COLUMNS, ColumnMarker, ColumnMarks
from workbench.release.ledger.sketch import NO_SKETCHES, Sketches, sketches

_CELL, _MISSING, _ESCAPE, _ROW = "\x1f", "\x1e", "\x1d", "\n"
"""What stands between cells, for a missing one, before an escaped character, and after a row of a fingerprint."""
_ROWS_AT_ONCE = 1 << 18

_EVERY_ROW = 1 << 20
"""Rows up to which the content mark is of every row; beyond, of their number and the sketch, where there is one."""


@dataclass(frozen=True, eq=False)
class Identity:
    """The keyed marks of one table.

    Attributes:
        content: of its cells, 64 hexadecimal digits.
        file: of the bytes of its file; empty for a table that was not read from one.
        sketches: of its rows.
        columns: of its columns.
        former: the fingerprint that earlier versions knew it by; empty where the ledger has none of those.
        others: the same marks under the keys of ledgers that were merged into this one.
        title: the name of its file, by which a person knows it; no mark.
    """

    content: str
    file: str = ""
    sketches: Sketches = NO_SKETCHES
    columns: ColumnMarks = NO_COLUMNS
    former: str = ""
    others: tuple[Identity, ...] = ()
    title: str = ""

    @property
    def exact(self) -> tuple[str, ...]:
        """The marks that two tables share only if they are the same."""
        return tuple(mark for mark in (self.file, self.content) if mark)


LONGEST_TITLE = 200

_KNOWN: weakref.WeakKeyDictionary[Table, dict[bytes, Identity]] = weakref.WeakKeyDictionary()


def identify(table: Table, key: bytes, *, former: bool = False) -> Identity:
    """Return the marks of ``table`` under ``key``; computed once for each table that was read.

    Args:
        table: the rows.
        key: the ledger's key.
        former: whether the ledger has accounts that only the fingerprint of earlier versions finds.
    """
    name = hashlib.sha256(key + bytes([former])).digest()
    known = _KNOWN.setdefault(table, {})
    if name not in known:
        known[name] = _identify(table, key, former)
    return known[name]


def _identify(table: Table, key: bytes, former: bool) -> Identity:
    hashing, marker = CellHash(key), ColumnMarker(table.frame)
    every = table.rows <= _EVERY_ROW
    rows = np.zeros(table.rows if every else 0, np.uint64)
    for cells in table.frame.iter_columns():
        if every:
            hashes = hashing.hashes(cells)
            rows += hashes
            marker.take(hashes)
        else:
            marker.take_cells(cells, hashing)
    found = sketches(table.frame, key, marker.listed)
    if not every and not found.parts:
        rows = np.zeros(table.rows, np.uint64)
        for cells in table.frame.iter_columns():
            rows += hashing.hashes(cells)
    stated = found.encode() if not every and found.parts else _sums(rows)
    content = _mark(key, b"content", table.rows.to_bytes(8, "big") + stated)
    of_file = _mark(key, b"file", table.digest) if table.digest else ""
    earlier = fingerprint(table, key) if former else ""
    return Identity(content, of_file, found, marker.made(), earlier, title=title_of(table.source)[:LONGEST_TITLE])


def _sums(rows: Words) -> bytes:
    """Return two numbers that do not depend on the order of the rows: two different sums over their hashes."""
    sums = []
    for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        mixed = rows * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        mixed *= np.uint64(factor)
        sums.append(int(np.sum(mixed, dtype=np.uint64)).to_bytes(8, "big"))
    return b"".join(sums)


def _mark(key: bytes, purpose: bytes, stated: bytes) -> str:
    return hmac.new(key, b"privacy-workbench " + purpose + b"\0" + stated, hashlib.sha256).hexdigest()


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
    text = pl.col(name)
    for mark in (_ESCAPE, _CELL, _MISSING, _ROW):
        text = text.str.replace_all(mark, _ESCAPE + f"{ord(mark):02x}", literal=True)
    return text.fill_null(_MISSING)
