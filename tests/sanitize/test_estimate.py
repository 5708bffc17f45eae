"""Estimates from released cells: unbiased where they say so, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from workbench.params import ParameterError
from workbench.privacy.cells import Cells
from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.mechanisms import BOUNDED_LAPLACE, GRR, STAIRCASE, Mechanism
from workbench.sanitize.estimates import estimate_names, estimate_numbers
from workbench.sanitize.estimates.likelihood import maximum_likelihood

AGES = Cells.line(0, 120, 121)
REPEATS = 60


def _ages(rows: int) -> np.ndarray:
    return np.clip(np.random.default_rng(5).normal(35, 12, rows), 0, 120).round().astype(np.uint16)


@pytest.mark.parametrize(("mechanism", "epsilon", "rows"), [(BOUNDED_LAPLACE, 4.0, 2000), (GRR, 4.0, 4000)])
def test_a_mean_called_unbiased_is(mechanism: Mechanism, epsilon: float, rows: int) -> None:
    """Mean of 60 seeded estimates within 5 standard errors of the truth (false alarm 6e-7)."""
    ages = _ages(rows)
    table = mechanism.build(AGES, epsilon)
    estimates = []
    for seed in range(REPEATS):
        counts = np.bincount(table.sample(ages, SeededEntropy(seed)), minlength=121)
        made = estimate_numbers("Age", AGES, table, counts, 0.95)
        assert not made.biased
        assert made.mean is not None
        estimates.append(made.mean.estimate)
    error = np.std(estimates, ddof=1) / np.sqrt(REPEATS)
    assert abs(np.mean(estimates) - ages.mean()) < 5 * error


@pytest.mark.parametrize("mechanism", [BOUNDED_LAPLACE, STAIRCASE], ids=lambda m: m.name)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_intervals_of_the_mean_cover(mechanism: Mechanism, epsilon: float) -> None:
    """At 95 %, 20 or more misses of 60 seeded intervals have a chance below 1e-10."""
    ages = _ages(1500)
    table = mechanism.build(AGES, epsilon)
    misses = 0
    for seed in range(REPEATS):
        counts = np.bincount(table.sample(ages, SeededEntropy(seed)), minlength=121)
        mean = estimate_numbers("Age", AGES, table, counts, 0.95).mean
        assert mean is not None
        misses += not mean.low <= ages.mean() <= mean.high
    assert misses < 12


def test_a_staircase_has_no_unbiased_estimator_and_says_so() -> None:
    cells = Cells.line(0, 100, 101)
    table = STAIRCASE.build(cells, 1.0)
    assert np.linalg.matrix_rank(table.probabilities(), tol=1e-9) < 101
    counts = np.bincount(table.sample(np.full(500, 30, np.uint16), SeededEntropy(1)), minlength=101)
    assert estimate_numbers("x", cells, table, counts, 0.95).biased


def test_frequencies_of_randomised_response_are_unbiased_and_covered() -> None:
    labels = ("a", "b", "c", "d")
    truth = np.array([500, 300, 200, 0])
    cells = np.repeat(np.arange(4, dtype=np.uint16), truth)
    table = GRR.build(Cells(size=4), 1.0)
    found, misses = [], 0
    for seed in range(200):
        counts = np.bincount(table.sample(cells, SeededEntropy(seed)), minlength=4)
        made = estimate_names("x", labels, table, counts, missing=False, confidence=0.95)
        assert not made.biased
        assert made.frequencies is not None
        found.append([made.frequencies[v].estimate for v in labels])
        misses += sum(not i.low <= t / 1000 <= i.high for i, t in zip(made.frequencies.values(), truth, strict=True))
    error = np.std(found, axis=0, ddof=1) / np.sqrt(200)
    assert np.all(np.abs(np.mean(found, axis=0) - truth / 1000) < 5.5 * error)
    assert stats.binom.sf(misses - 1, 800, 0.08) > 1e-6


def test_missing_values_are_estimated_beside_the_mean_of_the_others() -> None:
    cells = Cells.line(0, 10, 11, missing=True)
    table = GRR.build(cells, 6.0)
    true = np.concatenate([np.full(3000, 4), np.full(1000, 11)]).astype(np.uint16)
    counts = np.bincount(table.sample(true, SeededEntropy(2)), minlength=12)
    made = estimate_numbers("x", cells, table, counts, 0.95)
    assert made.mean is not None
    assert made.missing is not None
    assert made.mean.low <= 4 <= made.mean.high
    assert made.missing.low <= 0.25 <= made.missing.high
    assert made.mean.high - made.mean.low < 1


def test_maximum_likelihood_stays_on_the_simplex_and_fits() -> None:
    table = STAIRCASE.build(Cells.line(0, 1, 20), 3.0)
    truth = np.array([0.5, 0, 0, 0, 0, 0.5, *np.zeros(14)])
    counts = np.round(truth @ table.probabilities() * 1e6).astype(np.int64)
    fitted = maximum_likelihood(table.channel(), counts).frequencies
    assert fitted.min() >= 0
    assert fitted.sum() == pytest.approx(1)
    assert np.abs(fitted @ table.probabilities() - counts / counts.sum()).max() < 2e-3


def test_an_empty_table_cannot_be_estimated_from() -> None:
    with pytest.raises(ParameterError, match="no rows"):
        estimate_numbers("x", AGES, STAIRCASE.build(AGES, 1.0), np.zeros(121, np.int64), 0.95)
