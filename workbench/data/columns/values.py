"""The cells of a column as numbers, day numbers or indices into a public domain; an error names the row of a bad cell.

The value of a cell depends only on that cell, on the decimal mark that a person stated and on declared facts, never on
another row: a row that changed how the others are read would change every released value of the column, and every
statement about the privacy of one row relies on that. If the table replaces invalid values (``Table.replaces_invalid``)
nothing is refused: such cells are missing, so that every table with these columns can be read.

Dates are day numbers (``datetime.date.toordinal``); a time of day after the date is ignored.
"""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.missing import marked, missing_cells, refuse_first, refuse_missing, shown, uncoded
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.params.field import did_you_mean
from workbench.params.remedies import (
    DECLARE,
    REPLACE_VALUES,
    Hint,
    Remedy,
    add_value,
    declare,
    list_values,
    state_option,
)


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
        what = f"{shown(cells[index])} is a number only with the right decimal mark, which is not stated"
        raise InputError(what, place, state_option("decimal", *fitting))
    refuse_first(table, attribute, unread, stated, hint)


def _pointed(cells: pl.Series, mark: str) -> pl.Series:
    """Return numbers with decimal mark ``mark`` as numbers with a point; null where the other mark is misplaced."""
    other = "," if mark == "." else "."
    grouped = rf"^\s*[+-]?[1-9][0-9]{{0,2}}([{other}][0-9]{{3}})+([{mark}][0-9]*)?\s*$"
    misplaced = cells.str.contains(other, literal=True) & ~cells.str.contains(grouped)
    plain = cells.set(misplaced, None).str.replace_all(other, "", literal=True)
    return plain.str.replace(mark, ".", literal=True)


_EPOCH = 719_163  # datetime.date(1970, 1, 1).toordinal(): polars counts days from there
_TIME = r"(?:[T ][0-9]{1,2}:[0-9]{2}.*)?\s*$"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_YEAR_FIRST = r"^\s*(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})" + _TIME
_COMPACT = r"^\s*(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})\s*$"
# Of two digits only after a dot or a slash: 24-01-31 is rather one with the year first.
_LAST_YEAR = r"(?P<year>[-/.][0-9]{4}|[/.][0-9]{2})" + _TIME
_DAY_FIRST = r"^\s*(?P<day>[0-9]{1,2})[-/.](?P<month>[0-9]{1,2})" + _LAST_YEAR
_MONTH_FIRST = r"^\s*(?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})" + _LAST_YEAR
_SHORT_YEAR = r"^\s*[0-9/.-]*[/.][0-9]{2}" + _TIME
_FIRST_SHORT = 69  # the first year of two digits that is in the 20th century
_MEND = ("write it as 2024-01-31", REPLACE_VALUES)


def day_numbers(table: Table, attribute: Attribute) -> NDArray[np.float64]:
    """Return the day numbers of a column of dates, shape (n,); a missing date is NaN.

    ``2024-01-31`` (also with ``/`` or ``.``, or without leading zeros) and ``20240131`` need no declaration;
    dates with the year last are read as ``attribute.date_order`` says, and then years of two digits as POSIX reads
    them: 69 to 99 as 1969 to 1999, 00 to 68 as 2000 to 2068. Where such a day is outside the declared bounds, and the
    same day of another century is within them, it is that one.

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
                "{value} has the year last, and the plan does not say whether the day or the month comes first",
                (declare("date_order", "day-first", "month-first", more=" in the plan"), REPLACE_VALUES),
            )
            last &= False  # reached if invalid values are replaced: such a date is missing
        days = pl.Series("days", [None], pl.Float64).new_from_index(0, len(cells))
        for form, has_form in ((_YEAR_FIRST, first), (_COMPACT, compact), (last_form, last)):
            if has_form.any():
                found = _days(_iso(cells, form))
                found = _within_bounds(found, cells, form, attribute) if form == last_form else found
                days = found.zip_with(has_form, days)
    refuse_first(table, attribute, ~missing & days.is_null(), "{value} is not a valid date", _MEND)
    return days.fill_null(float("nan")).to_numpy(writable=True)


def year_last(cells: pl.Series) -> pl.Series:
    """Return which cells are dates with the year last, shape (n,): they do not show which is the day."""
    return cells.str.contains(_DAY_FIRST).fill_null(value=False)


def short_years(cells: pl.Series) -> pl.Series:
    """Return which cells are dates that end with a year of two digits, shape (n,)."""
    return year_last(cells) & cells.str.contains(_SHORT_YEAR).fill_null(value=False)


def first_two(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the first and the second number of dates with the year last, each of shape (n,); null elsewhere."""
    parts = cells.str.extract_groups(_DAY_FIRST).struct.unnest()
    return parts["day"].cast(pl.Int32), parts["month"].cast(pl.Int32)


def _within_bounds(days: pl.Series, cells: pl.Series, form: str, attribute: Attribute) -> pl.Series:
    """Return the days of ``form``, those of a year of two digits in a century that the declared bounds allow."""
    lower, upper = attribute.lower, attribute.upper
    if lower is None or upper is None:
        return days
    short = cells.str.contains(_SHORT_YEAR).fill_null(value=False)
    beyond = short & ~days.is_between(lower, upper).fill_null(value=False)
    first, last = (datetime.date.fromordinal(int(end)).year // 100 for end in (lower, upper))
    for century in range(last, first - 1, -1):
        if not beyond.any():
            break
        there = _days(_iso(cells, form, century))
        fits = beyond & there.is_between(lower, upper).fill_null(value=False)
        days, beyond = there.zip_with(fits, days), beyond & ~fits
    return days


def _iso(cells: pl.Series, form: str, century: int | None = None) -> pl.Series:
    """Return the dates of ``form`` as 2024-01-31, null elsewhere; a year of two digits is of ``century``, if given."""
    parts = cells.str.extract_groups(form).struct.unnest()
    year = parts["year"].str.strip_chars_start("-/.")
    if century is None:
        recent = "20" + year
        short = recent.zip_with(recent < f"20{_FIRST_SHORT}", "19" + year)
    else:
        short = f"{century:02}" + year
    padded = [short.zip_with(year.str.len_chars() == 2, year), parts["month"].str.zfill(2), parts["day"].str.zfill(2)]
    return pl.select(pl.concat_str(padded, separator="-")).to_series()


def _days(written: pl.Series) -> pl.Series:
    """Return the day numbers of dates as 2024-01-31; null where there is no such day from 0001-01-01 on."""
    days = written.str.to_date("%Y-%m-%d", strict=False).to_physical() + _EPOCH
    return days.set(days < 1, None).cast(pl.Float64)


TRUTH_WORDS = {"false": 0, "true": 1, "no": 0, "yes": 1, "0": 0, "1": 1}
"""The words of a boolean column without a declared domain, in any case, and their index in (false, true)."""


def numbers(table: Table, attribute: Attribute) -> NDArray[np.float64]:
    """Return the numbers of a numeric column, shape (n,); NaN where a missing value is kept.

    The decimal mark is the one that a person stated (``--decimal``), else a point. Dates become day numbers
    (``datetime.date.toordinal``). Values outside the declared bounds are returned as they are.

    Raises:
        InputError: a cell is missing and the attribute refuses that; a cell is not a finite number, or not a whole
            one although whole numbers are declared. The message names column, row and value.
        ParameterError: the attribute is not numeric.
    """
    if not attribute.numeric:
        raise ParameterError(
            f"the column is declared as {attribute.kind or 'nothing'}, not as numbers",
            f"column {attribute.name}",
            Remedy(DECLARE, 'write kind = "integer", "real" or "date"', {"key": "kind"}),
            field="kind",
        )
    if attribute.kind == "date":
        return day_numbers(table, attribute)
    cells = marked(table, attribute.name)
    if attribute.kind == "integer" and not cells.null_count():
        whole = cells.cast(pl.Int64, strict=False)  # half the time that doubles take, and the same numbers
        if not whole.null_count():
            return whole.to_numpy().astype(np.float64)
    values = doubles(cells, table.decimal)
    if not values.null_count():
        out: NDArray[np.float64] = values.to_numpy() + 0.0  # a writable copy, with −0 as 0
        if np.isfinite(out).all() and (attribute.kind != "integer" or (np.floor(out) == out).all()):
            return out
    finite = values.is_finite().fill_null(value=False)
    if not finite.all():
        missing = missing_cells(table, cells)
        refuse_missing(table, attribute, missing)
        bad = ~finite & ~missing
        refuse_unread(table, attribute, bad & values.is_null())
        refuse_first(
            table,
            attribute,
            bad,
            "{value} is not a finite number",
            ("correct it", "leave the cell empty", REPLACE_VALUES),
        )
        values = values.set(~finite, None)
    if attribute.kind == "integer":
        broken = (values != values.floor()).fill_null(value=False)
        refuse_first(
            table,
            attribute,
            broken,
            "{value} is not a whole number",
            ("correct it", declare("kind", "real"), REPLACE_VALUES),
        )
        values = values.set(broken, None) if broken.any() else values
    out = values.fill_null(float("nan")).to_numpy()
    return out + 0.0


def codes(table: Table, attribute: Attribute) -> NDArray[np.int64]:
    """Return the index of each cell in ``attribute.values()``, shape (n,); a kept missing value is one beyond.

    Raises:
        InputError: a cell is missing and the attribute refuses that, or outside the domain and there is no ``other``.
            The message names column, row and value.
        ParameterError: the domain is not declared.
    """
    domain = attribute.values()
    cells = uncoded(table, attribute.name)
    if attribute.kind == "boolean" and attribute.domain is None:
        words = cells.str.strip_chars().str.to_lowercase()
        index = words.replace_strict(TRUTH_WORDS, default=None, return_dtype=pl.Int64)
        hint: tuple[str | Remedy, ...] = ("write true or false", list_values())
    else:
        index = table.places(attribute.name, domain)
        hint = ("correct it", add_value(), declare("other", "…"))
    if not index.null_count():
        return index.to_numpy().astype(np.int64)
    index = index.cast(pl.Int64)
    unknown = index.is_null()
    missing = unknown & missing_cells(table, cells)
    refuse_missing(table, attribute, missing)
    if attribute.other is not None:
        index = index.set(unknown & ~missing, domain.index(attribute.other))
    outside = (index.is_null() & ~missing).arg_true()
    if len(outside) and not table.replaces_invalid:
        row = int(outside[0])
        value = table.column(attribute.name)[row]
        raise InputError(
            f"{shown(value)} is not in the domain{did_you_mean(value[:80], domain)}",
            table.place(attribute.name, row),
            (*hint, REPLACE_VALUES),
            code="value-refused",
            field=attribute.name,
        )
    out: NDArray[np.int64] = index.fill_null(len(domain)).to_numpy()
    return out
