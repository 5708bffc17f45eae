"""A pandas DataFrame as the program's table, and back.

A cell's text follows from that cell alone, never from the others of its column: whether a column of numbers happens to
hold whole numbers only would be a fact about the rows.
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from workbench.data.table import Table
from workbench.params import InputError

_WHOLE = 2**53


def table_of(frame: pd.DataFrame, source: str = "DataFrame") -> Table:
    """Return the rows of ``frame`` as text cells; the index is left out.

    Raises:
        InputError: it is no DataFrame, has no row, two columns have one name, or a cell is no plain value.
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"a {type(frame).__name__} is no table", source, "give a pandas DataFrame")
    names = [str(name) for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two columns are called {name!r}", source, "rename one of them")
    if not len(frame):
        raise InputError("the table has no rows", source, "give at least one row")
    return Table(pl.DataFrame([_column(frame.iloc[:, i].tolist(), name) for i, name in enumerate(names)]), source)


def cell_text(value: Any) -> str | None:
    """Return a value as a file would hold it, ``None`` where it is missing.

    Raises:
        TypeError: it is no number, text, truth value or date.
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


def frame_of(columns: Mapping[str, Sequence[Any]], **told: Any) -> pd.DataFrame:
    """Return a DataFrame whose ``attrs`` hold what is told of it."""
    made = pd.DataFrame(columns)
    made.attrs.update(told)
    return made


def _column(values: list[Any], name: str) -> pl.Series:
    cells: list[str | None] = []
    for row, value in enumerate(values, start=1):
        try:
            cells.append(cell_text(value))
        except (TypeError, ValueError):
            raise InputError(
                f"a cell holds a {type(value).__name__}",
                f"row {row}, column {name}",
                "give numbers, text, truth values or dates",
            ) from None
    return pl.Series(name, cells, dtype=pl.String)
