"""`estimate` from outside: it verifies first, ends when it is interrupted, and says what its figures are."""

import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_cases import PLAN, sanitize

from workbench.cli import estimate
from workbench.release.certificate import checksum
from workbench.sanitize.calibrated_columns import MEANS_ARE_OF_CLAMPED

WORDS = ("estimate", "out.csv")


def forged(folder: Path, change: Callable[[dict[str, Any]], None], *, signed: bool) -> None:
    """Change the certificate, with its checksum where ``signed``."""
    path = folder / "out.csv.certificate.json"
    document = json.loads(path.read_text("utf-8"))
    change(document)
    if signed:
        document["checksum"] = checksum(document)
    path.write_text(json.dumps(document), "utf-8")


def test_a_certificate_that_verify_rejects_is_refused_with_its_first_fault(released, run):
    assert run(*WORDS).code == 0
    forged(released, lambda d: d["columns"][0].update(epsilon="0.01"), signed=True)
    fault = run("verify", "out.csv", "--json").json["problems"][0]
    said = run(*WORDS).error()
    assert said.startswith("the release does not match its certificate: ")
    assert fault in said


def test_a_certificate_with_another_checksum_is_refused_before_any_mechanism_is_rebuilt(released, run, monkeypatch):
    forged(released, lambda d: d.update(rows=999), signed=False)

    def never(*given: object) -> None:
        raise AssertionError("a mechanism was rebuilt")

    monkeypatch.setattr("workbench.release.verify.each_protected_column", never)
    assert "its checksum differs" in run(*WORDS).error()


def test_a_file_that_was_changed_is_refused(released, run):
    text = (released / "out.csv").read_text("utf-8")
    (released / "out.csv").write_text(text.replace("city", "town", 1), "utf-8")  # a drawn value may not be there
    assert "SHA-256 differs" in run(*WORDS).error()


def test_a_certificate_elsewhere_is_verified_too(released, run):
    (released / "out.csv.certificate.json").rename(released / "paper.json")
    assert run(*WORDS, "--certificate", "paper.json").code == 0


def test_means_are_said_to_be_of_clamped_values_here_and_in_the_certificate(released, run):
    assert f"{MEANS_ARE_OF_CLAMPED}." in run(*WORDS, "--json").json["notes"]
    assert MEANS_ARE_OF_CLAMPED[1:] in run(*WORDS).out
    assert run(*WORDS, "--column", "city", "--json").json["notes"] == []
    age, city = json.loads((released / "out.csv.certificate.json").read_text("utf-8"))["columns"]
    assert age["means"] == MEANS_ARE_OF_CLAMPED
    assert "means" not in city


def test_no_share_below_0_is_shown_as_the_figure_and_the_raw_one_stands_beside_it(tmp_path, run):
    result = {
        "rows": 10,
        "confidence": 0.95,
        "notes": [],
        "columns": [
            {
                "name": "city",
                "method": "unbiased",
                "gap": 0.0,
                "frequencies": {"Graz": {"estimate": -0.125, "low": 0.0, "high": 0.25, "consistent": 0.0}},
            }
        ],
    }
    line = estimate.COMMAND.text(result).splitlines()[1].split()
    assert line == ["city", "Graz", "0", "0", "0.25", "-0.125", "unbiased"]


def test_purpose_decides_what_auto_chooses_and_forecast_says_both_errors(released, run):
    def column() -> dict[str, Any]:
        found = run("forecast", "--plan", "plan.toml", "--rows", "10000", "--json").json["columns"][0]
        assert isinstance(found, dict)
        return found

    plan = PLAN.replace("epsilon = 3.0", "epsilon = 1.6")
    (released / "plan.toml").write_text(plan, "utf-8")
    many = column()
    assert (many["purpose"], many["mechanism"], many["advised"]) == ("statistics", "duchi", "duchi")
    (released / "plan.toml").write_text(plan.replace("upper = 120", 'upper = 120\npurpose = "values"'), "utf-8")
    near = column()
    assert (near["purpose"], near["mechanism"], near["advised"]) == ("values", "piecewise", "piecewise")
    assert many["expected_absolute_error"] > near["expected_absolute_error"]
    assert many["statistic_sd"] == many["statistic_candidates"]["duchi"] < many["statistic_candidates"]["piecewise"]
    (released / "plan.toml").write_text(plan, "utf-8")
    assert many["mean_error"] == pytest.approx(many["statistic_sd"] / 100)
    assert many["statistic_candidates"]["staircase"] is None
    assert run(*sanitize(output="other.csv", ledger="other.sqlite")).code == 0
    (age, _) = run("estimate", "other.csv", "--json").json["columns"]
    assert (age["mechanism"], age["biased"]) == ("duchi", False)
    (released / "plan.toml").write_text(PLAN.replace("upper = 120", 'upper = 120\npurpose = "fun"'), "utf-8")
    assert "purpose" in run("forecast", "--plan", "plan.toml").error()


def test_a_mean_of_dates_with_missing_values_is_estimated_and_told_as_a_day(tmp_path, monkeypatch, run):
    """With few rows and little ε every estimator is nearly a constant, whose noise is nothing but rounding."""
    monkeypatch.chdir(tmp_path)
    days = [f"20{19 + k % 5}-0{1 + k % 9}-1{k % 10}" if k % 7 else "" for k in range(240)]
    Path("d.csv").write_text("seen,class\n" + "".join(f"{day},{'ab'[k % 2]}\n" for k, day in enumerate(days)))
    Path("d.toml").write_text(
        'epsilon = 0.8\ninvalid = "replace"\n[[column]]\nname = "seen"\nkind = "date"\nlower = 2019-01-01\n'
        'upper = 2023-12-31\nmechanism = "staircase"\n[[column]]\nname = "class"\nkind = "category"\n'
        'domain = ["a", "b"]\n'
    )
    assert run("sanitize", "d.csv", "--plan", "d.toml", "-o", "d-out.csv", "--ledger", "d.sqlite").code == 0
    answer = run("estimate", "d-out.csv")
    assert answer.code == 0, answer.err
    (line,) = (line for line in answer.out.splitlines() if line.startswith("seen") and " mean " in line)
    assert all(datetime.date(2019, 1, 1) <= datetime.date.fromisoformat(day) for day in line.split()[2:6])


def test_quantiles_and_pairs_are_added_and_the_other_keys_stay(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 50},{k % 50 + k % 8 * 2},{'fm'[k % 2]},{'abc'[k % 3]}" for k in range(900)]
    Path("d.csv").write_text("\n".join(["age,pay,sex,job", *rows]) + "\n")
    numbers = "".join(
        f'[[column]]\nname = "{name}"\nkind = "integer"\nlower = 0\nupper = {most}\n'
        for name, most in (("age", 49), ("pay", 98))
    )
    names = "".join(
        f'[[column]]\nname = "{name}"\nkind = "category"\ndomain = {json.dumps(domain)}\n'
        for name, domain in (("sex", ["f", "m"]), ("job", ["a", "b", "c"]))
    )
    Path("d.toml").write_text(f"epsilon = 120\n{numbers}{names}")  # no cell changes: a chance of 10^-8
    assert run("sanitize", "d.csv", "--plan", "d.toml", "-o", "o.csv", "--ledger", "d.sqlite").code == 0
    plain = run("estimate", "o.csv", "--json").json
    assert "pairs" not in plain
    assert all("quantiles" not in column for column in plain["columns"])
    words = ("--quantiles", "0.5, 0.25", "--pair", "age,pay", "--pair", "sex,job", "--pair", "age,sex")
    found = run("estimate", "o.csv", *words, "--json").json
    age, _, sex, _ = found["columns"]
    assert {key: age[key] for key in plain["columns"][0]} == plain["columns"][0]
    lower, median = age["quantiles"]
    assert (lower["quantile"], median["quantile"]) == (0.25, 0.5)
    assert lower["low"] <= 12 <= lower["high"]
    assert median["low"] <= 24 <= median["high"]
    assert "quantiles" not in sex
    numbers_pair, names_pair, mixed = found["pairs"]
    assert numbers_pair["columns"] == ["age", "pay"]
    # Of one that is exactly 1, noise may make moments of no table: the interval would be all of −1 to 1.
    assert 0.9 < numbers_pair["correlation"]["low"] <= 0.953 <= numbers_pair["correlation"]["high"]
    assert numbers_pair["biased"] is True
    assert "correlation" not in names_pair
    assert names_pair["table"]["f"]["a"]["low"] <= 1 / 6 <= names_pair["table"]["f"]["a"]["high"]
    assert set(mixed["correlation"]) == {"estimate", "low", "high"}
    told = run("estimate", "o.csv", *words).out
    assert "25 % quantile" in told
    assert re.search(r"correlation of age and pay: (0\.9\d*|1) \(0\.9", told)
    assert "column job has more than two values" in run("estimate", "o.csv", "--pair", "age,job").error()
    assert "did you mean 'pay'" in run("estimate", "o.csv", "--pair", "age,pai").error()
    assert "two columns" in run("estimate", "o.csv", "--pair", "age").error()
    assert "--quantiles" in run("estimate", "o.csv", "--quantiles", "0.5,1").error()


def test_what_the_noise_hides_is_told_so_and_not_dressed_up(tmp_path, monkeypatch, run):
    result = {
        "rows": 10,
        "confidence": 0.95,
        "notes": [],
        "columns": [
            {
                "name": "age",
                "kind": "integer",
                "method": "unbiased",
                "gap": 0.0,
                "mean": {"estimate": 5.0, "low": 1.0, "high": 9.0, "consistent": 5.0},
                "quantiles": [{"quantile": 0.5, "estimate": 5.0, "low": 0.0, "high": 9.0, "hidden": True}],
            }
        ],
        "pairs": [
            {
                "columns": ["age", "pay"],
                "correlation": {"estimate": 0.3, "low": -1.0, "high": 1.0},
                "biased": True,
                "hidden": True,
            }
        ],
    }
    told = estimate.COMMAND.text(result)
    assert "correlation of age and pay: hidden by noise: anything from -1 to 1 is possible." in told
    assert "0.3" not in told
    (median,) = (line for line in told.splitlines() if " median " in line)
    assert "hidden by noise" in median
