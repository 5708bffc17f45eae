"""Quantiles from a noisy column: intervals that hold as often as they say, for any public table."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from interval_study import draws, population
from pair_study import QUARTILES, study
from scipy import stats

from workbench.params import ParameterError
from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import DenseTable
from workbench.privacy.local.mechanisms import BOUNDED_LAPLACE, GRR, STAIRCASE
from workbench.privacy.local.sampler import TOTAL
from workbench.sanitize.calibrated_columns import protected_columns
from workbench.sanitize.estimates.quantiles import QuantileTests, checked_shares, estimate_quantiles
from workbench.sanitize.forecast import forecast
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.utility_summary import (
    RELATIONS_WAYS_OUT,
    columns_losing_relations,
    noisy_columns,
    relations_words,
)
from workbench.signals.cancel import CancelledError, CancelToken

FALSE_ALARM = 1e-6
WANTED = 0.93


def two_answers(cells: int) -> SimpleNamespace:
    """A table with two answers only, the second the more frequent the greater the value, as for a mean of reports."""
    up = np.linspace(0.2, 0.8, cells)
    weights = np.stack([1 - up, up], axis=1) * float(TOTAL)
    table = DenseTable(weights.astype(np.uint64))
    return SimpleNamespace(channel=lambda: table, outputs=2)


@pytest.mark.parametrize("mechanism", ["grr", "staircase", "bounded-laplace"])
def test_intervals_hold_the_quartiles(mechanism):
    for epsilon in (1.0, 3.0):
        held, _ = study(mechanism, epsilon, "skewed", 400, 21, 12)
        assert stats.binom.sf(held.misses - 1, held.intervals, 0.05) > FALSE_ALARM, held


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["grr", "staircase", "bounded-laplace"])
def test_intervals_hold_the_quartiles_of_a_hundred_tables(mechanism):
    for epsilon in (0.3, 1.0, 3.0):
        for shape, cells in (("skewed", 41), ("uniform", 41), ("discrete", 5)):
            held, _ = study(mechanism, epsilon, shape, 300, cells, 100)
            assert stats.binom.sf(held.misses - 1, held.intervals, 1 - WANTED) > FALSE_ALARM, held


@pytest.mark.parametrize("mechanism", [GRR, STAIRCASE, BOUNDED_LAPLACE], ids=lambda m: m.name)
def test_bisection_finds_the_ends_of_what_is_admitted(mechanism):
    grid = Cells.line(0, 1, 21)
    table = mechanism.build(grid, 2.0)
    random = np.random.default_rng(3)
    counts = draws(population("bell", 21, 800), table.probabilities(), random)
    tests = QuantileTests(table, grid, counts, 0.95)
    for share in QUARTILES:
        low, high = tests.ends(share)
        admitted = [j for j in range(21) if tests.admits(j, share)]
        assert (low, high) == (min(admitted), max(admitted))
        assert admitted == list(range(low, high + 1))


def test_without_noise_the_quantile_is_that_of_the_rows():
    grid = Cells.line(0, 10, 11)
    table = GRR.build(grid, 30.0)
    truth = np.array([0, 300, 500, 200, 0, 0, 400, 0, 300, 200, 100])
    lower, median, upper = estimate_quantiles("x", grid, table, truth, QUARTILES, 0.95)
    values = np.repeat(np.arange(11), truth)
    found = [np.quantile(values, q, method="inverted_cdf") for q in QUARTILES]
    assert [lower.estimate, median.estimate, upper.estimate] == found
    assert all(q.low <= q.estimate <= q.high and q.high - q.low <= 4 for q in (lower, median, upper))


def test_quantiles_are_of_the_rows_with_a_value():
    grid = Cells.line(0, 10, 11, missing=True)
    table = BOUNDED_LAPLACE.build(grid, 6.0)
    truth = np.append(population("bell", 11, 3000), 3000)
    counts = draws(truth, table.probabilities(), np.random.default_rng(4))
    (median,) = estimate_quantiles("x", grid, table, counts, (0.5,), 0.95)
    true = float(np.median(np.repeat(np.arange(11), truth[:-1])))
    assert median.low <= true <= median.high
    assert not median.hidden


def test_a_table_with_fewer_answers_than_values_has_honest_intervals():
    grid, table = Cells.line(0, 1, 31), two_answers(31)
    truth = population("bell", 31, 20_000)
    chances = table.channel().rows(np.arange(31))
    random, missed = np.random.default_rng(5), 0
    true = grid.values[int(np.argmax(np.cumsum(truth) >= 10_000))]
    for _ in range(20):
        (median,) = estimate_quantiles("x", grid, table, draws(truth, chances, random), (0.5,), 0.95)
        missed += not median.low <= true <= median.high
    assert stats.binom.sf(missed - 1, 20, 0.05) > FALSE_ALARM
    assert median.high - median.low > 0.3, "one mean of two answers says little of a median"


def test_an_interval_of_nearly_everything_is_told_as_hidden():
    grid = Cells.line(0, 1, 41)
    table = GRR.build(grid, 0.1)
    counts = draws(population("bell", 41, 200), table.probabilities(), np.random.default_rng(6))
    (median,) = estimate_quantiles("x", grid, table, counts, (0.5,), 0.95)
    assert median.hidden
    assert median.to_plain()["hidden"] is True


def test_what_has_no_quantiles_is_refused():
    names = Cells(size=3)
    with pytest.raises(ParameterError, match="names, which have no quantiles"):
        estimate_quantiles("x", names, GRR.build(names, 1.0), np.array([1, 2, 3]), (0.5,), 0.95)
    grid = Cells.line(0, 1, 5)
    with pytest.raises(ParameterError, match="no rows"):
        estimate_quantiles("x", grid, GRR.build(grid, 1.0), np.zeros(5, dtype=int), (0.5,), 0.95)
    for wrong in (0.0, 1.0, float("nan")):
        with pytest.raises(ParameterError, match="not between 0 and 1"):
            checked_shares((wrong,))
    assert checked_shares((0.5, 0.25, 0.5)) == (0.25, 0.5)


def test_it_is_cancelled():
    grid = Cells.line(0, 1, 41)
    table = STAIRCASE.build(grid, 1.0)
    counts = draws(population("bell", 41, 900), table.probabilities(), np.random.default_rng(7))
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        estimate_quantiles("x", grid, table, counts, (0.5,), 0.95, token)


# -- How much of a correlation is left after one column was randomised: forecast from public quantities alone


GLUCOSE = Column(
    name="Glucose", kind="integer", lower=0, upper=200, mechanism="staircase", purpose="values", epsilon=0.5
)
OUTCOME = Column(name="Outcome", kind="category", domain=("0", "1"), mechanism="grr", epsilon=0.5)
ROWS = 200_000


def plan(glucose: float, outcome: float = 0.5, **more: object) -> Plan:
    columns = (replace(GLUCOSE, epsilon=glucose, **more), replace(OUTCOME, epsilon=outcome))
    return Plan(epsilon=glucose + outcome, columns=columns)


def kept(made: Plan, name: str) -> float:
    return next(c.relations_kept for c in forecast(made).columns if c.name == name)


@pytest.mark.parametrize("mechanism", ["staircase", "bounded-laplace", "grr"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_the_forecast_is_what_a_draw_does_to_a_straight_line(mechanism, epsilon):
    made = plan(epsilon, mechanism=mechanism)
    glucose, _ = protected_columns(made)
    generator = np.random.default_rng(1)
    cells = generator.integers(0, 201, ROWS).astype(np.uint32)
    other = cells + generator.normal(0, 80, ROWS)  # any column that depends on it by a straight line
    drawn = glucose.randomiser.sample(cells, SeededEntropy(2))
    before, after = np.corrcoef(cells, other)[0, 1], np.corrcoef(drawn, other)[0, 1]
    # The error of a correlation of n rows is at most 1/√n: five of them.
    assert after == pytest.approx(before * kept(made, "Glucose"), abs=5 / ROWS**0.5)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("size", [2, 5])
def test_of_names_it_is_the_part_of_cramers_v(epsilon, size):
    names = tuple("abcde"[:size])
    made = plan(1.0, epsilon)
    made = replace(made, columns=(made.columns[0], replace(made.columns[1], domain=names)))
    _, outcome = protected_columns(made)
    generator = np.random.default_rng(3)
    cells = generator.integers(0, size, ROWS).astype(np.uint32)
    other = np.where(generator.random(ROWS) < 0.6, cells, generator.integers(0, size, ROWS))
    drawn = outcome.randomiser.sample(cells, SeededEntropy(4))
    same = [float(np.mean(one == other)) - 1 / size for one in (cells, drawn)]
    assert same[1] == pytest.approx(same[0] * kept(made, "Outcome"), abs=5 / ROWS**0.5)
    assert kept(made, "Outcome") == pytest.approx(np.expm1(epsilon) / (size - 1 + np.exp(epsilon)), abs=1e-9)


def test_a_column_like_glucose_at_a_small_share_is_warned_of_with_a_way_out():
    made = forecast(plan(0.5, 5.0))
    assert [c.name for c in columns_losing_relations(made)] == ["Glucose"]
    assert relations_words(made) == (
        "Relations with other columns shrink: Glucose to about 11 %. This assumes values spread evenly over the "
        "declared range; values that are close together lose more."
    )
    assert "release synthetic rows or a private model" in RELATIONS_WAYS_OUT
    assert noisy_columns(made, 768) == ("Glucose",)  # both are said of it, and agree


def test_values_that_are_nearer_than_a_constant_can_still_lose_their_relations():
    made = forecast(plan(1.8, 5.0))
    assert noisy_columns(made, 768) == ()
    assert "Glucose to about 4" in relations_words(made)


@pytest.mark.parametrize(
    "made",
    [
        plan(6.0, 5.0),
        plan(0.5, 5.0, purpose="statistics"),  # a mean does not rest on relations
        Plan(epsilon=0.5, columns=(GLUCOSE,)),  # alone it has none
    ],
)
def test_no_warning_where_relations_stay_or_do_not_matter(made):
    assert relations_words(forecast(made)) == ""


@pytest.mark.slow
def test_of_many_faded_columns_the_weakest_are_named():
    columns = tuple(replace(GLUCOSE, name=f"c{i}", epsilon=0.1 + 0.05 * i) for i in range(7))
    told = relations_words(forecast(Plan(epsilon=10, columns=columns)))
    assert "c0 to about 2 %, c1 to" in told
    assert "and 3 more to less than half. This is" in told
