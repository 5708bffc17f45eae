"""A δ that would let a row be published at random is refused by the rule below window and command line."""

import dataclasses
import math
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from scipy.stats import norm

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.deep.features import Features
from workbench.deep.plan import DpSgdPlan
from workbench.params import InputError, ParameterError
from workbench.privacy.accounting.accountant import loss, loss_of_rows
from workbench.privacy.accounting.compose import for_person
from workbench.privacy.accounting.event import ApproximateDp, Cost, PoissonGaussian
from workbench.release.delta_limit import replace_one_cost, require_small_cost, require_small_delta, safe_delta
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.network_task import NetworkTask
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
            release_training(NetworkTask(plan, features, TABLE, folder / "net", rows_per_person=people), ledger)
        assert list(ledger.releases()) == []
    assert {p.name for p in folder.iterdir()} == {"ledger.sqlite", "ledger.sqlite.key"}
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize(("delta", "rows"), [("0.02", 50), ("0.5", 50), ("1", 1), ("1", 10**9), ("0.1", 10)])
def test_a_delta_of_one_over_the_rows_and_above_is_refused(delta, rows):
    with pytest.raises(ParameterError, match="is not below 1/rows"):
        require_small_delta(Decimal(delta), rows)


@pytest.mark.parametrize(("delta", "rows"), [("0", 1), ("0.01999999999999999999999999999", 50), ("1e-300", 10**12)])
def test_a_smaller_one_is_not(delta, rows):
    require_small_delta(Decimal(delta), rows)


@pytest.mark.parametrize("rows", [1, 9, 10, 768, 60_000, 10**7, 10**12])
def test_the_delta_that_is_proposed_is_allowed(rows):
    assert safe_delta(rows) * rows <= 0.1


def test_a_training_with_such_a_delta_leaves_and_charges_nothing(tmp_path):
    assert "delta = 0.02 is not below 1/rows = 0.02" in refused(tmp_path, dataclasses.replace(PLAN, delta=0.02))


def test_the_rows_of_one_person_count(tmp_path):
    """δ·k·e^((k−1)ε) of twenty rows is far above 1/50, though that of one row is far below."""
    said = refused(tmp_path, PLAN, people=20)
    assert "for a person with 20 rows is not below 1/rows" in said
    assert "k·e^((k−1)·epsilon of one row)" in said


def test_the_delta_of_a_person_is_that_of_her_group():
    schedule = PLAN.schedule(50, 3)
    one, cost = schedule.loss().epsilon, schedule.cost()
    assert float(cost.epsilon) == pytest.approx(3 * one, abs=1e-5)
    assert float(cost.delta) == pytest.approx(3 * math.exp(2 * one) * PLAN.delta, rel=1e-4)
    assert float(cost.delta) >= 3 * math.exp(2 * one) * PLAN.delta


def person(epsilon: str, delta: str, rows: int) -> Cost:
    """The cost of a release of (ε, δ) a row for a person with ``rows`` rows."""
    row = Cost(Decimal(epsilon), Decimal(delta), ApproximateDp(Decimal(epsilon), Decimal(delta)))
    return for_person(row, rows)


def test_a_delta_that_only_replaced_rows_take_beyond_the_limit_is_refused():
    """3,000 rows, 100 a person: 2.7e-4 of emptied rows is below 1/3,000, and 1.0e-3 of replaced ones is not."""
    cost = person("0.01", "1e-6", 100)
    require_small_delta(cost.delta, 3000, rows_per_person=100)
    assert replace_one_cost(cost, 3000)[1] == pytest.approx(1.0e-3, rel=0.01)
    with pytest.raises(ParameterError, match="in which the 100 rows of a person may be replaced is not below") as said:
        require_small_cost(cost, 3000, rows_per_person=100)
    advised = str(said.value).split("such as ")[1].split(",")[0]
    require_small_cost(person("0.01", advised, 100), 3000, rows_per_person=100)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "9", "600"])
def test_the_delta_that_is_advised_is_allowed_and_ten_times_as_much_is_not(epsilon):
    with pytest.raises(ParameterError) as said:
        require_small_cost(person(epsilon, "9e-5", 1), 10_000)
    advised = str(said.value).split("such as ")[1].split(",")[0]
    require_small_cost(person(epsilon, advised, 1), 10_000)
    with pytest.raises(ParameterError):
        require_small_cost(person(epsilon, str(Decimal(advised) * 10), 1), 10_000)


def test_no_delta_is_advised_where_none_is_small_enough():
    with pytest.raises(ParameterError, match=r"; give a smaller epsilon$"):
        require_small_cost(person("690", "1e-300", 1), 3000)


def test_a_training_keeps_its_delta_for_replaced_rows_where_twice_its_steps_would_pass_the_limit():
    schedule = PLAN.schedule(5_000, 1)
    cost = schedule.cost()
    assert cost.replace_one()[1] >= 1 / 5_000 > PLAN.delta
    epsilon, delta = replace_one_cost(cost, 5_000)
    assert delta == PLAN.delta
    assert 2 * float(cost.epsilon) < epsilon < 4 * float(cost.epsilon)
    require_small_cost(cost, 5_000)
    assert replace_one_cost(cost, 10) == cost.replace_one()  # as it is, where that is below the limit


@pytest.mark.parametrize(("sigma", "steps"), [(0.7, 1), (1, 1), (4, 10), (30, 500)])
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_the_bound_of_replaced_rows_holds_for_the_gaussian_mechanism_whose_delta_is_known(sigma, steps, delta):
    """With every row in every batch, k replaced rows move the sum by up to 2k: δ(ε) is that of Balle & Wang 2018."""
    event = PoissonGaussian(1.0, sigma, steps)
    assert loss_of_rows(event, delta, 1) == pytest.approx(loss(event, delta, "rdp").epsilon, rel=1e-6)
    for rows in (1, 2, 4):
        shift, epsilon = rows * math.sqrt(steps) / sigma, loss_of_rows(event, delta, rows)
        least = norm.cdf(shift / 2 - epsilon / shift) - math.exp(min(epsilon, 600)) * norm.cdf(
            -shift / 2 - epsilon / shift
        )
        assert least <= delta


def test_a_model_of_a_guessed_column_is_refused_at_the_door(tmp_path):
    guessed = Features((dataclasses.replace(X, origin="guess"),), FEATURES.target)
    assert "unconfirmed guesses from the rows: kind and missing of x" in refused(tmp_path, PLAN, guessed)
