"""SQLite files, by the standard library. A file may be anybody's: it is read without trusting what its schema runs."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from workbench.data.databases.address import Address
from workbench.data.databases.base import Cells, Listed, RowSelection, fetched, has_rows, missing_table
from workbench.data.opened_file import RefusedError

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_LONGEST = 16 * 1024**2  # bytes of the longest cell, row or SQL text
_STEPS = 10_000  # instructions between two looks at the clock
KEYS = """
SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
WHERE m.name = ? AND m.type = 'table' AND c.pk = 1 AND upper(c.type) = 'INTEGER'
AND NOT EXISTS (SELECT 1 FROM pragma_index_list(m.name) i WHERE i.origin = 'pk')
"""
"""A key that has an index is not the number of the row, and may be a text."""
_SAFE_TO_SAY = re.compile(r'no such (column|table|function): .*|near ".*": syntax error|incomplete input')
_DAMAGED = ("the file is not an SQLite database, or it is damaged", "", "get a new copy of the file", "damaged-file")


class SQLite:
    """An SQLite file."""

    def __init__(self, address: Address, _secrets: dict[str, str], *, write: bool = False) -> None:
        """Open it, read-only unless one table is to be written.

        Raises:
            RefusedError: it does not exist, or cannot be opened.
        """
        file = address.file.absolute()
        if not write and not file.is_file():
            raise RefusedError("there is no such file", "", "check the path", "no-file")
        if write and not file.parent.is_dir():
            raise RefusedError(
                "the folder of the database does not exist", "", "create it, or choose another", "output-place"
            )
        with _errors_stated():
            mode = "rwc" if write else "ro"
            fetched = not write and not file.resolve().exists()  # by its descriptor: it has no name
            place = ":memory:" if fetched else f"{file.as_uri()}?mode={mode}"
            self._connection = sqlite3.connect(place, uri=True, isolation_level=None)
            if fetched:
                content = bytearray(file.read_bytes())
                content[18:20] = b"\1\1"  # a log that it was written with is not here
                self._connection.deserialize(content)
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
                self._connection.execute(f"PRAGMA {setting}")
            if not write:
                self._connection.execute("PRAGMA query_only = ON")
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            self._all = [
                Listed(str(name), kind == "view")
                for name, kind in self._connection.execute(
                    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
                    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
                )
            ]
            self._keys = dict(self._connection.execute(KEYS, [address.table]))
        if not write:  # the schema is read; from here on only SELECTs run, whatever a view or a query says
            self._connection.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY
            )

    def tables(self) -> list[Listed]:
        """Return the tables and views."""
        return self._all

    def count(self, table: str, seconds: float) -> int | None:
        """Return the number of rows; ``None`` where counting takes longer, or a view cannot be computed."""
        end = time.monotonic() + seconds
        self._connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            return int(self._connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0])
        except sqlite3.OperationalError:
            return None
        except sqlite3.Error as error:
            raise _refusal(error) from None
        finally:
            self._connection.set_progress_handler(None, _STEPS)

    def key(self, table: str) -> str | None:
        """Return the column of whole numbers that is the primary key of the table that the address names."""
        return self._keys.get(table)

    def cells(self, address: Address, asked: RowSelection) -> Cells:
        """Return the rows of what the address names."""
        if address.table and address.table not in {each.name for each in self._all}:
            raise missing_table(address.table, self._all)
        # By its table's name: SQLite takes a quoted name that is no column for a text.
        columns = ", ".join(f"asked.{_quoted(name)}" for name in address.columns) or "*"
        table = f"SELECT {columns} FROM {_quoted(address.table)} AS asked {asked.words(_quoted)}"
        with _errors_stated():
            cursor = self._connection.execute(address.query or table)
        if cursor.description is None:
            raise RefusedError("the query returns no table", "", "give one SELECT", "query")
        return fetched([str(column[0]) for column in cursor.description], cursor, asked.most, _errors_stated)

    def existing_columns(self, table: str) -> list[str] | None:
        """Return the columns of an empty table; ``None`` where there is none of this name."""
        kinds = {each.name.lower(): each for each in self._all}
        found = kinds.get(table.lower())  # SQLite compares names without case
        with _errors_stated():
            if found is None:
                self._connection.execute(f"CREATE TABLE {_quoted(table)} (x)")
                self._connection.execute("ROLLBACK")
                return None
            if found.view or self._connection.execute(f"SELECT 1 FROM {_quoted(found.name)} LIMIT 1").fetchone():
                raise has_rows()
            return [str(row[1]) for row in self._connection.execute(f"PRAGMA table_info({_quoted(found.name)})")]

    def write(self, table: str, names: Sequence[str], parts: Iterator[pl.DataFrame], *, into: list[str] | None) -> None:
        """Write typed rows in one transaction."""
        marks = ", ".join("?" for _ in names)
        listed = ", ".join(map(_quoted, names))
        with _errors_stated():
            for number, part in enumerate(parts):
                if number == 0 and into is None:
                    columns = ", ".join(
                        f"{_quoted(name)} {_DECLARED.get(type(kind), 'TEXT')}" for name, kind in part.schema.items()
                    )
                    self._connection.execute(f"CREATE TABLE {_quoted(table)} ({columns})")
                rows = part.with_columns(pl.col(pl.Boolean, pl.Date).cast(pl.String)).iter_rows()
                self._connection.executemany(f"INSERT INTO {_quoted(table)} ({listed}) VALUES ({marks})", rows)
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


_DECLARED: dict[type[pl.DataType], str] = {pl.Int64: "INTEGER", pl.Float64: "REAL"}


def _quoted(name: str) -> str:
    if "\0" in name:
        raise RefusedError("the name of a table or column has a null character", "", "rename it")
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def _errors_stated() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _refusal(error) from None


def _refusal(error: Any) -> RefusedError:
    """Return an error of SQLite as one sentence that holds no value of a row."""
    code, text = getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "decode to UTF-8" in text:
        return RefusedError(*_DAMAGED)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        what, hint = "another program is writing to the database", "run it again when that program has finished"
    elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        what, hint = "the database cannot be opened", "check the path and its rights"
    elif code == sqlite3.SQLITE_FULL:
        what, hint = "the disk is full", "free some space and run it again"
    elif code == sqlite3.SQLITE_AUTH or isinstance(error, sqlite3.Warning):
        what, hint = "only a SELECT is read", "give one SELECT, which changes nothing"
    elif code == sqlite3.SQLITE_TOOBIG:
        what, hint = f"a cell has more than {_LONGEST // 1024**2} MB", "leave its column out: query=SELECT …"
    elif _SAFE_TO_SAY.fullmatch(text):
        what, hint = f"the database does not understand the query: {text}", "check the query, or the view"
    else:
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        what, hint = f"the database reports an error ({name})", "check the query, or the file"
    return RefusedError(what, "", hint, "database")
