"""The main job on real input, from the command line alone: a certified CSV out, a curve and models beside it."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from workbench.cli import main

BOUNDS = {
    # Public facts of general knowledge; none was read from the rows.
    "Pregnancies": (0, 20),
    "Glucose": (0, 250),
    "BloodPressure": (0, 150),
    "SkinThickness": (0, 100),
    "Insulin": (0, 900),
    "BMI": (0, 80),
    "DiabetesPedigreeFunction": (0, 3),
    "Age": (18, 100),
}


class Bench:
    """A folder with a ledger of its own, and the command line run in it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def run(self, *words: object, code: int = 0) -> Any:
        """Run a command with --json; return its object, or its error where ``code`` is not 0 or 5."""
        assert main([str(w) for w in (*words, "--json")]) == code
        captured = self._capsys.readouterr()
        return json.loads(captured.out) if code in (0, 5) else captured.err

    def path(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture
def bench(tmp_path, capsys):
    return Bench(tmp_path, capsys)


def filled_plan(bench: Bench, table: Path) -> Path:
    """Draft a plan and fill in its public facts as a steward does in her editor."""
    plan = bench.path("plan.toml")
    drafted = bench.run("plan", table, "--epsilon", 3, "--target", "Outcome", "-o", plan)
    assert len(drafted["unfilled"]) == 17
    text = plan.read_text()
    for name, (lower, upper) in BOUNDS.items():
        head, column, rest = text.partition(f'name = "{name}"\n')
        rest = rest.replace('lower = "?"', f"lower = {lower}", 1).replace('upper = "?"', f"upper = {upper}", 1)
        text = head + column + rest
    plan.write_text(text.replace('domain = "?"', 'domain = ["0", "1"]'))
    refused = ("sanitize", table, "--plan", plan, "-o", bench.path("no.csv"), "--ledger", bench.path("no.sqlite"))
    assert "kind and missing of Pregnancies, Glucose" in bench.run(*refused, code=2)
    confirmed = bench.run("plan", "--confirm", plan)
    assert (len(confirmed["confirmed"]), confirmed["unfilled"]) == (2 * 9 + 2, [])
    filled_in = "domain of Outcome"  # a domain beside a guess is confirmed with it: the file may have proposed it
    assert [place for place in confirmed["confirmed"] if place != filled_in] == drafted["guesses"]
    assert filled_in in confirmed["confirmed"]
    return plan


def test_diabetes_from_start_to_end(bench, shared_data):
    table = shared_data / "diabetes.csv"
    ledger, out = bench.path("ledger.sqlite"), bench.path("out.csv")
    assert bench.run("describe", table)["rows"] == 768

    plan = filled_plan(bench, table)
    forecast = bench.run("forecast", "--plan", plan)
    assert forecast["epsilon_total"] == 3.0
    assert all(c["exact_epsilon"] <= c["epsilon"] for c in forecast["columns"])
    shares = {c["name"]: c["epsilon"] for c in forecast["columns"]}
    assert shares["Outcome"] == pytest.approx(1, abs=1e-3)  # the target: labels that are wrong cannot be corrected
    assert all(share <= 2 / 8 + 1e-3 for name, share in shares.items() if name != "Outcome")

    released = bench.run("sanitize", table, "--plan", plan, "-o", out, "--ledger", ledger)
    assert (released["rows"], released["epsilon_charged"], released["epsilon_remaining"]) == (768, 3.0, 0.0)
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 768
    assert set(rows[0]) == {*BOUNDS, "Outcome"}
    assert all(18 <= int(r["Age"]) <= 100 and r["Outcome"] in "01" and 0 <= float(r["BMI"]) <= 80 for r in rows)
    assert sorted(p.name for p in bench.folder.iterdir()) == [
        "ledger.sqlite",
        "ledger.sqlite.key",
        "out.csv",
        "out.csv.certificate.json",
        "plan.toml",
    ]

    assert bench.run("verify", out, "--ledger", ledger)["ok"] is True
    estimates = bench.run("estimate", out, "--certificate", bench.path("out.csv.certificate.json"))
    by_name = {c["name"]: c for c in estimates["columns"]}
    assert by_name["Outcome"]["biased"] is False
    age = by_name["Age"]["mean"]  # its unbiased estimate may be an impossible age
    assert 18 <= age["low"] <= age["consistent"] <= age["high"] <= 100

    refusal = bench.run("sanitize", table, "--plan", plan, "-o", bench.path("b.csv"), "--ledger", ledger, code=3)
    assert "costs epsilon = 3 but nothing is left" in refusal
    bench.run("ledger", "cap", table, "--epsilon", 8, "--ledger", ledger)
    fitted = bench.run(
        *("fit", table, "--target", "Outcome", "--model", "naive-bayes", "--epsilon", 1, "--bounds", plan),
        *("-o", bench.path("model"), "--ledger", ledger),
    )
    assert fitted["epsilon_remaining"] == 4.0
    assert bench.run("verify", bench.path("model"))["ok"] is True

    curve = bench.run(
        *("curve", table, "--target", "Outcome", "--model", "naive-bayes", "--bounds", plan, "--epsilons", "1,10"),
        *("--regimes", "none,sanitized:staircase,private", "--repeats", 3, "--jobs", 1, "-o", bench.path("curve.csv")),
    )
    with bench.path("curve.csv").open(newline="") as stream:
        points = list(csv.DictReader(stream))
    assert list(points[0]) == ["regime", "epsilon", "repeat", "metric", "value"]
    assert curve["rows"] == len(points)
    assert {p["regime"] for p in points} == {"none", "sanitized:staircase", "private"}

    shown = bench.run("ledger", "show", "--ledger", ledger)
    assert [e["status"] for e in shown["entries"]] == ["charged", "refused", "charged"]
    assert bench.run("ledger", "verify", "--ledger", ledger)["ok"] is True
    certificate = json.loads(bench.path("out.csv.certificate.json").read_text())
    assert certificate["guarantee"]["epsilon"] == "3"


def test_a_network_trains_privately_on_real_rows(bench, shared_data):
    table = shared_data / "diabetes.csv"
    plan = filled_plan(bench, table)
    trained = bench.run(
        *("dpsgd", table, "--target", "Outcome", "--bounds", plan, "--network", "logistic", "--epsilon", 3),
        *("--delta", "1e-5", "--batch", 64, "--epochs", 3, "--lr", 1, "--clip", 1, "--device", "cpu"),
        *("-o", bench.path("network"), "--ledger", bench.path("ledger.sqlite")),
    )
    assert trained["epsilon"] <= 3
    assert trained["epsilon_charged"] == pytest.approx(trained["epsilon"], abs=1e-5)
    assert trained["steps"] == 36
    assert (bench.path("network") / "private" / "metrics.csv").is_file()
    assert bench.run("verify", bench.path("network"))["ok"] is True
    (entry,) = bench.run("ledger", "show", "--ledger", bench.path("ledger.sqlite"))["entries"]
    assert entry["status"] in ("charged", "settled")
    assert entry["delta"] == 1e-5
