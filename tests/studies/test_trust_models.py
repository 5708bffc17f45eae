"""Central, shuffled and local reports at one ε: errors beside closed forms, and what leaks beside brute force."""

import itertools
import math

import numpy as np
import pytest

from workbench.params import CancelledError, ParameterError
from workbench.privacy.accounting.closed_form_costs import randomised_response, shuffled
from workbench.signals.cancel import CancelToken
from workbench.studies import trust_models as study
from workbench.studies.trust_models import Simulation, attack, compare_trust, local_epsilon, measure


def enumerated(epsilon: float, rows: int, values: int, delta: float) -> float:
    """ε at δ of the counts of the values 0 and 1, by all collections of reports."""
    p, q, _ = randomised_response(epsilon, values)
    of_value = np.full((values, values), q) + np.eye(values) * (p - q)
    groups = []
    for own in (0, 1):
        chances: dict[tuple[int, int], float] = {}
        for reports in itertools.product(range(values), repeat=rows):
            chance = of_value[own][reports[0]] * math.prod(of_value[2][r] for r in reports[1:])
            seen = reports.count(0), reports.count(1)
            chances[seen] = chances.get(seen, 0.0) + chance
        groups.append(chances)
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        divergence = sum(max(groups[0][at] - math.exp(middle) * groups[1][at], 0.0) for at in groups[0])
        low, high = (middle, high) if divergence > delta else (low, middle)
    return low


@pytest.mark.parametrize(("epsilon", "rows", "values"), [(1.0, 5, 3), (2.0, 4, 4), (3.0, 6, 3)])
def test_the_attack_is_the_sum_over_all_collections(epsilon, rows, values):
    for delta in (1e-3, 0.05):
        found = attack(epsilon, rows, delta, values)
        assert found == pytest.approx(enumerated(epsilon, rows, values, delta), abs=2e-3)


@pytest.mark.parametrize(
    ("epsilon", "rows", "values"), [(0.5, 300, 3), (2.0, 1000, 8), (3.0, 1000, 3), (4.0, 10**6, 20)]
)
def test_no_attack_is_beyond_the_bound(epsilon, rows, values):
    for delta in (1e-8, 1e-4, 1e-2):
        assert attack(epsilon, rows, delta, values) <= shuffled(epsilon, rows, delta).epsilon


def test_what_is_measured_is_below_what_is_computed(monkeypatch):
    monkeypatch.setattr(study, "COLLECTIONS", 200_000)
    found = measure(3.0, 500, 1e-4, 3, seed=1)
    assert 0.2 < found.epsilon < attack(3.0, 500, 1e-4, 3)
    assert found.confidence == 1 - 1e-6


def test_errors_are_those_of_the_closed_forms(monkeypatch):
    monkeypatch.setattr(study, "COLLECTIONS", 1000)
    rows, delta = 4000, 1e-6
    found = compare_trust(2.0, rows, delta, Simulation(values=4, repeats=3000))
    assert found.epsilon == shuffled(2.0, rows, delta).epsilon
    # Mean |discrete Laplace| of scale 2/ε is 1/sinh(ε/2); reports are binomial, so their error is nearly normal.
    assert found.shares["central"][0] == pytest.approx(1 / math.sinh(found.epsilon / 2) / rows, rel=0.03)
    weights = np.array([1, 1 / 2, 1 / 3, 1 / 4]) / (25 / 12)
    for model, epsilon in (("shuffled", 2.0), ("local", found.epsilon)):
        p, q, _ = randomised_response(epsilon, 4)
        variance = (weights * p * (1 - p) + (1 - weights) * q * (1 - q)) / rows / (p - q) ** 2
        assert found.shares[model][0] == pytest.approx(np.sqrt(2 * variance / math.pi).mean(), rel=0.03)
    size = 1 / math.tanh(1.0)
    second = (weights * np.linspace(-1, 1, 4) ** 2).sum()
    assert found.mean["shuffled"][0] == pytest.approx(math.sqrt(2 * (size**2 - second) / math.pi / rows) / 2, rel=0.05)
    assert found.shares["central"][0] < found.shares["shuffled"][0] < found.shares["local"][0]


def test_many_values_are_reported_by_unary_encoding(monkeypatch):
    monkeypatch.setattr(study, "COLLECTIONS", 1000)
    found = compare_trust(1.0, 10_000, 1e-6, Simulation(values=200, repeats=300))
    rare = 2 * math.exp(0.5) / math.expm1(1) / math.sqrt(10_000)
    assert found.shares["shuffled"][0] == pytest.approx(rare * math.sqrt(2 / math.pi), rel=0.05)


def test_the_local_epsilon_of_a_central_one_is_the_largest_that_fits():
    for epsilon in (0.05, 0.5, 2.0):
        local = local_epsilon(epsilon, 10_000, 1e-6)
        assert shuffled(local, 10_000, 1e-6).epsilon <= epsilon
        assert shuffled(local * 1.001, 10_000, 1e-6).epsilon > epsilon or local == 20
    assert local_epsilon(1.0, 2, 1e-6) >= 1.0


def test_sentences_name_the_bound_and_what_was_reached(monkeypatch):
    monkeypatch.setattr(study, "COLLECTIONS", 1000)
    found = compare_trust(2.0, 1000, 1e-6, Simulation(repeats=10))
    assert "times smaller" in found.sentences[0]
    assert f"{found.attack:.3g} (computed)" in found.sentences[1]
    again = compare_trust(2.0, 1000, 1e-6, Simulation(repeats=10))
    assert again.to_plain() == found.to_plain()


def test_one_report_and_a_cancelled_run_are_refused():
    with pytest.raises(ParameterError, match="at least two"):
        compare_trust(1.0, 1, 1e-6)
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        compare_trust(1.0, 100, 1e-6, cancel=token)
