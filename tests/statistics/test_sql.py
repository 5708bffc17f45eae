"""A ``SELECT`` becomes the statistics it asks for, or is refused with what cannot be bounded."""

import json
from pathlib import Path

import pytest

pytest.importorskip("sqlglot")

from statistics_cases import people, plan_of

from workbench.cli import main
from workbench.params import ParameterError
from workbench.statistics.sql import asked_in_sql


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("SELECT AVG(age) FROM people", ["mean of age"]),
        (
            "select city, count(*), stddev(pay) as s from t group by city",
            ["count by city", "std of pay by city"],
        ),
        ('select sum("my pay"), variance(age), count(age), mode(city)', None),
        ("select median(age) from t", ["quantiles of age"]),
        ("SELECT MODE() WITHIN GROUP (ORDER BY city) FROM main.t AS x", ["mode of city"]),
        (
            "SELECT sex, city, CORR(age, pay), COVAR_POP(pay, age) FROM t GROUP BY sex, city",
            ["correlation of age and pay by sex and city", "covariance of pay and age by sex and city"],
        ),
        (
            "SELECT DATE_TRUNC('month', born), AVG(pay) FROM t GROUP BY DATE_TRUNC('MONTH', born)",
            ["mean of pay by born:month"],
        ),
        ("SELECT DATE_TRUNC('week', born) AS w, COUNT(*) FROM t GROUP BY w", ["count by born:week"]),
        ("SELECT city AS c, COUNT(*) FROM t GROUP BY c", ["count by city"]),
        ("SELECT APPROX_TOP_K(city, 5), APPROX_TOP_K(sex) FROM t", ["top of city", "top of sex"]),
    ],
)
def test_aggregates_become_statistics(query, asked):
    found = asked_in_sql(query)
    assert [one.called for one in found] == (
        asked or ["sum of my pay", "variance of age", "count of age", "mode of city"]
    )


def test_quantiles_of_a_column_are_one_statistic():
    (one,) = asked_in_sql(
        "SELECT MEDIAN(age), QUANTILE(age, 0.9), PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY age) FROM t"
    )
    assert one.at == (0.1, 0.5, 0.9)


@pytest.mark.parametrize(
    ("one", "other", "places"), [(", 2", ", 5", 5), (", 5", ", 2", 5), ("", ", 2", 3), ("", "", None)]
)
def test_of_two_lists_of_the_most_frequent_values_the_longer_is_asked(one, other, places):
    (asked,) = asked_in_sql(f"SELECT APPROX_TOP_K(city{one}), APPROX_TOP_K(city{other}) FROM t")
    assert asked.places == places


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT MAX(age) FROM t", "value of a single person"),
        ("SELECT COUNT(DISTINCT age) FROM t", "a single row"),
        ("SELECT SUM(DISTINCT age) FROM t", "a single row"),
        ("SELECT COUNT(*) FROM t", "the number of rows is public"),
        ("SELECT * FROM t", "the rows themselves"),
        ("SELECT age, AVG(pay) FROM t GROUP BY city", "the rows themselves"),
        ("SELECT AVG(age + pay) FROM t", "no declared bounds"),
        ("SELECT AVG(age) FROM t WHERE pay > 3", "GROUP BY"),
        ("SELECT AVG(age) FROM t JOIN u ON t.a = u.a", "any number of rows"),
        ("SELECT AVG(age) FROM t, u", "any number of rows"),
        ("SELECT AVG(age) FROM (SELECT * FROM t)", "subquery"),
        ("WITH x AS (SELECT 1) SELECT AVG(age) FROM x", "WITH"),
        ("SELECT AVG(age) FROM t GROUP BY city HAVING COUNT(*) > 5", "HAVING"),
        ("SELECT AVG(age) FROM t GROUP BY ROLLUP (city)", "no declared bounds"),
        ("SELECT AVG(age) FROM t LIMIT 1", "LIMIT"),
        ("SELECT AVG(age) OVER (PARTITION BY city) FROM t", "aggregate"),
        ("SELECT AVG(age) FILTER (WHERE pay > 3) FROM t", "aggregate"),
        ("SELECT QUANTILE(age, pay) FROM t", "not a quantile level"),
        ("SELECT city FROM t GROUP BY city", "aggregate"),
        ("SELECT AVG(age) FROM t UNION SELECT 1", "not a single SELECT"),
        ("SELECT AVG(age) FROM t; SELECT 1", "not a single SELECT"),
        ("DROP TABLE t", "not a single SELECT"),
        ("SELECT AVG(age) FROM t GROUP BY ALL", "only SELECT, FROM and GROUP BY"),
        ("SELECT AVG(age) FROM t TABLESAMPLE (10 PERCENT)", "only SELECT, FROM and GROUP BY"),
        ("SELECT AVG(age) FROM t PIVOT (SUM(pay) FOR city IN (1, 2))", "only SELECT, FROM and GROUP BY"),
        ("SELECT AVG(age) FROM t VERSION AS OF 3", "only SELECT, FROM and GROUP BY"),
        ("SELECT AVG(age) FROM read_csv('other.csv')", "not a table name"),
        ("SELECT COUNT(age, city) FROM t GROUP BY stars", "one column"),
        ("SELECT QUANTILE(age, -0.5) FROM t", "at least 0.0001"),
        ("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age DESC) FROM t", "0.1 for 0.9"),
        ("SELECT RANK(0.5) WITHIN GROUP (ORDER BY age) FROM t", "aggregate"),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, pay) FROM t", "aggregate"),
        (f"SELECT {'(' * 3000}AVG(age){')' * 3000} FROM t", "nested too deeply"),
        ("SELECT COUNT(*) FROM t GROUP BY DATE_TRUNC('hour', born)", "name one of day, week, month"),
        ("SELECT COUNT(*) FROM t GROUP BY DATE_TRUNC('month', born, 'UTC')", "only SELECT, FROM and GROUP BY"),
        ("SELECT DATE_TRUNC('day', born), COUNT(*) FROM t GROUP BY DATE_TRUNC('month', born)", "aggregate"),
        ("SELECT CORR(age + 1, pay) FROM t", "no declared bounds"),
        ("SELECT CORR(age, age) FROM t", "needs two columns"),
        ("SELECT APPROX_TOP_K(city, age) FROM t", "not a number of values"),
        ("", "not a single SELECT"),
        ("SELECT AVG(age FROM t", "cannot be read"),
    ],
)
def test_what_nothing_bounds_is_refused_with_its_reason(query, why):
    with pytest.raises(ParameterError, match=why):
        asked_in_sql(query)


def test_a_query_is_released_charged_and_verified(tmp_path, capsys):
    data, out, ledger = (str(tmp_path / name) for name in ("people.csv", "out.csv", "l.sqlite"))
    people(300).frame.write_csv(data)
    (tmp_path / "plan.toml").write_text(plan_of().to_toml(), "utf-8")
    words = [data, "--plan", str(tmp_path / "plan.toml"), "--epsilon", "2", "-o", out, "--ledger", ledger, "--json"]
    assert main(["sql", "SELECT MAX(age) FROM people", *words]) == 2
    assert not Path(ledger).exists()
    capsys.readouterr()
    assert main(["sql", "SELECT city, AVG(age), COUNT(*) FROM people GROUP BY city", *words]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_charged"] == 2
    rows = Path(out).read_text("utf-8").splitlines()
    assert sum(row.startswith("mean,age,city=") for row in rows) == 3
    assert main(["verify", out, "--ledger", ledger]) == 0
