import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.params.lists import LevelsField

FIELD = LevelsField(at_least=1e-4)


def test_a_list_is_sorted_and_a_range_has_its_ends() -> None:
    assert FIELD.parse("10,0.1, 1", "epsilons") == (0.1, 1.0, 10.0)
    levels = FIELD.parse("0.1:100:13", "epsilons")
    assert len(levels) == 13
    assert {0.1, 1.0, 10.0, 100.0} <= set(levels)
    assert np.allclose(levels, np.geomspace(0.1, 100, 13), rtol=1e-11)


@given(low=st.floats(1e-4, 1e3), ratio=st.floats(1.001, 1e3), count=st.integers(2, 50))
def test_a_range_rises_in_equal_ratios(low: float, ratio: float, count: int) -> None:
    high = low * ratio
    levels = FIELD.parse(f"{low!r}:{high!r}:{count}", "epsilons")
    assert (levels[0], levels[-1], len(levels)) == (low, high, count)
    steps = np.diff(np.log(levels))
    assert np.allclose(steps, math.log(high / low) / (count - 1), rtol=1e-6)


@pytest.mark.parametrize(
    "written",
    ["", "1,,2", "nan", "inf", "0", "-1", "1e999", "1,1", "1e7", "true", "0.1:100", "0.1:100:1", "0.1:100:2.5",
     "100:0.1:5", "0.1:100:1001", "0.1:100:٣", "1:2:3:4", "a:b:3", "0:1:3"],
)  # fmt: skip
def test_what_is_no_list_of_levels_is_refused_in_words(written: str) -> None:
    with pytest.raises(ParameterError, match="epsilons"):
        FIELD.parse(written, "epsilons")


@pytest.mark.parametrize("value", [[], "0.1", [True], [float("nan")], [1, 1.0], [1] * 2000, 3, [None]])
def test_values_from_files_are_checked_alike(value: object) -> None:
    with pytest.raises(ParameterError, match="epsilons"):
        FIELD.check(value, "epsilons")


def test_levels_round_trip_through_plain_values() -> None:
    levels = FIELD.parse("0.1:100:13", "epsilons")
    assert FIELD.check(FIELD.plain(levels), "epsilons") == levels
