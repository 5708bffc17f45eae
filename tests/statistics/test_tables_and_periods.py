"""Tables with margins, the most frequent values, groups of several columns and of periods of dates."""

import datetime
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import ask_by, exact_ask
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_cases import asks, people, plan_of

from workbench.cli.main import main
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.central.exponential import clear_lead
from workbench.privacy.central.laplace import StudyNoise
from workbench.sanitize.plan import Plan
from workbench.statistics.contingency import projected
from workbench.statistics.figures import Figure, figures_of
from workbench.statistics.forecast import forecast
from workbench.statistics.interval_widths import count_width
from workbench.statistics.queries import queries_of
from workbench.statistics.request import PERIODS


def released(
    asked: Any, plan: Plan, table: Table, noise: StudyNoise | None = None, epsilon: float = 1.0
) -> list[Figure]:
    rows = plan.rows_of(table)
    found = []
    for query in queries_of(asked.checked(plan), plan, epsilon, rows.rows):
        ask = exact_ask() if noise is None else ask_by(noise, [query.event])
        found += figures_of(query, query.noisy(ask, query.answer(rows)))
    return found


# -- tables ------------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30), st.floats(0, 100))
def test_the_projection_is_the_nearest_table_that_could_be_one(noisy, total):
    """Karush–Kuhn–Tucker: cells above 0 are all less than the noisy ones by one amount, the others by more."""
    found, given_ = projected(np.array(noisy), total), np.array(noisy)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, abs=1e-9)
    if (found > 0).any():
        moved = (given_ - found)[found > 0]
        assert np.ptp(moved) < 1e-9
        assert (given_[found == 0] <= moved[0] + 1e-9).all()


@pytest.mark.parametrize(("invalid", "epsilon"), [("refuse", 0.2), ("replace", 0.2), ("refuse", 3.0)])
def test_margins_are_sums_of_cells_and_all_sum_to_the_public_number_of_rows(invalid, epsilon):
    plan = plan_of(invalid=invalid)
    asked = asks({"statistic": "table", "by": ("city", "stars", "born:quarter")})
    found = released(asked, plan, people(200), StudyNoise(np.random.default_rng(1)), epsilon)
    cells = {frozenset(f.group.split(", ")): float(f.estimate) for f in found if f.statistic == "table"}
    margins = {frozenset(f.group.split(", ")): float(f.estimate) for f in found if f.statistic == "margin"}
    assert (len(cells), len(margins)) == (3 * 5 * 4, 3 + 5 + 4 + 15 + 12 + 20)
    for kept, stated in margins.items():
        assert stated == pytest.approx(math.fsum(v for names, v in cells.items() if kept <= names), abs=1e-9)
    if invalid == "refuse":
        assert math.fsum(cells.values()) == pytest.approx(200)
    assert min(cells.values()) >= 0
    assert all(float(f.low) <= float(f.estimate) <= float(f.high) for f in found)
    (told,) = forecast(queries_of(asked.checked(plan), plan, epsilon, 200))
    assert told.figures == len(cells) + len(margins)


def test_a_projected_table_is_nearer_to_the_true_one():
    plan, table, noise = plan_of(invalid="refuse"), people(60), StudyNoise(np.random.default_rng(2))
    asked = asks({"statistic": "table", "by": ("city", "stars")})
    (query,) = queries_of(asked.checked(plan), plan, 0.3, 60)
    exact = np.array(query.answer(plan.rows_of(table)))
    nearer = []
    for _ in range(50):
        noisy = query.noisy(ask_by(noise, [query.event]), exact.tolist())
        cells = np.array([float(f.estimate) for f in figures_of(query, noisy) if f.statistic == "table"])
        nearer.append(((cells - exact) ** 2).sum() / ((np.array(noisy) - exact) ** 2).sum())
    assert max(nearer) <= 1 + 1e-9  # a projection onto a set that holds the truth
    assert np.mean(nearer) < 0.6


def test_a_table_with_too_many_margins_is_refused_before_anything_is_charged():
    names = tuple(f"c{i}" for i in range(10))
    columns = [{"name": name, "kind": "category", "domain": ["a", "b"]} for name in names]
    plan = Plan.from_plain({"epsilon": 1, "column": columns})
    (query,) = queries_of(asks({"statistic": "table", "by": names[:9]}).checked(plan), plan, 1.0, 100)
    assert query.length == 2**9  # 3^9 − 1 = 19,682 figures
    with pytest.raises(ParameterError, match="it has 59,048 figures, and one release has at most 50,000"):
        queries_of(asks({"statistic": "table", "by": names}).checked(plan), plan, 1.0, 100)


def test_a_count_by_the_same_columns_is_the_same_query():
    plan = plan_of()
    asked = asks({"statistic": "table", "by": ("city", "stars")}, {"statistic": "count", "by": ("city", "stars")})
    (query,) = queries_of(asked.checked(plan), plan, 1.0, 100)
    assert {f.statistic for f in figures_of(query, [3] * query.length)} == {"count", "table", "margin", "missing"}


# -- the most frequent values ------------------------------------------------------------------------------------------


def test_the_most_frequent_values_come_in_order_with_their_counts():
    found = released(asks({"statistic": "top", "column": "city", "places": 2}), plan_of(), people(400))
    assert [(f.statistic, f.value) for f in found] == [("top", "Graz"), ("top", "Linz")]
    cities = people(400).frame["city"].to_list()
    assert [f.estimate for f in found] == [cities.count("Graz"), cities.count("Linz")]


def test_intervals_of_values_that_the_noise_has_chosen_cover_together():
    """40 values of equal counts, of which the noise shows three: all of these intervals hold in 95 %; alarm 1e-6."""
    from scipy.stats import binom

    names = [f"v{i}" for i in range(40)]
    plan = Plan.from_plain({"epsilon": 1, "column": [{"name": "c", "kind": "category", "domain": names}]})
    table = Table(pl.DataFrame({"c": names * 50}), "t")
    (query,) = queries_of(asks({"statistic": "top", "column": "c"}).checked(plan), plan, 0.2, 2000)
    exact, noise, missed, alone = query.answer(table), StudyNoise(np.random.default_rng(3)), 0, 0
    for _ in range(400):
        found = figures_of(query, query.noisy(ask_by(noise, [query.event]), exact))
        missed += not all(float(f.low) <= 50 <= float(f.high) for f in found)
        alone += not all(abs(float(f.estimate) - 50) <= query.widths.count() for f in found)
    assert missed <= binom.isf(1e-6, 400, 0.05)
    assert alone > 200  # intervals of single counts would not


@pytest.mark.parametrize("values", [3, 10, 100, 10_000])
@pytest.mark.parametrize("places", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_counts_tell_the_first_values_apart_with_a_smaller_lead_than_draws(values, places, epsilon):
    """The lead at which all places are right in 95 %: by counts (a union bound), by draws (the last one)."""
    if places >= values:
        return
    rounds = clear_lead(values - places + 1, epsilon / places)  # the last draw alone, in 95 %: no more than the truth
    pairs = places * (values - places)
    t = next(t for t in itertools.count() if pairs * (2 + epsilon * t) / 4 * math.exp(-epsilon * t) <= 0.05)
    assert t < 1.25 * rounds if values == 3 else t < rounds
    assert count_width(epsilon) < rounds


def test_numbers_and_single_places_are_refused():
    with pytest.raises(ParameterError, match="need a categorical column"):
        asks({"statistic": "top", "column": "age"}).checked(plan_of())
    with pytest.raises(ParameterError, match="at least 2"):
        asks({"statistic": "top", "column": "city", "places": 1})
    with pytest.raises(ParameterError, match="a table needs two or more columns"):
        asks({"statistic": "table", "by": ("city",)})
    with pytest.raises(ParameterError, match="takes no places"):
        asks({"statistic": "mode", "column": "city", "places": 2})


# -- groups ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", PERIODS)
def test_every_declared_period_is_there_with_the_rows_of_its_days(period):
    plan, table = plan_of(invalid="refuse"), people(300)
    found = released(asks({"statistic": "count", "by": (f"born:{period}",)}), plan, table)
    names = {
        "day": lambda d: d.isoformat(),
        "week": lambda d: f"{d.isocalendar().year}-W{d.isocalendar().week:02d}",
        "month": lambda d: d.isoformat()[:7],
        "quarter": lambda d: f"{d.year}-Q{math.ceil(d.month / 3)}",
        "year": lambda d: str(d.year),
    }
    days = [datetime.date.fromisoformat(text) for text in table.frame["born"].to_list()]
    expected = [f"born={names[period](day)}" for day in days]
    assert [f.group for f in found] == sorted({f.group for f in found})
    assert len(found) == {"day": 365, "week": 53, "month": 12, "quarter": 4, "year": 1}[period]
    assert {f.group: f.estimate for f in found if f.estimate} == {g: expected.count(g) for g in set(expected)}


def test_a_mean_of_each_month_is_that_of_its_rows_and_dates_outside_are_clamped():
    plan = plan_of()
    frame = people(200).frame.with_columns(
        born=pl.when(pl.int_range(200) == 0).then(pl.lit("2031-05-05")).otherwise(pl.col("born"))
    )
    found = released(asks({"statistic": "mean", "column": "pay", "by": ("born:month",)}), plan, Table(frame, "t"))
    month = frame["born"].str.slice(0, 7).str.replace("2031-05", "1990-12")
    for figure in found:
        own = frame.filter(month == figure.group.removeprefix("born="))["pay"].cast(pl.Float64).clip(-50, 150)
        assert figure.estimate == pytest.approx(own.mean(), rel=1e-6)


def test_periods_are_of_dates_and_a_column_is_named_once():
    plan = plan_of()
    with pytest.raises(ParameterError, match="only dates have a month"):
        queries_of(asks({"statistic": "count", "by": ("age:month",)}).checked(plan), plan, 1.0, 10)
    with pytest.raises(ParameterError, match="named twice"):
        asks({"statistic": "count", "by": ("born:month", "born:year")}).checked(plan)
    with pytest.raises(ParameterError, match="named twice"):
        asks({"statistic": "histogram", "column": "born", "by": ("born:year",)}).checked(plan)
    with pytest.raises(ParameterError, match="no column 'born:hour'"):
        asks({"statistic": "count", "by": ("born:hour",)}).checked(plan)
    columns = [{"name": "born:month", "kind": "category", "domain": ["a", "b"]}]
    named = Plan.from_plain({"epsilon": 1, "column": columns})  # a column's whole name goes first
    (query,) = queries_of(asks({"statistic": "count", "by": ("born:month",)}).checked(named), named, 1.0, 10)
    assert query.groups.labels() == ["born:month=a", "born:month=b"]


def test_groups_of_three_columns_are_the_product_of_what_is_declared_and_too_many_are_refused():
    plan = plan_of()
    asked = asks({"statistic": "count", "by": ("city", "stars", "born:quarter")})
    (query,) = queries_of(asked.checked(plan), plan, 1.0, 100)
    assert query.length == 3 * 5 * 4
    with pytest.raises(ParameterError, match="at most 50,000"):
        queries_of(asks({"statistic": "mean", "column": "pay", "by": ("age", "stars", "city", "born:day")}), plan, 1, 9)


def test_all_of_them_are_released_charged_and_verified_by_the_command(tmp_path, capsys):
    data, out, ledger = (str(tmp_path / name) for name in ("people.csv", "out.json", "l.sqlite"))
    people(300).frame.write_csv(data)
    (tmp_path / "plan.toml").write_text(plan_of().to_toml(), "utf-8")
    words = [data, "--plan", str(tmp_path / "plan.toml"), "--epsilon", "2", "-o", out, "--ledger", ledger, "--json"]
    asked = ["--covariance", "age,pay", "--correlation", "pay,age", "--ranges", "pay:200", "--top", "city:2"]
    assert main(["statistics", *words, *asked, "--table", "city,stars", "--by", "born:quarter"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["epsilon_charged"] == 2
    assert [f["statistic"] for f in result["figures"]] == ["covariance", "correlation", "ranges", "top", "table"]
    assert main(["verify", out, "--ledger", ledger]) == 0
    figures = json.loads(Path(out).read_text("utf-8"))
    figures["figures"][-2]["estimate"] += 1
    Path(out).write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert main(["verify", out, "--ledger", ledger]) == 5
