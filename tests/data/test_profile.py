"""Profiles: the kind a column looks like, what should be looked at, and attributes made from the rows."""

import datetime
import unicodedata
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.columns.profile import BINS, ColumnProfile, attribute_from_data, profile, profile_column
from workbench.data.columns.values import codes, numbers
from workbench.data.samples.sample_tables import sample_table
from workbench.data.table import Table
from workbench.params import CancelledError, InputError
from workbench.sanitize.plan_template import draft
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Event, Progress

BY_ITS_NAME = "the column name suggests names of people"


def column(cells: Sequence[str | None], name: str = "x") -> ColumnProfile:
    return profile_column(Table(pl.DataFrame({name: pl.Series(cells, dtype=pl.String)}), "file.csv"), name)


def suspected(profiled: ColumnProfile) -> dict[str, str]:
    return {suspicion.what: suspicion.reason for suspicion in profiled.suspicions}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", "35"], "integer"),
        (["1.0", "2.0"], "integer"),
        (["1.5", "2"], "real"),
        (["1,5", "2,25"], "real"),
        (["1.234.567", "12"], "integer"),
        (["1e3", "2.5e-3"], "real"),
        (["0", "1", "1"], "category"),
        (["true", "False", "TRUE"], "boolean"),
        (["yes", "no"], "category"),
        (["2024-01-31", "2024-02-01"], "date"),
        (["31/01/2024", "01/02/2024"], "date"),
        (["007", "123"], "category"),
        (["red", "green"], "category"),
        ([None, None], "category"),
        (["1", "NA", None, "3"], "integer"),
    ],
)
def test_kind_is_guessed(cells, kind):
    assert column(cells).kind == kind


def test_missing_words_count_as_missing_among_numbers_and_names():
    numeric = column(["1", "NA", None, "3", "3"])
    assert (numeric.missing, numeric.distinct, numeric.lower, numeric.upper) == (2, 2, 1, 3)
    assert suspected(numeric)["missing"] == "1 cell contains 'NA' and counts as missing"
    named = column(["a", "NA", None])
    assert (named.missing, named.distinct, named.values) == (2, 1, ("a",))
    assert suspected(named)["missing"].endswith("if that is a value, list it with the others")


@pytest.mark.parametrize(
    ("cells", "name", "what"),
    [
        ([f"u{k}@example.org" for k in range(20)], "contact", "e-mail"),
        ([f"+49 30 12345{k:02d}" for k in range(20)], "contact", "phone"),
        ([f"{k:05d}" for k in range(1, 20)], "zip", "code"),
        ([f"AB-{k:04d}" for k in range(20)], "part", "code"),
        ([str(k) for k in range(1, 21)], "number", "identifier"),
        ([str(97 * k % 1009) for k in range(20)], "customer_id", "identifier"),
        ([f"word{'x' * k}" for k in range(20)], "text", "identifier"),
        (["5"] * 20, "x", "constant"),
        ([None] * 20, "x", "empty"),
        ([f"{k}-Mar-14" for k in range(1, 21)], "when", "date"),
        ([f"202401{k:02d}" for k in range(1, 21)], "when", "date"),
        (["01/02/2024", "03/04/2024"], "when", "date-order"),
        (["31/02/2024", "01/31/2024"], "when", "date"),
        (["31.01.2024", "01.02.2024"], "when", "date-order"),
        (["1,5", "2,25"], "x", "decimal"),
        (["1.234.567", "12"], "x", "decimal"),
        (["1,234", "5,678"], "x", "real"),
        (["2024-01-31 10:00", "2024-02-01 11:00"], "when", "time"),
        ([*map(str, range(19)), "-"], "x", "real"),
        (["1.50", "1,5", "2,25"], "x", "real"),
    ],
)
def test_suspicions_come_with_a_reason(cells, name, what):
    assert suspected(column(cells, name))[what]


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("Surname", [f"smith{i}" for i in range(30)] * 3, BY_ITS_NAME),
        ("first_name", [f"ana{i}" for i in range(30)] * 3, BY_ITS_NAME),
        ("patientName", [f"ana{i}" for i in range(30)] * 3, BY_ITS_NAME),
        ("Фамилия", [f"Иванов{i}" for i in range(30)] * 3, BY_ITS_NAME),
        ("отчество", [f"Петрович{i}" for i in range(30)] * 3, BY_ITS_NAME),
        ("Họ tên", [f"An{i}" for i in range(30)] * 3, BY_ITS_NAME),
        (unicodedata.normalize("NFD", "họ và tên"), [f"An{i}" for i in range(30)] * 3, BY_ITS_NAME),
        ("họ", [f"Lê{i}" for i in range(30)] * 3, BY_ITS_NAME),
        ("имя", [f"Анна{i}" for i in range(30)] * 3, "the column name fits both"),
        ("tên", [f"An{i}" for i in range(30)] * 3, "the column name fits both"),
        ("Name", [f"steel no {i}" for i in range(12)] * 4, "the column name fits both"),
        ("who", [f"Ana Peña{'abcdefghijklmno'[i]}" for i in range(15)] * 4, "its values are capitalised words"),
        ("diagnosis", [f"Diabetes Grade{'abcdefghijklmno'[i]}" for i in range(15)] * 4, "places or illnesses"),
    ],
)
def test_names_that_repeat_are_suspected_and_stay_in_the_draft(name, cells, reason):
    """A suggestion for the eyes of the steward: what is dropped unasked is only what has a value in every row."""
    found = suspected(column(cells, name))
    told = found["person" if reason == BY_ITS_NAME else "name"]
    assert reason in told
    assert "names of people" in told  # nothing in a table says for certain what it names
    assert "identifier" not in found
    table = Table(pl.DataFrame({name: pl.Series(cells, dtype=pl.String)}), "file.csv")
    assert 'action = "protect"' in draft(profile(table), 1.0).toml


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("name", ["gold", "silver"] * 20),
        ("product_name", [f"bolt{i}" for i in range(30)] * 3),
        ("diagnosis", [f"Asthma of grade {i}" for i in range(15)] * 3),
    ],
)
def test_what_names_no_person_is_not_suspected_to(name, cells):
    assert not {"name", "person"}.intersection(suspected(column(cells, name)))


@pytest.mark.parametrize("name", ["Household no", "HouseholdNo", "family", "patient_id", "Person nr.", "pid"])
def test_what_may_say_which_rows_belong_together_raises_the_question(name):
    assert "household" in suspected(column([str(i // 3) for i in range(30)], name))
    assert "household" not in suspected(column([str(i) for i in range(30)], name)), "every row has its own"


@pytest.mark.parametrize("name", ["household income", "age", "personal", "id"])
def test_other_names_do_not(name):
    assert "household" not in suspected(column([str(i // 3) for i in range(30)], name))


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        (["1", "2", "3", "4", "5", "-9"] * 2, ("-9",)),
        (["0", "10", "25", "40", "-1", " -7 ", "-8.0"] * 2, ("-8.0", "-7", "-1")),
        (["18,5", "44,0", "95,2", "999", "999,0"] * 2, ("999", "999,0")),
        (["0", "1", "99"] * 2, ("99",)),
        (["18", "44", "95", "99"] * 2, ()),  # an age like others
        (["-20", "-9", "4", "31"] * 2, ()),  # a temperature
        (["1", "2", "3", "4", "5", "-9"], ()),  # one row's own value
        (["0", "99"] * 5, ()),
        (["1", "2", "3", "-9", " -9", "  -9"], ("-9",)),  # cells of a fixed width
    ],
)
def test_numbers_that_look_like_codes_for_missing_values_are_named(cells, codes):
    found = {s.what: s for s in column(cells).suspicions}.get("missing-code")
    assert (found.cells if found else ()) == codes


def test_percentages_are_told_of_with_what_makes_them_numbers():
    said = {s.what: s.reason for s in column(["54 %", "7 %", "100%", "12,5 %"] * 3).suspicions}
    assert "without it as numbers" in said["percent"]


@pytest.mark.parametrize(
    ("cells", "why", "alike"),
    [
        (["JA", "ja", "nein"] * 4, "'JA', 'ja' may be spellings of one value", ("JA", "ja")),
        (["Graz ", "Graz", "Linz", "LINZ"] * 4, "of one value, and others too", ("Graz", "Graz ", "LINZ", "Linz")),
        (["ja", "nein"] * 4, None, ()),
        ([f"{letter}{k}" for k in range(9) for letter in "aA"], None, ()),  # as many as there are rows
    ],
)
def test_values_that_differ_by_capitals_or_blanks_alone_are_named(cells, why, alike):
    found = {s.what: s for s in column(cells).suspicions}.get("spelling")
    assert (found.cells if found else ()) == alike
    assert why is None if found is None else (why or "-") in found.why


def test_plain_columns_raise_no_suspicion():
    for cells in (["1.5", "2.25", "3"] * 5, ["red", "green", "blue"] * 5, ["23", "35", "35", "61"] * 5):
        assert column(cells).suspicions == ()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=40).map(lambda v: [str(x) for x in v])
    | st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40).map(lambda v: [repr(x) for x in v])
    | st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=1, max_size=40),
    st.integers(0, 3),
)
def test_histogram_counts_every_row_that_has_a_value(cells, missing):
    profiled = column([*cells, *[None] * missing])
    assert sum(bar.count for bar in profiled.histogram) == len(cells)
    assert len(profiled.histogram) <= BINS
    assert profiled.missing == missing


@pytest.mark.parametrize(
    "cells",
    [["0.3", "0.30000000000000004"], ["0", "5e-324"], ["-1e308", "0.5", "1e308"], [f"{10**308}", f"-{10**308}"]],
)
def test_numbers_almost_equal_or_too_far_apart_have_bars(cells):
    assert sum(bar.count for bar in column(cells * 3 + ["-99"] * 2).histogram) == 3 * len(cells) + 2
    assert sum(bar.count for bar in column(cells * 3).histogram) == 3 * len(cells)


def test_attribute_from_data_takes_the_rows_and_says_so():
    table = sample_table("iris")
    for profiled in profile(table):
        attribute = attribute_from_data(profiled)
        assert attribute.bounds_origin == "data"
        if attribute.numeric:
            x, (lower, upper) = numbers(table, attribute), attribute.bounds()
            assert lower <= x.min() < x.max() <= upper
            assert upper - lower <= 1.4 * (x.max() - x.min())
        else:
            assert set(codes(table, attribute)) == {0, 1, 2}
    assert attribute_from_data(column(["a", "b", None])).missing == "own-value"


@pytest.mark.parametrize(
    ("cells", "bounds"),
    [
        (["20", "39", "37"], (20, 40)),
        (["8", "64"], (0, 70)),
        (["1", "5"], (1, 5)),
        (["12345", "987654"], (0, 1_000_000)),
        (["-3.71", "2.2"], (-4, 3)),
        (["0.17", "0.93"], (0.1, 1.0)),
    ],
)
def test_bounds_from_the_data_are_round_and_so_no_persons_value(cells, bounds):
    assert attribute_from_data(column(cells)).bounds() == bounds


def test_bounds_of_dates_from_the_data_are_whole_years():
    lower, upper = attribute_from_data(column(["1961-03-04", "2003-05-06"])).bounds()
    days = [datetime.date.fromordinal(int(day)).isoformat() for day in (lower, upper)]
    assert days == ["1961-01-01", "2003-12-31"]


@pytest.mark.parametrize(
    ("cells", "last", "order", "bounds"),
    [
        (["2024-02-01", "2024-01-31"], False, None, ("2024-01-31", "2024-02-01")),
        (["31/01/2024", "01/02/2024"], True, "day-first", ("2024-01-31", "2024-02-01")),
        (["01/31/2024", "02/01/2024", "2024-03-01"], True, "month-first", ("2024-01-31", "2024-03-01")),
        (["01.02.2024", "03.02.2024", None], True, "day-first", ("2024-02-01", "2024-02-03")),
        (["01/02/2024", "03/02/2024"], True, None, ("2024-02-01", "2024-02-03")),
        (["1.2.69", "3.12.68", "05.06.2001"], True, "day-first", ("1969-02-01", "2068-12-03")),
        (["1/31/99", "2/1/00 8:30"], True, "month-first", ("1999-01-31", "2000-02-01")),
    ],
)
def test_order_of_dates_is_guessed_for_the_steward_alone(cells, last, order, bounds):
    profiled = column(cells)
    assert (profiled.kind, profiled.year_last, profiled.date_order) == ("date", last, order)
    assert (profiled.lower, profiled.upper) == tuple(datetime.date.fromisoformat(day).toordinal() for day in bounds)
    if last and order is None:
        with pytest.raises(InputError, match=r"which part of its dates is the day and which the month \(column x\)"):
            attribute_from_data(profiled)
    else:
        attribute = attribute_from_data(profiled)
        assert (attribute.date_order, attribute.bounds_origin) == (order, "data")


def test_the_centuries_of_years_of_two_digits_are_said():
    whats = [[one.what for one in column(cells).suspicions] for cells in (["1.2.69", "3.4.2012"], ["1.2.1969 9:30.45"])]
    assert [("century" in each) for each in whats] == [True, False]
    dashed = column(["24-01-31", "24-02-28", "23-02-27"])
    assert (dashed.kind, dashed.suspicions[0].what) == ("category", "date")


@pytest.mark.parametrize(
    ("cells", "upper"), [(["1,5", "2,25"], 2.25), (["1.234.567", "12"], 1234567), (["100,000.00", "50"], 100000)]
)
def test_decimal_mark_is_guessed_for_the_steward_alone(cells, upper):
    assert column(cells).upper == upper


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["5", "5"], "every row has the same value"),
        (["a", "a"], "the column has fewer than two values"),
        ([None], "the column has fewer than two values"),
        ([f"v{k}" for k in range(5000)], "the column has 5000 different values, more than 4096"),
    ],
)
def test_column_without_a_public_grid_is_refused(cells, sentence):
    with pytest.raises(InputError, match=f"^{sentence} .*column x"):
        attribute_from_data(column(cells))


def test_profile_tells_its_progress_and_can_be_cancelled():
    events: list[Event] = []
    profile(sample_table("iris"), emit=events.append)
    assert events[-1] == Progress(5, 5, "columns")
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        profile(sample_table("iris"), cancel=token)
