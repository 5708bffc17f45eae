"""What is promised of ``rappor encode | sum | map | decode | simulate``."""

import csv
import random

import pytest

PARAMS = "k,h,m,p,q,f\n64,2,4,0.5,0.75,0.25\n"
ENCODE = ["rappor", "encode", "values.csv", "--params", "params.csv", "-o", "out.csv", "--ledger", "l.sqlite"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table of clients in the published format, parameters and candidates."""
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(1)
    rows = [f"{i},{i % 4},{drawn.choices(['v1', 'v2', 'v3'], [6, 3, 1])[0]}" for i in range(4000)]
    (tmp_path / "values.csv").write_text("\n".join(["client,cohort,value", *rows]) + "\n", "utf-8")
    (tmp_path / "params.csv").write_text(PARAMS, "utf-8")
    (tmp_path / "candidates.txt").write_text("v1\nv2\nv3\nv4\nv5\n", "utf-8")
    return tmp_path


def test_the_whole_way(place, run):
    told = run(*ENCODE, "--json").json
    assert told["reports"] == 4000
    assert told["epsilon_charged"] == pytest.approx(told["epsilon_one"], abs=2e-6)
    assert told["epsilon_permanent"] == pytest.approx(7.7836, abs=1e-4)
    assert run("verify", "out.csv", "--ledger", "l.sqlite").code == 0
    params = ["--params", "params.csv"]
    told = run("rappor", "sum", "out.csv", *params, "-o", "counts.csv", "--json").json
    assert told["reports"] == 4000
    assert sum(told["cohort_reports"]) == 4000
    told = run("rappor", "map", "candidates.txt", *params, "-o", "map.csv", "--json").json
    assert told["candidates"] == 5
    words = ["rappor", "decode", "--counts", "counts.csv", "--map", "map.csv", *params, "-o", "result.csv"]
    told = run(*words, "--json").json
    assert told["detected"] == len(told["strings"]) >= 1
    assert {"epsilon_permanent", "epsilon_one"} <= set(told)
    assert told["strings"][0]["string"] == "v1"
    assert told["strings"][0]["low"] - 0.1 <= 0.6 <= told["strings"][0]["high"] + 0.1
    rows = list(csv.DictReader((place / "result.csv").read_text("utf-8").splitlines()))
    assert list(rows[0]) == ["string", "estimate", "std_error", "p_value", "significant"]
    assert "Benjamini and Hochberg" in run(*words, "--correction", "fdr", "--alpha", "0.1").out
    assert "of 5 candidates found in 4,000 reports" in run(*words).out


def test_simulations(place, run):
    told = run("rappor", "simulate", "--preset", "normal", "--reports", "20000", "-o", "r.csv", "--json").json
    assert told["epsilon_permanent"] is None  # f = 0: infinite
    assert told["candidates"] == 100
    assert told["parameters"]["k"] == 128
    assert (place / "r.csv").exists()
    again = run("rappor", "simulate", "--preset", "normal", "--reports", "20000", "--json").json
    assert again["strings"] == told["strings"]  # seeded
    other = run("rappor", "simulate", "--preset", "normal", "--reports", "5000", "--seed", "2")
    assert "infinite" in other.out
    assert "figures" not in run("ledger", "show").out, "contains no real data"
    words = ["rappor", "simulate", "--data", "values.csv", "--column", "value", "--reports", "20000", "--f", "0"]
    told = run(*words)
    assert "private – not for release" in told.out
    assert "the ledger notes, at no cost" in told.err
    assert [note["study"] for note in run("ledger", "show", "--json").json["figures"]] == ["rappor"]
    basic = ["rappor", "simulate", "--distribution", "zipf", "--values", "10", "--k", "10", "--h", "1", "--m", "1"]
    assert run(*basic, "--basic", "--reports", "20000", "--json").json["detected"] >= 3


REFUSED: dict[str, tuple[list[str], str]] = {
    "a seed": ([*ENCODE, "--seed", "1"], "--seed is for studies"),
    "no such column": ([*ENCODE, "--column", "valu"], "did you mean 'value'?"),
    "parameters of another kind": ([*ENCODE[:4], "values.csv", *ENCODE[5:]], "start it with k,h,m,p,q,f"),
    "an output of another kind": ([*ENCODE[:6], "out.parquet", *ENCODE[7:]], "suffix '.parquet' is not known"),
    "the table as the output": ([*ENCODE[:6], "values.csv", *ENCODE[7:]], "would replace its input"),
    "the table as the answers": ([*ENCODE, "--answers", "values.csv"], "would replace its input"),
    "no reports": ([*ENCODE, "--reports", "0"], "--reports = 0"),
    "a sum of no reports": (
        ["rappor", "sum", "values.csv", "--params", "params.csv", "-o", "c.csv"],
        "name a column cohort and a column rappor",
    ),
    "no distribution": (["rappor", "simulate"], "the true distribution must be given exactly once"),
    "two distributions": (
        ["rappor", "simulate", "--preset", "normal", "--distribution", "zipf"],
        "must be given exactly once",
    ),
    "another preset": (["rappor", "simulate", "--preset", "norm"], "the preset 'norm' is not known"),
    "p = q": (["rappor", "simulate", "--preset", "normal", "--p", "0.75"], "a report would contain no information"),
    "data without a column": (["rappor", "simulate", "--data", "values.csv"], "must be used together"),
    "an alpha of 1": (["rappor", "simulate", "--preset", "normal", "--alpha", "1"], "--alpha = 1"),
    "another correction": (["rappor", "simulate", "--preset", "normal", "--correction", "bonferoni"], "did you mean"),
    "no action": (["rappor"], "encode|sum|map|decode|simulate"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_told_and_leaves_nothing(place, run, name):
    words, told = REFUSED[name]
    before = {p.name: p.read_bytes() for p in place.iterdir()}
    assert told in run(*words).error()
    assert {p.name: p.read_bytes() for p in place.iterdir()} == before


def test_f_of_0_without_other_noise_is_never_charged(place, run):
    (place / "params.csv").write_text("k,h,m,p,q,f\n64,2,4,0,1,0\n", "utf-8")
    assert "infinite epsilon" in run(*ENCODE).error()
    assert not (place / "l.sqlite").exists()


def test_a_plan_says_whose_rows_they_are(place, run):
    plan = "epsilon = 1.0\nrows_per_person = 3\n" + "".join(
        f'[[column]]\nname = "{name}"\naction = "drop"\n' for name in ("client", "cohort", "value")
    )
    (place / "plan.toml").write_text(plan, "utf-8")
    told = run(*ENCODE, "--plan", "plan.toml", "--json").json
    assert told["epsilon_charged"] == pytest.approx(3 * told["epsilon_one"], abs=5e-6)


def test_kept_answers_are_used_again(place, run):
    assert run(*ENCODE, "--answers", "answers.txt").code == 0
    assert run("ledger", "cap", "values.csv", "--epsilon", "9", "--ledger", "l.sqlite").code == 0
    kept = (place / "answers.txt").read_text("ascii")
    assert run(*ENCODE[:6], "two.csv", *ENCODE[7:], "--answers", "answers.txt").code == 0
    assert (place / "answers.txt").read_text("ascii") == kept


def test_a_column_of_a_table_with_one_column_and_basic_values(place, run):
    (place / "one.csv").write_text("city\nGraz\nLinz\nGraz\n", "utf-8")
    (place / "cities.txt").write_text("Graz\nLinz\nWien\n", "utf-8")
    (place / "params.csv").write_text("k,h,m,p,q,f\n3,1,1,0.25,0.75,0.5\n", "utf-8")
    words = ["rappor", "encode", "one.csv", "--params", "params.csv", "-o", "o.csv", "--ledger", "l.sqlite"]
    told = run(*words, "--basic", "cities.txt", "--reports", "2", "--json").json
    assert (told["rows"], told["reports"], told["column"]) == (3, 6, "city")
    assert told["epsilon_exact"] <= told["epsilon_charged"]
    assert run("rappor", "map", "cities.txt", "--basic", "--params", "params.csv", "-o", "m.csv").code == 0
    assert (place / "m.csv").read_text("utf-8").split() == ["Graz,1", "Linz,2", "Wien,3"]
