"""Intervals of statistics cover the statistic of these rows in 95 % of releases; forecasts say how wide they are."""

import math
from collections import defaultdict
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import ask_by, exact_ask
from scipy.stats import binom
from statistics_cases import EVERYTHING, asks, people, plan_of

from workbench.data.table import Table
from workbench.privacy.central.laplace import StudyNoise
from workbench.sanitize.plan import Plan
from workbench.statistics.figure import Figure
from workbench.statistics.figures import figures
from workbench.statistics.forecast import forecast
from workbench.statistics.interval_widths import count_width, laplace_width, ratio_interval, sum_width
from workbench.statistics.queries import queries_of
from workbench.statistics.request import Request

FALSE_ALARM = 1e-6


def drawn(
    request: Request, plan: Plan, epsilon: float, rows: int, empty: float, repeats: int, delta: str = "0"
) -> tuple[Any, Any]:
    """The true figures, and those of ``repeats`` releases."""
    table = plan.rows_of(people(rows, empty=empty))
    queries = queries_of(request.checked(plan), plan, epsilon, table.rows, Decimal(delta))
    exact = {q.label: q.answer(table) for q in queries}
    noise = StudyNoise(np.random.default_rng(12))
    truth = figures(queries, {q.label: q.noisy(exact_ask(), exact[q.label]) for q in queries})
    asks = (ask_by(noise, [q.event for q in queries]) for _ in range(repeats))
    return truth, [figures(queries, {q.label: q.noisy(ask, exact[q.label]) for q in queries}) for ask in asks]


def key(figure: Figure) -> tuple[str, ...]:
    # Two queries of one column each say how many rows are missing: these are two figures.
    return figure.statistic, figure.column, figure.group, figure.value, figure.source


@pytest.mark.parametrize(
    ("invalid", "epsilon", "rows", "empty", "repeats", "delta"),
    [
        ("replace", 2.0, 300, 0.1, 80, "0"),
        ("replace", 2.0, 300, 0.1, 80, "1e-6"),
        pytest.param("replace", 2.0, 300, 0.1, 800, "0", marks=pytest.mark.slow),
        pytest.param("refuse", 0.7, 300, 0.0, 800, "0", marks=pytest.mark.slow),
        pytest.param("replace", 60.0, 300, 0.3, 800, "0", marks=pytest.mark.slow),
        pytest.param("replace", 0.5, 20, 0.2, 800, "0", marks=pytest.mark.slow),
        pytest.param("replace", 2.0, 300, 0.1, 800, "1e-6", marks=pytest.mark.slow),
        pytest.param("refuse", 0.7, 300, 0.0, 800, "1e-5", marks=pytest.mark.slow),
        pytest.param("replace", 60.0, 300, 0.3, 800, "1e-6", marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_the_statistic_of_these_rows(invalid, epsilon, rows, empty, repeats, delta):
    """Every single figure, sparse ones too; the risk of a false alarm is 1e-6 for all of them together."""
    wanted = [f for f in EVERYTHING if not (invalid == "refuse" and f == EVERYTHING[0])]
    truth, releases = drawn(asks(*wanted), plan_of(invalid=invalid), epsilon, rows, empty, repeats, delta)
    missed: dict[tuple[str, ...], int] = defaultdict(int)
    counts = {(f.column, f.group, f.value): f for f in truth if f.statistic == "histogram"}
    for release in releases:
        for expected, figure in zip(truth, release, strict=True):
            # The noise chooses which values are the most frequent ones.
            true = counts[figure.column, figure.group, figure.value] if figure.statistic == "top" else expected
            assert (expected.statistic, *key(true)[1:]) == key(figure)
            no_rows = (
                true.sparse and true.statistic in ("mean", "std", "quantile", "covariance") and nobody(true, truth)
            )
            missed[key(figure)] += 0 if no_rows or covers(figure, true.estimate) else 1
    most = binom.isf(FALSE_ALARM / len(truth), repeats, 0.05)
    assert {k: v for k, v in missed.items() if v > most} == {}
    assert sum(missed.values()) > 0 or epsilon > 50  # they are not wide for nothing


def nobody(figure: Figure, truth: list[Figure]) -> bool:
    """Whether there is nobody whose mean or quantile it could be."""
    counts = [f.estimate for f in truth if f.statistic == "count" and f.group.startswith(figure.group)]
    return figure.group != "" and not any(counts)


def covers(figure: Figure, truth: Any) -> bool:
    if isinstance(truth, str):
        return str(figure.low) <= truth <= str(figure.high)
    slack = 1e-6 * max(1.0, abs(truth))
    return float(figure.low) - slack <= truth <= float(figure.high) + slack


def test_forecasts_are_the_widths_that_come():
    plan = plan_of(invalid="refuse")
    wanted = asks(*EVERYTHING[1:9])
    queries = queries_of(wanted.checked(plan), plan, 1.0, 2000)
    told = {(f.statistic, f.column): f for f in forecast(queries)}
    _, (release,) = drawn(wanted, plan, 1.0, 2000, 0.0, 1)
    for statistic, column in (("mean", "pay"), ("sum", "pay"), ("mean", "stars")):
        (figure,) = (f for f in release if (f.statistic, f.column) == (statistic, column))
        assert float(figure.high) - float(figure.low) == pytest.approx(2 * told[statistic, column].half_width, rel=0.05)
    bin_width = next(f for f in release if f.statistic == "histogram" and f.column == "stars" and f.value == "5")
    assert float(bin_width.high) - float(bin_width.low) == 2 * told["histogram", "stars"].half_width
    assert {f.source for f in forecast(queries)} == {q.label for q in queries}


def test_rare_bins_taken_together_are_not_under_counted():
    """Bins are declared, not merged by how many are in them: the noisy sum of rare ones has the true expectation."""
    plan = plan_of()
    table = plan.rows_of(people(500))
    (query,) = queries_of(asks({"statistic": "histogram", "column": "age", "bins": 50}), plan, 0.2, 500)
    exact = np.array(query.answer(table))
    rare = exact < 8
    noise = StudyNoise(np.random.default_rng(3))
    sums = [np.array(query.paid.noisy(noise, list(exact), 1))[rare].sum() for _ in range(2000)]
    error = np.sqrt(rare.sum() * 2 / 0.2**2 / len(sums))
    assert rare.sum() > 10
    assert abs(np.mean(sums) - exact[rare].sum()) < 5 * error


@pytest.mark.parametrize(
    "weights", [((1.0, 2),), ((1.0, 1), (0.5, 1)), ((1.0, 5),), ((1.0, 3), (0.2, 40)), ((1.0, 64),)]
)
def test_half_widths_are_the_quantiles_of_sums_of_laplace_noise(weights):
    r = np.random.default_rng(8)
    sums = sum(w * r.laplace(size=(200_000, c)).sum(axis=1) for w, c in weights)
    inside = float((np.abs(sums) <= laplace_width(weights)).mean())
    assert abs(inside - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 200_000) + 2e-4


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 4.4, 20.0])
def test_a_count_stays_within_its_width_and_would_not_within_a_smaller_one(epsilon):
    b = np.exp(-epsilon)

    def beyond(t: int) -> float:
        return float(2 * b ** (t + 1) / (1 + b))

    width = count_width(epsilon)
    assert beyond(width) <= 0.05
    assert width == 0 or beyond(width - 1) > 0.05
    noise = np.array(StudyNoise(np.random.default_rng(2)).integers([0] * 60_000, 1, epsilon)).reshape(-1, 3)
    for weights in (((1.0, 2),), ((1.0, 3),), ((1.0, 1), (0.4, 2))):
        vector = np.repeat([w for w, _ in weights], [c for _, c in weights])
        missed = (np.abs(noise[:, : len(vector)] @ vector) > sum_width(weights, epsilon) + 1e-9).sum()
        assert missed <= binom.isf(FALSE_ALARM, len(noise), 0.05)


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 1.0), (0.25, -0.5, 0.25), (0.9, 0.1, -0.1), (1.0, 1.0, 1.0)])
def test_no_sum_of_noise_is_wider_than_one_draw_of_its_variance(weights):
    """What intervals of a variance rest on: P(|sum| > ln 40·norm) ≤ 2.5 %."""
    draws = np.random.default_rng(2).laplace(size=(400_000, len(weights))) @ np.array(weights)
    beyond = int((np.abs(draws) > math.log(40) * np.linalg.norm(weights)).sum())
    assert beyond <= binom.isf(FALSE_ALARM, len(draws), 0.025)


def test_a_ratio_that_the_noise_has_drowned_is_told_as_unknown():
    widths = np.full(401, 10.0)
    assert ratio_interval(500.0, -700.0, 0.0, 1.0, widths) == (0.0, 1.0)
    assert ratio_interval(1.0, 2.0, 0.0, 1.0, widths) == (0.0, 1.0)
    low, high = ratio_interval(5e6, 1e7, 0.0, 1.0, widths)
    assert low <= 0.5 <= high
    assert high - low == pytest.approx(2e-6, rel=0.05)


def test_groups_of_stated_sizes_have_the_widths_that_are_stated_for_them():
    """A group of 30 of 3,000 rows: its mean has the interval foreseen for 1 % of the rows, not that of equal groups."""
    plan = plan_of(invalid="refuse")
    wanted = asks(
        {"statistic": "mean", "column": "age", "by": ("city",)},
        {"statistic": "quantiles", "column": "pay", "by": ("city",), "at": (0.5,)},
        {"statistic": "count", "by": ("city",)},
    )
    queries = queries_of(wanted.checked(plan), plan, 3.0, 3000)
    mean, quantile, count = forecast(queries)
    assert [(round(100 * s.part, 1), round(s.rows)) for s in mean.by_group_size] == [(1, 30), (10, 300), (33.3, 1000)]
    assert [s.equal for s in mean.by_group_size] == [False, False, True]
    assert count.by_group_size == ()  # rows are rows, however many
    for told in (mean, quantile):
        smallest, _, equal = (s.half_width for s in told.by_group_size)
        assert told.half_width == equal
        assert smallest >= 5 * equal or smallest >= 40
    table = people(3000)
    sizes = np.repeat(["Graz", "Linz", "Wien"], (30, 300, 2670))
    rows = plan.rows_of(Table(table.frame.with_columns(city=pl.Series(sizes)), "x.csv"))
    noise, halves = StudyNoise(np.random.default_rng(2)), defaultdict(list)
    query = queries[0]
    exact = query.answer(rows)
    for _ in range(60):
        for figure in figures(queries[:1], {query.label: query.noisy(ask_by(noise, [query.event]), exact)}):
            halves[figure.group].append((float(figure.high) - float(figure.low)) / 2)
    for group, size in zip(("city=Graz", "city=Linz"), mean.by_group_size, strict=False):
        assert 0.5 < np.median(halves[group]) / size.half_width < 1.5
    assert forecast(queries_of(asks({"statistic": "mean", "column": "age"}), plan, 1.0, 10))[0].by_group_size == ()
