"""Any other database, by SQLAlchemy and the driver that its address names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from workbench.data.databases.address import PASSWORD_NEEDED, SQLITE, Address
from workbench.data.databases.base import LOST, Cells, Listed, RowSelection, fetched, has_rows, missing_table
from workbench.data.databases.sqlite import KEYS
from workbench.data.opened_file import RefusedError

_SNAPSHOTS = ("REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT")
_READ_ONLY = {"mysql": "SET TRANSACTION READ ONLY", "mariadb": "SET TRANSACTION READ ONLY"}
_READ_ONLY |= {"sqlite": "PRAGMA query_only = ON", "postgresql": "SET TRANSACTION READ ONLY"}


class OtherDatabase:
    """A database that SQLAlchemy knows."""

    def __init__(self, address: Address, secrets: dict[str, str], *, write: bool = False) -> None:
        """Connect, and begin a transaction.

        Raises:
            RefusedError: the driver is missing, the server cannot be reached, or it refuses.
        """
        import sqlalchemy

        self._sql = sqlalchemy
        try:
            engine = sqlalchemy.create_engine(_url(address, secrets), poolclass=sqlalchemy.pool.NullPool)
            self._connection = engine.connect().execution_options(stream_results=True)
            with contextlib.suppress(NotImplementedError, sqlalchemy.exc.SQLAlchemyError):
                known = engine.dialect.get_isolation_level_values(self._connection.connection.dbapi_connection)  # type: ignore[arg-type]
                level = next((name for name in _SNAPSHOTS if name in known), None)
                if level is not None:
                    self._connection = self._connection.execution_options(isolation_level=level)
            self._connection.begin()
            if not write and engine.dialect.name in _READ_ONLY:
                self._connection.execute(sqlalchemy.text(_READ_ONLY[engine.dialect.name]))
            self._look = sqlalchemy.inspect(self._connection)
            self._quoted = engine.dialect.identifier_preparer.quote_identifier
        except (sqlalchemy.exc.NoSuchModuleError, ModuleNotFoundError):
            what = f"the driver of {address.scheme} is not installed"
            hint = "install it, or name another one in the address, as in mysql+pymysql://"
            raise RefusedError(what, "", hint, "extra-missing") from None
        except (sqlalchemy.exc.SQLAlchemyError, OSError, ValueError) as error:
            raise self._refusal(error, connecting=True) from None

    @contextlib.contextmanager
    def _errors_stated(self) -> Iterator[None]:
        try:
            yield
        except (self._sql.exc.SQLAlchemyError, OSError) as error:
            raise self._refusal(error) from None

    def _refusal(self, error: BaseException, *, connecting: bool = False) -> RefusedError:
        """Return an error as one sentence: what drivers report may hold values, hosts and passwords."""
        text = str(error).lower()
        if connecting and any(word in text for word in ("password", "access denied", "authentication", "login failed")):
            return RefusedError(
                "the database does not accept this user and password", "", "check both", PASSWORD_NEEDED
            )
        if connecting:
            return RefusedError("the database cannot be reached or opened", "", "check the address", "database")
        if getattr(error, "connection_invalidated", False) or isinstance(error, OSError):
            return RefusedError(LOST, "", "run it again when the server is running", "database-lost")
        return RefusedError(
            f"the database reports an error ({type(error).__name__})", "", "check the table or the query", "database"
        )

    def tables(self) -> list[Listed]:
        """Return the tables and views of the usual schema."""
        with self._errors_stated():
            views = [Listed(name, view=True) for name in self._look.get_view_names()]
            return [*map(Listed, sorted(self._look.get_table_names())), *views]

    def _place(self, table: str) -> str | None:
        with self._errors_stated():
            if table in {each.name for each in self.tables()}:
                return str(self._quoted(table))
            schema, _, own = table.partition(".")
            there = own and (self._look.has_table(own, schema) or own in self._look.get_view_names(schema))
            return f"{self._quoted(schema)}.{self._quoted(own)}" if there else None

    def count(self, table: str, seconds: float) -> int | None:
        """Return nothing: not every database can be stopped while it counts."""
        return None

    def key(self, table: str) -> str | None:
        """Return the column of whole numbers that alone is the primary key of a table; ``None`` where none is."""
        listed = table in {each.name for each in self.tables()}
        schema, own = (None, table) if listed else tuple(table.split(".", 1)) if "." in table else (None, "")
        with self._errors_stated(), contextlib.suppress(NotImplementedError, self._sql.exc.NoSuchTableError):
            if self._connection.dialect.name == SQLITE:  # others of its keys may hold a text, or nothing
                found = self._connection.exec_driver_sql(KEYS, (table,)).first()
                return None if found is None else str(found[1])
            names = self._look.get_pk_constraint(own, schema)["constrained_columns"]
            kinds = {column["name"]: column["type"] for column in self._look.get_columns(own, schema)}
            return str(names[0]) if len(names) == 1 and isinstance(kinds[names[0]], self._sql.Integer) else None
        return None

    def cells(self, address: Address, asked: RowSelection) -> Cells:
        """Return the rows of what the address names."""
        place = self._place(address.table) if address.table else None
        if address.table and place is None:
            raise missing_table(address.table, self.tables())
        columns = ", ".join(f"asked.{self._quoted(name)}" for name in address.columns) or "*"
        table = f"SELECT {columns} FROM {place} asked {asked.words(self._quoted)}"
        with self._errors_stated():
            # Without text(): a colon in a query of a person is no parameter.
            result = self._connection.exec_driver_sql(address.query or table)
            if not result.returns_rows:
                raise RefusedError("the query returns no table", "", "give one SELECT", "query")
            names = [str(name) for name in result.keys()]  # noqa: SIM118 - no mapping
        return fetched(names, result, asked.most, self._errors_stated)

    def existing_columns(self, table: str) -> list[str] | None:
        """Return the columns of an empty table; ``None`` where there is none of this name."""
        place = self._place(table)
        if place is None:
            return None
        with self._errors_stated():
            if self._connection.exec_driver_sql(f"SELECT count(*) FROM {place}").scalar_one():
                raise has_rows()
        schema, _, own = table.rpartition(".")
        with self._errors_stated():
            return [str(column["name"]) for column in self._look.get_columns(own, schema or None)]

    def write(self, table: str, names: Sequence[str], parts: Iterator[pl.DataFrame], *, into: list[str] | None) -> None:
        """Write typed rows in one transaction, where the database makes tables in one."""
        sql = self._sql
        declared = {pl.Int64: sql.BigInteger, pl.Float64: sql.Double, pl.Date: sql.Date}
        schema, _, own = table.rpartition(".")
        made: Any = None
        with self._errors_stated():
            for part in (part.with_columns(pl.col(pl.Boolean).cast(pl.String)) for part in parts):
                if made is None:
                    columns = [sql.Column(n, declared.get(type(kind), sql.Text)()) for n, kind in part.schema.items()]
                    made = sql.Table(own, sql.MetaData(), *columns, schema=schema or None)
                    if into is None:
                        made.create(self._connection)
                if part.height:
                    self._connection.execute(made.insert(), part.to_dicts())
            self._connection.commit()

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(self._sql.exc.SQLAlchemyError, OSError):
            self._connection.close()
            self._connection.engine.dispose()


def _url(address: Address, secrets: dict[str, str]) -> Any:
    from sqlalchemy.engine import URL

    host, _, port = (
        address.host.rpartition(":") if address.host.rpartition(":")[2].isdigit() else (address.host, "", "")
    )
    options = dict(address.options) | {name: value for name, value in secrets.items() if name != "password"}
    database = str(address.file.absolute()) if address.scheme.startswith(SQLITE) else address.database
    return URL.create(
        address.scheme,
        address.user or None,
        secrets.get("password"),
        host or None,
        int(port) if port else None,
        database or None,
        options,
    )
