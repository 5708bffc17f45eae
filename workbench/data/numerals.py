"""How numbers are written with a decimal mark and marks between thousands, and when that is in doubt.

The patterns are read by Python's and by polars' engine alike. A number *shows* its decimal mark when no other mark
could be meant: ``1,5`` and ``1.234,5`` show a comma, ``1,234`` shows nothing.
"""

from __future__ import annotations

import polars as pl

from workbench.data.missing import refuse_first, shown
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError


def _shows(mark: str, other: str) -> str:
    m, o = f"[{mark}]", f"[{other}]"
    fraction = rf"[0-9]*{m}([0-9]{{1,2}}|[0-9]{{4,}})|0*{m}[0-9]+|[0-9]{{4,}}{m}[0-9]+"
    groups = rf"[0-9]{{1,3}}({o}[0-9]{{3}})+{m}[0-9]*|[0-9]{{1,3}}({o}[0-9]{{3}}){{2,}}"
    return rf"^\s*[+-]?({fraction}|{groups})([eE][+-]?[0-9]+)?\s*$"


SHOWS = {".": _shows(".", ","), ",": _shows(",", ".")}
"""The pattern of numbers that show their decimal mark, by that mark."""


def have_plain_points(table: Table, cells: pl.Series) -> bool:
    """Whether nothing in a column that parses as numbers could be meant otherwise: no comma, in file or column."""
    usual = table.dialect.decimal if table.dialect is not None else "."
    return usual == "." and not cells.str.contains(",", literal=True).any()


def with_points(table: Table, attribute: Attribute) -> pl.Series:
    """Return a column of numbers with decimal points and without marks between thousands, shape (n,).

    The decimal mark is the one a person stated; else the one that numbers of this column show; else that of the
    file. Marks between thousands are taken away only where the decimal mark is stated or shown.

    Raises:
        InputError: numbers of the column show different decimal marks, or one can be read in two ways.
    """
    cells = table.column(attribute.name)
    dialect = table.dialect
    stated = dialect is not None and dialect.decimal_given
    usual = dialect.decimal if dialect is not None else "."
    points, commas = (cells.str.contains(SHOWS[mark]).fill_null(value=False) for mark in (".", ","))
    if points.any() and commas.any() and not stated:
        one, two = int(points.arg_true()[0]), int(commas.arg_true()[0])
        raise InputError(
            f"{table.row_name(one)} writes {shown(cells[one])} and {table.row_name(two)} writes {shown(cells[two])}",
            f"column {attribute.name}",
            "write all decimals with the same mark, or say --decimal",
        )
    decimal = usual if stated or not (points.any() or commas.any()) else "." if points.any() else ","
    other = "," if decimal == "." else "."
    marked = cells.str.contains(other, literal=True).fill_null(value=False)
    grouped = cells.str.contains(rf"^\s*[+-]?[0-9]{{1,3}}([{other}][0-9]{{3}})+([{decimal}][0-9]*)?\s*$")
    if not (stated or points.any() or commas.any()):
        mend = "say --decimal . or --decimal ,"
        refuse_first(table, attribute, marked & grouped, "can be read with or without decimals", mend)
    refuse_first(table, attribute, marked & ~grouped, "is not a number", f"write it with {decimal} as its decimal mark")
    return cells.str.replace_all(other, "", literal=True).str.replace(decimal, ".", literal=True)
