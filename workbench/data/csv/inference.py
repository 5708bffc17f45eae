"""Guesses about columns that nobody declared, made from all their rows. Private, and never used for a release.

A guess lets one row decide how every other row is read. It helps stewards who look at their own table and then declare
what is right; mechanisms and learners read cells only through :mod:`workbench.data.columns.values`.
"""

from __future__ import annotations

import dataclasses

import polars as pl

from workbench.data.columns.missing import refuse_first, shown
from workbench.data.columns.values import first_two, year_last
from workbench.data.csv.options import Dialect
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.remedies import Hint, state_option


def _shows(mark: str, other: str) -> str:
    m, o = f"[{mark}]", f"[{other}]"
    fraction = rf"[0-9]*{m}([0-9]{{1,2}}|[0-9]{{4,}})|0*{m}[0-9]+|[0-9]{{4,}}{m}[0-9]+"
    groups = rf"[0-9]{{1,3}}({o}[0-9]{{3}})+{m}[0-9]*|[0-9]{{1,3}}({o}[0-9]{{3}}){{2,}}"
    return rf"^\s*[+-]?({fraction}|{groups})([eE][+-]?[0-9]+)?\s*$"


SHOWS = {".": _shows(".", ","), ",": _shows(",", ".")}
"""The pattern of numbers that show their decimal mark, by that mark: no other mark could be meant.

``1,5`` and ``1.234,5`` show a comma, ``1,234`` shows nothing. Python's and polars' engine read the patterns alike.
"""


def with_guessed_decimal(table: Table, name: str) -> Table:
    """Return ``table`` with a decimal mark stated that fits column ``name``: private, a guess from its rows.

    The mark is the one a person stated; else the one that numbers of the column show; else that of the file.

    Raises:
        InputError: numbers of the column show different marks, or one can be read in two ways.
    """
    if table.decimal is not None:
        return table
    cells = table.column(name)
    dialect = table.dialect or Dialect()
    points, commas = (cells.str.contains(SHOWS[mark]).fill_null(value=False) for mark in (".", ","))
    if points.any() and commas.any():
        raise _two_ways(
            table, name, points, commas, "", ("write all decimals with the same mark", state_option("decimal"))
        )
    if not (points.any() or commas.any()):
        other = "," if dialect.decimal == "." else "."
        grouped = cells.str.contains(rf"^\s*[+-]?[0-9]{{1,3}}([{other}][0-9]{{3}})+([{dialect.decimal}][0-9]*)?\s*$")
        stated = "can be read with or without decimals"
        hint = state_option("decimal", ".", ",")
        refuse_first(table, Attribute(name=name), grouped.fill_null(value=False), stated, hint)
    decimal = "." if points.any() else "," if commas.any() else dialect.decimal
    return table.replaced(dialect=dataclasses.replace(dialect, decimal=decimal, decimal_given=True))


def guessed_date_order(table: Table, name: str) -> str | None:
    """Return whether the day or the month comes first in dates with the year last: private, a guess from the rows.

    A number above 12 settles it, and dates with dots have the day first; otherwise it is ``None``.

    Raises:
        InputError: the day comes first in one date and the month in another.
    """
    cells = table.column(name)
    one, two = first_two(cells)
    day_first, month_first = ((numbers > 12).fill_null(value=False) for numbers in (one, two))
    if day_first.any() and month_first.any():
        stated = ": the day is first in one and the month in the other"
        raise _two_ways(table, name, day_first, month_first, stated, "write all dates as 2024-01-31")
    dotted = cells.filter(year_last(cells)).str.contains(r"^[^/-]*$").all()
    if day_first.any() or (dotted and not month_first.any()):
        return "day-first"
    return "month-first" if month_first.any() else None


def _two_ways(table: Table, name: str, one: pl.Series, other: pl.Series, stated: str, hint: Hint) -> InputError:
    """Make the error for two rows that are written in different ways."""
    cells = table.column(name)
    ways = [
        f"{table.row_name(row)} writes {shown(cells[row])}"
        for row in sorted((int(one.arg_true()[0]), int(other.arg_true()[0])))
    ]
    return InputError(" and ".join(ways) + stated, f"column {name}", hint)
