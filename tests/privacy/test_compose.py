"""Sums of costs are exact, and every rounding is upwards."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.privacy.accounting.compose import (
    advanced_epsilon,
    basic,
    flatten,
    for_person,
    pure_epsilon,
    round_up,
    total,
)
from workbench.privacy.accounting.event import Composed, Cost, PoissonGaussian, PureDp, exact, group


def cost(epsilon: str, delta: str = "0") -> Cost:
    return Cost(Decimal(epsilon), Decimal(delta), PureDp(Decimal(epsilon)))


def test_advanced_composition_is_the_golden_one(golden: dict[str, list[dict[str, Any]]]) -> None:
    entries = golden["advanced_composition_eps"]
    assert entries
    for entry in entries:
        given_ = entry["inputs"]
        value = advanced_epsilon(given_["eps"], given_["k"], given_["delta_prime"])
        assert value == pytest.approx(entry["value"], abs=entry["tolerance"])


def test_a_person_with_several_rows_costs_the_golden_multiple(golden: dict[str, list[dict[str, Any]]]) -> None:
    (entry,) = golden["group_privacy_eps"]
    given_ = entry["inputs"]
    person = for_person(cost(str(given_["eps"])), given_["m"])
    assert float(person.epsilon) == entry["value"]
    assert person.delta == 0


def test_ten_tenths_are_one() -> None:
    assert basic([cost("0.1")] * 10).epsilon == 1
    assert total([exact(0.1)] * 3) == exact(0.3)


@given(st.lists(st.floats(1e-12, 1e6), max_size=30))
def test_sums_are_exact(values: list[float]) -> None:
    shares = [exact(v) for v in values]
    assert Fraction(total(shares)) == sum((Fraction(s) for s in shares), Fraction(0))


@given(value=st.floats(0, 1e9), places=st.integers(0, 12))
def test_rounding_never_flatters_and_stays_within_one_unit(value: float, places: int) -> None:
    rounded = Fraction(round_up(value, places))
    assert 0 <= rounded - Fraction(value) < Fraction(1, 10**places)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_a_loss_that_is_no_number_is_not_rounded(bad: float) -> None:
    with pytest.raises(ParameterError):
        round_up(bad)


def test_nested_events_flatten_in_order_and_pure_ones_add() -> None:
    a, b, c = PureDp(Decimal("0.1"), "a"), PureDp(Decimal("0.2"), "b"), PureDp(Decimal("0.3"), "c")
    nested = Composed((a, Composed((b, Composed((c,))))))
    assert flatten(nested) == (a, b, c)
    assert pure_epsilon(nested) == Decimal("0.6")


def test_a_gaussian_event_has_no_pure_epsilon() -> None:
    with pytest.raises(ParameterError, match="training has no pure epsilon"):
        pure_epsilon(Composed((PureDp(Decimal(1)), PoissonGaussian(0.1, 1.0, 3, "training"))))


def test_basic_composition_adds_deltas_and_keeps_the_events() -> None:
    whole = basic([cost("1", "1e-6"), cost("2", "1e-5")], label="both")
    assert (whole.epsilon, whole.delta) == (3, Decimal("1.1e-5"))
    assert len(flatten(whole.event)) == 2
    assert basic([]).epsilon == 0


@given(epsilon=st.floats(0.01, 5), delta=st.floats(1e-12, 1e-3), rows=st.integers(2, 20))
def test_a_group_is_never_charged_less_than_its_formula(epsilon: float, delta: float, rows: int) -> None:
    person = for_person(Cost(exact(epsilon), exact(delta), PureDp(exact(epsilon))), rows)
    assert person.epsilon == exact(epsilon) * rows
    assert float(person.delta) >= group(epsilon, delta, rows)[1]
    assert person.delta <= 1


def test_one_row_per_person_changes_nothing_and_none_is_refused() -> None:
    assert for_person(cost("1", "1e-5"), 1) == cost("1", "1e-5")
    for rows in (0, -1, True):
        with pytest.raises(ParameterError):
            for_person(cost("1"), rows)


@pytest.mark.parametrize(
    ("epsilon", "count", "slack"), [(0, 1, 0.1), (math.nan, 1, 0.1), (1, 0, 0.1), (1, 1, 0), (1, 1, 1)]
)
def test_impossible_compositions_are_refused(epsilon: float, count: int, slack: float) -> None:
    with pytest.raises(ParameterError):
        advanced_epsilon(epsilon, count, slack)
