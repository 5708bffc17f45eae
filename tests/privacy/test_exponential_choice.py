"""The exponential mechanism over whole-number scores: the exact ratios of its weights."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from workbench.params import ParameterError
from workbench.privacy.central.exponential import exponential_choice, exponential_weights, noisy_max_weights
from workbench.privacy.central.laplace import StudyNoise


def log_of(ratio: Fraction) -> float:
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 1.0, 3.7, 30.0])
@pytest.mark.parametrize("sensitivity", [1, 7])
def test_neighbouring_scores_change_no_probability_by_more_than_epsilon(epsilon: float, sensitivity: int) -> None:
    generator = np.random.default_rng(int(epsilon * 1000) + sensitivity)
    for _ in range(40):
        scores = [int(s) for s in generator.integers(-300, 300, 6)]
        other = [s + int(d) for s, d in zip(scores, generator.integers(-sensitivity, sensitivity + 1, 6), strict=True)]
        one, two = (exponential_weights(s, sensitivity, epsilon) for s in (scores, other))
        for p, q in zip(one, two, strict=True):
            ratio = Fraction(p, sum(one)) / Fraction(q, sum(two))
            assert abs(log_of(ratio)) <= epsilon


def test_the_bound_is_reached_up_to_what_rounding_takes() -> None:
    one, two = exponential_weights([0, 2000], 1, 1.0), exponential_weights([1, 1999], 1, 1.0)
    loss = log_of(Fraction(two[0], sum(two)) / Fraction(one[0], sum(one)))
    assert 1 - 1e-9 < loss <= 1


@pytest.mark.parametrize("epsilon", [0.05, 0.9, 6.0])
def test_a_choice_of_scores_that_move_one_way_loses_within_a_range_of_epsilon(epsilon: float) -> None:
    """The range, and not only the largest loss, is what ρ = ε²/8 rests on; it is used up to rounding."""
    widest = 0.0
    for scores in itertools.product(range(3), repeat=3):
        one = noisy_max_weights(scores, 2, epsilon)
        for moved in itertools.product(range(3), repeat=3):
            two = noisy_max_weights([s + m for s, m in zip(scores, moved, strict=True)], 2, epsilon)
            losses = [log_of(Fraction(p, sum(one)) / Fraction(q, sum(two))) for p, q in zip(one, two, strict=True)]
            widest = max(widest, max(losses) - min(losses))
    assert epsilon * (1 - 1e-9) < widest <= epsilon


def test_the_weight_of_a_score_does_not_depend_on_the_others() -> None:
    short, long = exponential_weights([5, 9], 1, 0.3), exponential_weights([5, 9, -4000], 1, 0.3)
    assert Fraction(short[0], short[1]) == Fraction(long[0], long[1])


def test_drawn_shares_are_those_of_the_weights() -> None:
    noise = StudyNoise(np.random.default_rng(5))
    drawn = np.bincount([exponential_choice([0, 2, 3], 1, 1.0, noise) for _ in range(20_000)], minlength=3) / 20_000
    weights = np.exp(np.array([0, 2, 3]) / 2)
    assert np.abs(drawn - weights / weights.sum()).max() < 0.02  # five standard deviations are 0.018


@pytest.mark.parametrize(
    ("scores", "sensitivity", "epsilon"), [([], 1, 1.0), ([1 << 50], 1, 1.0), ([1], 0, 1.0), ([1], 1, 0.0)]
)
def test_what_is_out_of_range_is_refused(scores: list[int], sensitivity: int, epsilon: float) -> None:
    with pytest.raises(ParameterError):
        exponential_weights(scores, sensitivity, epsilon)


def test_weights_are_bounded_however_large_epsilon_and_the_scores_are() -> None:
    """A floor below the largest score moves with it: no ratio grows, and no weight has millions of bits."""
    one, two = [1 << 39, 5, -(1 << 39)], [(1 << 39) - 1, 6, -(1 << 39)]
    for epsilon in (0.5, 50.0):
        weights, other = (exponential_weights(scores, 1, epsilon) for scores in (one, two))
        assert max(w.bit_length() for w in weights) < 5_000
        assert min(weights) > 0
        for p, q in zip(weights, other, strict=True):
            assert abs(log_of(Fraction(p, sum(weights)) / Fraction(q, sum(other)))) <= epsilon
