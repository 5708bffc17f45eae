"""A learner or a training that asks for more than it declared is not released: nothing is written or charged."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bin_means import TOY, BinMeans
from release_cases import names_in, statuses

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.network_task import NetworkTask
from workbench.release.model.release_learner import FitTask, release_fit
from workbench.release.verify import verify_release
from workbench.sanitize.plan import Plan
from workbench.work.ask import UndeclaredError

ROWS, STEPS = 40, 4
COLUMNS = ("a", "b", "c", "goal")
BOOK = {"ledger.sqlite", "ledger.sqlite.key"}


class AsksTwice(BinMeans):
    def _answers(self, ask: Any, setting: Any, X: Any, y: Any) -> Any:
        super()._answers(ask, setting, X, y)
        return super()._answers(ask, setting, X, y)


class AsksMore(BinMeans):
    def _answers(self, ask: Any, setting: Any, X: Any, y: Any) -> Any:
        ask("squares", [int((y**2).sum())], 1)
        return super()._answers(ask, setting, X, y)


class AsksAround(BinMeans):
    """It asks for its sums a second time as a learner of its own, with the noise that it was given."""

    def _answers(self, ask: Any, setting: Any, X: Any, y: Any) -> Any:
        super()._answers(ask, setting, X, y)
        again = self.noise.ask(self.cost(len(y)))
        return super()._answers(again, setting, X, y)


class AsksLess(BinMeans):
    def _answers(self, ask: Any, setting: Any, X: Any, y: Any) -> Any:
        model = super()._answers(lambda label, exact, sensitivity: exact, setting, X, y)
        ask("sizes", [len(y)], 1)
        return model


def fit(estimator: type[BinMeans], folder: Path) -> None:
    learner = TOY if estimator is BinMeans else estimator.described("Toy", "It cheats.")
    column = {"kind": "integer", "lower": 0, "upper": ROWS}
    plan = Plan.from_plain({"epsilon": 1.0, "column": [{"name": name, **column} for name in COLUMNS]})
    table = Table(pl.DataFrame({name: [str(i) for i in range(ROWS)] for name in COLUMNS}), "made")
    task = FitTask(learner, learner.parameters.from_plain({"epsilon": 1.0}), plan, "goal", table, folder / "model")
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        release_fit(task, ledger)


def test_a_learner_that_asks_what_it_declared_is_released(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.learners.LEARNERS", (TOY,))
    fit(BinMeans, tmp_path)
    assert statuses(tmp_path / "ledger.sqlite") == ["charged"]
    assert verify_release(tmp_path / "model") == []


@pytest.mark.parametrize(
    ("toy", "error", "said"),
    [
        (AsksTwice, UndeclaredError, "was asked before"),
        (AsksMore, UndeclaredError, "'squares' was not declared"),
        (AsksAround, AssertionError, "one release is charged once"),
        (AsksLess, UndeclaredError, "sums"),
    ],
)
def test_a_learner_that_asks_anything_else_is_not(tmp_path, toy, error, said):
    with pytest.raises(error, match=said):
        fit(toy, tmp_path)
    assert statuses(tmp_path / "ledger.sqlite") == ["void"]
    assert names_in(tmp_path) == BOOK


def louder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charge for twice the noise that the steps are asked with."""
    from dataclasses import replace

    from workbench.deep.plan import Schedule

    whole = Schedule.cost

    def cost(self: Schedule, steps: int | None = None) -> Any:
        return replace(whole(self, steps), event=replace(self.event, noise_multiplier=4.0, label="cheap"))

    monkeypatch.setattr(Schedule, "cost", cost)


def longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a step more after the last one."""
    from workbench.deep.private_step import PrivateStep

    once, taken = PrivateStep.step, []

    def step(self: PrivateStep, *given: Any, **named: Any) -> Any:
        taken.append(1)
        made = once(self, *given, **named)
        return once(self, *given, **named) if len(taken) == STEPS else made

    monkeypatch.setattr(PrivateStep, "step", step)


@pytest.mark.parametrize(
    ("toy", "said"),
    [(louder, "was not declared"), (longer, f"all {STEPS} steps of .* are taken")],
    ids=["less noise", "more steps"],
)
def test_a_training_that_takes_more_than_it_declared_is_not(tmp_path, monkeypatch, toy, said):
    pytest.importorskip("torch")
    from workbench.deep.features import Features
    from workbench.deep.plan import DpSgdPlan
    from workbench.release.model.release_network import release_training

    toy(monkeypatch)
    features = Features((Attribute(name="x", kind="real", lower=0, upper=1),), Attribute(name="y", kind="boolean"))
    rows = {"x": [str(i / ROWS) for i in range(ROWS)], "y": [("no", "yes")[i % 2] for i in range(ROWS)]}
    plan = DpSgdPlan(
        network="logistic",
        noise=2.0,
        delta=1e-5,
        batch=ROWS // STEPS,
        epochs=1,
        lr=1.0,
        clip=1.0,
        accountant="rdp",
        device="cpu",
    )
    task = NetworkTask(plan, features, Table(pl.DataFrame(rows), "made"), tmp_path / "net", quiet=True)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger, pytest.raises(UndeclaredError, match=said):
        release_training(task, ledger)
    assert statuses(tmp_path / "ledger.sqlite") == ["void"]
    assert names_in(tmp_path) == BOOK
