"""Equivalence classes over chosen columns."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workbench.data.table import Table
from workbench.risk.distances import classes, coded


@given(arrays(np.int64, st.tuples(st.integers(0, 40), st.integers(0, 4)), elements=st.integers(0, 3)))
def test_rows_share_a_class_exactly_where_all_their_values_agree(values: np.ndarray) -> None:
    found = classes(list(values.T), len(values))
    alike = (values[:, None, :] == values[None, :, :]).all(axis=2)
    assert (found.of[:, None] == found.of[None, :]).tolist() == alike.tolist()
    assert found.of_rows.tolist() == alike.sum(axis=1).tolist()


def test_a_missing_value_is_a_value_of_its_own() -> None:
    table = Table(pl.DataFrame({"a": ["x", None, "x", None, "b"]}), source="t.csv")
    codes, values = coded(table, "a")
    assert [values[code] for code in codes] == ["x", None, "x", None, "b"]
    assert classes([codes], 5).sizes.tolist() == [1, 2, 2]
