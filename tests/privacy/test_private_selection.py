"""Publishing the best of a random number of tries: the bound holds of a case whose loss is known exactly."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import loss
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.accounting.private_selection import LOGARITHMIC, best_of

SIGMA = 2.0
ONE = PoissonGaussian(1.0, SIGMA, 1)


def exact_delta(epsilon: float, tries: float, number: str) -> float:
    """The exact δ of publishing the largest of K normal draws, whose score is the draw itself.

    P(best ≤ t) is the generating function of K at Φ(t/σ); a neighbour shifts every draw by 1.
    """
    t = np.linspace(-14 * SIGMA, 14 * SIGMA, 200_001)
    if number == LOGARITHMIC:
        low, high = 1e-12, 1 - 1e-12
        for _ in range(200):
            gamma = (low + high) / 2
            low, high = (gamma, high) if (1 / gamma - 1) / math.log(1 / gamma) > tries else (low, gamma)

        def slope(x):
            return (1 - gamma) / ((1 - (1 - gamma) * x) * math.log(1 / gamma))
    else:

        def slope(x):
            return tries * np.exp(tries * (x - 1))

    here = slope(norm.cdf(t / SIGMA)) * norm.pdf(t / SIGMA) / SIGMA
    there = slope(norm.cdf((t - 1) / SIGMA)) * norm.pdf((t - 1) / SIGMA) / SIGMA
    step = t[1] - t[0]
    both = [np.maximum(p - math.exp(epsilon) * q, 0).sum() * step for p, q in ((here, there), (there, here))]
    return float(max(both))


@pytest.mark.parametrize("tries", [1.5, 4.0, 30.0, 1000.0])
def test_the_bound_holds_of_the_largest_of_normal_draws(tries):
    found = best_of([ONE], 1e-6, tries)
    assert exact_delta(found.epsilon, tries, found.number) <= 1e-6
    # The check can fail: what one run costs is not enough for the best of many.
    assert exact_delta(loss(ONE, 1e-6, "pld").epsilon, tries, found.number) > 1e-6


def test_many_tries_cost_far_less_than_all_of_them_and_more_than_one():
    run = PoissonGaussian(0.01, 1.5, 2000)
    one = loss(run, 1e-5, "rdp").epsilon
    costs = [best_of([run], 1e-5, tries).epsilon for tries in (1, 4, 16, 64, 1000)]
    assert costs == sorted(costs)
    assert one <= costs[0] <= 1.01 * one
    assert costs[-1] < 3 * one < 1000 * one


def test_different_settings_cost_as_the_dearest_of_them():
    cheap, dear = PoissonGaussian(0.01, 3.0, 500), PoissonGaussian(0.01, 1.0, 500)
    assert best_of([cheap, dear], 1e-5, 8).epsilon == best_of([dear], 1e-5, 8).epsilon


def test_one_try_for_certain_is_one_run():
    assert best_of([ONE], 1e-6, 1).epsilon == pytest.approx(loss(ONE, 1e-6, "rdp").epsilon, rel=0.01)


@pytest.mark.parametrize(("delta", "tries"), [(0.0, 4), (1.0, 4), (1e-5, 0.5), (1e-5, math.inf), (1e-5, math.nan)])
def test_what_is_no_delta_or_number_of_tries_is_refused(delta, tries):
    with pytest.raises(ParameterError):
        best_of([ONE], delta, tries)


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(ParameterError, match="no run"):
        best_of([], 1e-5, 2)
