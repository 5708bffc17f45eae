"""What RAPPOR costs: the published figures, and brute force over every report of tiny collections."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.privacy.rappor.parameters import ONE, RapporParameters, cost, permanent_epsilon, single_epsilon

chances = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9, 1.0])
noisy = st.sampled_from([0.05, 0.25, 0.5, 0.75, 0.9])


def test_the_golden_values(golden_entries: list[dict[str, Any]]) -> None:
    seen = 0
    for entry in golden_entries:
        of, inputs = entry["name"], dict(entry["inputs"])
        if not of.startswith("rappor_") or of == "rappor_decode_t":
            continue
        parameters = RapporParameters(**{"k": 8, **inputs})
        found = {
            "rappor_q_star": parameters.q_star,
            "rappor_p_star": parameters.p_star,
            "rappor_eps1": single_epsilon(parameters),
            "rappor_eps_inf": permanent_epsilon(parameters),
        }[of]
        assert found == pytest.approx(entry["value"], abs=1e-11)
        seen += 1
    assert seen == 11


def test_the_figures_of_the_issue() -> None:
    parameters = RapporParameters(f=0.5, p=0.5, q=0.75, h=2)
    assert (parameters.q_star, parameters.p_star) == (0.6875, 0.5625)
    one = cost(parameters)
    assert one.one == pytest.approx(1.0742858642, abs=5e-11)
    assert one.permanent == pytest.approx(4.3944491547, abs=5e-11)
    assert cost(parameters, 3).charged == pytest.approx(3 * one.one)
    assert cost(parameters, 50).charged == one.permanent
    assert cost(parameters).decimal() == Decimal("1.074286")


@given(f=noisy, p=chances, q=chances, reports=st.integers(1, 4))
def test_the_exact_cost_is_that_of_every_sequence_of_reports(f: float, p: float, q: float, reports: int) -> None:
    if p == q:
        return
    # Two values with one bit each of their own: reports of two bits.
    parameters = RapporParameters(k=2, h=1, m=1, f=f, p=p, q=q)

    def chance(bit: int, seen: tuple[int, ...]) -> float:
        total = 0.0
        for kept, weight in ((bit, 1 - f / 2), (1 - bit, f / 2)):
            one = q if kept else p
            total += weight * math.prod(one if s else 1 - one for s in seen)
        return total

    worst = 0.0
    for first, second in itertools.product(itertools.product((0, 1), repeat=reports), repeat=2):
        own, other = chance(1, first) * chance(0, second), chance(0, first) * chance(1, second)
        if own > 0:
            worst = max(worst, math.inf if other == 0 else math.log(own / other))
    found = cost(parameters, reports)
    assert found.exact == pytest.approx(worst, rel=1e-9)
    assert worst <= found.exact * (1 + 1e-9)
    assert found.exact <= found.charged


def test_no_coin_toss_bounds_nothing_in_the_long_run() -> None:
    once = cost(RapporParameters(f=0, p=0.5, q=0.75), 1)
    assert math.isinf(once.permanent)
    assert once.charged == pytest.approx(2 * math.log(3))
    assert cost(RapporParameters(f=0, p=0.5, q=0.75), 10).charged == pytest.approx(20 * math.log(3))


@pytest.mark.parametrize(("p", "q"), [(0.0, 1.0), (0.5, 1.0), (0.0, 0.75)])
def test_an_infinite_cost_is_never_charged(p: float, q: float) -> None:
    endless = cost(RapporParameters(f=0, p=p, q=q), 1)
    assert math.isinf(endless.charged)
    with pytest.raises(ParameterError, match="infinite epsilon"):
        endless.decimal()


@given(f=noisy, p=chances, q=chances)
def test_the_integers_never_tell_more_than_the_parameters(f: float, p: float, q: float) -> None:
    if p == q:
        return
    parameters = RapporParameters(f=f, p=p, q=q)
    one, zero = parameters.permanent_integers()
    assert one + zero == ONE
    assert zero / ONE >= f / 2 * (1 - 1e-15)
    high, low = parameters.instant_integers()
    assert abs(high - low) <= abs(q - p) * ONE + 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"p": 0.5, "q": 0.5}, "a report would say nothing"),
        ({"f": 1.0}, "a coin toss"),
        ({"h": 3, "k": 2}, "hash functions"),
        ({"p": 1.5}, "p = 1.5"),
        ({"k": 0}, "k = 0"),
        ({"f": math.nan}, "f = nan"),
    ],
)
def test_impossible_parameters_are_refused(given: dict[str, float], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        RapporParameters(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("reports", [0, -1, 1_000_001, True])
def test_an_impossible_number_of_reports_is_refused(reports: int) -> None:
    with pytest.raises(ParameterError, match="reports of a client"):
        cost(RapporParameters(), reports)
