"""A mechanism that is only a line in the list works with every command, and its figures are those of its own table."""

from __future__ import annotations

from pathlib import Path

import lopsided
import numpy as np
import pytest
from command_cases import PLAN, Run, runner, sanitize, written

from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.local.cells import Cells

SIZES = (12_000, 5_000, 3_000)
CITIES = ("Graz", "Linz", "Wien")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command line that knows one mechanism more, in a folder with a table and a plan that asks for it."""
    lopsided.register(monkeypatch)
    written(tmp_path)
    rows = [f"{20 + i % 60},{city}" for city, size in zip(CITIES, SIZES, strict=True) for i in range(size)]
    (tmp_path / "people.csv").write_text("\n".join(["age,city", *rows]) + "\n", "utf-8")
    (tmp_path / "plan.toml").write_text(PLAN.replace('name = "city"', 'name = "city"\nmechanism = "toy"'), "utf-8")
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def table(epsilon: float) -> np.ndarray:
    return lopsided.TOY.build(Cells(size=3), epsilon).weights.astype(float) / 2.0**63


def test_its_facts_are_those_of_the_whole_table(run: Run) -> None:
    chances = table(1.5)
    assert abs(chances - chances.T).max() > 0.1
    told = run("mechanism", "toy", "--epsilon", "1.5", "--domain", ",".join(CITIES), "--json").json
    changed = sum(chances[i, j] for i in range(3) for j in range(3) if i != j) / 3
    assert told["expected_absolute_error"] == pytest.approx(changed, abs=1e-12)
    inverse = np.linalg.inv(chances)
    assert told["variance_max"] == pytest.approx((chances @ inverse**2 - np.eye(3)).max())
    assert told["bias_max"] == 0
    assert told["exact_epsilon"] <= 1.5


def test_the_forecast_change_is_the_one_that_is_drawn(run: Run) -> None:
    (city,) = [c for c in run("forecast", "--plan", "plan.toml", "--json").json["columns"] if c["name"] == "city"]
    assert city["mechanism"] == "toy"
    assert city["candidates"]["toy"] == city["expected_absolute_error"]
    assert set(city["candidates"]) == {"grr", "toy"}
    chances = table(float(city["epsilon"]))
    assert city["expected_absolute_error"] == pytest.approx(1 - np.trace(chances) / 3, abs=1e-12)
    made, cells = lopsided.TOY.build(Cells(size=3), float(city["epsilon"])), np.arange(60_000) % 3
    drawn = made.sample(cells.astype(np.uint16), SeededEntropy(7))
    # Four standard errors of 60,000 draws.
    assert np.mean(drawn != cells) == pytest.approx(city["expected_absolute_error"], abs=4 * 0.5 / 60_000**0.5)


def test_a_release_is_drawn_verified_and_estimated(run: Run) -> None:
    assert run(*sanitize()).code == 0
    assert run("verify", "out.csv", "--ledger", "ledger.sqlite").code == 0
    answer = run("estimate", "out.csv", "--column", "city", "--json").json
    (city,) = answer["columns"]
    assert (city["mechanism"], city["biased"]) == ("toy", False)
    chances = table(1.5)
    inverse = np.linalg.inv(chances)
    shares = np.array(SIZES) / sum(SIZES)
    for at, (name, share) in enumerate(zip(CITIES, shares, strict=True)):
        one = shares @ (chances @ inverse[:, at] ** 2) - shares @ (chances @ inverse[:, at]) ** 2
        assert city["frequencies"][name]["estimate"] == pytest.approx(share, abs=5.5 * (one / sum(SIZES)) ** 0.5)


def test_a_plan_and_an_audit_take_it_by_name(run: Run) -> None:
    assert run("plan", "people.csv", "--epsilon", "2", "--mechanism", "toy", "-o", "new.toml").code == 0
    assert 'mechanism = "toy"' in Path("new.toml").read_text("utf-8")
    words = ("audit", "toy", "--epsilon", "1", "--domain", "a,b,c", "--samples", "20000", "--seed", "3", "--json")
    assert run(*words).code == 0


@pytest.mark.parametrize("command", ["mechanism", "plan", "audit"])
def test_the_help_names_it(run: Run, capsys: pytest.CaptureFixture[str], command: str) -> None:
    answer = run(command, "--help")
    assert answer.code == 0
    assert "optimal, toy" in " ".join(answer.out.split())
