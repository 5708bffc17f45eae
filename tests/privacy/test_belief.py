"""Bounds on what an observer can come to believe."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior, total_variation


def test_posterior_bounds_are_the_golden_ones(golden: dict[str, list[dict[str, Any]]]) -> None:
    entries = golden["posterior_upper"]
    assert len(entries) >= 7
    for entry in entries:
        belief = posterior(entry["inputs"]["eps"], entry["inputs"]["prior"])
        assert belief.high == pytest.approx(entry["value"], abs=entry["tolerance"])


def test_total_variation_is_the_golden_one(golden: dict[str, list[dict[str, Any]]]) -> None:
    (entry,) = golden["tv_bound_eps_dp"]
    assert total_variation(entry["inputs"]["eps"]) == pytest.approx(entry["value"], abs=entry["tolerance"])


@given(epsilon=st.floats(0, 2000), prior=st.floats(0, 1))
def test_bounds_enclose_the_prior(epsilon: float, prior: float) -> None:
    belief = posterior(epsilon, prior)
    assert 0 <= belief.low <= prior * (1 + 1e-15)
    assert prior * (1 - 1e-15) <= belief.high <= 1


@given(epsilon=st.floats(0, 30), prior=st.floats(1e-6, 1 - 1e-6))
def test_the_odds_move_by_e_to_the_epsilon(epsilon: float, prior: float) -> None:
    belief = posterior(epsilon, prior)
    odds = prior / (1 - prior)
    assert belief.low / (1 - belief.low) == pytest.approx(odds * math.exp(-epsilon), rel=1e-6)
    doubt = posterior(epsilon, 1 - prior)
    assert belief.high == pytest.approx(1 - doubt.low, abs=1e-9), "the doubt falls as far as the belief rises"


def test_certainty_and_zero_epsilon_do_not_move() -> None:
    assert (posterior(3.0, 0.0).high, posterior(3.0, 1.0).low) == (0.0, 1.0)
    assert posterior(0.0, 0.3).low == posterior(0.0, 0.3).high == pytest.approx(0.3)


@pytest.mark.parametrize(("epsilon", "prior"), [(-1, 0.5), (math.nan, 0.5), (math.inf, 0.5), (1, -0.1), (1, math.nan)])
def test_impossible_beliefs_are_refused(epsilon: float, prior: float) -> None:
    with pytest.raises(ParameterError):
        posterior(epsilon, prior)


def test_the_note_says_that_delta_can_break_the_bounds() -> None:
    assert "δ > 0" in DELTA_NOTE
