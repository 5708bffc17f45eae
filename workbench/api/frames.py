"""A pandas DataFrame as the program's table, and back; how paths are given, and how results are shown.

A cell's text follows from that cell alone, never from the others of its column: whether a column of numbers happens to
hold whole numbers only would be a fact about the rows. The way back gives each column the dtype that it had.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
import numbers
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from workbench.data.columns.source_types import cast_text
from workbench.data.columns.values import doubles
from workbench.data.databases.address import as_path
from workbench.data.person_join import joined_names
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.sanitize.plan import Plan

Place = str | os.PathLike[str]


def path_of(place: Any) -> Path:
    """Return a path that was given as text or as a ``Path``, or the address of a table in a database.

    Raises:
        ParameterError: it is neither.
    """
    try:
        return as_path(os.fspath(place))
    except TypeError:
        raise ParameterError(f"the {type(place).__name__} is not a path", hint="pass a string or a Path") from None


def ledger_given(ledger: Place | bool | None) -> bool:
    """Return whether a ledger was given."""
    return ledger is not None and ledger is not False


def place_of(ledger: Place | bool | None) -> Path | None:
    """Return the ledger's file; ``None`` for the user's own."""
    return None if ledger is True or not ledger_given(ledger) else path_of(ledger)


def short(value: Any) -> str:
    """Return a value as it is shown: a float in at most ten digits, 3 for 3.0."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


class Shown:
    """Something with a short ``repr`` and an HTML form; it says what is shown in :meth:`facts_shown`."""

    def facts_shown(self) -> tuple[str, Mapping[str, Any], list[dict[str, Any]]]:
        """Return a heading, a few facts by name, and the rows of a table (each the same keys)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        heading, facts, _ = self.facts_shown()
        line = ", ".join(f"{name} = {short(value)}" for name, value in facts.items())
        return f"<{heading}: {line}>" if len(line) <= 200 else f"<{heading}: {line[:199]}…>"

    def _repr_html_(self) -> str:
        heading, facts, rows = self.facts_shown()
        lines = [f"<b>{escape(heading)}</b>", "<table>"]
        lines += [f"<tr><th>{escape(str(k))}</th><td>{escape(short(v))}</td></tr>" for k, v in facts.items()]
        lines.append("</table>")
        if rows:
            head = "".join(f"<th>{escape(key)}</th>" for key in rows[0])
            lines += ["<table>", f"<tr>{head}</tr>"]
            lines += ["<tr>" + "".join(f"<td>{escape(short(v))}</td>" for v in row.values()) + "</tr>" for row in rows]
            lines.append("</table>")
        return "\n".join(lines)


_WHOLE = 2**53
_TRUTH = {"true": True, "false": False}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
Cells = Sequence[str | None]


def table_of(frame: pd.DataFrame, source: str = "DataFrame", unread: Collection[str] | None = ()) -> Table:
    """Return the rows of ``frame`` as text cells; the index is left out.

    Columns named in ``unread`` (``None``: all) are left out, too, where a cell is not a plain value.

    Raises:
        InputError: it is not a DataFrame, has no row, two columns have the same name, or a cell is not a plain value.
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"the {type(frame).__name__} is not a table", source, "pass a pandas DataFrame")
    names = names_of(frame, source)
    if not len(frame):
        raise InputError("the table has no rows", source, "give at least one row")
    columns, left_out = [], {}
    for position, name in enumerate(names):
        try:
            columns.append(_column(frame.iloc[:, position].tolist(), name))
        except InputError as error:
            if unread is not None and name not in unread:
                raise
            left_out[name] = f"{error.what.removeprefix('a cell holds ')} ({error.where.partition(',')[0]})"
    if not columns:
        raise InputError("no column has plain values", source, "use numbers, text, booleans or dates")
    return Table(pl.DataFrame(columns), source, left_out=left_out)


def table_for(plan: Plan, frame: pd.DataFrame) -> Table:
    """Return the same for a plan: what it drops need not be plain values."""
    return table_of(frame, unread=[column.name for column in plan.columns if column.action == "drop"])


def names_of(frame: pd.DataFrame, source: str = "DataFrame") -> list[str]:
    """Return the names of the columns as text; raise :class:`InputError` where two are the same, or have levels."""
    if frame.columns.nlevels > 1:
        what = f"the column index has {frame.columns.nlevels} levels, but a plan needs plain column names"
        raise InputError(what, source, 'join them: frame.columns = frame.columns.map("_".join)')
    names = [str(name) for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two columns are both called {name!r}", source, "rename one of them")
    return names


def columns_beside(frame: pd.DataFrame, second: pd.DataFrame, on: str) -> pd.DataFrame:
    """Return a DataFrame without rows: the columns of ``frame``, and those of a second one that is joined with it.

    It carries what ``frame`` carries.
    """
    names = joined_names([str(name) for name in frame.columns], [str(name) for name in second.columns], on)
    kept = [label for label in second.columns if str(label) in names]
    more = second[kept].iloc[:0].set_axis([names[str(label)] for label in kept], axis=1)
    both = pd.concat([frame.iloc[:0], more], axis=1)
    both.attrs = dict(frame.attrs)  # pandas keeps them only where both carry the same
    return both


def readable_part(frame: pd.DataFrame) -> Table | None:
    """Return what a ledger can know of ``frame``: the columns that a release could read; ``None`` where none is."""
    columns = []
    for position in range(frame.shape[1] if len(frame) else 0):
        with contextlib.suppress(InputError):
            columns.append(_column(frame.iloc[:, position].tolist(), str(position)))
    return Table(pl.DataFrame(columns), "DataFrame") if columns else None


def cell_text(value: Any) -> str | None:
    """Return a value as a file would hold it, ``None`` where it is missing.

    Raises:
        TypeError: it is not a number, text, truth value or date.
    """
    if value is None or value is pd.NA or value is pd.NaT or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() and abs(number) < _WHOLE else repr(number)
    if isinstance(value, decimal.Decimal):
        return None if value.is_nan() else format(value, "f")
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time() and value.tzinfo is None
        return value.date().isoformat() if midnight else value.isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    raise TypeError


def frame_of(columns: Mapping[str, Sequence[Any]], **stated: Any) -> pd.DataFrame:
    """Return a DataFrame whose ``attrs`` hold the facts about it."""
    made = pd.DataFrame(columns)
    made.attrs.update(stated)
    return made


def frame_of_table(table: Table) -> pd.DataFrame:
    """Return a table that was read from a file as a DataFrame: its own types, or numbers where all cells are numbers.

    Raises:
        InputError: one row could change how the others were read.
    """
    table.require_certain()  # a DataFrame cannot say any more that it was read by a guess
    return pd.DataFrame({name: _typed(table, name) for name in table.names})


def restored(
    frame: pd.DataFrame, cells: Mapping[str, Cells], declared: Mapping[str, Attribute], **stated: Any
) -> pd.DataFrame:
    """Return released cells with the columns' labels, order and dtypes of ``frame``.

    A value that the dtype cannot hold decides nothing row by row: which dtype a column gets follows from that of
    ``frame`` and from what the plan declares, except that a missing value makes an integer or truth column nullable.

    Args:
        frame: the rows as they were given.
        cells: the released columns as text.
        declared: the plan's columns by name; of a column that is published as it is the cells say enough.
        stated: what the ``attrs`` of the result say.
    """
    labels = [label for label in frame.columns if str(label) in cells]
    made = pd.DataFrame({label: _like(frame[label], cells[str(label)], declared[str(label)]) for label in labels})
    made.attrs.update(stated)
    return made


def _like(given: pd.Series[Any], cells: Cells, declared: Attribute) -> pd.Series[Any]:
    """Return text cells as a column of the type of ``given``, if all values that the plan declares are of that type."""
    dtype, kind = given.dtype, _kind_of(given)
    possible = _possible(cells, declared)
    if isinstance(dtype, pd.CategoricalDtype) and not declared.numeric:
        known = {cell_text(value): value for value in dtype.categories}
        more = [value for value in possible if value not in known]
        chosen = pd.CategoricalDtype([*dtype.categories, *more], dtype.ordered) if more else dtype
        return pd.Series([None if c is None else known.get(c, c) for c in cells], dtype=chosen)
    if kind in "bi" and all(value in _TRUTH for value in possible) and possible:
        truths = [None if c is None else _TRUTH[c] for c in cells]
        if kind == "i":
            return _integers([None if t is None else int(t) for t in truths], dtype, (0, 1))
        return pd.Series(truths, dtype="boolean" if dtype == np.dtype(bool) and None in cells else dtype)
    if kind == "i" and (declared.kind == "integer" or (possible and all(map(_INTEGER.match, possible)))):
        ends = declared.bounds() if declared.kind == "integer" else [int(value) for value in possible]
        return _integers([None if c is None else int(c) for c in cells], dtype, ends)
    if kind == "M" or declared.kind == "date":
        return _moments(cells, dtype)
    if kind in "if" and (declared.numeric or (possible and all(map(_number, possible)))):
        decimals = [math.nan if c is None else float(c) for c in cells]
        return pd.Series(decimals, dtype=dtype if kind == "f" else "float64")
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Series([math.nan if c is None else float(c) for c in cells])
    return pd.Series(cells, dtype=dtype if _is_text(dtype) else "object")


def _moments(cells: Cells, dtype: Any) -> pd.Series[Any]:
    """Return dates as times in their dtype; a day that is written without a zone begins in the zone of the dtype."""
    zone = pd.Series(dtype=dtype).dt.tz if pd.api.types.is_datetime64_any_dtype(dtype) else None
    if zone is None:
        moments = pd.to_datetime(pd.Series(cells, dtype="object"), format="ISO8601")
        return moments.astype(dtype) if pd.api.types.is_datetime64_any_dtype(dtype) else moments
    times = [pd.NaT if c is None else pd.Timestamp(c) for c in cells]
    # Where clocks change at midnight that hour is not there, or is there twice: the day begins with its first moment.
    local = [t.tz_localize(zone, ambiguous=True, nonexistent="shift_forward") if t.tz is None else t for t in times]
    return pd.Series(pd.to_datetime(pd.Series(local, dtype="object"), utc=True).dt.tz_convert(zone).astype(dtype))


def _possible(cells: Cells, declared: Attribute) -> list[str]:
    """Return the values that a released column of names can have: of one that is published as it is, those it has."""
    if getattr(declared, "action", "protect") == "keep":
        return sorted({c for c in cells if c is not None})
    return [] if declared.numeric else list(declared.values())


def _kind_of(given: pd.Series[Any]) -> str:
    """Return ``i``, ``f``, ``b``, ``M`` or ``O`` for the type of a column; of objects, what all of them are."""
    if pd.api.types.is_bool_dtype(given.dtype):
        return "b"
    if given.dtype != object:
        return str(getattr(given.dtype, "kind", "O")).replace("u", "i")
    found = pd.api.types.infer_dtype(given, skipna=True)
    return {"integer": "i", "floating": "f", "mixed-integer-float": "f", "boolean": "b", "date": "M"}.get(found, "O")


def _integers(values: list[int | None], dtype: Any, ends: Iterable[float]) -> pd.Series[Any]:
    """Return whole numbers in their dtype; in 64 bits where its range is smaller than what the plan declares."""
    if dtype.kind == "O":
        return pd.Series(values, dtype="object")
    name = str(getattr(dtype, "numpy_dtype", dtype))
    fits = all(np.iinfo(name).min <= end <= np.iinfo(name).max for end in ends)
    if fits and not isinstance(dtype, np.dtype):
        return pd.Series(values, dtype=dtype)
    name = name if fits else "int64"
    nullable = None in values or not isinstance(dtype, np.dtype)
    return pd.Series(values, dtype=name.replace("uint", "UInt").replace("int", "Int") if nullable else name)


def _is_text(dtype: Any) -> bool:
    return not isinstance(dtype, np.dtype | pd.CategoricalDtype) and bool(pd.api.types.is_string_dtype(dtype))


def _number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _typed(table: Table, name: str) -> pd.Series[Any]:
    cells = table.column(name)
    if name in table.types:
        found = cast_text(cells, table.types[name])
        return pd.Series(found.to_list())
    texts = cells.to_list()
    given = [text for text in texts if text is not None]
    if given and all(_INTEGER.match(text) for text in given):
        whole = [None if text is None else int(text) for text in texts]
        return pd.Series(whole, dtype="int64" if len(given) == len(texts) else "Int64")
    if given and not any(_LEADING_ZERO.match(text) for text in given):
        numbers_ = doubles(cells, table.decimal)
        if int(numbers_.is_finite().sum()) == len(given):
            return pd.Series(numbers_.to_list(), dtype="float64")
    return pd.Series(texts)


def _column(values: list[Any], name: str) -> pl.Series:
    cells: list[str | None] = []
    for row, value in enumerate(values, start=1):
        try:
            cells.append(cell_text(value))
        except (TypeError, ValueError):
            raise InputError(
                f"a cell holds a {type(value).__name__}",
                f"row {row}, column {name}",
                "use numbers, text, booleans or dates",
            ) from None
    return pl.Series(name, cells, dtype=pl.String)
