"""Which cells are missing, and the errors about cells that cannot be used."""

from __future__ import annotations

import polars as pl

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.remedies import REPLACE_VALUES, Mend, declare

MISSING_WORDS = ("na", "n/a", "nan", "null", "none")
"""Words that mean a missing value in a column of numbers or dates, whatever their case; names may be spelt so."""


def missing_numbers(cells: pl.Series) -> pl.Series:
    """Return which cells of a column of numbers or dates are empty, blank or one of the missing words, shape (n,)."""
    # Most columns have none of them, and only short cells can be one.
    short = cells.str.len_bytes().fill_null(0) <= 8
    words = cells.set(~short, "x").str.strip_chars().str.to_lowercase()
    return cells.is_null() | words.is_in(["", *MISSING_WORDS]).fill_null(value=True)


def refuse_missing(table: Table, attribute: Attribute, missing: pl.Series) -> None:
    """Raise :class:`InputError` for the first missing cell, unless the attribute keeps missing values."""
    if attribute.missing == "own-value" or table.replaces_invalid:
        return
    first = missing.arg_true()
    if first.is_empty():
        return
    index = int(first[0])
    word = table.column(attribute.name)[index]
    told = "the value is missing" if word is None else f"the value is missing ({shown(word)})"
    mend = ("fill it in", declare("missing", "own-value"), REPLACE_VALUES)
    raise InputError(told, table.place(attribute.name, index), mend, code="value-missing", field=attribute.name)


def refuse_first(table: Table, attribute: Attribute, bad: pl.Series, told: str, mend: Mend) -> None:
    """Raise :class:`InputError` for the first cell where ``bad`` is true: the value, then ``told``.

    If the table replaces invalid values nothing is refused, and the caller treats these cells as missing.
    """
    if table.replaces_invalid:
        return
    first = bad.arg_true()
    if first.is_empty():
        return
    index = int(first[0])
    value = table.column(attribute.name)[index]
    raise InputError(
        f"{shown(value)} {told}", table.place(attribute.name, index), mend, code="value-refused", field=attribute.name
    )


def shown(value: str) -> str:
    """Return a cell as an error sentence quotes it; long ones are shortened."""
    return repr(value) if len(value) <= 40 else repr(value[:39] + "…")
