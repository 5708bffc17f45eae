"""``workbench statistics``: release, forecast, requests by option and by file, refusals."""

import csv
import json
import re
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    assert run("plan", "sample:people", "--epsilon", "3", "-o", "plan.toml").code == 0
    return tmp_path


BASE = ["statistics", "sample:people", "--plan", "plan.toml", "--ledger", "l.sqlite"]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_a_release_with_nothing_asked_has_histograms_and_means(folder, run):
    answer = run(*BASE, "--epsilon", "1", "-o", "out.csv", "--json")
    assert answer.code == 0, answer
    told = answer.json
    assert (told["epsilon_charged"], told["epsilon_remaining"], told["replace_one_epsilon"]) == (1, 0, 2)
    assert told["release_id"]
    rows = rows_of(folder / "out.csv")
    assert {r["statistic"] for r in rows} == {"histogram", "share of all rows", "cumulative share of all rows", "mean"}
    assert [r["value"] for r in rows if r["column"] == "sex" and r["statistic"] == "histogram"] == ["female", "male"]
    assert run("verify", "out.csv", "--ledger", "l.sqlite").code == 0
    again = run(*BASE, "--epsilon", "1", "-o", "again.csv")
    assert again.code == 3
    assert not (folder / "again.csv").exists()


def test_groups_quantiles_and_json(folder, run):
    words = ["--by", "sex", "--mean", "income", "--quantiles", "age:0.1,0.5", "--count", "age", "-o", "out.json"]
    assert run(*BASE, "--epsilon", "2", *words).code == 0
    found = json.loads((folder / "out.json").read_text("utf-8"))["figures"]
    assert {r["group"] for r in found} == {"sex=female", "sex=male"}
    assert [r["value"] for r in found if r["statistic"] == "quantile"] == ["0.1", "0.5"] * 2
    assert all(r["low"] <= r["estimate"] <= r["high"] for r in found)
    assert run("verify", "out.json", "--ledger", "l.sqlite").code == 0
    assert "of kind 'statistics'" in run("estimate", "out.json", "--certificate", "out.json.certificate.json").err


def test_a_forecast_reads_no_table_and_charges_nothing(folder, run):
    words = ["statistics", "no-such-file.csv", "--plan", "plan.toml", "--epsilon", "1", "--forecast"]
    answer = run(*words, "--rows", "2000", "--mean", "age", "--histogram", "sex", "--json")
    assert answer.code == 0, answer
    mean, sex = sorted(answer.json["forecast"], key=lambda f: f["statistic"], reverse=True)
    # 82 years of range, half of ε, 2000 rows: 41·ln 20/0.5/2000
    assert mean["half_width"] == pytest.approx(41 * 2.9957 / 0.5 / 2000, rel=1e-3)
    assert sex["half_width"] == 6
    assert answer.json["epsilon_total"] == 1
    assert {p.name for p in folder.iterdir()} == {"plan.toml"}
    assert "nothing is charged now" in run(*words, "--rows", "2000").out
    assert run(*words).code == 2


def test_a_forecast_by_groups_states_sizes_and_shares_say_of_what(folder, run):
    words = ["statistics", "--plan", "plan.toml", "--epsilon", "1", "--forecast", "--rows", "3000", "--by", "sex"]
    answer = run(*words, "--mean", "age", "--count", "age", "--json")
    by_size = {f["statistic"]: f["by_group_size"] for f in answer.json["forecast"]}
    assert by_size["count"] == []
    assert [(s["part"], s["rows"]) for s in by_size["mean"]] == [(0.01, 30), (0.1, 300), (0.5, 1500)]
    assert by_size["mean"][0]["half_width"] > 10 * by_size["mean"][2]["half_width"]
    text = run(*words, "--mean", "age").out
    assert "in groups of equal size" in text
    assert re.search(r"\nmean of age by sex +1 % +30 +± ", text)
    assert run(*BASE, "--epsilon", "1", "--by", "sex", "--histogram", "age", "-o", "h.csv").code == 0
    found = {r["statistic"] for r in rows_of(folder / "h.csv")}
    assert {"share of all rows", "cumulative share of all rows"} <= found
    assert not {"share", "cumulative share"} & found
    certificate = json.loads((folder / "h.csv.certificate.json").read_text("utf-8"))
    assert "Shares are of all rows" in certificate["method"]["intervals"]


def test_a_request_file_says_the_same_as_options(folder, run):
    (folder / "request.toml").write_text(
        '[[figure]]\nstatistic = "histogram"\ncolumn = "age"\nbins = 5\nweight = 3.0\n'
        '[[figure]]\nstatistic = "mean"\ncolumn = "income"\nby = ["sex"]\n',
        "utf-8",
    )
    answer = run(*BASE, "--epsilon", "1", "--request", "request.toml", "-o", "out.csv", "--json")
    assert answer.code == 0, answer
    assert {f["source"]: f["epsilon"] for f in answer.json["figures"]} == {
        "histogram of age": 0.75,
        "moments of income by sex": 0.25,
    }
    assert run("verify", "out.csv").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mean", "sex"], "a category has no mean"),
        (["--mean", "town"], "the plan has no column 'town'"),
        (["--mean", "name"], "does not protect the column 'name'"),
        (["--seed", "1"], "--seed"),
        (["--delta", "0.5"], "delta = 0.5 is not below 1/rows"),
        (["--rows", "9"], "--rows is for --forecast"),
        (["--request", "no.toml"], "does not exist"),
        (["--histogram", "age:1"], "--histogram age:1 = 1 is not a whole number"),
        (["--by", "sex", "--by", "sex"], "--by names 'sex' twice"),
    ],
)
def test_refusals_write_nothing(folder, run, words, said):
    answer = run(*BASE, "--epsilon", "1", "-o", "out.csv", *words)
    assert answer.code == 2, answer
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert {p.name for p in folder.iterdir()} <= {"plan.toml", "l.sqlite"}


@pytest.mark.parametrize("output", ["out.parquet", "out.txt"])
def test_other_formats_are_refused(folder, run, output):
    assert "use one of .csv, .json" in run(*BASE, "--epsilon", "1", "-o", output).err


def test_a_query_may_stand_behind_the_table(folder, run):
    query = "-- of all\nSELECT sex, AVG(age) FROM people GROUP BY sex"
    more = ("--plan", "plan.toml", "--ledger", "l.sqlite", "--epsilon", "1")
    for words in (("sample:people", query), (query, "sample:people")):
        assert run("sql", *words, *more, "-o", "out.csv", "--replace").code in (0, 3)
    assert {row["statistic"] for row in rows_of(folder / "out.csv")} == {"mean"}
    assert "not a single SELECT" in run("sql", "sample:people", "people", *more, "-o", "out.csv").error()
