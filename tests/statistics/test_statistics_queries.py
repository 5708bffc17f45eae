"""Queries of statistics: sensitivity, shares of ε, declared groups, and which figure is read from which query."""

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import exact_ask
from statistics_cases import EVERYTHING, asks, people, plan_of

from workbench.data.table import Table
from workbench.params import CancelledError, ParameterError
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.statistics.figures import figures, figures_of
from workbench.statistics.queries import Query, queries_of
from workbench.statistics.request import usual_request

TINY: list[dict[str, Any]] = [
    {"name": "x", "kind": "integer", "lower": -1, "upper": 2},
    {"name": "g", "kind": "category", "domain": ["a", "b"]},
]
VALUES = [(x, g) for x in ("-1", "2", "7", "?", None) for g in ("a", "b", "zz")]
EMPTY = (None, None)


def tiny_queries(invalid: str, rows: int) -> tuple[tuple[Query, ...], Plan]:
    plan = Plan.from_plain({"epsilon": 1.0, "invalid": invalid, "column": TINY})
    every = [
        {"statistic": s, "column": "x", "by": by}
        for s in ("histogram", "mean", "sum", "variance", "quantiles", "count")
        for by in (None, ("g",))
        if not (s == "count" and by is None and invalid == "refuse")
    ]
    wanted = asks(*every, {"statistic": "count", "by": ("g",)}, {"statistic": "count", "by": ("x", "g")})
    return queries_of(wanted.checked(plan), plan, 1.0, rows), plan


def answered(query: Query, plan: Plan, rows: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    frame = pl.DataFrame(
        {"x": [r[0] for r in rows], "g": [r[1] for r in rows]}, schema={"x": pl.String, "g": pl.String}
    )
    return np.array(query.answer(plan.rows_of(Table(frame, "tiny.csv"))))


def test_emptying_a_row_moves_no_query_farther_than_its_sensitivity_and_replacing_one_no_more_than_twice():
    """All tables of two rows over hostile values: outside the bounds, unreadable, outside the domain, missing."""
    queries, plan = tiny_queries("replace", 2)
    forms = {(q.form, bool(q.groups.by)) for q in queries}
    assert forms >= {("histogram", False), ("histogram", True), ("pair", False), ("pair", True), ("count", True)}
    assert forms >= {("spread", False), ("spread", True)}
    for query in queries:
        alone = {row: answered(query, plan, (row, EMPTY)) for row in VALUES}
        nothing = answered(query, plan, (EMPTY, EMPTY))
        assert not nothing.any()
        assert max(np.abs(a).sum() for a in alone.values()) == query.size  # it is reached, so that it is no larger
        for one, other in itertools.product(VALUES, VALUES):
            both = answered(query, plan, (one, other))
            assert np.abs(both - alone[other]).sum() <= query.size
            assert (both == alone[one] + alone[other]).all()  # a row adds the same whoever else is there
            assert np.abs(alone[one] - alone[other]).sum() <= 2 * query.size


def test_between_valid_tables_replacing_a_row_moves_no_query_farther_than_twice():
    queries, plan = tiny_queries("refuse", 1)
    assert {q.form for q in queries} == {"histogram", "centred", "pair", "spread", "count"}
    valid = [(x, g) for x in ("-1", "0", "2", "-9") for g in ("a", "b")]
    for query in queries:
        found = [answered(query, plan, (row,)) for row in valid]
        reached = max(int(np.abs(one - other).sum()) for one, other in itertools.combinations(found, 2))
        assert reached == 2 * query.size


def test_the_shares_of_epsilon_sum_to_it_exactly_and_follow_the_weights():
    plan = plan_of()
    for epsilon in (0.1, 0.3, 1.0, 7.7):
        queries = queries_of(asks(*EVERYTHING), plan, epsilon, 1000)
        assert sum(q.share for q in queries) == Decimal(str(epsilon))
    one, other = queries_of(
        asks({"statistic": "mean", "column": "pay", "weight": 3.0}, {"statistic": "histogram", "column": "city"}),
        plan,
        1.0,
        1000,
    )
    assert {one.share, other.share} == {Decimal("0.75"), Decimal("0.25")}


def test_columns_with_names_like_queries_have_shares_of_their_own():
    columns = [
        {"name": "pay", "kind": "integer", "lower": 0, "upper": 9},
        {"name": "city", "kind": "category", "domain": ["a", "b"]},
        {"name": "pay by city", "kind": "integer", "lower": 0, "upper": 9},
    ]
    plan = Plan.from_plain({"epsilon": 1.0, "column": columns})
    wanted = asks(
        {"statistic": "histogram", "column": "pay", "by": ("city",)},
        {"statistic": "histogram", "column": "pay by city"},
    )
    queries = queries_of(wanted.checked(plan), plan, 1.0, 10)
    assert [q.label for q in queries] == ["histogram of pay by city", "histogram of pay by city (2)"]
    assert sum(q.share for q in queries) == 1


def exact_figures(request: Any, plan: Plan, table: Table) -> list[Any]:
    rows = plan.rows_of(table)
    queries = queries_of(request.checked(plan), plan, 1.0, rows.rows)
    return figures(queries, {q.label: q.noisy(exact_ask(), q.answer(rows)) for q in queries})


def test_every_declared_group_and_bin_is_there_and_none_that_only_a_row_names():
    """One person's unique value never appears, an empty group does."""
    table = people(40)
    odd = Table(table.frame.with_columns(city=pl.Series(["Unique-Village", *["Graz"] * 39])), "x")
    found = exact_figures(
        asks({"statistic": "histogram", "column": "city"}, {"statistic": "mean", "column": "pay", "by": ("city",)}),
        plan_of(),
        odd,
    )
    assert [f.value for f in found if f.statistic == "histogram"] == ["Graz", "Linz", "Wien"]
    assert [f.group for f in found if f.statistic == "mean"] == ["city=Graz", "city=Linz", "city=Wien"]
    assert [f.sparse for f in found if f.statistic == "mean"] == [False, True, True]
    assert "Unique" not in str(found)
    (missing,) = (f for f in found if f.statistic == "missing")
    assert missing.estimate == 1


def test_without_noise_every_figure_is_the_true_one():
    plan, table = plan_of(), people(400, empty=0.1)
    found = exact_figures(asks(*EVERYTHING), plan, table)
    frame = table.frame.with_columns(
        pl.col("age").cast(pl.Int64).clip(0, 99),
        pl.col("pay").cast(pl.Float64).clip(-50, 150),
        pl.col("stars").cast(pl.Int64),
    )
    told = {(f.statistic, f.column, f.group, f.value): f.estimate for f in found}
    assert told["count", "age", "", ""] == frame["age"].count()
    assert told["mean", "pay", "", ""] == pytest.approx(frame["pay"].mean(), rel=1e-6)
    assert told["sum", "pay", "", ""] == pytest.approx(frame["pay"].sum(), rel=1e-6)
    assert told["mean", "stars", "", ""] == pytest.approx(frame["stars"].mean())
    assert told["variance", "pay", "", ""] == pytest.approx(frame["pay"].var(ddof=0), rel=1e-6)
    for q in (0.25, 0.5, 0.75):
        (found_here,) = (f for f in found if (f.column, f.group, f.value) == ("age", "", f"{q:g}"))
        assert float(found_here.low) <= least_reaching(frame["age"].drop_nulls().to_list(), q) <= float(found_here.high)
        (alone,) = exact_figures(asks({"statistic": "quantiles", "column": "age", "at": (q,)}), plan, table)
        assert alone.estimate == least_reaching(frame["age"].drop_nulls().to_list(), q)
    for city in ("Graz", "Linz"):
        own = frame.filter(pl.col("city") == city)
        assert told["mean", "pay", f"city={city}", ""] == pytest.approx(own["pay"].mean(), rel=1e-6)
        assert told["std", "age", f"city={city}", ""] == pytest.approx(own["age"].std(ddof=0), rel=1e-6)
        assert told["count", "", f"city={city}, stars=5", ""] == own.filter(pl.col("stars") == 5).height
    assert told["histogram", "age", "", "0 to 9"] == frame.filter(pl.col("age") < 10).height
    assert told["share of all rows", "age", "", "0 to 9"] == frame.filter(pl.col("age") < 10).height / 400
    assert told["missing", "stars", "", ""] == frame["stars"].null_count()
    nowhere = frame.filter(pl.col("city").is_null() | pl.col("stars").is_null()).height
    assert told["missing", "stars", "", "in no group, or without a value"] == nowhere


def least_reaching(values: list[int], q: float) -> int:
    return sorted(values)[int(np.ceil(q * len(values))) - 1]


def test_figures_are_read_from_the_query_that_serves_them_best():
    def sources(*wanted: dict[str, Any], plan: Plan | None = None, rows: int = 2000) -> dict[str, str]:
        used = plan or plan_of(invalid="refuse")
        found = queries_of(asks(*wanted).checked(used), used, 1.0, rows)
        return {a.statistic: q.form for q in found for a in q.asks}

    histogram, mean = {"statistic": "histogram", "column": "stars"}, {"statistic": "mean", "column": "stars"}
    assert sources(histogram, mean) == {"histogram": "histogram", "mean": "histogram"}  # five values
    assert sources({**histogram, "column": "age"}, {**mean, "column": "age"})["mean"] == "centred"  # a hundred
    assert sources(mean, plan=plan_of())["mean"] == "pair"  # how many have a value is private
    together = sources(
        {"statistic": "histogram", "column": "age", "bins": 100}, {"statistic": "quantiles", "column": "age"}
    )
    assert together == {"histogram": "histogram", "quantiles": "histogram"}
    many = asks({"statistic": "histogram", "column": "pay", "bins": 4}, {"statistic": "quantiles", "column": "pay"})
    assert len(queries_of(many, plan_of(), 1.0, 10_000_000)) == 2  # four bins would be too coarse


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({"statistic": "mean", "column": "city"}, "a category has no mean"),
        ({"statistic": "sum", "column": "born"}, "a date has no sum"),
        ({"statistic": "quantiles", "column": "city"}, "has no quantiles"),
        ({"statistic": "histogram", "column": "town"}, "no column 'town'"),
        ({"statistic": "histogram", "column": "city", "bins": 3}, "a bin for each value"),
    ],
)
def test_what_a_column_cannot_have_is_refused(figure, said):
    with pytest.raises(ParameterError, match=said):
        asks(figure).checked(plan_of())


def test_requests_that_make_no_sense_are_refused():
    with pytest.raises(ParameterError, match="public number of rows"):
        asks({"statistic": "count", "column": "age"}).checked(plan_of(invalid="refuse"))
    with pytest.raises(ParameterError, match="requested twice"):
        asks({"statistic": "mean", "column": "age"}, {"statistic": "mean", "column": "age"}).checked(plan_of())
    for orders in ("table", "count"):
        with pytest.raises(ParameterError, match=f"the {orders} by city and age is requested twice"):
            asks(*({"statistic": orders, "by": by} for by in (("age", "city"), ("city", "age")))).checked(plan_of())
    with pytest.raises(ParameterError, match="has no column"):
        asks({"statistic": "mean"})
    with pytest.raises(ParameterError, match="a column cannot be grouped by itself"):
        asks({"statistic": "mean", "column": "age", "by": ("age",)})
    columns = [{"name": f"c{i}", "kind": "category", "domain": [str(v) for v in range(800)]} for i in range(2)]
    many = Plan.from_plain({"epsilon": 1, "column": columns})
    with pytest.raises(ParameterError, match="at most 50,000"):
        queries_of(asks({"statistic": "count", "by": ("c0", "c1")}), many, 1.0, 10)
    assert [a.called for a in usual_request(plan_of()).figures][-1] == "mean of pay"


def test_a_stop_is_seen_between_the_groups_of_one_query():
    class Third(CancelToken):
        """Is asked to stop when it is looked at for the third time."""

        looks = 0

        def check(self) -> None:
            self.looks += 1
            if self.looks == 3:
                self.cancel()
            super().check()

    plan = plan_of()
    wanted = asks({"statistic": "mean", "column": "stars", "by": ("age",)})
    (query,) = queries_of(wanted.checked(plan), plan, 1.0, 40)
    answer, cancel = [1] * query.length, Third()
    assert len(figures_of(query, answer)) > 3
    with pytest.raises(CancelledError):
        figures_of(query, answer, cancel)
    assert cancel.looks == 3
