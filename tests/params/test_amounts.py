"""Counts and amounts of ε as a person reads them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params.amounts import counted, left, limit, paid, rounded_down, rounded_up

AMOUNTS = st.decimals(0, 1000, places=12)


def test_one_thing_is_singular_and_thousands_are_separated() -> None:
    assert [counted(n, "row") for n in (0, 1, 2345)] == ["0 rows", "1 row", "2,345 rows"]
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]


@given(AMOUNTS)
def test_no_amount_is_shown_too_small_that_is_paid_or_too_large_that_is_left(amount: Decimal) -> None:
    assert rounded_down(amount) <= amount <= rounded_up(amount)
    assert Decimal(paid(amount)) == rounded_up(amount)
    for text in (paid(amount), left(amount)):
        assert len(Decimal(text).normalize().as_tuple().digits) <= 4


@pytest.mark.parametrize(
    ("amount", "up", "down"),
    [("0.999284", "0.9993", "0.9992"), ("0.3", "0.3", "0.3"), ("1e-9", "1e-09", "1e-09"), ("0", "0", "0")],
)
def test_amounts_are_short_and_whole_ones_stay(amount: str, up: str, down: str) -> None:
    assert (paid(Decimal(amount)), left(Decimal(amount))) == (up, down)
    assert (paid(float(amount)), left(float(amount))) == (up, down)


def test_a_cap_that_is_spent_has_the_digits_of_what_spent_it() -> None:
    cap = Decimal("0.999284")
    assert limit(cap, Decimal(0)) == paid(cap)
    assert limit(cap, Decimal("0.1")) == left(cap)
