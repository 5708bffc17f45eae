"""A δ is used where queries are many enough that Gaussian noise is less, by a forecast that reads no row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workbench.cli.main import main
from workbench.data.schema import Attribute
from workbench.learners import LEARNERS, learner
from workbench.privacy.accounting.event import PureDp, ZeroConcentrated
from workbench.release.card import contradictions
from workbench.release.certificate import read_card
from workbench.work.noise import Study

COLUMNS = [Attribute(name=f"x{j}", kind="real", lower=0.0, upper=1.0) for j in range(6)]
TARGETS = {
    "classification": Attribute(name="y", kind="category", domain=("a", "b")),
    "regression": Attribute(name="y", kind="real", lower=0.0, upper=1.0),
}
GIVEN = [entry for entry in LEARNERS if "delta" in entry.parameters.declared() and entry.name != "linear-regression"]


def cost_of(name: str, rows: int, delta: float | None, epsilon: float = 1.0) -> tuple[float, set[type]]:
    chosen = learner(name)
    target = TARGETS.get(chosen.task, TARGETS["classification"])
    parameters = chosen.parameters.from_plain({"epsilon": epsilon} | ({} if delta is None else {"delta": delta}))
    made = chosen.private(COLUMNS, target, parameters, Study(np.random.default_rng(1)))
    cost = made.cost(rows)
    assert cost is not None
    assert (float(cost.epsilon), made.gaussian(rows)) == (epsilon, cost.delta > 0)
    return float(cost.delta), {type(event) for event in made.events(rows)}


@pytest.mark.parametrize("name", [entry.name for entry in GIVEN])
def test_few_queries_are_paid_in_epsilon_and_many_in_rho(name: str) -> None:
    assert cost_of(name, 60, 1e-6) == (0.0, {PureDp})
    assert cost_of(name, 60, None) == (0.0, {PureDp})
    many = 1e-4 if name in ("naive-bayes", "random-forest", "forest-regression") else 1e-6
    assert cost_of(name, 40_000, many) == (many, {ZeroConcentrated})


def test_a_card_of_a_delta_that_did_not_pay_has_none_and_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7 / 7:.2f},{'ab'[i % 2]}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["x,y", *rows]) + "\n", encoding="utf-8")
    Path("p.toml").write_text(
        'version = 1\nepsilon = 1.0\n[[column]]\nname = "x"\nkind = "real"\nlower = 0.0\nupper = 1.0\n'
        '[[column]]\nname = "y"\nkind = "category"\ndomain = ["a", "b"]\n',
        encoding="utf-8",
    )
    fit = ["fit", "t.csv", "--model", "random-forest", "--target", "y", "--bounds", "p.toml", "--ledger", "l.sqlite"]
    unused = ["--epsilon", "100", "--delta", "0.025", "-o", "none"]
    assert main([*fit, *unused]) == 2
    assert "delta = 0.025 is not below 1/rows = 0.025" in capsys.readouterr().err
    assert main([*fit, "--epsilon", "1", "--delta", "1e-4", "-o", "model"]) == 0
    card = read_card(tmp_path / "model")
    assert (card["guarantee"]["epsilon"], card["guarantee"]["delta"]) == ("1", "0")
    assert "Laplace" in card["guarantee"]["randomness"]
    assert contradictions(card, tmp_path / "model") == []
