"""The keyed fingerprint of a table's content: it recognises a dataset under any name, and cannot test guesses.

It is HMAC-SHA256 under the ledger's random key over the *sorted* column names and the *sorted* rows as text, so that
a file that was renamed, copied, delimited otherwise, or put into another order of rows or columns is the same
dataset, and a published fingerprint cannot be compared with that of a guessed table.
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import polars as pl

from workbench.data.table import Table

_CELL, _MISSING, _ESCAPE, _ROW = "\x1f", "\x1e", "\x1d", "\n"
_ROWS_AT_ONCE = 1 << 18


def fingerprint(table: Table, key: bytes) -> str:
    """Return the fingerprint of ``table`` under ``key``, 32 hexadecimal digits."""
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


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; only for public files, or for hashes that are never published."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
