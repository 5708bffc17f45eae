"""What the child process does with a database of any kind: an :class:`Database` for each kind, and cells as text."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from workbench.data.databases.address import Address
from workbench.data.opened_file import RefusedError
from workbench.params.field import did_you_mean

CELLS_AT_ONCE = 1 << 20
LEAVE_OUT = "write it as text or numbers, or leave it out: query=SELECT …"
LOST = "the connection to the database ended before everything was read or written"


@dataclass(frozen=True)
class Listed:
    """A table or view of a database."""

    name: str  # as an address names it
    view: bool = False  # whether it is computed when it is read


@dataclass(frozen=True)
class RowSelection:
    """Which rows of a table are read."""

    most: int | None = None  # how many at most; `None` for all
    key: str = ""  # the column by which they are in order; empty for any order
    between: tuple[int, int] | None = None  # the keys of the first row and of the last; `None` for all rows

    def words(self, quoted: Callable[[str], str]) -> str:
        """Return the end of a SELECT, in which the table is called ``asked``."""
        if not self.key:
            return ""
        order = f"ORDER BY asked.{quoted(self.key)}"
        if self.between is None:
            return order
        first, last = map(int, self.between)
        return f"WHERE asked.{quoted(self.key)} BETWEEN {first} AND {last} {order}"


@dataclass
class Cells:
    """The rows of a table or a query."""

    names: Sequence[str]
    parts: Iterator[pl.DataFrame]  # the rows as text, in order; it can be read once
    types: list[pl.DataType] = field(default_factory=list)  # of the columns, complete once the last part was read


class Database(Protocol):
    """A database that is open for reading, in one transaction that sees one state; or for writing one table."""

    def tables(self) -> list[Listed]:
        """Return the tables and views that this user may read."""
        ...

    def count(self, table: str, seconds: float) -> int | None:
        """Return the number of rows; ``None`` where counting takes longer than so many seconds."""
        ...

    def key(self, table: str) -> str | None:
        """Return the column of whole numbers that alone is the primary key of a table; ``None`` where none is."""
        ...

    def cells(self, address: Address, asked: RowSelection) -> Cells:
        """Return the rows of what the address names."""
        ...

    def existing_columns(self, table: str) -> list[str] | None:
        """Return the columns of a table that exists and is empty; ``None`` where it does not exist and can be made.

        Raises:
            RefusedError: it has rows, or cannot be made.
        """
        ...

    def write(self, table: str, names: Sequence[str], parts: Iterator[pl.DataFrame], *, into: list[str] | None) -> None:
        """Write typed rows in one transaction, into a new table, or into an empty one with the columns ``into``."""
        ...

    def close(self) -> None:
        """End the transaction and the connection."""
        ...


def missing_table(name: str, known: Sequence[Listed]) -> RefusedError:
    """Return the error for a table that does not exist, with those that do."""
    names = [each.name for each in known]
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    hint = f"the tables are {listed}" if names else "this user can see no tables in it"
    return RefusedError(f"there is no table {name!r}{did_you_mean(name, names)}", "", hint, "unknown-table")


def not_a_cell(column: str, what: str) -> RefusedError:
    """Return the error for a column that holds no values of a table."""
    return RefusedError(f"the column contains {what}", f"column {column}", LEAVE_OUT)


def require_names(names: Sequence[str]) -> None:
    """Refuse columns of a query that have one name."""
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise RefusedError("two columns have the same name", f"column {twice}", "name one: SELECT … AS NAME", "query")


def has_rows() -> RefusedError:
    """Return the error for an output that exists."""
    return RefusedError("the table exists already and has rows", "", "choose a new table name", "output-exists")


class TextOfValues:
    """Makes text of the values that a Python driver returns, each by itself, and notes their types."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._found: list[set[type]] = [set() for _ in names]

    def frame(self, rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
        """Return rows as text."""
        cells = {}
        for k, name in enumerate(self.names):
            found = self._found[k]
            if {type(row[k]) for row in rows} - {type(None)} == {float}:
                found.add(float)
                reals = pl.Series(name, [row[k] for row in rows], pl.Float64)
                cells[name] = reals.cast(pl.String)
                continue
            texts = []
            for row in rows:
                value = row[k]
                if value is not None:
                    found.add(type(value))
                    value = _text(value, name) or None
                texts.append(value)
            cells[name] = pl.Series(name, texts, pl.String)
        return pl.DataFrame(cells)

    def types(self) -> list[pl.DataType]:
        """Return the type of each column: that of all its values, else text."""
        return [_type_of(found) for found in self._found]


def fetched(
    names: Sequence[str], cursor: Any, most: int | None, errors_stated: Callable[[], AbstractContextManager[None]]
) -> Cells:
    """Return the rows, ``most`` of them at the most, that a Python driver hands over; its errors as sentences."""

    def parts() -> Iterator[pl.DataFrame]:
        made, left = TextOfValues(names), most
        step = max(1, CELLS_AT_ONCE // max(1, len(names)))
        while left is None or left > 0:
            with errors_stated():
                rows = cursor.fetchmany(step if left is None else min(step, left))
            if not rows:
                break
            left = None if left is None else left - len(rows)
            yield made.frame(rows)
        cells.types.extend(made.types())

    cells = Cells(names, parts())
    return cells


def _text(value: Any, column: str) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is float:
        return str(pl.Series([value]).cast(pl.String)[0])
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise not_a_cell(column, "bytes")
    raise not_a_cell(column, f"{kind.__name__} values")


def _type_of(found: set[type]) -> pl.DataType:
    plain: dict[type, pl.DataType] = {
        bool: pl.Boolean(),
        int: pl.Int64(),
        float: pl.Float64(),
        datetime.date: pl.Date(),
        datetime.datetime: pl.Datetime("us"),
    }
    if len(found) == 1:
        return plain.get(next(iter(found)), pl.String())
    return pl.Float64() if found == {int, float} else pl.String()
