"""A table whose invalid values are replaced: nothing is refused, each cell and each row is still read by itself."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_row_independence import DAYS, FIGURES

from workbench.data.columns.grid import grid, matrix
from workbench.data.columns.values import codes, numbers
from workbench.data.csv.options import Dialect, ReadOptions
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError

MISSING = math.nan
AGE = Attribute(name="x", kind="integer", lower=0, upper=120, missing="own-value")
PAY = Attribute(name="x", kind="real", lower=-10, upper=10, missing="own-value")
SEEN = Attribute(name="x", kind="date", lower=737425, upper=737790, missing="own-value", date_order="day-first")
UNORDERED = Attribute(name="x", kind="date", lower=737425, upper=737790, missing="own-value")
TOWN = Attribute(name="x", kind="category", domain=("A", "B"), missing="own-value")
SORTED = Attribute(name="x", kind="category", domain=("A", "B"), other="rest", missing="own-value")
TRUTH = Attribute(name="x", kind="boolean", missing="own-value")
EVERY = (AGE, PAY, SEEN, UNORDERED, TOWN, SORTED, TRUTH)


def total(cells: Sequence[str | None], mark: str | None = None) -> Table:
    dialect = Dialect(decimal=mark or ".", decimal_given=mark is not None)
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)})
    return Table(frame, "file.csv", dialect, 2).with_invalid_replaced()


@pytest.mark.parametrize(
    ("attribute", "cell", "said"),
    [
        (AGE, "31", 31),
        (AGE, " 31 ", 31),
        (AGE, None, MISSING),
        (AGE, "", MISSING),
        (AGE, "NA", MISSING),
        (AGE, "nan", MISSING),
        (AGE, "inf", MISSING),
        (AGE, "-Infinity", MISSING),
        (AGE, "1e999", MISSING),
        (AGE, "31.5", MISSING),
        (AGE, "about 30", MISSING),
        (AGE, "1,234", MISSING),  # thirds of a decimal or thousands: nobody stated it
        (AGE, "130", 130),  # clamped on the grid
        (PAY, "1,5", MISSING),
        (PAY, "-1e300", -1e300),
        (SEEN, "2020-02-30", MISSING),
        (SEEN, "31/12/2019", 737424),
        (SEEN, "13/13/2020", MISSING),
        (SEEN, "soon", MISSING),
        (UNORDERED, "03/12/2020", MISSING),
        (UNORDERED, "2020-03-12", 737496),
        (TOWN, "B", 1),
        (TOWN, "C", 2),
        (TOWN, None, 2),
        (TOWN, "NA", 2),
        (SORTED, "C", 2),  # the declared other value
        (SORTED, None, 3),
        (TRUTH, "Yes", 1),
        (TRUTH, "maybe", 2),
        (TRUTH, None, 2),
    ],
)
def test_what_a_cell_becomes(attribute, cell, said):
    read = numbers if attribute.numeric else codes
    np.testing.assert_equal(read(total([cell]), attribute)[0], said)


def test_outside_the_bounds_is_the_nearest_cell_and_missing_the_last():
    assert grid(AGE).encode(total(["-5", "0", "120", "4000", "x", None])).tolist() == [0, 0, 120, 120, 121, 121]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(EVERY),
    st.lists(st.one_of(FIGURES, DAYS, st.text(max_size=6), st.sampled_from(["A", "B", "yes", "0"])), min_size=1),
    st.sampled_from([None, ".", ","]),
    st.data(),
)
def test_no_cell_is_refused_and_one_turns_no_other(attribute, cells, mark, data):
    cells = [cell or None for cell in cells]
    encoded = grid(attribute).encode(total(cells, mark))
    assert encoded.max() < grid(attribute).cells.total
    alone = [grid(attribute).encode(total([cell], mark))[0] for cell in cells]
    assert encoded.tolist() == alone
    turned = data.draw(st.integers(0, len(cells) - 1))
    neighbour = [
        data.draw(st.one_of(FIGURES, DAYS, st.text(max_size=6))) if i == turned else c for i, c in enumerate(cells)
    ]
    others = np.arange(len(cells)) != turned
    assert (grid(attribute).encode(total(neighbour, mark))[others] == encoded[others]).all()
    np.testing.assert_array_equal(
        matrix(total(neighbour, mark), [attribute])[others], matrix(total(cells, mark), [attribute])[others]
    )


STATED = ReadOptions(encoding="utf-8", delimiter=",", quote='"', escape="doubled", decimal=".", header="yes")
ROWS = st.one_of(
    st.sampled_from(
        ["", ",", ",,", "1", "1,A", "1,A,B", '"",', '"1","A"', '"1\n2",A', 'x,"a,b"', "  ", "NA,NA", "∞,é"]
    ),
    st.text(st.characters(exclude_characters='"\r\n', exclude_categories=["Cs"]), max_size=8),
)


def read(path: Path, rows: Sequence[str], end: str = "\n") -> Table:
    path.write_text("a,b\n" + "".join(row + "\n" for row in rows[:-1]) + rows[-1] + end, "utf-8", newline="")
    return read_table(path, STATED, names=["a", "b"], replace_invalid=True).with_invalid_replaced()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROWS, min_size=1, max_size=6), ROWS, st.integers(0, 5))
def test_each_line_is_one_row_whatever_the_others_say(tmp_path, rows, other, at):
    """Neighbouring files: their records differ in one."""
    at %= len(rows)
    one, two = read(tmp_path / "one.csv", rows), read(tmp_path / "two.csv", [*rows[:at], other, *rows[at + 1 :]])
    assert one.rows == two.rows == len(rows)
    kept = np.arange(len(rows)) != at
    assert one.frame.filter(kept).equals(two.frame.filter(kept))
    one.require_certain()
    two.require_certain()


def test_lines_that_are_no_rows_of_the_table_are_empty_ones(tmp_path):
    table = read(tmp_path / "t.csv", ["1,A", "", "2", "3,A,B", ",", "4,B", ""])
    assert table.frame.rows() == [
        ("1", "A"),
        (None,) * 2,
        (None,) * 2,
        (None,) * 2,
        (None,) * 2,
        ("4", "B"),
        (None,) * 2,
    ]
    assert "2 rows have another number of cells than 2: read as empty (all values missing)" in table.notices


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blank", [0, 1, 2, 200, 400])
@pytest.mark.parametrize("last", [True, False], ids=["line end", "no line end"])
def test_a_line_end_at_the_end_of_the_file_is_no_row(tmp_path, end, blank, last):
    path = tmp_path / "t.csv"
    path.write_bytes((end.join(["a,b", "1,2", *[""] * blank]) + end * (last or blank > 0)).encode())
    table = read_table(path, STATED, names=["a", "b"])
    assert (table.rows, table.lines) == (1, 1 + blank)
    assert table.with_invalid_replaced().frame.rows() == [("1", "2"), *[(None, None)] * blank]


def test_blank_lines_before_the_header_are_no_rows_and_without_one_they_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n\na,b\n1,2\n")
    assert read_table(path, STATED).with_invalid_replaced().rows == 1
    path.write_text("\n\n1,2\n")
    headerless = ReadOptions(encoding="utf-8", delimiter=",", quote='"', escape="doubled", decimal=".", header="no")
    assert read_table(path, headerless).with_invalid_replaced().frame.rows() == [*[(None, None)] * 2, ("1", "2")]


def test_a_file_of_one_column_counts_each_of_its_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n\n\n2\n\n")
    table = read_table(path, STATED, names=["a"]).with_invalid_replaced()
    assert table.frame["a"].to_list() == ["1", None, None, "2", None]


@pytest.mark.parametrize(("text", "rows"), [("a,b\n\n\n", 2), ("a,b\n1\n", 1)])
def test_a_table_may_have_no_other_rows_than_empty_ones(tmp_path, text, rows):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        read_table(path, STATED, names=["a", "b"])
    assert read_table(path, STATED, ["a", "b"], replace_invalid=True).with_invalid_replaced().rows == rows


@pytest.mark.parametrize(("text", "rows"), [("1\n1,2\n", 2), ("\n\n", 2), ("1,2,3\n\n", 2)])
def test_without_a_header_the_plan_says_how_many_columns_there_are(tmp_path, text, rows):
    path = tmp_path / "t.csv"
    path.write_text(text)
    headerless = ReadOptions(encoding="utf-8", delimiter=",", quote='"', escape="doubled", decimal=".", header="no")
    table = read_table(path, headerless, ["column1", "column2"], replace_invalid=True).with_invalid_replaced()
    assert (table.names, table.rows) == (("column1", "column2"), rows)


@pytest.mark.parametrize("text", ['a,b\n1,2\n"3,4\n', 'a,b\n1,2\n5" pipe,4\n'])
def test_a_file_that_cannot_be_cut_into_rows_is_refused(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match="quote"):
        read_table(path, STATED, ["a", "b"], replace_invalid=True)


def test_a_table_with_missing_values_refused_still_drops_blank_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n\n3,4\n")
    table = read_table(path, STATED)
    assert table.rows == 2
    assert not table.replaces_invalid
    with pytest.raises(InputError, match=r'missing .*count such values as missing: invalid = "replace" in the plan'):
        numbers(Table(pl.DataFrame({"x": ["1", None]}), "f"), Attribute(name="x", kind="real"))
