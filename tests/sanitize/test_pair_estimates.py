"""Two noisy columns together: correlations and two-way tables with honest intervals."""

import numpy as np
import pytest
from pair_study import answers_of, study, two_columns
from scipy import stats
from test_quantiles import two_answers

from workbench.params import ParameterError
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms import BOUNDED_LAPLACE, GRR, STAIRCASE
from workbench.sanitize.calibrated_columns import protected_column
from workbench.sanitize.estimates.pairs import (
    MOST_PAIRS,
    NoisyColumn,
    PairChannel,
    _coupled,
    _Pair,
    _Side,
    estimate_correlation,
    estimate_pair,
    estimate_two_way,
    pair_refusal,
)
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelledError, CancelToken

FALSE_ALARM = 1e-6
WANTED = 0.93


@pytest.mark.parametrize("mechanism", ["grr", "staircase", "bounded-laplace"])
def test_intervals_hold_the_correlation(mechanism):
    for epsilon in (1.0, 4.0):
        _, held = study(mechanism, epsilon, "uniform", 2000, 9, 20)
        assert stats.binom.sf(held.misses - 1, held.intervals, 0.05) > FALSE_ALARM, held


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["grr", "staircase", "bounded-laplace"])
def test_intervals_hold_the_correlation_of_a_hundred_tables(mechanism):
    for epsilon in (1.0, 3.0, 6.0):
        for shape, cells in (("skewed", 21), ("discrete", 5)):
            _, held = study(mechanism, epsilon, shape, 2000, cells, 100)
            assert stats.binom.sf(held.misses - 1, held.intervals, 1 - WANTED) > FALSE_ALARM, held


def test_without_noise_the_correlation_is_that_of_the_rows():
    grid = Cells.line(0, 1, 21)
    rows = two_columns("uniform", 4000, 21)
    table = GRR.build(grid, 30.0)
    found = estimate_correlation(
        NoisyColumn("a", grid, table, rows[:, 0]), NoisyColumn("b", grid, table, rows[:, 1]), 0.95
    )
    true = float(np.corrcoef(rows.T)[0, 1])
    assert found.estimate == pytest.approx(true, abs=1e-6)
    assert found.low < true < found.high
    assert found.high - found.low < 0.1


def test_little_epsilon_hides_the_correlation_and_is_told():
    grid = Cells.line(0, 1, 21)
    rows = two_columns("skewed", 300, 21)
    table = STAIRCASE.build(grid, 0.3)
    random = np.random.default_rng(1)
    a, b = (answers_of(table.probabilities(), rows[:, side], random) for side in (0, 1))
    found = estimate_correlation(NoisyColumn("a", grid, table, a), NoisyColumn("b", grid, table, b), 0.95)
    assert found.hidden
    assert (found.low, found.high) == (-1.0, 1.0)
    assert found.biased


def test_missing_values_leave_the_rows_that_have_both():
    grid = Cells.line(0, 1, 9, missing=True)
    rows = two_columns("uniform", 20_000, 9)
    random, missed = np.random.default_rng(2), 0
    gone = random.random(rows.shape) < (0.3, 0.2)
    held = np.where(gone, 9, rows)
    both = ~gone.any(axis=1)
    true = float(np.corrcoef(rows[both].T)[0, 1])
    table = BOUNDED_LAPLACE.build(grid, 8.0)
    for _ in range(10):
        a, b = (answers_of(table.probabilities(), held[:, side], random) for side in (0, 1))
        found = estimate_correlation(NoisyColumn("a", grid, table, a), NoisyColumn("b", grid, table, b), 0.95)
        missed += not found.low <= true <= found.high
        assert not found.hidden
    assert stats.binom.sf(missed - 1, 10, 0.05) > FALSE_ALARM


def test_a_table_with_two_answers_says_so_little_that_the_interval_says_it():
    """Of x² there is no estimator at all: what is allowed for covers it."""
    grid, table = Cells.line(0, 1, 21), two_answers(21)
    rows = two_columns("uniform", 5000, 21)
    random = np.random.default_rng(3)
    chances = table.channel().rows(np.arange(21))
    a, b = (answers_of(chances, rows[:, side], random) for side in (0, 1))
    found = estimate_correlation(NoisyColumn("a", grid, table, a), NoisyColumn("b", grid, table, b), 0.95)
    assert found.low <= float(np.corrcoef(rows.T)[0, 1]) <= found.high
    assert found.method == "ratio of nearly unbiased estimates"


@pytest.mark.parametrize("sign", [1, -1])
def test_equal_columns_are_not_hidden_where_hardly_a_row_was_changed(sign):
    """Some of these releases make figures that no table has."""
    grid = Cells.line(0, 1, 21)
    table = GRR.build(grid, 10.0)
    chances = table.probabilities()
    random, missed, wide = np.random.default_rng(8), 0, []
    rows = random.integers(0, 21, 900)
    for _ in range(30):
        a, b = (answers_of(chances, held, random) for held in (rows, rows if sign > 0 else 20 - rows))
        found = estimate_correlation(NoisyColumn("a", grid, table, a), NoisyColumn("b", grid, table, b), 0.95)
        missed += not found.low <= sign <= found.high
        wide.append(found.high - found.low)
    assert stats.binom.sf(missed - 1, 30, 0.05) > FALSE_ALARM
    assert max(wide) < 0.1


@pytest.mark.parametrize("rising", [True, False])
def test_the_noise_that_is_foreseen_is_that_of_releases(rising):
    grid = Cells.line(0, 1, 9)
    table = STAIRCASE.build(grid, 3.0)
    random = np.random.default_rng(9)
    rows = random.integers(0, 9, 200_000)
    held = (rows, rows if rising else 8 - rows)
    columns = [
        NoisyColumn(n, grid, table, answers_of(table.probabilities(), x, random))
        for n, x in zip("ab", held, strict=True)
    ]
    sides = [_Side.of(column, 0.95, CancelToken()) for column in columns]
    pair = _Pair(*columns, *sides, 0.95, CancelToken())
    found = pair._noise_foreseen(rising=rising)
    np.testing.assert_allclose(found, pair._noise, atol=0.03 * float(pair._noise.max()))


def test_shares_are_coupled_in_order_and_a_missing_value_stays_last():
    first, second = np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.5, 0.25])
    for rising, wanted in (
        (True, {(0, 0): 0.25, (0, 1): 0.25, (1, 1): 0.25, (1, 2): 0.05, (2, 2): 0.2}),
        (False, {(0, 1): 0.5, (1, 0): 0.25, (1, 2): 0.05, (2, 2): 0.2}),
    ):
        x, y, shares = _coupled(first, second, 2, rising=rising)
        found = {(int(i), int(j)): float(share) for i, j, share in zip(x, y, shares, strict=True)}
        assert found == pytest.approx(wanted)


def test_a_pair_of_tables_is_their_kronecker_product():
    one = BOUNDED_LAPLACE.build(Cells.line(0, 1, 4), 1.0).channel()
    other = GRR.build(Cells(size=3), 2.0).channel()
    both = PairChannel(one, other)
    whole = np.kron(one.rows(np.arange(4)), other.rows(np.arange(3)))
    random = np.random.default_rng(4)
    wanted = random.random(12)
    np.testing.assert_allclose(both.forward(wanted), whole @ wanted, atol=1e-12)
    np.testing.assert_allclose(both.backward(wanted), wanted @ whole, atol=1e-12)
    np.testing.assert_allclose(both.rows(np.array([5, 0])), whole[[5, 0]], atol=1e-12)
    found = both.solved(wanted)
    assert found is not None
    np.testing.assert_allclose(whole @ found, wanted, atol=1e-9)
    flat = PairChannel(two_answers(5).channel(), other)
    assert (flat.inputs, flat.outputs) == (15, 6)
    np.testing.assert_allclose(flat.backward(np.full(15, 1 / 15)).sum(), 1.0)


def test_intervals_of_a_two_way_table_hold_the_shares():
    one, other = Cells(size=3, missing=True), Cells(size=2)
    tables = GRR.build(one, 1.5), GRR.build(other, 1.0)
    random, missed, number = np.random.default_rng(5), 0, 0
    first = random.choice(4, 3000, p=(0.5, 0.3, 0.15, 0.05))
    second = np.where(random.random(3000) < 0.7, first % 2, 1)
    true = np.bincount(first * 2 + second, minlength=8) / 3000
    for _ in range(25):
        a, b = (answers_of(t.probabilities(), x, random) for t, x in zip(tables, (first, second), strict=True))
        columns = (
            NoisyColumn("a", one, tables[0], a, ("x", "y", "z")),
            NoisyColumn("b", other, tables[1], b, ("no", "yes")),
        )
        found = estimate_two_way(*columns, 0.95)
        missed += sum(not i.low <= t <= i.high for i, t in zip(found.shares.values(), true, strict=True))
        number += 8
    assert stats.binom.sf(missed - 1, number, 0.05) > FALSE_ALARM
    assert not found.biased
    assert list(found.to_plain()["table"]) == ["x", "y", "z", "missing"]
    assert sum(i.consistent for i in found.shares.values()) == pytest.approx(1.0)


def plan() -> Plan:
    """A plan with numbers, a column of two values and one of many."""
    many = tuple(f"v{i}" for i in range(MOST_PAIRS // 2 + 1))
    return Plan(
        epsilon=8,
        columns=(
            Column(name="age", action="protect", kind="integer", lower=0, upper=20),
            Column(name="sex", action="protect", kind="category", domain=("f", "m")),
            Column(name="town", action="protect", kind="category", domain=many),
            Column(name="job", action="protect", kind="category", domain=("a", "b", "c")),
        ),
    )


def test_what_fits_two_columns_is_estimated_and_what_does_not_is_told():
    columns = {c.name: protected_column(plan(), c.name) for c in plan().columns}
    assert pair_refusal(columns["age"], columns["sex"]) == ""
    assert pair_refusal(columns["sex"], columns["job"]) == ""
    assert "no correlation" in pair_refusal(columns["age"], columns["job"])
    assert "pairs of values" in pair_refusal(columns["town"], columns["job"])
    assert "different" in pair_refusal(columns["age"], columns["age"])
    random = np.random.default_rng(6)
    answers = {n: random.integers(0, c.grid.cells.total, 500) for n, c in columns.items()}
    mixed = estimate_pair(columns["age"], columns["sex"], (answers["age"], answers["sex"]), 0.95)
    assert mixed.correlation is not None
    assert mixed.two_way is None
    names = estimate_pair(columns["sex"], columns["job"], (answers["sex"], answers["job"]), 0.95).to_plain()
    assert "correlation" not in names
    assert set(names["table"]["f"]) == {"a", "b", "c"}
    with pytest.raises(ParameterError, match="no correlation with numbers"):
        estimate_pair(columns["age"], columns["job"], (answers["age"], answers["job"]), 0.95)
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        estimate_pair(columns["age"], columns["sex"], (answers["age"], answers["sex"]), 0.95, token)
