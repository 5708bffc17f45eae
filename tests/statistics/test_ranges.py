"""Counts of ranges: the least-squares solution itself, its variances, the cost of each level, and audits."""

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import ask_by, exact_ask
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_cases import asks, people, plan_of

from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.central.laplace import StudyNoise
from workbench.release.statistics.statistics_work import described
from workbench.sanitize.plan import Plan
from workbench.statistics.figures import figures_of
from workbench.statistics.forecast import forecast
from workbench.statistics.products import whole_parts
from workbench.statistics.queries import Query, queries_of
from workbench.statistics.ranges import Ranges

Floats = np.ndarray[Any, Any]


def matrix(tree: Ranges) -> Floats:
    """What each count of the tree sums up, (counts, leaves), level by level."""
    levels = [np.eye(tree.leaves)]
    for _ in tree.sizes[1:]:
        last = levels[-1]
        levels.append(np.add.reduceat(last, np.arange(0, len(last), tree.branching), axis=0))
    return np.vstack(levels)


trees = st.builds(
    lambda leaves, b, known: Ranges(leaves, min(b, leaves), known), st.integers(2, 40), st.integers(2, 6), st.booleans()
)


@settings(max_examples=80, deadline=None)
@given(trees, st.integers(0, 2**32 - 1))
def test_counts_and_variances_are_those_of_least_squares_by_numpy(tree, seed):
    """Hay et al.'s two passes, for any number of children, beside the normal equations."""
    a, r = matrix(tree), np.random.default_rng(seed)
    noisy, total = r.normal(size=len(a)) * 9, 50.0
    gram, weights = a.T @ a, r.normal(size=(3, tree.leaves))
    if tree.known:
        one = np.ones((tree.leaves, 1))
        system = np.block([[gram, one], [one.T, np.zeros((1, 1))]])
        expected = np.linalg.solve(system, np.append(a.T @ noisy, total))[:-1]
        covariance = np.linalg.inv(system)[:-1, :-1]
    else:
        expected, covariance = np.linalg.solve(gram, a.T @ noisy), np.linalg.inv(gram)
    levels = np.split(noisy[None], np.cumsum(tree.sizes)[:-1], axis=1)
    found = tree.consistent(levels, np.full((1, 1), total) if tree.known else None)
    assert found[0] == pytest.approx(expected, abs=1e-8)
    assert tree.variances(weights) == pytest.approx(np.einsum("si,ij,sj->s", weights, covariance, weights), abs=1e-8)
    ranges = np.array(
        [[i <= k <= j for k in range(tree.leaves)] for i in range(tree.leaves) for j in range(i, tree.leaves)]
    )
    assert tree.mean_variance() == pytest.approx(float(tree.variances(ranges.astype(float)).mean()), abs=1e-8)


def test_the_example_of_hay_and_others_comes_out():
    """Two leaves under one measured node, of three: z = (2·4 + 1·5)/3 at the node, and the rest spread evenly."""
    tree = Ranges(4, 2, known=False)
    found = tree.consistent([np.array([[1.0, 4.0, 2.0, 2.0]]), np.array([[8.0, 4.0]])], None)
    # The node: variance 1 of its own count 8, 2 of the sum 5: (2·8 + 5)/3 = 7; the difference 2 is divided evenly.
    assert found.tolist() == [[2.0, 5.0, 2.0, 2.0]]


def test_few_bins_are_a_histogram_and_many_are_a_tree():
    assert Ranges.of(12, gaussian=False, known=True).sizes == (12,)
    many = Ranges.of(512, gaussian=False, known=True)
    flat = Ranges(512, 512, known=True)
    assert many.mean_variance() * len(many.sizes) ** 2 < 0.6 * flat.mean_variance()
    assert len(Ranges.of(512, gaussian=True, known=True).sizes) > len(many.sizes)


def ranges_of(
    epsilon: float, delta: str = "0", bins: int = 100, by: tuple[str, ...] | None = None
) -> tuple[Query, Plan]:
    plan = plan_of()
    asked = asks({"statistic": "ranges", "column": "age", "bins": bins, "by": by})
    (query,) = queries_of(asked.checked(plan), plan, epsilon, 300, Decimal(delta))
    return query, plan


def test_without_noise_every_count_up_to_a_value_is_the_true_one():
    query, plan = ranges_of(1.0, delta="1e-6", by=("city",))
    table = people(300, empty=0.1)
    found = figures_of(query, query.noisy(exact_ask(), query.answer(plan.rows_of(table))))
    frame = table.frame.with_columns(pl.col("age").cast(pl.Float64).clip(0, 99))
    assert len(found) == 300
    for figure in found:
        group = frame.filter(pl.col("city") == figure.group.removeprefix("city="))
        assert figure.estimate == pytest.approx(group.filter(pl.col("age") <= int(figure.value)).height, abs=1e-6)


def test_an_emptied_row_moves_one_count_of_each_level_by_one():
    query, plan = ranges_of(1.0, delta="1e-6", bins=20, by=("city",))
    assert isinstance(query.own, Ranges)
    frame = people(4).frame
    rows = plan.rows_of(Table(frame, "t"))
    exact = query.noisy(exact_ask(), query.answer(rows))
    sizes = [3 * size for size in query.own.sizes]
    assert len(sizes) > 1
    for at in range(4):
        emptied = frame.with_columns(pl.when(pl.int_range(4) != at).then(pl.all()).otherwise(None))
        other = query.noisy(exact_ask(), query.answer(plan.rows_of(Table(emptied, "t"))))
        moved = np.split(np.array(exact) - np.array(other), np.cumsum(sizes)[:-1])
        assert [sorted(level)[-1] for level in moved] == [1] * len(sizes)
        assert [np.abs(level).sum() for level in moved] == [1] * len(sizes)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_ranges_have_the_error_that_is_forecast(delta):
    query, plan = ranges_of(1.0, delta, bins=100)
    exact, own = query.answer(plan.rows_of(people(300))), query.own
    assert isinstance(own, Ranges)
    noise, errors = StudyNoise(np.random.default_rng(3)), []
    true = np.cumsum(exact)
    share = query.paid.part(1, len(own.sizes))
    for _ in range(150):
        answer = np.array(query.noisy(ask_by(noise, [query.event]), exact), dtype=np.float64)
        levels = [level[None] for level in np.split(answer, np.cumsum(own.sizes)[:-1])]
        off = np.append(0.0, np.cumsum(own.consistent(levels, None)[0]) - true)
        between = np.subtract.outer(off, off)[np.triu_indices(len(off), 1)]
        errors.append(float((between**2).mean()))
    assert np.mean(errors) == pytest.approx(own.mean_variance() * share.variance(), rel=0.15)
    (told,) = forecast([query])
    assert (told.unit, told.figures) == ("rows", 100)


def test_what_is_drawn_is_the_ask_of_each_level():
    """The counts of the release itself, from an Ask that serves one event of the whole share, each level once."""
    query, plan = ranges_of(0.6, bins=64)
    assert isinstance(query.own, Ranges)
    exact, noise = query.answer(plan.rows_of(people(300))), StudyNoise(np.random.default_rng(1))
    ask = ask_by(noise, [query.event])
    answer = query.noisy(ask, exact)
    assert (len(answer), ask.left) == (query.length, [])
    spread = np.std([query.noisy(ask_by(noise, [query.event]), exact)[: query.own.leaves] for _ in range(300)], axis=0)
    levels = len(query.own.sizes)
    assert described(query)["levels"] == levels > 1  # documents state the noise of a level
    assert spread.mean() == pytest.approx(np.sqrt(query.paid.part(1, levels).variance()), rel=0.03)


def test_names_have_no_ranges_and_too_many_bins_are_refused():
    with pytest.raises(ParameterError, match="a category has no ranges"):
        asks({"statistic": "ranges", "column": "city"}).checked(plan_of())
    columns = [{"name": "x", "kind": "real", "lower": 0, "upper": 1, "cells": 4000}]
    wide = Plan.from_plain({"epsilon": 1, "column": columns})
    with pytest.raises(ParameterError, match="at most 1,024"):
        queries_of(asks({"statistic": "ranges", "column": "x", "bins": 4000}), wide, 1.0, 10)


# -- Covariance and correlation: one row adds K whatever its values, figures are numpy's


TINY: list[dict[str, Any]] = [
    {"name": "x", "kind": "integer", "lower": -1, "upper": 2},
    {"name": "y", "kind": "real", "lower": 0, "upper": 1},
    {"name": "g", "kind": "category", "domain": ["a", "b"]},
]
EMPTY = (None, None, None)
VALUES = [(x, y, g) for x in ("-1", "2", "7", "0", None) for y in ("0", "0.3", "9", "?") for g in ("a", "b", "zz")]


def tiny(statistic: str, by: tuple[str, ...] | None, epsilon: float = 1.0) -> tuple[Query, Plan]:
    plan = Plan.from_plain({"epsilon": epsilon, "invalid": "replace", "column": TINY})
    asked = asks({"statistic": statistic, "column": "x", "other": "y", "by": by})
    (query,) = queries_of(asked.checked(plan), plan, epsilon, 2)
    return query, plan


def answered(query: Query, plan: Plan, *rows: Any) -> np.ndarray[Any, Any]:
    columns = {name: [row[i] for row in rows] for i, name in enumerate("xyg")}
    return np.array(
        query.answer(plan.rows_of(Table(pl.DataFrame(columns, schema=dict.fromkeys("xyg", pl.String)), "t")))
    )


@pytest.mark.parametrize("statistic", ["covariance", "correlation"])
@pytest.mark.parametrize("by", [None, ("g",)])
def test_emptying_a_row_moves_the_sums_by_k_at_most(statistic, by):
    """All tables of two rows over hostile values; a row without both values, or in no group, adds nothing."""
    query, plan = tiny(statistic, by)
    assert query.length == {"covariance": 4, "correlation": 9}[statistic] * (2 if by else 1)
    alone = {row: answered(query, plan, row, EMPTY) for row in VALUES}
    assert not answered(query, plan, EMPTY, EMPTY).any()
    for (x, y, g), found in alone.items():
        there = x is not None and y != "?" and (by is None or g != "zz")
        assert found.sum() == (query.size if there else 0)
        assert (found >= 0).all()
    for one, other in itertools.product(VALUES[::5], VALUES):
        assert (answered(query, plan, one, other) == alone[one] + alone[other]).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 30), st.randoms(use_true_random=False))
def test_whole_parts_sum_to_the_size_and_none_is_below_zero(numbers, rows, bits, r):
    parts = np.array([[1e-9 + r.random() for _ in range(rows)] for _ in range(numbers)])
    found = whole_parts(parts / parts.sum(axis=0), 1 << bits)
    assert (found >= 0).all()
    assert (found.sum(axis=0) == 1 << bits).all()
    assert (np.abs(found - (parts / parts.sum(axis=0)) * (1 << bits)) <= 1 + 1e-6).all()


def test_without_noise_the_figures_are_those_of_numpy():
    plan, table = plan_of(), people(500, empty=0.1)
    asked = asks(
        {"statistic": "correlation", "column": "age", "other": "pay"},
        {"statistic": "covariance", "column": "pay", "other": "age"},
        {"statistic": "correlation", "column": "age", "other": "stars", "by": ("city",)},
    )
    queries = queries_of(asked.checked(plan), plan, 1.0, 500)
    assert [q.asks for q in queries] == [asked.figures[:2], asked.figures[2:]]  # one query serves both orders of a pair
    found = [f for q in queries for f in figures_of(q, q.noisy(exact_ask(), q.answer(plan.rows_of(table))))]
    frame = table.frame.with_columns(
        pl.col("age").cast(pl.Float64).clip(0, 99),
        pl.col("pay").cast(pl.Float64).clip(-50, 150),
        pl.col("stars").cast(pl.Float64),
    )
    both = frame.select("age", "pay").drop_nulls().to_numpy().T
    assert found[0].estimate == pytest.approx(np.corrcoef(both)[0, 1], abs=1e-6)
    assert found[1].estimate == pytest.approx(np.cov(both, ddof=0)[0, 1], rel=1e-6)
    for figure, city in zip(found[2:4], ("Graz", "Linz"), strict=True):
        own = frame.filter(pl.col("city") == city).select("age", "stars").drop_nulls().to_numpy().T
        assert figure.estimate == pytest.approx(np.corrcoef(own)[0, 1], abs=1e-6)


@pytest.mark.parametrize("slope", [-1.0, 0.0, 0.7, 1.0])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_intervals_of_strong_and_weak_correlations_cover(slope, delta):
    """How many rows have both is private; 200 releases, false alarm 1e-6."""
    from decimal import Decimal

    from scipy.stats import binom

    r, rows = np.random.default_rng(4), 1500
    x = r.uniform(0, 99, rows)
    y = 50 + slope * (2 * x - 99) + (1 - abs(slope)) * r.uniform(-100, 100, rows)
    frame = people(rows).frame.with_columns(age=pl.Series(x.astype(int).astype(str)), pay=pl.Series(y.astype(str)))
    plan = plan_of()
    asked = asks({"statistic": "correlation", "column": "age", "other": "pay"})
    (query,) = queries_of(asked.checked(plan), plan, 3.0, rows, Decimal(delta))
    exact = query.answer(plan.rows_of(Table(frame, "t")))
    (true,) = figures_of(query, exact)
    noise, missed, lengths = StudyNoise(np.random.default_rng(5)), 0, []
    for _ in range(200):
        (figure,) = figures_of(query, query.noisy(ask_by(noise, [query.event]), exact))
        missed += not float(figure.low) - 1e-6 <= float(true.estimate) <= float(figure.high) + 1e-6
        lengths.append(float(figure.high) - float(figure.low))
    assert missed <= binom.isf(1e-6, 200, 0.05)
    assert np.median(lengths) < 0.3  # they say something


def test_the_forecast_is_the_width_that_comes_for_even_values():
    plan = plan_of(invalid="refuse")
    r = np.random.default_rng(2)
    frame = people(5000).frame.with_columns(
        age=pl.Series(r.integers(0, 100, 5000).astype(str)), pay=pl.Series(r.uniform(-50, 150, 5000).astype(str))
    )
    asked = asks(*({"statistic": s, "column": "age", "other": "pay"} for s in ("correlation", "covariance")))
    (query,) = queries_of(asked.checked(plan), plan, 0.5, 5000)
    found = figures_of(
        query, query.noisy(ask_by(StudyNoise(r), [query.event]), query.answer(plan.rows_of(Table(frame, "t"))))
    )
    for figure, expected in zip(found, forecast([query]), strict=True):
        assert (float(figure.high) - float(figure.low)) / 2 == pytest.approx(expected.half_width, rel=0.1)


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({"statistic": "correlation", "column": "age"}, "needs two columns"),
        ({"statistic": "covariance", "column": "age", "other": "age"}, "needs two columns"),
        ({"statistic": "mean", "column": "age", "other": "pay"}, "takes one column"),
        ({"statistic": "correlation", "column": "age", "other": "city"}, "a category has no correlation"),
        ({"statistic": "correlation", "column": "age", "other": "pay", "by": ("pay",)}, "grouped by itself"),
    ],
)
def test_pairs_that_have_none_are_refused(figure, said):
    with pytest.raises(ParameterError, match=said):
        asks(figure).checked(plan_of())
    with pytest.raises(ParameterError, match="requested twice"):
        asks(
            {"statistic": "covariance", "column": "age", "other": "pay"},
            {"statistic": "covariance", "column": "pay", "other": "age"},
        ).checked(plan_of())
