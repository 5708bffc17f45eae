"""Estimates from released cells: unbiased where they say so, and intervals that cover."""

import numpy as np
import pytest
from scipy import stats

from workbench.params import CancelledError, ParameterError
from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, integer_rows
from workbench.privacy.local.mechanisms import BOUNDED_LAPLACE, GRR, STAIRCASE
from workbench.privacy.local.unbiased import unbiased
from workbench.sanitize.estimates import estimate_names, estimate_numbers
from workbench.sanitize.estimates.column import at_least, at_most
from workbench.sanitize.estimates.interval import Interval, possible
from workbench.sanitize.estimates.likelihood import GAP, maximum_likelihood
from workbench.signals.cancel import CancelToken

AGES = Cells.line(0, 120, 121)
REPEATS = 60


def _ages(rows: int) -> np.ndarray:
    return np.clip(np.random.default_rng(5).normal(35, 12, rows), 0, 120).round().astype(np.uint16)


@pytest.mark.parametrize(("mechanism", "epsilon", "rows"), [(BOUNDED_LAPLACE, 4.0, 2000), (GRR, 4.0, 4000)])
def test_a_mean_called_unbiased_is(mechanism, epsilon, rows):
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
def test_intervals_of_the_mean_cover(mechanism, epsilon):
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


def test_a_staircase_has_no_unbiased_estimator_and_says_so():
    cells = Cells.line(0, 100, 101)
    table = STAIRCASE.build(cells, 1.0)
    assert np.linalg.matrix_rank(table.probabilities(), tol=1e-9) < 101
    counts = np.bincount(table.sample(np.full(500, 30, np.uint16), SeededEntropy(1)), minlength=101)
    assert estimate_numbers("x", cells, table, counts, 0.95).biased


def test_frequencies_of_randomised_response_are_unbiased_and_covered():
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


def test_missing_values_are_estimated_beside_the_mean_of_the_others():
    cells = Cells.line(0, 10, 11, missing=True)
    table = GRR.build(cells, 6.0)
    true = np.concatenate([np.full(3000, 4), np.full(1000, 11)]).astype(np.uint16)
    counts = np.bincount(table.sample(true, SeededEntropy(4)), minlength=12)
    made = estimate_numbers("x", cells, table, counts, 0.95)
    assert made.mean is not None
    assert made.missing is not None
    assert made.mean.low <= 4 <= made.mean.high
    assert made.missing.low <= 0.25 <= made.missing.high
    assert made.mean.high - made.mean.low < 1


def test_maximum_likelihood_stays_on_the_simplex_and_fits():
    table = STAIRCASE.build(Cells.line(0, 1, 20), 3.0)
    truth = np.array([0.5, 0, 0, 0, 0, 0.5, *np.zeros(14)])
    counts = np.round(truth @ table.probabilities() * 1e6).astype(np.int64)
    fitted = maximum_likelihood(table.channel(), counts).frequencies
    assert fitted.min() >= 0
    assert fitted.sum() == pytest.approx(1)
    assert np.abs(fitted @ table.probabilities() - counts / counts.sum()).max() < 2e-3


def test_an_empty_table_cannot_be_estimated_from():
    with pytest.raises(ParameterError, match="no rows"):
        estimate_numbers("x", AGES, STAIRCASE.build(AGES, 1.0), np.zeros(121, np.int64), 0.95)


def _incomes(cells: int, rows: int) -> np.ndarray:
    """Cells of heavy-tailed values whose mean is a tenth of their range, as in a census."""
    values = stats.lognorm(0.9, scale=27_000).ppf((np.arange(rows) + 0.5) / rows)
    return np.clip(np.round(values / 400_000 * (cells - 1)), 0, cells - 1).astype(np.uint16)


@pytest.mark.parametrize("epsilon", [0.5, pytest.param(2.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mechanism", [GRR, BOUNDED_LAPLACE, STAIRCASE], ids=lambda m: m.name)
def test_means_of_two_million_heavy_tailed_rows_are_in_their_intervals(mechanism, epsilon):
    """At 1 − 1e-7; where the estimate is unbiased it also says so and is not an end of its interval."""
    grid = Cells.line(0, 400_000, 401)
    cells = _incomes(401, 2_000_000)
    table = mechanism.build(grid, epsilon)
    counts = np.bincount(table.sample(cells, SeededEntropy(3)), minlength=401)
    made = estimate_numbers("income", grid, table, counts, 1 - 1e-7)
    mean, truth = made.mean, float(np.mean(np.asarray(grid.values)[cells]))
    assert mean is not None
    assert mean.low <= truth <= mean.high
    assert made.biased == (mechanism is STAIRCASE)
    assert made.bias_bound > 0 if made.biased else made.bias_bound == 0
    assert 0 <= mean.consistent <= 400_000
    assert made.gap <= GAP


@pytest.mark.parametrize(("mechanism", "epsilon"), [(GRR, 2.0), (BOUNDED_LAPLACE, 0.5), (STAIRCASE, 2.0)])
def test_the_likelihood_of_4001_cells_is_run_to_its_maximum(mechanism, epsilon):
    """The gap is recomputed from the table itself: n·(max D − 1) bounds what any frequencies could add."""
    truth = np.bincount(_incomes(4001, 200_000), minlength=4001) / 200_000
    table = mechanism.build(Cells.line(0, 400_000, 4001), epsilon)
    chances = table.probabilities()
    counts = np.random.default_rng(1).multinomial(200_000, truth @ chances)
    found = maximum_likelihood(table.channel(), counts)
    slope = chances @ (counts / np.maximum(found.frequencies @ chances, 1e-300))
    assert found.frequencies.min() >= 0
    assert found.frequencies.sum() == pytest.approx(1, abs=1e-12)
    assert slope.max() - 200_000 <= GAP + 1e-5
    assert found.converged


def test_a_search_for_the_maximum_can_be_cancelled(monkeypatch):
    after = "workbench.sanitize.estimates.column.Functionals"
    monkeypatch.setattr(after, lambda *given: pytest.fail("the search did not hear it"))
    cancel = CancelToken()
    cancel.cancel()
    table = STAIRCASE.build(AGES, 1.0)
    with pytest.raises(CancelledError):
        estimate_numbers("x", AGES, table, np.full(121, 7), 0.95, cancel)


@pytest.mark.parametrize(("keep", "other"), [(0.75, 0.25), (0.5, 0.1), (0.3, 0.01), (0.999, 0.0005), (0.05, 0.0001)])
def test_saddlepoint_tails_are_at_least_nine_tenths_of_the_exact_ones(keep, other):
    for rows in (1, 2, 5, 20, 100, 1000):
        for holders in sorted({0, 1, rows // 10, rows // 3, rows // 2, rows - 1, rows}):
            own = stats.binom.pmf(np.arange(holders + 1), holders, keep)
            rest = stats.binom.pmf(np.arange(rows - holders + 1), rows - holders, other)
            chances = np.convolve(own, rest)
            counts, m = np.arange(rows + 1.0), np.full(rows + 1, float(holders))
            for exact, tail in (
                (chances[::-1].cumsum()[::-1], at_least(counts, m, rows, keep, other)),
                (chances.cumsum(), at_most(counts, m, rows, keep, other)),
            ):
                judged = (exact > 1e-4) & (exact < 0.2)
                assert np.all(tail[judged] >= 0.9 * exact[judged])
                assert np.all(tail[judged] <= 1.15 * exact[judged])


def test_names_of_a_table_that_is_not_symmetric_are_unbiased():
    chances = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.25, 0.15, 0.6]])
    table = MechanismTable(integer_rows(chances), claim=2.0)
    truth = np.array([500, 300, 200])
    random = np.random.default_rng(8)
    found, misses = [], 0
    for _ in range(200):
        counts = sum(random.multinomial(n, row) for n, row in zip(truth, chances, strict=True))
        made = estimate_names("x", ("a", "b", "c"), table, counts, missing=False, confidence=0.95)
        assert not made.biased
        assert made.frequencies is not None
        found.append([i.estimate for i in made.frequencies.values()])
        misses += sum(not i.low <= t / 1000 <= i.high for i, t in zip(made.frequencies.values(), truth, strict=True))
    error = np.std(found, axis=0, ddof=1) / np.sqrt(200)
    assert np.all(np.abs(np.mean(found, axis=0) - truth / 1000) < 5.5 * error)
    assert stats.binom.sf(misses - 1, 600, 0.05) > 1e-6


def test_a_table_of_names_without_an_unbiased_estimator_is_estimated_by_likelihood():
    chances = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.4, 0.35, 0.25]])  # the third row is between the others
    table = MechanismTable(integer_rows(chances), claim=1.0)
    made = estimate_names("x", ("a", "b", "c"), table, np.array([400, 350, 250]), missing=False, confidence=0.95)
    assert made.biased
    assert made.method == "maximum likelihood"
    assert made.frequencies is not None
    assert sum(i.estimate for i in made.frequencies.values()) == pytest.approx(1)
    assert all(0 <= i.low <= i.estimate <= i.high <= 1 for i in made.frequencies.values())


def test_a_mean_that_the_table_determines_is_unbiased_though_the_table_is_singular():
    """Five rows that depend on the value alone through its mean: rank 2, and yet P g = value has solutions."""
    values = np.linspace(-1, 1, 5)
    chances = np.array([[0.2 - 0.09 * v, 0.3, 0.3 - 0.09 * v, 0.1 + 0.09 * v, 0.1 + 0.09 * v] for v in values])
    table = MechanismTable(integer_rows(chances), claim=3.0)
    grid = Cells.line(-1, 1, 5)
    linear = unbiased(table.channel(), values)
    assert np.linalg.matrix_rank(chances) == 2
    assert linear is not None
    made = estimate_numbers("x", grid, table, np.array([100, 300, 200, 200, 200]), 0.95)
    assert not made.biased
    assert made.mean is not None
    # Of all solutions the one of least mean square: answers of equal meaning have equal values.
    assert linear.values[3] == pytest.approx(linear.values[4])


def test_negative_frequencies_stand_beside_consistent_ones():
    table = GRR.build(Cells(size=4), 1.0)
    made = estimate_names("x", tuple("abcd"), table, np.array([900, 400, 350, 100]), missing=False, confidence=0.95)
    assert made.frequencies is not None
    raw = [i.estimate for i in made.frequencies.values()]
    consistent = [i.consistent for i in made.frequencies.values()]
    assert min(raw) < 0
    assert sum(raw) == pytest.approx(1)
    assert min(consistent) == 0
    assert sum(consistent) == pytest.approx(1)
    assert all(0 <= i.low <= i.consistent <= i.high <= 1 for i in made.frequencies.values())


@pytest.mark.parametrize("mechanism", [BOUNDED_LAPLACE, GRR, STAIRCASE], ids=lambda m: m.name)
@pytest.mark.parametrize("missing", [False, True])
def test_intervals_of_a_mean_stay_within_the_bounds_and_are_never_empty(mechanism, missing):
    """Few rows at a small ε, whose unbiased estimate is far outside: [-2.15, -0.06] of 0 to 20 was seen."""
    cells = Cells.line(0, 20, 21, missing=missing)
    table = mechanism.build(cells, 0.3)
    outputs = table.channel().outputs
    outside = 0
    for seed in range(40):
        rows = np.random.default_rng(seed).choice([0, 20, *([21] if missing else [])], 12)
        counts = np.bincount(table.sample(rows, SeededEntropy(seed)), minlength=outputs)
        made = estimate_numbers("x", cells, table, counts, 0.95)
        assert made.mean is not None
        assert 0 <= made.mean.low <= made.mean.consistent <= made.mean.high <= 20
        outside += not 0 <= made.mean.estimate <= 20
        if made.missing is not None:
            assert 0 <= made.missing.low <= made.missing.consistent <= made.missing.high <= 1
    assert outside > 0 or missing or made.biased


def test_an_interval_that_is_wholly_impossible_becomes_the_nearest_possible_one():
    """All rows say the same although chance would give other answers too; coverage stays, as no truth was in it."""
    assert possible(Interval(-1.1, -2.15, -0.06, 0.4), 0, 20) == Interval(-1.1, 0, 0.4, 0.4)
    assert possible(Interval(9000, 7000, 10_312, 5000), 0, 4000) == Interval(9000, 4000, 4000, 4000)
    table = GRR.build(Cells(size=2), 3.0)
    made = estimate_names("x", ("a", "b"), table, np.array([0, 4000]), missing=False, confidence=0.95)
    assert made.frequencies is not None
    assert [(i.low, i.high) for i in made.frequencies.values()] == [(0, 0), (1, 1)]
