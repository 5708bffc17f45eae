"""A δ that would let a row be published at random is refused by the rule below window and command line."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.deep.features import Features
from workbench.deep.plan import DpSgdPlan
from workbench.params import InputError, ParameterError
from workbench.release.delta_limit import require_small_delta, safe_delta
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.release_network import release_training

X = Attribute(name="x", kind="real", lower=0, upper=1)
FEATURES = Features((X,), Attribute(name="y", kind="category", domain=("0", "1")))
TABLE = Table(pl.DataFrame({"x": [str(i / 50) for i in range(50)], "y": [str(i // 25) for i in range(50)]}), "made")
PLAN = DpSgdPlan(
    network="logistic", noise=2.0, delta=1e-4, batch=10, epochs=1, lr=1.0, clip=1.0, accountant="rdp", device="cpu"
)


def refused(folder: Path, plan: DpSgdPlan, features: Features = FEATURES, people: int = 1) -> str:
    """Try to release; return the refusal, after checking that it left nothing and cost nothing."""
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        with pytest.raises((ParameterError, InputError)) as caught:
            release_training(plan, features, TABLE, folder / "net", ledger, rows_per_person=people)
        assert list(ledger.releases()) == []
    assert {p.name for p in folder.iterdir()} == {"ledger.sqlite", "ledger.sqlite.key"}
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize(("delta", "rows"), [("0.02", 50), ("0.5", 50), ("1", 1), ("1", 10**9), ("0.1", 10)])
def test_a_delta_of_one_over_the_rows_and_above_is_refused(delta: str, rows: int) -> None:
    with pytest.raises(ParameterError, match="is not below 1/rows"):
        require_small_delta(Decimal(delta), rows)


@pytest.mark.parametrize(("delta", "rows"), [("0", 1), ("0.01999999999999999999999999999", 50), ("1e-300", 10**12)])
def test_a_smaller_one_is_not(delta: str, rows: int) -> None:
    require_small_delta(Decimal(delta), rows)


@pytest.mark.parametrize("rows", [1, 9, 10, 768, 60_000, 10**7, 10**12])
def test_the_delta_that_is_proposed_is_allowed(rows: int) -> None:
    assert safe_delta(rows) * rows <= 0.1


def test_a_training_with_such_a_delta_leaves_and_charges_nothing(tmp_path: Path) -> None:
    assert "delta = 0.02 is not below 1/rows = 0.02" in refused(tmp_path, dataclasses.replace(PLAN, delta=0.02))


def test_the_rows_of_one_person_count(tmp_path: Path) -> None:
    """δ·k·e^((k−1)ε) of twenty rows is far above 1/50, though that of one row is far below."""
    said = refused(tmp_path, PLAN, people=20)
    assert "for a person with 20 rows is not below 1/rows" in said
    assert "k·e^((k−1)·epsilon of one row)" in said


def test_the_delta_of_a_person_is_that_of_her_group() -> None:
    schedule = PLAN.schedule(50, 3)
    one, cost = schedule.loss().epsilon, schedule.cost()
    assert float(cost.epsilon) == pytest.approx(3 * one, abs=1e-5)
    assert float(cost.delta) == pytest.approx(3 * math.exp(2 * one) * PLAN.delta, rel=1e-4)
    assert float(cost.delta) >= 3 * math.exp(2 * one) * PLAN.delta


def test_a_model_of_a_guessed_column_is_refused_at_the_door(tmp_path: Path) -> None:
    guessed = Features((dataclasses.replace(X, origin="guess"),), FEATURES.target)
    assert "guesses from the rows that nobody has confirmed: kind and missing of x" in refused(tmp_path, PLAN, guessed)
