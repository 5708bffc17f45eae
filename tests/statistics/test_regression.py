"""Coefficients of a regression: the norm of what a row adds, least squares by numpy, coverage, hidden coefficients."""

import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import ask_by, exact_ask
from scipy.stats import binom
from statistics_cases import asks, people, plan_of

from workbench.cli.main import main
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.central.laplace import StudyNoise
from workbench.sanitize.plan import Plan
from workbench.statistics.figures import figures_of
from workbench.statistics.forecast import forecast
from workbench.statistics.products import INTERCEPT
from workbench.statistics.queries import Query, queries_of

LINE = {"statistic": "regression", "column": "pay", "on": ("age", "stars")}
TRUE = {INTERCEPT: 20.0, "age": 0.5, "stars": 5.0}


def query_of(asked: dict[str, Any], plan: Plan, epsilon: float, rows: int, delta: str = "0") -> Query:
    (query,) = queries_of(asks(asked).checked(plan), plan, epsilon, rows, Decimal(delta))
    return query


@pytest.mark.parametrize(("columns", "delta"), [(2, "0"), (3, "0"), (5, "0"), (2, "1e-6"), (3, "1e-6")])
@pytest.mark.parametrize("invalid", ["replace", "refuse"])
def test_a_row_adds_no_more_than_the_sensitivity_whatever_its_values(columns, delta, invalid):
    """In L1, with a δ in L2; every corner and the values that reach it, sums of two rows, and rows of no value."""
    names = [f"c{i}" for i in range(columns)]
    kinds = [{"name": n, "kind": "real", "lower": -1, "upper": 2} for n in names]
    plan = Plan.from_plain({"epsilon": 1, "invalid": invalid, "column": kinds})
    asked = {"statistic": "regression", "column": "c0", "on": tuple(names[1:])}
    query = query_of(asked, plan, 1.0, 1_000, delta)

    def norm(*rows: tuple[str | None, ...]) -> tuple[float, np.ndarray[Any, Any]]:
        frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
        found = np.array(query.answer(plan.rows_of(Table(frame, "t"))), dtype=object)
        return (sum(v * v for v in found) ** 0.5 if delta != "0" else sum(abs(v) for v in found)), found

    values = ("-1", "2", "7", "0.5", "1.3")
    reached = [norm(tuple(row)) for row in itertools.product(values, repeat=columns)] if columns < 4 else []
    reached += [norm(tuple(np.random.default_rng(i).choice(values, columns))) for i in range(60)]
    reached += [norm(("2",) * columns)]
    assert max(size for size, _ in reached) <= query.size
    assert max(size for size, _ in reached) > 0.999 * query.size
    _, both = norm(("2",) * columns, ("-1",) * columns)
    assert (both == norm(("2",) * columns)[1] + norm(("-1",) * columns)[1]).all()
    if invalid == "replace":
        assert norm((None, *("2",) * (columns - 1)))[0] == 0


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_without_noise_the_coefficients_are_those_of_numpy(delta):
    plan, table = plan_of(), people(600, empty=0.1)
    asked = (LINE, {**LINE, "by": ("city",)}, {"statistic": "regression", "column": "age", "on": ("pay",)})
    pair = {"statistic": "correlation", "column": "pay", "other": "age"}
    queries = queries_of(asks(*asked, pair).checked(plan), plan, 1e6, 600, Decimal(delta))
    assert [len(q.asks) for q in queries] == [1, 2, 1]  # the correlation is read from the same sums
    frame = table.frame.with_columns(
        pl.col("age").cast(pl.Float64).clip(0, 99),
        pl.col("pay").cast(pl.Float64).clip(-50, 150),
        pl.col("stars").cast(pl.Float64),
    )
    found = [f for q in queries for f in figures_of(q, q.noisy(exact_ask(), q.answer(plan.rows_of(table))))]
    cases = [("pay", ["age", "stars"], None), ("age", ["pay"], None), ("pay", ["age", "stars"], "Graz")]
    for column, on, city in cases:
        rows = frame.filter(pl.col("city") == city) if city else frame
        y, *x = rows.select(column, *on).drop_nulls().to_numpy().T
        expected = np.linalg.lstsq(np.stack([np.ones(len(y)), *x], axis=1), y, rcond=None)[0]
        group = f"city={city}" if city else ""
        own = {f.value: f for f in found if (f.statistic, f.column, f.group) == ("regression", column, group)}
        assert list(own) == [INTERCEPT, *on]
        assert [f.estimate for f in own.values()] == pytest.approx(expected.tolist(), rel=1e-4, abs=1e-4)
        assert all(float(f.low) < float(f.estimate) < float(f.high) for f in own.values())


def sample(rows: int, r: np.random.Generator) -> Table:
    """Rows of a population whose coefficients are known."""
    age, stars = r.integers(15, 96, rows), r.choice(5, rows, p=(0.05, 0.05, 0.1, 0.3, 0.5)) + 1
    pay = TRUE[INTERCEPT] + TRUE["age"] * age + TRUE["stars"] * stars + r.uniform(-40, 40, rows)
    texts = {"age": age.astype(str), "stars": stars.astype(str), "pay": pay.astype(str)}
    return Table(people(rows).frame.with_columns(**{name: pl.Series(own) for name, own in texts.items()}), "t")


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows", "invalid", "repeats"),
    [
        (3.0, "0", 2000, "replace", 25),
        *(
            pytest.param(epsilon, delta, rows, invalid, 400, marks=pytest.mark.slow)
            for epsilon, delta, rows, invalid in (
                *((epsilon, "0", 3000, "replace") for epsilon in (0.1, 0.3, 1.0, 3.0, 30.0)),
                *((epsilon, "1e-6", 3000, "refuse") for epsilon in (0.1, 0.3, 1.0, 3.0, 30.0)),
                (30.0, "0", 40, "refuse"),
            )
        ),
    ],
)
def test_intervals_cover_the_coefficients_of_the_population(epsilon, delta, rows, invalid, repeats):
    """Another sample and other noise each time; a false alarm has a chance of 1e-6. What is open is not counted."""
    plan, r = plan_of(invalid=invalid), np.random.default_rng(7)
    query, noise = query_of(LINE, plan, epsilon, rows, delta), StudyNoise(r)
    missed, stated = dict.fromkeys(TRUE, 0), 0
    for _ in range(repeats):
        exact = query.answer(plan.rows_of(sample(rows, r)))
        found = figures_of(query, query.noisy(ask_by(noise, [query.event]), exact))
        stated += not found[0].sparse
        for figure in (f for f in found if not f.sparse):
            missed[figure.value] += not float(figure.low) <= TRUE[figure.value] <= float(figure.high)
    assert max(missed.values()) <= binom.isf(1e-6 / len(TRUE), max(stated, 1), 0.05)
    assert stated == repeats or epsilon < 1
    assert sum(missed.values()) > 0 or stated < 100  # they are not wide for nothing


def test_what_the_noise_hides_is_not_determined_and_said_so(tmp_path, capsys):
    data, out, ledger = (str(tmp_path / name) for name in ("people.csv", "out.csv", "l.sqlite"))
    people(300).frame.write_csv(data)
    (tmp_path / "plan.toml").write_text(plan_of().to_toml(), "utf-8")
    words = [data, "--plan", str(tmp_path / "plan.toml"), "--epsilon", "0.01", "-o", out, "--ledger", ledger]
    assert main(["statistics", *words, "--regression", "pay,age,stars"]) == 0
    assert "regression of pay on age and stars" in capsys.readouterr().out
    lines = Path(out).read_text("utf-8").splitlines()[1:]
    assert lines[0] == "regression,pay,,(intercept)," + "not determined," * 3 + "yes,products of pay and age and stars"
    assert len(lines) == 3
    assert main(["verify", out, "--ledger", ledger]) == 0
    Path(out).write_text(Path(out).read_text("utf-8").replace("not determined", "0", 1), "utf-8")
    assert main(["verify", out, "--ledger", ledger]) == 5


def test_the_forecast_is_the_width_that_comes_for_even_values():
    bounds, r = {"age": (0, 99), "stars": (1, 5), "pay": (-50, 150)}, np.random.default_rng(2)
    columns = [{"name": name, "kind": "real", "lower": a, "upper": b} for name, (a, b) in bounds.items()]
    plan = Plan.from_plain({"epsilon": 1, "column": columns})
    frame = pl.DataFrame({name: r.uniform(*ends, 8000).astype(str) for name, ends in bounds.items()})
    query = query_of(LINE, plan, 1.0, 8000)
    ask = ask_by(StudyNoise(r), [query.event])
    _, age, stars = figures_of(query, query.noisy(ask, query.answer(plan.rows_of(Table(frame, "t")))))
    (expected,) = forecast([query])
    assert (expected.figures, expected.unit) == (3, "units of pay over the whole range of another column")
    for figure, span in ((age, 99), (stars, 4)):
        assert (float(figure.high) - float(figure.low)) / 2 * span == pytest.approx(expected.half_width, rel=0.15)


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({"statistic": "regression", "column": "pay"}, "has no predictors"),
        ({"statistic": "mean", "column": "pay", "on": ("age",)}, "takes no predictors"),
        ({"statistic": "regression", "column": "pay", "on": ("age", "pay")}, "named twice"),
        ({"statistic": "regression", "column": "pay", "on": ("city",)}, "a category has no regression"),
        ({**LINE, "by": ("age",)}, "grouped by itself"),
    ],
)
def test_regressions_that_make_no_sense_are_refused(figure, said):
    with pytest.raises(ParameterError, match=said):
        asks(figure).checked(plan_of())


def test_a_regression_of_too_few_rows_is_refused_before_it_costs_anything():
    with pytest.raises(ParameterError, match="3 coefficients needs more than 3 rows"):
        query_of(LINE, plan_of(), 1.0, 3)
    query_of(LINE, plan_of(), 1.0, 4)
