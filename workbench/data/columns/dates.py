"""Dates as day numbers (``datetime.date.toordinal``); a time of day after the date is ignored.

The value of a cell depends on its text and on declared facts only. No other row matters: a row that changed how the
others are read would change every released value of the column.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.missing import marked, missing_cells, refuse_first, refuse_missing
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params.remedies import REPLACE_VALUES, declare

_EPOCH = 719_163  # datetime.date(1970, 1, 1).toordinal(): polars counts days from there
_TIME = r"(?:[T ][0-9]{1,2}:[0-9]{2}.*)?\s*$"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_YEAR_FIRST = r"^\s*(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})" + _TIME
_COMPACT = r"^\s*(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})\s*$"
_DAY_FIRST = r"^\s*(?P<day>[0-9]{1,2})[-/.](?P<month>[0-9]{1,2})[-/.](?P<year>[0-9]{4})" + _TIME
_MONTH_FIRST = r"^\s*(?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})[-/.](?P<year>[0-9]{4})" + _TIME
_MEND = ("write it as 2024-01-31", REPLACE_VALUES)


def day_numbers(table: Table, attribute: Attribute) -> NDArray[np.float64]:
    """Return the day numbers of a column of dates, shape (n,); a missing date is NaN.

    ``2024-01-31`` (also with ``/`` or ``.``, or without leading zeros) and ``20240131`` need no declaration;
    dates with the year last are read as ``attribute.date_order`` says.

    Raises:
        InputError: a cell is not a date, or has its year last and no order is declared.
    """
    cells = marked(table, attribute.name)
    missing = cells.is_null()
    if cells.str.contains(_ISO).all():  # of those that are not null
        days = _days(cells)
        refuse_missing(table, attribute, missing)
    else:
        missing = missing_cells(table, cells)
        refuse_missing(table, attribute, missing)
        last = year_last(cells)
        last_form = _MONTH_FIRST if attribute.date_order == "month-first" else _DAY_FIRST
        first, compact = (cells.str.contains(form).fill_null(value=False) for form in (_YEAR_FIRST, _COMPACT))
        refuse_first(table, attribute, ~(missing | first | compact | last), "{value} is not a date", _MEND)
        if attribute.date_order is None:
            refuse_first(
                table,
                attribute,
                last,
                "{value} has its year last, and nobody declared whether the day or the month is first",
                (declare("date_order", "day-first", "month-first", more=" in the plan"), REPLACE_VALUES),
            )
            last &= False  # reached if invalid values are replaced: such a date is missing
        days = pl.Series("days", [None], pl.Float64).new_from_index(0, len(cells))
        for form, has_form in ((_YEAR_FIRST, first), (_COMPACT, compact), (last_form, last)):
            if has_form.any():
                days = _days(_iso(cells, form)).zip_with(has_form, days)
    refuse_first(table, attribute, ~missing & days.is_null(), "{value} is not in the calendar", _MEND)
    return days.fill_null(float("nan")).to_numpy(writable=True)


def year_last(cells: pl.Series) -> pl.Series:
    """Return which cells are dates with the year last, shape (n,): they do not tell the day from the month."""
    return cells.str.contains(_DAY_FIRST).fill_null(value=False)


def first_two(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the first and the second number of dates with the year last, each of shape (n,); null elsewhere."""
    parts = cells.str.extract_groups(_DAY_FIRST).struct.unnest().cast(pl.Int32)
    return parts["day"], parts["month"]


def _iso(cells: pl.Series, form: str) -> pl.Series:
    """Return the dates of ``form`` as 2024-01-31, and null elsewhere."""
    parts = cells.str.extract_groups(form).struct.unnest()
    padded = [parts["year"], parts["month"].str.zfill(2), parts["day"].str.zfill(2)]
    return pl.select(pl.concat_str(padded, separator="-")).to_series()


def _days(written: pl.Series) -> pl.Series:
    """Return the day numbers of dates as 2024-01-31; null where there is no such day from 0001-01-01 on."""
    days = written.str.to_date("%Y-%m-%d", strict=False).to_physical() + _EPOCH
    return days.set(days < 1, None).cast(pl.Float64)
