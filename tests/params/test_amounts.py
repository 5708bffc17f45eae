"""Counts and amounts of ε as a person reads them."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.params.amounts import counted, left, limit, paid, rounded_down, rounded_up
from workbench.params.lists import LevelsField

AMOUNTS = st.decimals(0, 1000, places=12)


def test_one_thing_is_singular_and_thousands_are_separated():
    assert [counted(n, "row") for n in (0, 1, 2345)] == ["0 rows", "1 row", "2,345 rows"]
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]


@given(AMOUNTS)
def test_no_amount_is_shown_too_small_that_is_paid_or_too_large_that_is_left(amount):
    assert rounded_down(amount) <= amount <= rounded_up(amount)
    assert Decimal(paid(amount)) == rounded_up(amount)
    for text in (paid(amount), left(amount)):
        assert len(Decimal(text).normalize().as_tuple().digits) <= 4


@pytest.mark.parametrize(
    ("amount", "up", "down"),
    [("0.999284", "0.9993", "0.9992"), ("0.3", "0.3", "0.3"), ("1e-9", "1e-09", "1e-09"), ("0", "0", "0")],
)
def test_amounts_are_short_and_whole_ones_stay(amount, up, down):
    assert (paid(Decimal(amount)), left(Decimal(amount))) == (up, down)
    assert (paid(float(amount)), left(float(amount))) == (up, down)


def test_a_cap_that_is_spent_has_the_digits_of_what_spent_it():
    cap = Decimal("0.999284")
    assert limit(cap, Decimal(0)) == paid(cap)
    assert limit(cap, Decimal("0.1")) == left(cap)


# -- levels ------------------------------------------------------------------------------------------------------------


FIELD = LevelsField(at_least=1e-4)


def test_a_list_is_sorted_and_a_range_has_its_ends():
    assert FIELD.parse("10,0.1, 1", "epsilons") == (0.1, 1.0, 10.0)
    levels = FIELD.parse("0.1:100:13", "epsilons")
    assert len(levels) == 13
    assert {0.1, 1.0, 10.0, 100.0} <= set(levels)
    assert np.allclose(levels, np.geomspace(0.1, 100, 13), rtol=1e-11)


@given(low=st.floats(1e-4, 1e3), ratio=st.floats(1.001, 1e3), count=st.integers(2, 50))
def test_a_range_rises_in_equal_ratios(low, ratio, count):
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
def test_what_is_no_list_of_levels_is_refused_in_words(written):
    with pytest.raises(ParameterError, match="epsilons"):
        FIELD.parse(written, "epsilons")


@pytest.mark.parametrize("value", [[], "0.1", [True], [float("nan")], [1, 1.0], [1] * 2000, 3, [None]])
def test_values_from_files_are_checked_alike(value):
    with pytest.raises(ParameterError, match="epsilons"):
        FIELD.check(value, "epsilons")


def test_levels_round_trip_through_plain_values():
    levels = FIELD.parse("0.1:100:13", "epsilons")
    assert FIELD.check(FIELD.plain(levels), "epsilons") == levels
