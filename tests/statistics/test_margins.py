"""What is asked for a table and its margins: least squares, its norm, the least error, the nearest possible table."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from asks import ask_by
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_cases import asks, people, plan_of

from workbench.params import ParameterError
from workbench.privacy.central.laplace import StudyNoise
from workbench.statistics.contingency import Margins, Workload
from workbench.statistics.figures import figures_of
from workbench.statistics.forecast import forecast
from workbench.statistics.queries import queries_of

Floats = np.ndarray[Any, Any]


def margins(load: Workload) -> Floats:
    """What each released count sums up, (counts, cells)."""
    cells = np.eye(math.prod(load.sizes)).reshape(*load.sizes, -1)
    axes = range(len(load.sizes))
    kept = (k for size in load.ways for k in itertools.combinations(axes, size))
    sums = (cells.sum(axis=tuple(a for a in axes if a not in k)) for k in kept)
    return np.vstack([found.reshape(-1, cells.shape[-1]) for found in sums])


loads = st.lists(st.integers(1, 4), min_size=2, max_size=3).flatmap(
    lambda sizes: st.builds(
        Workload,
        st.just(tuple(sizes)),
        st.sampled_from([(1,), (1, 2), tuple(range(1, len(sizes) + 1)), (1, len(sizes))]),
        st.booleans(),
    )
)


@settings(max_examples=60, deadline=None)
@given(loads, st.booleans(), st.integers(0, 2**32 - 1))
def test_estimates_variances_and_norms_are_those_of_the_matrix(load, gaussian, seed):
    """The strategy as a matrix: the most that a column of it adds is the sensitivity, and least squares by numpy."""
    own = Margins.of(load, 1000, gaussian=gaussian)
    cells, wanted, r = math.prod(load.sizes), margins(load), np.random.default_rng(seed)
    asked = np.array([own.numbers(unit.tolist()) for unit in np.eye(cells, dtype=int)], dtype=float).T
    assert len(asked) == own.length
    norms = np.sqrt((asked**2).sum(axis=0)) if gaussian else np.abs(asked).sum(axis=0)
    assert norms.max() <= own.sensitivity < norms.max() + 1
    answer, rows = r.normal(size=len(asked)) * 9, 50
    one = np.ones((1, cells))
    inverse = np.linalg.pinv(asked.T @ asked)
    if load.known:  # the same on tables that sum to 50
        free = np.eye(cells) - one.T @ one / cells
        inverse = free @ np.linalg.pinv(free @ asked.T @ asked @ free) @ free
    start = np.full(cells, rows / cells if load.known else 0.0)
    expected = start + inverse @ asked.T @ (answer - asked @ start)
    assert wanted @ own.least_squares(answer, rows).ravel() == pytest.approx(wanted @ expected, abs=1e-6)
    spread = np.diag(wanted @ inverse @ wanted.T)
    stated = load.variances(own.precisions)
    axes = range(len(load.sizes))
    kept = [k for size in load.ways for k in itertools.combinations(axes, size)]
    each = [[stated[tuple(int(a in k) for a in axes)]] * math.prod(load.sizes[a] for a in k) for k in kept]
    assert list(itertools.chain(*each)) == pytest.approx(spread.tolist(), abs=1e-9)
    assert own.error == pytest.approx(spread.sum() * norms.max() ** 2, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("sizes", "ways"), [((2, 5, 10, 20), (1, 2)), ((2,) * 8, (1, 2, 3)), ((3, 4, 5), (1, 2, 3))])
def test_gaussian_noise_has_the_least_error_there_is(sizes, ways, known):
    """The SVD bound of Li & Miklau 2013, from the workload's eigenvalues; where n is public without that of n."""
    load = Workload(sizes, ways, known)
    axes = range(len(sizes))
    kept = [set(k) for size in ways for k in itertools.combinations(axes, size)]
    whole = 0.0
    for held in (h for size in range(known, len(sizes) + 1) for h in itertools.combinations(axes, size)):
        above = sum(math.prod(sizes[a] for a in axes if a not in k) for k in kept if k >= set(held))
        whole += math.sqrt(above) * math.prod(sizes[a] - 1 for a in held)
    least = whole**2 / math.prod(sizes)
    assert least * (1 - 1e-9) <= Margins.of(load, 50_000, gaussian=True).error <= 1.01 * least
    laplace = Margins.of(load, 50_000, gaussian=False)
    table = np.zeros((2,) * len(sizes), dtype=int)
    table[(1,) * len(sizes)] = 1
    assert least <= laplace.error <= Margins(load, False, (False,) * len(sizes), table).error


@pytest.mark.parametrize(("ways", "published"), [(1, 1.744), (2, 2.035), (3, 2.048)])
def test_published_errors_come_out(ways, published):
    """Root mean squared errors that Xiao et al. 2023 state for the margins of the CPS table, n not public."""
    load = Workload((100, 50, 7, 4, 2), (ways,), known=False)
    error = Margins.of(load, 50_000, gaussian=True).error
    assert math.sqrt(error / load.figures) == pytest.approx(published, abs=1e-3)


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_released_table_is_the_nearest_that_could_be_one(gaussian):
    """No step towards a possible table (all rows in one cell) comes nearer, as what is asked for measures it."""
    load, r = Workload((2, 3, 4), (1, 2), known=True), np.random.default_rng(2)
    own = Margins.of(load, 1000, gaussian=gaussian)
    asked = np.array([own.numbers(unit.tolist()) for unit in np.eye(24, dtype=int)], dtype=float).T
    true = r.multinomial(60, r.dirichlet(np.full(24, 0.2)))
    estimate = own.least_squares(asked @ true + r.normal(size=len(asked)) * 20 * own.sensitivity / 5, 60)
    assert (margins(load) @ estimate.ravel()).min() < -1  # it has to be moved
    found = own.nearest(estimate, 60.0).ravel()
    assert (found.min(), found.sum()) == (pytest.approx(0, abs=1e-12), pytest.approx(60))
    slope = asked.T @ asked @ (found - estimate.ravel())
    slope /= np.abs(slope).max()
    assert (slope * 60 - slope @ found).min() >= -1e-2 * 60
    off = asked @ (found - true), asked @ (estimate.ravel() - true)
    assert np.linalg.norm(off[0]) <= np.linalg.norm(off[1])


def test_only_margins_of_so_many_columns_are_released_and_a_count_beside_them_has_all():
    plan = plan_of()
    by = ("city", "stars", "born:quarter")
    pairs = asks({"statistic": "table", "by": by, "ways": 2})
    (query,) = queries_of(pairs.checked(plan), plan, 1.0, 300)
    found = figures_of(query, query.noisy(ask_by(StudyNoise(np.random.default_rng(4)), [query.event]), [5] * 60))
    assert [f.statistic for f in found] == ["margin"] * (15 + 12 + 20 + 3 + 5 + 4) + ["missing"]
    assert forecast([query])[0].figures == len(found) - 1
    (both,) = queries_of(asks(*[f.to_plain() for f in pairs.figures], {"statistic": "count", "by": by}), plan, 1.0, 300)
    stated = {f.statistic: f.figures for f in forecast([both])}
    assert stated == {"table": 59, "count": 60}
    with pytest.raises(ParameterError, match="fewer than 4 columns"):
        asks({"statistic": "table", "by": by, "ways": 4})


def test_margins_have_the_error_that_is_forecast_and_less_than_a_plain_table():
    plan, rows, noise = plan_of(invalid="refuse"), people(2000), StudyNoise(np.random.default_rng(6))
    by, off = ("city", "stars", "age"), []
    asked = asks({"statistic": "table", "by": by, "ways": 1})
    (query,) = queries_of(asked.checked(plan), plan, 1.0, 2000)
    exact = query.answer(plan.rows_of(rows))
    assert isinstance(query.own, Margins)
    wanted = margins(query.own.workload)
    for _ in range(200):
        drawn = np.array(query.noisy(ask_by(noise, [query.event]), exact), dtype=float)
        off.append(wanted @ (query.own.least_squares(drawn, 2000).ravel() - np.array(exact)))
    error = math.sqrt(query.own.error / len(wanted) * query.paid.variance())
    assert np.sqrt(np.mean(np.square(off))) == pytest.approx(error, rel=0.1)
    assert error < 0.7 * math.sqrt(150 / (3 + 5 + 10) * 3 * query.paid.variance())
