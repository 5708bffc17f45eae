"""PostgreSQL, as Arrow: read in one snapshot that can change nothing, written in one transaction."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import polars as pl

from workbench.data.databases.address import PASSWORD_NEEDED, Address
from workbench.data.databases.base import LOST, Cells, Listed, RowSelection, has_rows, missing_table, not_a_cell
from workbench.data.opened_file import RefusedError

_PLAIN: dict[str, pl.DataType] = {
    "int2": pl.Int16(),
    "int4": pl.Int32(),
    "int8": pl.Int64(),
    "float4": pl.Float32(),
    "float8": pl.Float64(),
    "bool": pl.Boolean(),
    "text": pl.String(),
    "varchar": pl.String(),
    "bpchar": pl.String(),
    "name": pl.String(),
}
"""Types that arrive as they are; all others are asked for as the server's own text of them."""
_TEXT_OF = {"date": pl.Date(), "timestamp": pl.Datetime("us")}
_NO_CELLS = {"bytea": "bytes", "json": "JSON documents", "jsonb": "JSON documents", "xml": "XML documents"}

_SESSION = (
    "SET default_transaction_read_only = on",
    "SET DateStyle = ISO",
    "SET IntervalStyle = postgres",
    "SET TimeZone = UTC",
)
_TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END::text,
       n.nspname::text, c.relname::text, c.relkind IN ('v', 'm')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 2, 3
"""
_COLUMNS = """
SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_catalog.pg_attribute
WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_KEY = """
SELECT a.attname::text FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
JOIN pg_catalog.pg_class c ON c.oid = i.indrelid AND (c.relkind = 'p' OR NOT c.relhassubclass)
WHERE i.indrelid = $1::regclass AND i.indisprimary AND i.indnkeyatts = 1
  AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
"""
"""Tables that inherit from one may repeat its keys; those that are parts of one may not."""


class PostgreSQL:
    """A PostgreSQL database."""

    def __init__(self, address: Address, secrets: dict[str, str], *, write: bool = False) -> None:
        """Connect, and begin a transaction.

        Raises:
            RefusedError: the server cannot be reached, or refuses.
        """
        import adbc_driver_manager
        import adbc_driver_postgresql.dbapi
        import pyarrow as pa

        self._error = adbc_driver_manager.Error
        self._errors = (adbc_driver_manager.Error, pa.ArrowException, OSError)  # the others of a stream of rows
        with self._errors_stated():
            self._connection = adbc_driver_postgresql.dbapi.connect(
                _connection_string(address, secrets), autocommit=True
            )
            self._cursor = self._connection.cursor()
            for setting in _SESSION[write:]:
                self._cursor.execute(setting)
            with contextlib.suppress(self._error):  # the server notices that this process was ended; not all can
                self._cursor.execute("SET client_connection_check_interval = 1000")
            self._cursor.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ {'READ WRITE' if write else 'READ ONLY'}")

    @contextlib.contextmanager
    def _errors_stated(self) -> Iterator[None]:
        """Return an error of the server as one sentence."""
        try:
            yield
        except self._errors as error:
            raise _refusal(error) from None

    def _rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        with self._errors_stated():
            self._cursor.execute(sql, values or None)
            return list(self._cursor.fetchall())

    def tables(self) -> list[Listed]:
        """Return the tables and views that this user may read."""
        return [Listed(name, view) for name, _, _, view in self._rows(_TABLES)]

    def _place(self, table: str, known: list[tuple[Any, ...]]) -> str | None:
        """Return the quoted name of a table that exists."""
        for name, schema, own, _ in known:
            if table in (name, f"{schema}.{own}"):
                return f"{_quoted(schema)}.{_quoted(own)}"
        return None

    def _known(self, table: str) -> str:
        found = self._place(table, rows := self._rows(_TABLES))
        if found is None:
            raise missing_table(table, [Listed(row[0]) for row in rows])
        return found

    def count(self, table: str, seconds: float) -> int | None:
        """Return the number of rows; ``None`` where counting takes longer than so many seconds."""
        found = self._known(table)
        self._rows_of_nothing("SAVEPOINT counting", f"SET LOCAL statement_timeout = {1 + int(1000 * seconds)}")
        try:
            return int(self._rows(f"SELECT count(*) FROM {found}")[0][0])
        except RefusedError:
            return None
        finally:
            self._rows_of_nothing("ROLLBACK TO counting")

    def _rows_of_nothing(self, *statements: str) -> None:
        with self._errors_stated():
            for statement in statements:
                self._cursor.execute(statement)

    def key(self, table: str) -> str | None:
        """Return the column of whole numbers that alone is the primary key of a table; ``None`` where none is."""
        found = self._rows(_KEY, self._known(table))
        return str(found[0][0]) if found else None

    def cells(self, address: Address, asked: RowSelection) -> Cells:
        """Return the rows of what the address names; a line break ends a comment at the end of a query."""
        place = f"(\n{address.query}\n)" if address.query else self._known(address.table)
        columns = ", ".join(map(_quoted, address.columns)) or "*"
        with self._errors_stated():
            schema = self._cursor.adbc_execute_schema(f"SELECT {columns} FROM {place} AS asked")
        names, types, selected = [f.name for f in schema], [], []
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise RefusedError(
                "the query has two columns of one name", f"column {twice}", "name one: … AS NAME", "query"
            )
        for column in schema:
            kind = (column.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
            if kind.startswith("_") or kind in _NO_CELLS:
                raise not_a_cell(column.name, _NO_CELLS.get(kind, "lists"))
            types.append(_PLAIN.get(kind) or _TEXT_OF.get(kind) or pl.String())
            selected.append(_quoted(column.name) + ("" if kind in _PLAIN else "::text"))
        end = asked.words(_quoted) + ("" if asked.most is None else f" LIMIT {asked.most:d}")
        with self._errors_stated():
            self._cursor.execute(f"SELECT {', '.join(selected) or '1'} FROM {place} AS asked {end}")
        return Cells(names, self._parts(names), types)

    def _parts(self, names: list[str]) -> Iterator[pl.DataFrame]:
        with self._errors_stated():
            for batch in self._cursor.fetch_record_batch():
                part = pl.DataFrame(pl.from_arrow(batch))
                if part.width:
                    part.columns = names
                    yield part.select(pl.all().cast(pl.String).replace("", None))

    def existing_columns(self, table: str) -> list[str] | None:
        """Return the columns of an empty table; ``None`` where there is none and it can be made."""
        found = self._place(table, self._rows(_TABLES))
        if found is None:
            self._rows_of_nothing(f"CREATE TABLE {_named(table)} (x int)", "ROLLBACK")
            return None
        if self._rows(f"SELECT 1 FROM {found} LIMIT 1"):
            raise has_rows()
        return [str(name) for name, _ in self._rows(_COLUMNS, found)]

    def write(self, table: str, names: Sequence[str], parts: Iterator[pl.DataFrame], *, into: list[str] | None) -> None:
        """Write typed rows in one transaction; into an empty table, through one that lasts as long."""
        import pyarrow as pa

        schema, _, own = table.rpartition(".")
        target = {"db_schema_name": schema or None} if into is None else {"temporary": True}
        staged = own if into is None else "workbench_staged"
        with self._errors_stated():
            for number, part in enumerate(parts):
                arrow = part.to_arrow(compat_level=pl.CompatLevel.oldest())
                assert isinstance(arrow, pa.Table)
                self._cursor.adbc_ingest(staged, arrow, mode="append" if number else "create", **target)
            if into is not None:
                found = self._known(table)
                kinds = dict(self._rows(_COLUMNS, found))
                listed = ", ".join(map(_quoted, names))
                cast = ", ".join(f"{_quoted(name)}::{kinds[name]}" for name in names)
                self._cursor.execute(f"INSERT INTO {found} ({listed}) SELECT {cast} FROM pg_temp.{staged}")
                self._cursor.execute(f"DROP TABLE pg_temp.{staged}")
            self._cursor.execute("COMMIT")

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(self._error):
            self._cursor.close()
            self._connection.close()


def _connection_string(address: Address, secrets: dict[str, str]) -> str:
    who = quote(address.user, safe="")
    if "password" in secrets:
        who += ":" + quote(secrets["password"], safe="")
    usual = {"connect_timeout": "15", "application_name": "workbench"}
    options = usual | dict(address.options) | {k: v for k, v in secrets.items() if k != "password"}
    asked = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in options.items())
    return f"postgresql://{who}{'@' if who else ''}{address.host}/{quote(address.database, safe='')}?{asked}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _named(table: str) -> str:
    """Return the quoted name of a new table."""
    return ".".join(map(_quoted, table.split(".", 1)))


_REASONS = (
    ("no password supplied", "the database asks for a password", "type it, or set PGPASSWORD or ~/.pgpass"),
    ("authentication failed", "the database does not accept this user and password", "check both"),
    ("role ", "the database does not know this user", "check the user"),
    ("database ", "the server has no such database", "check its name"),
    ("no pg_hba.conf entry", "the server does not let this user connect from this computer", "ask its administrator"),
    ("invalid ", "the address has a parameter that PostgreSQL does not know", "check the address"),
)
"""A part of what libpq reports about a connection, what it means and the fix; it may repeat hosts and passwords."""
_STATES = {
    "42501": ("this user does not have the rights to do that", "ask the administrator of the database"),
    "25006": ("only a SELECT is read", "give one SELECT, which changes nothing"),
    "57014": ("the database stopped the query", "read less"),
    "53100": ("the disk of the database is full", "free some space and run it again"),
    "22021": ("a text contains a character that the database cannot store", "drop its column, or write a file"),
    "22P05": ("a text contains a character that the database cannot store", "drop its column, or write a file"),
}


def _refusal(error: Any) -> RefusedError:
    """Return an error of the driver as one sentence without values, hosts and passwords."""
    text = str(error)
    found = re.search(r"SQLSTATE:? ([0-9A-Z]{5})", text)
    state = getattr(error, "sqlstate", None) or (found.group(1) if found else "")
    if "Failed to connect" in text:
        for part, what, hint in _REASONS:
            if part in text:
                code = PASSWORD_NEEDED if "assword" in text else "database"
                return RefusedError(what, "", hint, code)
        hint = "check the host and port, and that the server is running"
        return RefusedError("the database cannot be reached", "", hint, "database")
    if state in _STATES:
        return RefusedError(_STATES[state][0], "", _STATES[state][1], "database")
    if state.startswith("42"):  # found before a row was read: it repeats the query alone
        details = dict(getattr(error, "details", None) or ())
        said = details.get(b"PG_DIAG_MESSAGE_PRIMARY", state.encode()).decode("utf-8", "replace")
        return RefusedError(f"the database does not understand the query: {said}", "", "check the query", "database")
    if state.startswith(("57P", "08")) or (not state and "connection" in text.lower()):
        return RefusedError(LOST, "", "run it again when the server is running", "database-lost")
    if state or ("ERROR:" in text and "connection" not in text.lower()):
        what = (
            f"the database reports an error{f' (SQLSTATE {state})' if state else ''} while it reads or writes the rows"
        )
        return RefusedError(what, "", "check the query, or the view", "database")
    return RefusedError(LOST, "", "run it again when the server is running", "database-lost")
