"""Frequency oracles: exact ε by looking at every report of a small domain, and frequencies that are unbiased."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from workbench.params import ParameterError
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.error_profile import error_profile
from workbench.privacy.local.frequency import OLH, ORACLES, OUE, SUE, frequencies, variance
from workbench.privacy.local.frequency.olh import MODULUS, LocalHashing
from workbench.privacy.local.frequency.unary import UnaryEncoding
from workbench.privacy.local.mechanism_table import log_at_most
from workbench.privacy.local.mechanisms import FREQUENCY_ONLY, GRR
from workbench.privacy.local.sampler import TOTAL

EPSILONS = (1e-6, 0.1, 0.5, 1.0, math.log(3), 2.0, 5.0, 10.0, 30.0)
ROWS = 60_000


def every_oracle(function):
    return pytest.mark.parametrize("kind", ORACLES, ids=lambda k: k.name)(function)


def test_the_list_is_the_one_that_plans_refuse():
    assert tuple(kind.name for kind in ORACLES) == FREQUENCY_ONLY


@pytest.mark.parametrize("kind", [OUE, SUE], ids=lambda k: k.name)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_epsilon_of_bits_is_that_of_every_report(kind, epsilon):
    """Of three values there are eight reports: the chance of each under each value, as an exact fraction."""
    made = kind.build(3, epsilon)
    assert isinstance(made, UnaryEncoding)
    p, q = (Fraction(i, TOTAL) for i in made.integers())
    worst = Fraction(1)
    for report in itertools.product((0, 1), repeat=3):
        chances = []
        for value in range(3):
            bits = [p if at == value else q for at in range(3)]
            chances.append(math.prod(b if bit else 1 - b for b, bit in zip(bits, report, strict=True)))
        worst = max(worst, max(chances) / min(chances))
    assert made.exact_ratio == worst
    assert log_at_most(worst, epsilon)
    assert made.exact_epsilon >= epsilon * (1 - 1e-6) - 1e-15


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_epsilon_of_hashes_is_that_of_every_report(epsilon):
    """The function does not depend on the value: under each, the answers of two values differ as their cells do."""
    made = OLH.build(4, epsilon)
    assert isinstance(made, LocalHashing)
    p, q = made.answer_chances()
    assert p + (made.cells - 1) * q == TOTAL
    worst = Fraction(1)
    functions = np.random.default_rng(0).integers(0, MODULUS, size=(200, 2))
    for function in functions:
        cells = made.hashed(np.repeat(function[None], 4, axis=0), np.arange(4))
        for answer in set(cells.tolist()):
            chances = [p if cell == answer else q for cell in cells]
            worst = max(worst, Fraction(max(chances), min(chances)))
    assert made.exact_ratio == worst
    assert log_at_most(worst, epsilon)
    assert made.exact_epsilon >= epsilon * (1 - 1e-6) - 1e-15


@every_oracle
def test_the_estimate_is_unbiased_and_has_the_variance_that_is_told(kind):
    """Ten shares of one table, 400 collections: the mean and the variance of each estimate, within 5.5 errors."""
    made = kind.build(10, 1.0)
    truth = np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.03, 0.02, 0.0, 0.0])
    values = np.repeat(np.arange(10), (truth * 1000).astype(int))
    entropy = SeededEntropy(5)
    found = np.array([[f.estimate for f in frequencies(made, made.encode(values, entropy))] for _ in range(400)])
    told = np.array([variance(made, f) / 1000 for f in truth])
    assert np.all(np.abs(found.mean(axis=0) - truth) < 5.5 * np.sqrt(told / 400))
    assert np.all(np.abs(found.var(axis=0, ddof=1) / told - 1) < 5.5 * math.sqrt(2 / 399))


@every_oracle
def test_intervals_hold_as_often_as_they_say(kind):
    made = kind.build(5, 1.5)
    values = np.repeat(np.arange(5), [0, 20, 180, 300, 500])
    truth, entropy, missed = np.array([0.0, 0.02, 0.18, 0.3, 0.5]), SeededEntropy(8), 0
    for _ in range(300):
        for own, found in zip(truth, frequencies(made, made.encode(values, entropy), 0.9), strict=True):
            assert 0 <= found.low <= found.high <= 1
            missed += not found.low <= own <= found.high
    assert stats.binomtest(missed, 1500, 0.1, alternative="greater").pvalue > 1e-6


@every_oracle
def test_reports_of_many_values_cost_no_more_noise_and_those_of_few_more_than_randomised_response(kind):
    for size, better in ((4, False), (300, True)):
        cells = Cells(size=size)
        of_grr = float(error_profile(GRR.build(cells, 1.0), cells).variance[-1])
        assert (variance(kind.build(size, 1.0), 0.0) < of_grr) is better


@every_oracle
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-7])
def test_impossible_epsilon_is_refused(kind, epsilon):
    with pytest.raises(ParameterError):
        kind.build(3, epsilon)


@every_oracle
def test_what_cannot_be_reported_or_estimated_is_refused(kind):
    with pytest.raises(ParameterError):
        kind.build(1, 1.0)
    made = kind.build(3, 1.0)
    for outside in (-1, 3):
        with pytest.raises(IndexError):
            made.encode(np.array([0, outside]), OsEntropy())
    with pytest.raises(ParameterError, match="no reports"):
        frequencies(made, made.encode(np.zeros(0, dtype=np.int64), OsEntropy()))
    with pytest.raises(ParameterError, match="confidence"):
        frequencies(made, made.encode(np.zeros(3, dtype=np.int64), OsEntropy()), 1.0)


def test_an_encoding_above_its_claim_is_caught():
    """Both bits of symmetric encoding at e^ε instead of e^(ε/2): twice the ε."""
    p = int(TOTAL * math.e / (1 + math.e))
    with pytest.raises(ParameterError, match="above 1"):
        UnaryEncoding(3, p, TOTAL - p, 1.0)
