"""Columns that attacks compare: words are words, though no cell of them is a number."""

from __future__ import annotations

import numpy as np

from workbench.data.read import read_table
from workbench.risk.attacks.common_columns import common_columns


def test_words_have_codes_and_numbers_are_numbers() -> None:
    found = common_columns([read_table("sample:people")], ("age", "sex", "label"))
    assert found.numeric.tolist() == [True, False, False]
    assert found.words[1:] == (("female", "male"), ("no", "yes"))
    assert not np.isnan(found.tables[0]).any()
