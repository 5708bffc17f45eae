"""Dates as day numbers (``datetime.date.toordinal``); a time of day after the date is left out."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.missing import missing_numbers, refuse_first, refuse_missing, shown
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError

Order = Literal["day-first", "month-first"]

_EPOCH = 719_163  # datetime.date(1970, 1, 1).toordinal(): polars counts days from there
_LAST = 3_652_059  # datetime.date.max.toordinal()
_TIME = r"(?:[T ][0-9]{1,2}:[0-9]{2}.*)?\s*$"
_FORMS = {
    "year-first": r"^\s*(?P<a>[0-9]{4})[-/.](?P<b>[0-9]{1,2})[-/.](?P<c>[0-9]{1,2})" + _TIME,
    "compact": r"^\s*(?P<a>[0-9]{4})(?P<b>[0-9]{2})(?P<c>[0-9]{2})\s*$",
    "year-last": r"^\s*(?P<a>[0-9]{1,2})[-/.](?P<b>[0-9]{1,2})[-/.](?P<c>[0-9]{4})" + _TIME,
}
_MEND = "write all dates as 2024-01-31"


def day_numbers(table: Table, attribute: Attribute, order: Order | None = None) -> NDArray[np.float64]:
    """Return the day numbers of a column of dates, shape (n,); a missing date is NaN.

    ``2024-01-31`` (also with ``/`` or ``.``), ``20240131``, and dates with the year last are understood; a column
    has one way of writing. With the year last, ``order`` says whether the day or the month stands first; without
    it a number above 12 in the column settles that, and dates with dots have the day first.

    Raises:
        InputError: a cell is no date, dates are written in different ways, or day and month cannot be told apart.
    """
    cells = table.column(attribute.name)
    plain = _day_numbers(cells)
    if plain.null_count() == 0 and plain.is_between(1, _LAST).all():
        return plain.cast(pl.Float64).to_numpy()
    missing = missing_numbers(cells)
    refuse_missing(table, attribute, missing)
    present = ~missing
    if not present.any():
        return np.full(len(cells), np.nan)
    shapes = {name: cells.str.contains(form).fill_null(value=False) & present for name, form in _FORMS.items()}
    known = next(iter(shapes.values()))
    for shape in shapes.values():
        known = known | shape
    refuse_first(table, attribute, present & ~known, "is not a date", _MEND)
    first = int(present.arg_true()[0])
    form = next(name for name, shape in shapes.items() if shape[first])
    told = f"is written in another way than {shown(cells[first])} in {table.row_name(first)}"
    refuse_first(table, attribute, present & ~shapes[form], told, _MEND)
    parts = cells.str.extract_groups(_FORMS[form]).struct.unnest()
    year, month, day = parts["a"], parts["b"], parts["c"]
    if form == "year-last":
        day, month, year = parts["a"], parts["b"], parts["c"]
        if (order or _order(table, attribute, day, month)) == "month-first":
            day, month = month, day
    written = pl.select(pl.concat_str([year, month, day], separator="-")).to_series()
    days = _day_numbers(written)
    refuse_first(table, attribute, present & ~(days >= 1).fill_null(value=False), "is not in the calendar", _MEND)
    return np.where(missing.to_numpy(), np.nan, days.cast(pl.Float64).fill_null(float("nan")).to_numpy())


def _day_numbers(written: pl.Series) -> pl.Series:
    return written.str.to_date("%Y-%m-%d", strict=False).to_physical() + _EPOCH


def _order(table: Table, attribute: Attribute, first: pl.Series, second: pl.Series) -> Order:
    """Tell from the numbers above 12 whether the day or the month stands first."""
    cells = table.column(attribute.name)
    day_first = (first.cast(pl.Int32) > 12).arg_true()
    month_first = (second.cast(pl.Int32) > 12).arg_true()
    if len(day_first) and len(month_first):
        one, two = sorted((int(day_first[0]), int(month_first[0])))
        raise InputError(
            f"{table.row_name(one)} writes {shown(cells[one])} and {table.row_name(two)} writes {shown(cells[two])}: "
            "the day stands first in one and the month in the other",
            f"column {attribute.name}",
            _MEND,
        )
    dotted = cells.str.contains(r"^[^/-]*$").fill_null(value=True).all()
    if len(day_first) or (dotted and not len(month_first)):
        return "day-first"
    if len(month_first):
        return "month-first"
    index = int(first.is_not_null().arg_true()[0])
    raise InputError(
        f"day and month of {shown(cells[index])} cannot be told apart", table.place(attribute.name, index), _MEND
    )
