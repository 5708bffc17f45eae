"""Read, list and write tables of databases in a separate process, which ends when the work is cancelled."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import polars as pl

from workbench.data.columns.source_types import type_name, type_named
from workbench.data.databases.address import PASSWORD_NEEDED, PASSWORDS, SQLITE, Address, address_of
from workbench.data.databases.child import KEYS, LEAST_SECONDS, NAMES
from workbench.data.databases.database_rows import CELLS, DatabaseRows
from workbench.data.isolated_child import SHARE, TEXT, TYPES
from workbench.data.isolated_reader import Limits, frames
from workbench.data.remote import is_remote
from workbench.data.rows_in_parts import Rows
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.codec import parse_json
from workbench.signals.cancel import NEVER, CancelToken

_MODULE = "workbench.data.databases.child"
_LONGEST_ANSWER = 1 << 26
_TRIES = 3

T = TypeVar("T")


@dataclass(frozen=True)
class ListedTable:
    """A table or view of a database."""

    name: str  # as an address names it
    view: bool  # whether it is computed when it is read
    rows: int | None  # how many it has; `None` where nobody counted, or that took too long


class _Asked(Limits):
    """One question to the process, with what is watched while it answers."""

    def __init__(self, address: Address, source: str, do: str, **more: Any) -> None:
        import psutil

        self.address, self.do, self.more = address, do, more
        # No clock: a server may take its time, and a person can cancel.
        super().__init__(source or address.shown, int(SHARE * int(psutil.virtual_memory().available)), math.inf)

    def frames(self, cancel: CancelToken) -> Iterator[tuple[bytes, bytes]]:
        """Yield the frames of the answer, as :func:`workbench.data.isolated_reader.frames`."""
        secrets = PASSWORDS.of(self.address)
        asked = {"do": self.do, "address": self.address.shown, "secrets": secrets, "free": self.memory, **self.more}
        return frames(_MODULE, asked, self, cancel)

    def longest(self, letter: bytes) -> int:
        return self.memory if letter == TEXT else _LONGEST_ANSWER

    def died(self) -> InputError:
        if self.do == "write":
            return InputError("the process that was writing the table was stopped", self.source, "run it again")
        return InputError(
            f"reading the database needs more memory than is available, or more than {LEAST_SECONDS} s of processor "
            "time between two rows, or the database is damaged",
            self.source,
            "read less: query=SELECT …",
            code="damaged-file",
        )

    def damaged(self) -> InputError:
        return self.died()


def _with_password(address: Address, work: Callable[[], T]) -> T:
    """Return what ``work`` does, asking a person for the password where the database wants one that is not known."""
    PASSWORDS.keep(address)
    for _ in range(_TRIES):
        try:
            return work()
        except InputError as error:
            typed = PASSWORDS.ask(address) if error.code == PASSWORD_NEEDED and PASSWORDS.ask is not None else ""
            if not typed:
                raise
            PASSWORDS.keep(address, typed)
    return work()


def _answer_of(address: Address, do: str, cancel: CancelToken, source: str = "", **more: Any) -> Any:
    asked = _Asked(address, source, do, **more)
    found = _with_password(address, lambda: list(asked.frames(cancel)))
    return parse_json(found[-1][1].decode(), "answer")


def tables_of(
    address: Address, cancel: CancelToken = NEVER, *, counted: bool = False, source: str = ""
) -> list[ListedTable]:
    """Return the tables and views that may be read; with their rows, if these are to be ``counted``.

    A person calls the database ``source``, if not by its address.

    Raises:
        InputError: the database cannot be reached, or refuses.
    """
    found = _answer_of(address, "tables", cancel, source, counted=counted)
    return [ListedTable(str(name), bool(view), rows) for name, view, rows in found]


def read_database(address: Address, cancel: CancelToken = NEVER, *, most: int | None = None, source: str = "") -> Table:
    """Read a table, a view or a query of a database, in one state of it; a ``NULL`` is a missing cell.

    Args:
        address: the database and what to read; the only table of it where nothing is named.
        cancel: checked several times per second.
        most: read only so many rows.
        source: what a person calls it, if not by the address.

    Raises:
        InputError: the database cannot be reached or refuses, has several tables and none is named, or a column holds
            lists, documents or bytes.
    """
    notices = []
    if not address.table and not address.query:
        address, notice = _only_table(address, source, cancel)
        notices.append(notice)
    rows, types = _with_password(address, lambda: _read(address, source, most, cancel))
    return Table(cast("pl.DataFrame", rows), source or address.shown, types=types, notices=tuple(notices))


def bytes_between(place: str, keys: Sequence[tuple[int, int]]) -> tuple[bytes, ...]:
    """Return the bytes of some rows, as :class:`~workbench.data.databases.database_rows.DatabaseRows` has them.

    Args:
        place: the address of the table, without a password: whoever reads here has its own.
        keys: of the first and the last of the rows of each stretch.

    Raises:
        InputError: the database cannot be reached from here, or refuses.
    """
    address, found = address_of(place), []
    assert address is not None
    for between in keys:
        asked = _Asked(address, "", "read", most=None, between=between)
        try:
            found += [content for letter, content in asked.frames(NEVER) if letter == TEXT]
        except InputError as error:
            hint = "let each worker read it: the file under the same path, or the server with a PGPASSWORD or ~/.pgpass"
            what = f"a worker cannot read the database: {error.what}"
            raise InputError(what, error.where, hint, code=error.code) from None
    return tuple(found)


def _for_others(address: Address, source: str) -> str:
    """Return the address by which other computers read a table; empty where its file is here alone."""
    if not address.scheme.startswith(SQLITE):
        return address.shown
    file = address.file.absolute()
    with contextlib.suppress(OSError):
        if not source or os.path.samefile(source, file):
            return replace(address, database=str(file)).shown
    return ""


def _only_table(address: Address, source: str, cancel: CancelToken) -> tuple[Address, str]:
    found = tables_of(address, cancel, source=source)
    if len(found) == 1:
        return address.of(found[0].name), f"the table {found[0].name!r}, the only one in the database, was read"
    shown = source or address.shown
    if not found:
        raise InputError("the database has no tables", shown, "check which database it is", code="database")
    listed = ", ".join(each.name for each in found[:12]) + (", …" if len(found) > 12 else "")
    example = address.of(found[0].name).shown
    what = f"the database has {len(found)} tables: {listed}"
    hint = "download it, and name one: sqlite:///FILE?table=TABLE" if is_remote(source) else f"name one: {example}"
    raise InputError(what, shown, hint, code="several-tables")


def _read(
    address: Address, source: str, most: int | None, cancel: CancelToken
) -> tuple[pl.DataFrame | Rows, pl.Schema]:
    names: list[str] = []
    kinds: list[pl.DataType] = []
    keys: tuple[int, int] | None = None
    asked = _Asked(address, source, "read", most=most, cells=CELLS)
    try:
        with tempfile.TemporaryFile() as file:
            rows = DatabaseRows(file, asked.source, _for_others(address, source))
            for letter, content in asked.frames(cancel):
                if letter == NAMES:
                    names = [str(name) for name in parse_json(content.decode(), "answer")]
                elif letter == KEYS:
                    first, last = parse_json(content.decode(), "answer")
                    keys = int(first), int(last)
                elif letter == TEXT:
                    rows.keep(content, names, keys)
                elif letter == TYPES:
                    kinds = [type_named(str(word)) for word in parse_json(content.decode(), "answer")]
            return rows.finished(), pl.Schema(zip(names, kinds[: len(names)], strict=True))
    except (ValueError, TypeError, pl.exceptions.PolarsError):
        raise asked.damaged() from None


def existing_table(address: Address, cancel: CancelToken = NEVER) -> list[str] | None:
    """Return the columns of an existing empty table; ``None`` where there is none and one can be created.

    Raises:
        InputError: the table has rows, or none can be made there.
    """
    if address.scheme == SQLITE and not address.file.exists() and address.file.absolute().parent.is_dir():
        return None
    found = _answer_of(address, "existing_columns", cancel)
    return None if found is None else [str(name) for name in found]


def write_table(address: Address, part: Path, types: Mapping[str, pl.DataType], into: list[str] | None) -> None:
    """Copy a file of CSV into a table, in one transaction: all of its rows are there afterwards, or none.

    Args:
        address: the table.
        part: the file; its cells fit ``types``.
        types: of all columns, in order.
        into: the columns of an empty table that exists; ``None`` makes a new one.

    Raises:
        InputError: it could not be written.
    """
    words = {name: type_name(kind) for name, kind in types.items()}
    _answer_of(address, "write", NEVER, part=str(part.absolute()), types=words, into=into)
