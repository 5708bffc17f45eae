"""Which cells are missing, and the errors about cells that cannot be used."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

import polars as pl

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.remedies import REPLACE_VALUES, Hint, declare

MISSING_WORDS = ("na", "n/a", "nan", "null", "none")
"""Words that mean a missing value, whatever their case, where nobody stated the marks of the file (``--missing``)."""


class Coded(Protocol):
    """A column of which codes may be declared missing, in a plan, a draft or a data dictionary."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    @property
    def missing_codes(self) -> tuple[str, ...] | None:
        """How the file marks a missing value."""


def codes_of(columns: Iterable[Coded]) -> dict[str, tuple[str, ...]]:
    """Return the declared codes of each column that has some."""
    return {column.name: column.missing_codes for column in columns if column.missing_codes}


def with_codes(table: Table, columns: Iterable[Coded]) -> Table:
    """Return a table of raw rows in which the codes that the columns declare missing are missing.

    Sanitised rows are never read so: their noise may be the same number as a code.
    """
    stated = codes_of(columns)
    return table.replaced(missing_codes=stated) if stated or table.missing_codes else table


def uncoded(table: Table, name: str) -> pl.Series:
    """Return the cells of a column, shape (n,); those that hold a code which is declared missing are null.

    Blanks around them do not count, nor do zeros behind the decimal mark: a file may write −9 as ``-9.0``.
    """
    cells = table.column(name)
    codes = table.missing_codes.get(name)
    if not codes:
        return cells
    zeros = rf"{re.escape(table.decimal or '.')}0+$"
    bare = [pl.Series(texts).str.strip_chars().str.replace(zeros, "") for texts in (cells, codes)]
    return cells.set(bare[0].is_in(bare[1].to_list()).fill_null(value=False), None)


def marked(table: Table, name: str) -> pl.Series:
    """Return the cells of a column, shape (n,); a declared code or stated mark of a missing value is null."""
    cells = uncoded(table, name)
    if table.missing_marks is None:
        return cells
    return cells.set(cells.str.strip_chars().is_in(list(table.missing_marks)).fill_null(value=False), None)


def missing_cells(table: Table, cells: pl.Series) -> pl.Series:
    """Return which of some cells of a table are missing, shape (n,): one rule for all kinds of columns.

    An empty or blank cell is, and one with a stated mark; where no marks were stated, one of :data:`MISSING_WORDS`. A
    word that a declared list of values holds is a value: who asks leaves such cells out.
    """
    words = () if table.missing_marks is not None else MISSING_WORDS
    # Most columns have none of them, and only short cells can be one.
    short = cells.str.len_bytes().fill_null(0) <= 8
    shown = cells.set(~short, "x").str.strip_chars().str.to_lowercase()
    missing = cells.is_null() | shown.is_in(["", *words]).fill_null(value=True)
    if table.missing_marks:
        missing |= cells.str.strip_chars().is_in(list(table.missing_marks)).fill_null(value=True)
    return missing


def marks_in(table: Table) -> tuple[str, ...]:
    """Return which of :data:`MISSING_WORDS` occur in a table, as they are written there. Private."""
    found: set[str] = set()
    for name in table.names:
        cells = table.column(name)
        short = cells.filter(cells.str.len_bytes().fill_null(9) <= 8).unique().str.strip_chars()
        found.update(short.filter(short.str.to_lowercase().is_in(list(MISSING_WORDS))).to_list())
    return tuple(sorted(found))


def refuse_missing(table: Table, attribute: Attribute, missing: pl.Series) -> None:
    """Raise :class:`InputError` for the first missing cell, unless the attribute keeps missing values."""
    if attribute.missing == "own-value" or table.replaces_invalid:
        return
    first = missing.arg_true()
    if first.is_empty():
        return
    index = int(first[0])
    word = table.column(attribute.name)[index]
    stated = "the value is missing" if word is None else f"the value is missing ({shown(word)})"
    hint = ("fill it in", declare("missing", "own-value"), REPLACE_VALUES)
    raise InputError(stated, table.place(attribute.name, index), hint, code="value-missing", field=attribute.name)


def refuse_first(table: Table, attribute: Attribute, bad: pl.Series, stated: str, hint: Hint) -> None:
    """Raise :class:`InputError` for the first cell where ``bad`` is true; ``stated`` has ``{value}`` for that cell.

    If the table replaces invalid values nothing is refused, and the caller treats these cells as missing.
    """
    if table.replaces_invalid:
        return
    first = bad.arg_true()
    if first.is_empty():
        return
    index = int(first[0])
    value = table.column(attribute.name)[index]
    what = stated.replace("{value}", shown(value))
    raise InputError(what, table.place(attribute.name, index), hint, code="value-refused", field=attribute.name)


def shown(value: str) -> str:
    """Return a cell as an error sentence quotes it; long ones are shortened."""
    return repr(value) if len(value) <= 40 else repr(value[:39] + "…")
