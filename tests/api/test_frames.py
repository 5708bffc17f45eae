"""A DataFrame as the program's table: a cell's text follows from that cell alone."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.api.frames import cell_text, table_of
from workbench.params import InputError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e300, "1e+300"),
        (np.int8(5), "5"),
        (np.float32(0.5), "0.5"),
        (True, "true"),
        (np.bool_(False), "false"),
        ("a, b", "a, b"),
        (decimal.Decimal("2.50"), "2.50"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (pd.Timestamp("2020-01-02"), "2020-01-02"),
        (pd.Timestamp("2020-01-02 03:04"), "2020-01-02T03:04:00"),
        (None, None),
        ("", None),
        (float("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
    ],
)
def test_a_value_is_written_as_a_file_would_hold_it(value, text) -> None:
    assert cell_text(value) == text


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "Float64", "str", "category", "object"])
def test_every_type_of_a_column_is_read(dtype: str) -> None:
    frame = pd.DataFrame({"x": pd.Series([1, 2, 3]).astype(dtype)})
    assert table_of(frame).frame["x"].to_list() == ["1", "2", "3"]


@pytest.mark.parametrize("dtype", ["Int64", "float64", "str", "category", "object"])
def test_a_missing_value_is_missing_whatever_the_type(dtype: str) -> None:
    frame = pd.DataFrame({"x": pd.Series(["1", None, "3"]).astype("object" if dtype == "object" else "str")})
    if dtype not in ("str", "object"):
        frame = frame.apply(pd.to_numeric).astype(dtype)
    assert table_of(frame).frame["x"].to_list() == ["1", None, "3"]


plain = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_infinity=False), st.text(max_size=5)
)


@given(st.lists(plain, min_size=2, max_size=6), st.data())
def test_no_cell_depends_on_another(values, data) -> None:
    spared = data.draw(st.integers(0, len(values) - 1))
    other = [v if i == spared else data.draw(plain) for i, v in enumerate(values)]
    one, two = (
        table_of(pd.DataFrame({"x": pd.Series(cells, dtype="object")})).frame["x"].to_list()[spared]
        for cells in (values, other)
    )
    assert one == two


def test_the_index_is_no_column_and_numbers_may_be_names() -> None:
    frame = pd.DataFrame({0: [1], 1: [2]}, index=["secret"])
    assert list(table_of(frame).names) == ["0", "1"]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"x": [1, [2]]}), "row 2, column x"),
        (pd.DataFrame({"x": [b"raw"]}), "bytes"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "'x'"),
        (pd.DataFrame({"x": []}), "no rows"),
        ([[1, 2]], "list"),
    ],
)
def test_what_is_no_table_is_one_sentence_without_a_value(frame, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        table_of(frame)
    assert "raw" not in str(caught.value)
