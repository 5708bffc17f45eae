"""Numbers as text: their decimal mark and the marks between thousands.

The value of a cell depends on its text and on the decimal mark that a person stated. No other row matters: a row that
changed how the others are read would change every released value of the column.
"""

from __future__ import annotations

import polars as pl

from workbench.data.columns.missing import refuse_first, shown
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.remedies import REPLACE_VALUES, Hint, state_option


def doubles(cells: pl.Series, mark: str | None) -> pl.Series:
    """Return cells as doubles, shape (n,); null where a cell is not a number.

    Args:
        cells: text, spaces around a number allowed.
        mark: the stated decimal mark. Numbers may then have the other mark between thousands (``1.234,5``). Without
            one the decimal mark is a point and a cell with any comma is not a number.
    """
    if mark == ",":
        return _pointed(cells, ",").str.strip_chars().cast(pl.Float64, strict=False)
    values = cells.cast(pl.Float64, strict=False)
    if values.null_count() == cells.null_count():
        return values
    # Removing spaces and commas changes no cell that was a number before.
    return (_pointed(cells, ".") if mark == "." else cells).str.strip_chars().cast(pl.Float64, strict=False)


def refuse_unread(table: Table, attribute: Attribute, unread: pl.Series) -> None:
    """Raise :class:`InputError` for the first cell of ``unread``, which :func:`doubles` could not read."""
    if table.replaces_invalid:
        return
    cells = table.column(attribute.name)
    first = unread.arg_true()
    if first.is_empty():
        return
    index = int(first[0])
    fitting = [mark for mark in (",", ".") if doubles(cells[index : index + 1], mark).is_finite()[0]]
    stated = "{value} is not a number"
    hint: Hint = ("correct it", "declare the column as a category", REPLACE_VALUES)
    if fitting and table.decimal is not None:
        hint = (f"write it with {table.decimal} as its decimal mark", REPLACE_VALUES)
    elif fitting and table.dialect is None:
        hint = ("write it with a decimal point and no other mark", REPLACE_VALUES)
    elif fitting:
        place = table.place(attribute.name, index)
        what = f"{shown(cells[index])} is a number only if its decimal mark is stated"
        raise InputError(what, place, state_option("decimal", *fitting))
    refuse_first(table, attribute, unread, stated, hint)


def _pointed(cells: pl.Series, mark: str) -> pl.Series:
    """Return numbers with decimal mark ``mark`` as numbers with a point; null where the other mark is misplaced."""
    other = "," if mark == "." else "."
    grouped = rf"^\s*[+-]?[1-9][0-9]{{0,2}}([{other}][0-9]{{3}})+([{mark}][0-9]*)?\s*$"
    misplaced = cells.str.contains(other, literal=True) & ~cells.str.contains(grouped)
    plain = cells.set(misplaced, None).str.replace_all(other, "", literal=True)
    return plain.str.replace(mark, ".", literal=True)
