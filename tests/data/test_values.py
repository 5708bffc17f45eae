"""Cells as numbers, days and codes: what is read, and how each refusal names column, row and value."""

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.columns.values import codes, numbers
from workbench.data.csv.options import Dialect
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError, ParameterError


def table(cells: Sequence[str | None], **dialect: Any) -> Table:
    return Table(pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)}), "file.csv", Dialect(**dialect), 2)


def attribute(kind: str = "real", **facts: Any) -> Attribute:
    return Attribute(name="x", kind=kind, **facts)


COMMA = {"decimal": ",", "decimal_given": True}
POINT = {"decimal": ".", "decimal_given": True}

FORMS = [
    ("{y:04d}-{m:02d}-{d:02d}", None),
    ("{y:04d}/{m}/{d} 10:30", None),
    ("{y:04d}{m:02d}{d:02d}", None),
    ("{d}/{m}/{y:04d}", "day-first"),
    ("{m:02d}-{d:02d}-{y:04d}", "month-first"),
    ("{d}.{m}.{y:04d}", "day-first"),
]


def day(year: int, month: int, day_of_month: int) -> float:
    return float(datetime.date(year, month, day_of_month).toordinal())


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_double_is_read_back_exactly(values):
    assert numbers(table([repr(v) for v in values]), attribute()).tolist() == values


@given(st.lists(st.from_regex(r"[+-]?0{0,2}[0-9]{1,20}", fullmatch=True), min_size=1, max_size=20))
def test_whole_numbers_are_the_same_beside_one_that_is_written_with_a_power(cells):
    alone, beside = (numbers(table(some), attribute("integer")) for some in (cells, [*cells, "1e3"]))
    assert alone.tolist() == beside[:-1].tolist()
    assert not np.signbit(alone[alone == 0]).any()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20), st.sampled_from([".", ","]))
def test_marks_between_thousands_are_read_where_the_decimal_mark_is_stated(values, decimal):
    other = "," if decimal == "." else "."
    cells = [f"{v:,}".replace(",", other) for v in values]
    read = numbers(table(cells, decimal=decimal, decimal_given=True), attribute("integer"))
    assert read.tolist() == values


@pytest.mark.parametrize(
    ("cells", "dialect", "expected"),
    [
        (["1", " 2", "+3.5", ".5", "5.", "1e3", "-0"], {}, [1, 2, 3.5, 0.5, 5, 1000, 0]),
        (["1.234"], {}, [1.234]),
        (["1.50", "300"], {"decimal": ","}, [1.5, 300]),  # a guessed mark is not read with
        (["1,5", "2", " 1,25e3"], COMMA, [1.5, 2, 1250]),
        (["1,234", "0,5", ",5"], COMMA, [1.234, 0.5, 0.5]),
        (["1.234,5", "1.234", "200.000.000"], COMMA, [1234.5, 1234, 200000000]),
        (["100,000.00", "50", "1.5"], POINT, [100000, 50, 1.5]),
    ],
)
def test_decimal_marks(cells, dialect, expected):
    assert numbers(table(cells, **dialect), attribute()).tolist() == expected


@pytest.mark.parametrize(
    ("cells", "kind", "dialect", "sentence"),
    [
        (["1", "abc"], "real", {}, r"'abc' is not a number \(column x, row 2, line 3\)"),
        (["1", "0x10"], "real", {}, r"'0x10' is not a number"),
        (["$5"], "real", {}, r"'\$5' is not a number"),
        (["1", "inf"], "real", {}, r"'inf' is not a finite number \(column x, row 2, line 3\)"),
        (["1e999"], "integer", {}, r"'1e999' is not a finite number"),
        (["1", "NaN"], "real", {}, r"the value is missing \('NaN'\) \(column x, row 2, line 3\); fill it in"),
        (["1", None], "real", {}, r"the value is missing \(column x, row 2, line 3\)"),
        (["1", "3.5"], "integer", {}, r"'3.5' is not a whole number \(column x, row 2, line 3\)"),
        (
            ["2", "1,234"],
            "real",
            {},
            r"'1,234' is a number only with the right decimal mark, which is not stated \(column x, row 2, line 3\); "
            r"use --decimal , or --decimal \.$",
        ),
        (["1.50", "1,5"], "real", {}, r"'1,5' is a number only with .* \(column x, row 2, line 3\); use --decimal ,$"),
        (["1,5"], "real", {"decimal": ","}, r"'1,5' is a number only with the right decimal mark, which is not stated"),
        (["1,234.5"], "real", {}, r"'1,234.5' is a number only with .*; use --decimal \.$"),
        (["1.234.567"], "real", {}, r"'1.234.567' is a number only with .*; use --decimal ,$"),
        (["1.50"], "real", COMMA, r"'1.50' is not a number .*; write it with , as its decimal mark"),
        (["1,5"], "real", POINT, r"'1,5' is not a number .*; write it with . as its decimal mark"),
        (["0.123"], "real", COMMA, r"'0.123' is not a number"),  # no thousands begin with 0
        (["1,23,456.5"], "real", {}, r"'1,23,456.5' is not a number"),
        (["9" * 50 + "x"], "real", {}, r"'9{39}…' is not a number"),
    ],
)
def test_what_is_no_number_is_refused(cells, kind, dialect, sentence):
    with pytest.raises(InputError, match=f"^{sentence}"):
        numbers(table(cells, **dialect), attribute(kind))


def test_number_of_no_text_file_is_mended_where_it_stands():
    plain = Table(pl.DataFrame({"x": ["1,5"]}), "file.parquet")
    with pytest.raises(InputError, match=r"'1,5' is not a number .*; write it with a decimal point and no other mark"):
        numbers(plain, attribute())


def test_kept_missing_values_are_nan():
    read = numbers(table(["1", None, "NA", " ", "null", "n/a"]), attribute(missing="own-value"))
    assert read[0] == 1
    assert np.isnan(read[1:]).all()


def test_values_outside_the_bounds_are_no_error():
    assert numbers(table(["-5", "500"]), attribute(lower=0, upper=10)).tolist() == [-5, 500]


def test_names_have_no_numbers():
    with pytest.raises(ParameterError, match="the column is declared as category, not as numbers"):
        numbers(table(["1"]), attribute("category", domain=("1", "2")))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.dates(), min_size=1, max_size=10),
    st.sampled_from(FORMS),
)
def test_dates_in_one_form_are_read(dates, form):
    cells = [form[0].format(y=v.year, m=v.month, d=v.day) for v in dates]
    assert numbers(table(cells), attribute("date", date_order=form[1])).tolist() == [v.toordinal() for v in dates]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2024-01-31", "2024/1/5", "20240201"], [day(2024, 1, 31), day(2024, 1, 5), day(2024, 2, 1)]),
        (["2024-03-08T23:59:59", "2024-02-29 00:00"], [day(2024, 3, 8), day(2024, 2, 29)]),
        (["2024-03-08", None, "NA"], [day(2024, 3, 8), math.nan, math.nan]),
        ([None, None], [math.nan, math.nan]),
    ],
)
def test_dates_become_day_numbers(cells, expected):
    read = numbers(table(cells), attribute("date", missing="own-value"))
    np.testing.assert_array_equal(read, expected)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (
            ["2024-03-08", "03/10/2024"],
            "'03/10/2024' has the year last, and the plan does not say whether the day or the month comes first "
            r"\(column x, row 2, line 3\); "
            'write date_order = "day-first" or date_order = "month-first" in the plan',
        ),
        (["1.2.24"], "'1.2.24' has the year last"),
        (["31.01.2024"], "'31.01.2024' has the year last"),  # not even a day above 12 settles it: it speaks for one row
        (["24-01-31"], "'24-01-31' is not a date"),
        (["+2024-01-31"], r"'\+2024-01-31' is not a date"),
        (["2024-01-31", "2024-02-30"], r"'2024-02-30' is not a valid date \(column x, row 2, line 3\)"),
        (["0000-01-01"], "'0000-01-01' is not a valid date"),
        (["2024-01-31", "soon"], r"'soon' is not a date \(column x, row 2, line 3\); write it as 2024-01-31"),
        (["1-Mar-24"], "'1-Mar-24' is not a date"),
        (["2024-01-31", None], r"the value is missing \(column x, row 2, line 3\)"),
    ],
)
def test_doubtful_dates_are_refused(cells, sentence):
    with pytest.raises(InputError, match=f"^{sentence}"):
        numbers(table(cells), attribute("date"))


def test_declared_order_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"'02/13/2024' is not a valid date \(column x, row 2, line 3\)"):
        numbers(table(["13/02/2024", "02/13/2024"]), attribute("date", date_order="day-first"))


@pytest.mark.parametrize(
    ("bounds", "years"),
    [
        ((None, None), [2025, 2068, 1969, 2000]),
        (("1900-01-01", "1999-12-31"), [1925, 1968, 1969, 2000]),  # 29 February is in no other year that ends in 00
        (("1930-01-01", "2029-12-31"), [2025, 1968, 1969, 2000]),
        (("1925-06-01", "2025-06-01"), [1925, 1968, 1969, 2000]),  # 3 December 2025 is beyond
        (("1700-01-01", "1860-01-01"), [1825, 1768, 1769, 2000]),  # of two centuries the later one
        (("2030-01-01", "2040-01-01"), [2025, 2068, 1969, 2000]),  # in none: as without bounds
    ],
)
def test_declared_bounds_decide_the_century_of_a_year_of_two_digits(bounds, years):
    lower, upper = (None if end is None else datetime.date.fromisoformat(end).toordinal() for end in bounds)
    declared = attribute("date", date_order="day-first", lower=lower, upper=upper)
    cells = ["3.12.25", "3/12/68", "3.12.69 10:30", "29.2.00"]
    read = numbers(table([*cells, "3.12.1825", "1925-12-03"]), declared)
    assert [datetime.date.fromordinal(int(day)).year for day in read] == [*years, 1825, 1925]


def test_date_order_is_for_dates_only():
    with pytest.raises(ParameterError, match=r"date_order is for dates, and this is declared as real \(column x\)"):
        attribute("real", date_order="day-first")
    with pytest.raises(ParameterError, match="date_order = 'day' is not known"):
        attribute("date", date_order="day")


@pytest.mark.parametrize("missing", ["refuse", "own-value"])
def test_domain_with_an_empty_name_is_refused(missing):
    with pytest.raises(ParameterError, match=r'^the domain holds "".*\(column x\); remove it'):
        attribute("category", domain=("", "a"), missing=missing)


def test_codes_are_indices_into_the_domain():
    fact = attribute("category", domain=("b", "a", "NA"))
    assert codes(table(["a", "b", "NA", "a"]), fact).tolist() == [1, 0, 2, 1]


def test_value_outside_the_domain_names_row_and_value():
    fact = attribute("category", domain=("female", "male"))
    with pytest.raises(
        InputError, match=r"'Mael' is not in the domain, did you mean 'male'\? \(column x, row 2, line 3\)"
    ):
        codes(table(["male", "Mael"]), fact)


def test_other_collects_what_is_outside_the_domain():
    beyond = attribute("category", domain=("a", "b"), other="rest")
    assert codes(table(["a", "z", "rest"]), beyond).tolist() == [0, 2, 2]
    within = attribute("category", domain=("a", "b"), other="b")
    assert codes(table(["a", "z"]), within).tolist() == [0, 1]


def test_missing_names_are_refused_or_one_beyond_the_domain():
    cells = table(["a", None, "b"])
    with pytest.raises(InputError, match=r"the value is missing \(column x, row 2, line 3\)"):
        codes(cells, attribute("category", domain=("a", "b"), other="b"))
    assert codes(cells, attribute("category", domain=("a", "b"), missing="own-value")).tolist() == [0, 2, 1]


def test_boolean_words_have_one_meaning():
    assert codes(table(["True", "0", "YES", "no", " 1", "FALSE"]), attribute("boolean")).tolist() == [1, 0, 1, 0, 1, 0]
    with pytest.raises(InputError, match=r"'maybe' is not in the domain .* write true or false"):
        codes(table(["true", "maybe"]), attribute("boolean"))
    assert codes(table(["no", "yes"]), attribute("boolean", domain=("yes", "no"))).tolist() == [1, 0]


def test_undeclared_domain_is_refused():
    with pytest.raises(ParameterError, match="the domain is not declared"):
        codes(table(["a"]), attribute("category"))


def test_a_part_of_a_table_names_the_rows_of_the_whole():
    table = Table(pl.DataFrame({"age": ["1", "2", "x", "4"]}), "people.csv", first_line=2)
    parts = list(table.parts(2))
    assert [part.rows for part in parts] == [2, 2]
    assert pl.concat([part.frame for part in parts]).equals(table.frame)
    assert parts[1].place("age", 0) == table.place("age", 2) == "column age, row 3, line 4"
    assert [part.place("age", 0) for part in parts[1].parts(1)] == [table.place("age", k) for k in (2, 3)]
