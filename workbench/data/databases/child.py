"""Reads or writes one table of a database in a process of its own, which the parent ends when it is cancelled.

The request is one line of JSON on standard input, passwords among it; the answer is a sequence of frames on standard
output, as :mod:`workbench.data.isolated_child` has them.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from workbench.data import isolated_child
from workbench.data.columns.source_types import cast_text, type_name, type_named
from workbench.data.databases.address import POSTGRESQL, SQLITE, Address, address_of
from workbench.data.databases.base import Database, RowSelection, require_names
from workbench.data.isolated_child import ANSWER, END, TEXT, TYPES, check_shape, restrict, send
from workbench.data.opened_file import RefusedError
from workbench.data.rows_in_parts import cells_of
from workbench.params.errors import how_to_install

NAMES, KEYS = b"N", b"I"
"""Frames of JSON: the names of the columns, before their rows; the keys of the first and the last of the rows that
follow."""

MOST_BYTES, LEAST_SECONDS, BYTES_PER_SECOND = 2 * 1024**3, 60, 1_000_000
"""Memory that reading may take; processor seconds from one part of the rows to the next, plus one for so many bytes of
a file."""

COUNTING = 4.0  # seconds in which the rows of all tables are counted

KINDS = {SQLITE: ("sqlite", "SQLite"), POSTGRESQL: ("postgresql", "PostgreSQL")}
"""Module and class of the databases that are not read by SQLAlchemy."""


def _answer(request: dict[str, Any], out: BinaryIO) -> None:
    address = address_of(request["address"])
    assert address is not None
    size = address.file.stat().st_size if address.scheme == SQLITE and address.file.is_file() else 0
    pl.Series([1, 2]).sum()  # let the library's threads allocate their stacks before memory is limited
    seconds, do = LEAST_SECONDS + size // BYTES_PER_SECOND, request["do"]
    if do != "write":
        restrict(min(MOST_BYTES, request["free"]), seconds)
    opened = _opened(address, dict(request["secrets"]), write=do in ("write", "existing_columns"))
    try:
        if do == "write":
            _write(opened, address, request)
            send(out, ANSWER, b"null")
        elif do == "existing_columns":
            send(out, ANSWER, json.dumps(opened.existing_columns(address.table)).encode())
        elif do == "tables":
            send(out, ANSWER, json.dumps(_tables(opened, counted=request["counted"])).encode())
        else:
            _read(opened, address, request, seconds, out)
    finally:
        opened.close()


def _opened(address: Address, secrets: dict[str, str], *, write: bool) -> Database:
    module, name = KINDS.get(address.scheme, ("other_databases", "OtherDatabase"))
    try:
        kind = getattr(importlib.import_module(f"workbench.data.databases.{module}"), name)
        made: Database = kind(address, secrets, write=write)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        what = f"the library that reads this database is not installed ({missing})"
        raise RefusedError(what, "", how_to_install("sqlalchemy"), "extra-missing") from None
    return made


def _tables(opened: Database, *, counted: bool) -> list[tuple[str, bool, int | None]]:
    """Return name, whether it is a view, and rows of each table; no rows once counting has taken too long."""
    end, found = time.monotonic() + COUNTING, opened.tables()
    rows: dict[str, int | None] = {}
    for each in sorted(found, key=lambda listed: listed.view):  # a view may take long
        left = end - time.monotonic()
        rows[each.name] = opened.count(each.name, left) if counted and left > 0 else None
    return [(each.name, each.view, rows[each.name]) for each in found]


def _read(opened: Database, address: Address, request: dict[str, Any], seconds: int, out: BinaryIO) -> None:
    columns, most, between = address.columns, request["most"], request.get("between")
    key = opened.key(address.table) if address.table and most is None else None
    if key is not None and columns and key not in columns:
        # Not every database takes two names of one column for two columns.
        key = None if key.lower() in map(str.lower, columns) else key
        address = address.of(address.table, (*columns, *filter(None, [key])))
    cells = opened.cells(address, RowSelection(most, key or "", between))
    names = list(cells.names)[: len(columns) or None]
    check_shape(1, names)
    require_names(names)
    send(out, NAMES, json.dumps(names).encode())
    rows = 0
    for part in _cut(cells.parts, None if between is not None else request["cells"]):
        rows += part.height
        if key is not None:
            first, last = (int(part.get_column(key)[place]) for place in (0, -1))
            send(out, KEYS, json.dumps([first, last]).encode())
        send(out, TEXT, _plain_bytes(part[:, : len(names)]))
        _more_time(seconds)
    if between is None:
        check_shape(rows, names)
    send(out, TYPES, json.dumps([type_name(kind) for kind in cells.types]).encode())
    send(out, END, b"")


def _cut(parts: Iterator[pl.DataFrame], most: int | None) -> Iterator[pl.DataFrame]:
    """Yield rows in parts of about so many cells at most, or all of them together."""
    for part in parts if most is not None else map(pl.concat, filter(None, [list(parts)])):
        step = max(1, part.height if most is None else most // part.width)
        yield from (part.slice(start, step) for start in range(0, part.height, step))


def _plain_bytes(part: pl.DataFrame) -> memoryview:
    """Return rows as bytes, which are the same whenever these rows are read; a missing cell is an empty text."""
    # What cells were made of shows in how they lie in memory, unless they are copied beside others.
    plain = part.select(pl.all().fill_null(""))
    stream = io.BytesIO()
    plain = pl.concat([plain, plain[:1]], rechunk=True)[: part.height]
    plain.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getbuffer()


def _more_time(seconds: int) -> None:
    """Let the next part of the rows take as much time of the processor as this one could."""
    try:
        import resource
    except ImportError:  # Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    wanted = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _write(opened: Database, address: Address, request: dict[str, Any]) -> None:
    """Copy a finished draw, which is a file of CSV, into its table."""
    types = {name: type_named(word) for name, word in request["types"].items()}
    opened.write(address.table, list(types), _typed(Path(request["part"]), types), into=request["into"])


def _typed(part: Path, types: dict[str, pl.DataType]) -> Iterator[pl.DataFrame]:
    read = pl.read_csv(part, infer_schema=False).with_columns(pl.all().replace("", None))
    for name, kind in types.items():  # not every database has a real that is no number
        if kind == pl.Float64() and not cast_text(cells_of(read, name), kind).is_finite().all():
            types[name] = pl.String()
    step = max(1, (1 << 20) // max(1, len(types)))
    for start in range(0, read.height or 1, step):
        piece = read.slice(start, step)
        yield piece.select([cast_text(cells_of(piece, name), kind).alias(name) for name, kind in types.items()])


def main() -> int:
    """Answer one request."""
    return isolated_child.main(_answer)


if __name__ == "__main__":
    sys.exit(main())
