"""A table as a linear map: every form is the same table, and its inverse is checked against the table itself."""

import numpy as np
import pytest

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import (
    DENSE_UPTO,
    DenseTable,
    DistanceTable,
    RunTable,
    TwoChances,
    by_runs,
    channel_of,
)
from workbench.privacy.local.error_profile import error_profile, usual_shapes
from workbench.privacy.local.mechanism_table import MechanismTable, integer_rows
from workbench.privacy.local.mechanisms import (
    BOUNDED_LAPLACE,
    DUCHI,
    GRR,
    HYBRID,
    MECHANISMS,
    PIECEWISE,
    SQUARE_WAVE,
    STAIRCASE,
)
from workbench.privacy.local.unbiased import direct, path, unbiased

LARGE = DENSE_UPTO + 89


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("size", [21, LARGE])
@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if not m.two_values], ids=lambda m: m.name)
def test_products_are_those_of_the_integers(mechanism, size, missing):
    size = size if mechanism.most_cells is None else min(size, mechanism.most_cells - 1)
    table = mechanism.build(Cells.line(0, 1, size, missing=missing), 1.3)
    channel, chances = channel_of(table.weights), table.probabilities()
    values = np.random.default_rng(1).normal(size=len(chances))
    assert np.allclose(channel.forward(values), chances @ values, rtol=0, atol=1e-12)
    assert np.allclose(channel.backward(values), values @ chances, rtol=0, atol=1e-12)
    some = np.array([0, 3, len(chances) - 1])
    assert np.allclose(channel.rows(some), chances[some], rtol=1e-12)


def test_large_tables_of_distances_are_recognised_by_their_integers():
    weights = BOUNDED_LAPLACE.build(Cells.line(0, 1, LARGE), 1.0).weights
    assert isinstance(channel_of(weights), DistanceTable)
    moved = weights.copy()
    moved[7, 9] += np.uint64(1 << 45)  # two cells of one row, by a hundred-thousandth
    moved[7, 10] -= np.uint64(1 << 45)
    assert isinstance(channel_of(moved), DenseTable)


def test_randomised_response_is_recognised_and_what_only_resembles_it_is_not():
    weights = GRR.build(Cells(size=5), 1.0).weights
    assert isinstance(channel_of(weights), TwoChances)
    moved = weights.copy()
    moved[2, 3] += np.uint64(1 << 50)
    moved[2, 2] -= np.uint64(1 << 50)
    assert isinstance(channel_of(moved), DenseTable)


@pytest.mark.parametrize("size", [40, LARGE])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("mechanism", [GRR, BOUNDED_LAPLACE], ids=lambda m: m.name)
def test_the_mean_has_an_unbiased_estimator_to_rounding(mechanism, size, missing):
    table = mechanism.build(Cells.line(-1, 1, size, missing=missing), 0.3)
    wanted = np.append(np.linspace(-1, 1, size), np.zeros(int(missing)))
    linear = unbiased(table.channel(), wanted)
    assert linear is not None
    assert np.abs(table.probabilities() @ linear.values - wanted).max() < 1e-9


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("mechanism", [PIECEWISE, SQUARE_WAVE, DUCHI, HYBRID], ids=lambda m: m.name)
def test_large_tables_of_windows_are_taken_by_their_stretches(mechanism, missing):
    """The mean has an unbiased estimator at once, without a decomposition of the table."""
    table = mechanism.build(Cells.line(-1, 1, LARGE, missing=missing), 1.0)
    channel = table.channel()
    assert isinstance(channel, RunTable)
    wanted = np.append(np.linspace(-1, 1, LARGE), np.zeros(int(missing)))
    values = channel.solved(wanted)
    assert values is not None
    assert np.abs(table.probabilities() @ values - wanted).max() < 1e-9
    square = np.append(np.linspace(-1, 1, LARGE) ** 2, np.zeros(int(missing)))
    assert channel.solved(square) is None


@pytest.mark.parametrize("size", [21, LARGE])
def test_an_answer_that_is_never_given_has_no_value_that_could_widen_an_interval(size):
    """Of Duchi's table all but two columns are unused: estimators of anything stay of the size of what is wanted."""
    channel = DUCHI.build(Cells.line(-1, 1, size), 0.5).channel()
    square = np.linspace(-1, 1, size) ** 2
    assert np.count_nonzero(channel.backward(np.full(size, 1 / size))) == 2
    for linear in (*path(channel, square), *filter(None, [direct(channel, np.linspace(-1, 1, size))])):
        assert np.abs(linear.values).max() < 10


def test_a_table_of_many_stretches_is_none_of_few():
    rows = np.random.default_rng(6).uniform(1, 2, (200, 200))
    assert by_runs(MechanismTable(integer_rows(rows), claim=8.0).weights) is None


def test_a_large_table_of_no_known_form_is_solved_too():
    random = np.random.default_rng(4)
    chances = random.uniform(1, 2, (LARGE, LARGE)) + LARGE * np.eye(LARGE)
    table = MechanismTable(integer_rows(chances), claim=8.0)
    wanted = np.linspace(0, 1, LARGE)
    linear = unbiased(table.channel(), wanted)
    assert isinstance(table.channel(), DenseTable)
    assert linear is not None
    assert np.abs(table.probabilities() @ linear.values - wanted).max() < 1e-9


def test_no_unbiased_mean_is_found_where_there_is_none():
    for size in (101, LARGE):
        table = STAIRCASE.build(Cells.line(0, 1, size), 1.0)
        chances, values = table.probabilities(), np.linspace(0, 1, size)
        left = values - chances @ np.linalg.lstsq(chances, values, rcond=1e-11)[0]
        assert np.abs(left).max() > 1e-3
        assert unbiased(table.channel(), values) is None


def test_facts_of_names_are_of_the_whole_table():
    """A table over names that is not symmetric: its true chance of a change is .367, where two of its cells say .30."""
    chances = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.25, 0.15, 0.6]])
    table = MechanismTable(integer_rows(chances), claim=2.0)
    known = error_profile(table, Cells(size=3))
    assert known.expected_absolute_error == pytest.approx(1.1 / 3, abs=1e-12)
    inverse = np.linalg.inv(chances)
    variance = chances @ inverse**2 - np.eye(3)
    assert known.variance_max == pytest.approx(variance.max())
    assert known.variance_mean == pytest.approx(variance.mean())
    assert np.allclose(known.variance[:3], np.diag(variance))
    assert known.bias_max == 0
    assert known.statistic_variance == pytest.approx(variance.mean())


def test_errors_of_many_names_are_of_the_whole_table_too():
    """A table of no known form over more names than a dense copy takes: its chance of a change is that of every row."""
    random = np.random.default_rng(4)
    chances = random.uniform(1, 2, (LARGE, LARGE)) + LARGE * np.eye(LARGE)
    table = MechanismTable(integer_rows(chances), claim=8.0)
    assert isinstance(table.channel(), DenseTable)
    known, exact = error_profile(table, Cells(size=LARGE)), table.probabilities()
    assert known.expected_absolute_error == pytest.approx(1 - np.trace(exact) / LARGE, abs=1e-12)
    variance = exact @ np.linalg.inv(exact) ** 2 - np.eye(LARGE)
    assert known.variance_mean == pytest.approx(variance.mean(), rel=0.05)
    assert known.variance_max <= variance.max() * (1 + 1e-9)
    assert known.bias_max == 0


def test_a_large_singular_table_has_no_unbiased_estimator():
    rows = np.random.default_rng(5).uniform(1, 2, (LARGE, LARGE))
    rows[1] = rows[0]  # two values that no answer tells apart
    table = MechanismTable(integer_rows(rows), claim=8.0)
    wanted = np.zeros(LARGE)
    wanted[0] = 1.0
    assert unbiased(table.channel(), wanted) is None


def test_facts_of_names_without_an_inverse_tell_the_bias():
    chances = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.4, 0.35, 0.25]])
    known = error_profile(MechanismTable(integer_rows(chances), claim=1.0), Cells(size=3))
    assert known.bias_max > 0.1
    assert known.statistic_variance is None


def test_the_variance_of_the_unbiased_mean_is_that_of_simulated_ones():
    grid = Cells.line(0, 10, 11)
    table = BOUNDED_LAPLACE.build(grid, 2.0)
    linear = unbiased(table.channel(), np.asarray(grid.values))
    assert linear is not None
    random = np.random.default_rng(2)
    draws = np.stack([random.choice(11, 200_000, p=row) for row in table.probabilities()])
    squares = (linear.values[draws] - np.asarray(grid.values)[:, None]) ** 2
    shapes = usual_shapes(np.asarray(grid.values))
    known = error_profile(table, grid).statistic_variance
    # Six standard errors of 200,000 squares of bounded noise, for the value where they vary most.
    usual = np.exp(np.log(shapes @ squares.mean(axis=1)).mean())
    assert known == pytest.approx(usual, abs=6 * squares.std(axis=1).max() / 200_000**0.5)
    assert known == pytest.approx(np.exp(np.log(shapes @ linear.variance(table.channel())).mean()))


def test_the_usual_shapes_are_shares_and_mirror_each_other():
    for values in (np.arange(2.0), np.arange(11.0), np.array([0.0, 1.0, 5.0, 100.0])):
        shapes = usual_shapes(values)
        assert shapes.sum(axis=1) == pytest.approx(np.ones(len(shapes)))
        assert (shapes >= 0).all()
    even = usual_shapes(np.arange(11.0))
    assert even.mean(axis=0) == pytest.approx(even.mean(axis=0)[::-1])


def test_the_values_of_cells_cannot_be_changed():
    """Equal columns share them: one that changed its own would change the others."""
    for cells in (Cells.line(0, 1, 5), Cells(size=2, values=np.array([0.0, 1.0]))):
        with pytest.raises(ValueError, match="read-only"):
            cells.values[0] = 7
