"""Covariance and correlation: one row adds K whatever its values, figures are numpy's, no audit refutes ε."""

from __future__ import annotations

import itertools
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
from workbench.privacy.audit import epsilon_lower
from workbench.privacy.central.laplace import StudyNoise
from workbench.sanitize.plan import Plan
from workbench.statistics.figures import figures_of
from workbench.statistics.forecast import forecast
from workbench.statistics.products import whole_parts
from workbench.statistics.queries import Query, queries_of

TINY: list[dict[str, Any]] = [
    {"name": "x", "kind": "integer", "lower": -1, "upper": 2},
    {"name": "y", "kind": "real", "lower": 0, "upper": 1},
    {"name": "g", "kind": "category", "domain": ["a", "b"]},
]
EMPTY = (None, None, None)
VALUES = [(x, y, g) for x in ("-1", "2", "7", "0", None) for y in ("0", "0.3", "9", "?") for g in ("a", "b", "zz")]
ALPHA = 1e-6


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
def test_emptying_a_row_moves_the_sums_by_k_at_most(statistic: str, by: tuple[str, ...] | None) -> None:
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
def test_whole_parts_sum_to_the_size_and_none_is_below_zero(numbers: int, rows: int, bits: int, r: Any) -> None:
    parts = np.array([[1e-9 + r.random() for _ in range(rows)] for _ in range(numbers)])
    found = whole_parts(parts / parts.sum(axis=0), 1 << bits)
    assert (found >= 0).all()
    assert (found.sum(axis=0) == 1 << bits).all()
    assert (np.abs(found - (parts / parts.sum(axis=0)) * (1 << bits)) <= 1 + 1e-6).all()


def test_without_noise_the_figures_are_those_of_numpy() -> None:
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
def test_intervals_of_strong_and_weak_correlations_cover(slope: float, delta: str) -> None:
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


def test_the_forecast_is_the_width_that_comes_for_even_values() -> None:
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


@pytest.mark.parametrize("statistic", ["covariance", "correlation"])
def test_no_more_than_epsilon_is_found_and_a_sensitivity_forgotten_is_caught(statistic: str) -> None:
    """One of two rows is emptied; 1e-6. The planted fault draws noise as if each number moved alone, by K/4."""
    epsilon, samples = 0.7, 24_000
    query, plan = tiny(statistic, None, epsilon)
    row = ("2", "0.3", "a")
    sides: dict[int, list[Any]] = {}
    for size in (query.size, query.size // 4):
        for at, first in enumerate((row, EMPTY)):
            exact = answered(query, plan, first, ("0", "0.5", "b"))
            noise = StudyNoise(np.random.default_rng([6, at]))
            drawn = np.array(noise.integers(exact.tolist() * samples, size, query.paid.loss), dtype=np.float64)
            sides.setdefault(size, []).append(drawn.reshape(samples, -1) / query.size)
    sound, faulty = (epsilon_lower(*pair, alpha=ALPHA) for pair in sides.values())
    assert 0.1 < sound.epsilon <= epsilon
    assert faulty.refutes(epsilon)


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({"statistic": "correlation", "column": "age"}, "is of two columns"),
        ({"statistic": "covariance", "column": "age", "other": "age"}, "is of two columns"),
        ({"statistic": "mean", "column": "age", "other": "pay"}, "is of one column"),
        ({"statistic": "correlation", "column": "age", "other": "city"}, "a category has no correlation"),
        ({"statistic": "correlation", "column": "age", "other": "pay", "by": ("pay",)}, "made by other columns"),
    ],
)
def test_pairs_that_have_none_are_refused(figure: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        asks(figure).checked(plan_of())
    with pytest.raises(ParameterError, match="asked for twice"):
        asks(
            {"statistic": "covariance", "column": "age", "other": "pay"},
            {"statistic": "covariance", "column": "pay", "other": "age"},
        ).checked(plan_of())
