"""Columns that attacks compare: words are words, though no cell of them is a number."""

from __future__ import annotations

import numpy as np
import polars as pl

from workbench.data.read import read_table
from workbench.data.table import Table
from workbench.risk.attacks.common_columns import common_columns


def test_words_have_codes_and_numbers_are_numbers() -> None:
    found = common_columns([read_table("sample:people")], ("age", "sex", "label"))
    assert found.numeric.tolist() == [True, False, False]
    assert found.words[1:] == (("female", "male"), ("no", "yes"))
    assert not np.isnan(found.tables[0]).any()


def test_long_numbers_that_one_double_stands_for_are_told_apart() -> None:
    frame = pl.DataFrame({"account": [str(10**18 + i) for i in range(3)], "mass": ["1e20", "2e20", "3e20"]})
    found = common_columns([Table(frame, "t.csv")])
    assert found.numeric.tolist() == [False, True]
    assert len(np.unique(found.tables[0][:, 0])) == 3
