"""A way of training is attacked on one half of the rows: what remembers is found, and ε bounds what is found."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from workbench.data.table import Table
from workbench.params import InputError
from workbench.risk.attacks.outcome import Outcome
from workbench.risk.membership import Allowed
from workbench.sanitize.plan import Column, Plan
from workbench.signals.events import Event, Progress
from workbench.studies.curve import CurvePlan
from workbench.studies.membership import REPEATS, of_study, repeated
from workbench.studies.regimes import Regime, StudyData

ROWS = 300
NUMBERS = [f"x{i}" for i in range(4)]


def data(rows: int = ROWS, *, numbers: bool = False) -> StudyData:
    rng = np.random.default_rng(0)
    X = np.clip(rng.normal(size=(rows, 4)), -3, 3)
    score = np.clip(X[:, 0] + rng.normal(size=rows), -3, 3)
    goal = [f"{value:.4f}" for value in score] if numbers else np.where(score > 0, "yes", "no")
    frame = {name: [f"{value:.4f}" for value in column] for name, column in zip(NUMBERS, X.T, strict=True)}
    columns = [Column(name=name, kind="real", lower=-3.0, upper=3.0) for name in (*NUMBERS, "y")]
    if not numbers:
        columns[-1] = Column(name="y", kind="category", domain=("no", "yes"))
    plan = Plan(epsilon=1.0, columns=tuple(replace(column, missing="refuse") for column in columns))
    task = "regression" if numbers else "classification"
    return StudyData.read(Table(pl.DataFrame({**frame, "y": goal}), "rows"), plan, "y", task)


def attacked(model: str, regime: str, of: StudyData, epsilon: float = 1.0) -> Outcome:
    plan = CurvePlan(model=model, regimes=(regime,))
    return of_study(plan, Regime.parse(regime), epsilon, of).attacked()


def test_a_forest_without_privacy_is_found_and_a_private_one_stays_below_its_epsilon():
    rows = data()
    open_, private = attacked("random-forest", "none", rows), attacked("random-forest", "private", rows)
    assert open_.figures["auc_low"] > 0.55
    assert open_.allowed is None
    assert "without privacy" in open_.why_not
    assert private.figures["auc"] < open_.figures["auc_low"]
    assert private.figures["epsilon_lower"] <= 1.0
    assert private.figures["allowed_figures"]["auc"] == pytest.approx(Allowed.by(2.0, 0.0).auc)


@pytest.mark.parametrize(("regime", "replaced"), [("sanitized:staircase", 1.0), ("synthetic:marginals", 2.0)])
def test_what_is_allowed_follows_from_how_each_row_is_used(regime, replaced):
    """Where each row is randomised by itself, another one in its place costs ε; where rows are counted, 2ε."""
    found = attacked("naive-bayes", regime, data())
    assert found.figures["allowed_figures"]["auc"] == pytest.approx(Allowed.by(replaced, 0.0).auc)
    assert found.figures["epsilon_lower"] <= 1.0


def test_an_epsilon_of_each_prediction_bounds_nothing_of_many():
    found = attacked("median-forest", "private", data(60, numbers=True))
    assert found.allowed is None
    assert "per prediction" in found.why_not


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match="39 rows"):
        attacked("naive-bayes", "none", data(39))


def test_a_line_is_attacked_on_several_halves_and_its_interval_is_that_of_their_mean():
    of, plan, regime = data(120), CurvePlan(model="naive-bayes", regimes=("private",)), Regime.parse("private")
    seen: list[Event] = []
    found = repeated(lambda seed: of_study(plan, regime, 1.0, of, seed), seen.append)
    once = of_study(plan, regime, 1.0, of, 0).attacked()
    assert found.outcomes[0].figures["guesses"] == once.figures["guesses"]
    areas = [one["auc"] for one in found.each]
    assert (len(areas), len({one["guess"] for one in found.each})) == (REPEATS, 1)
    assert len(set(areas)) > 1, "another half is another model"
    assert found.auc.value == pytest.approx(np.mean(areas))
    assert found.auc.low == pytest.approx(np.mean([one["auc_low"] for one in found.each]))
    assert found.auc.high == pytest.approx(np.mean([one["auc_high"] for one in found.each]))
    means = [np.mean([one.figures["guesses"][at]["auc"] for one in found.outcomes]) for at in range(4)]
    assert found.auc.value == pytest.approx(max(means))
    done = [event.done / event.total for event in seen if isinstance(event, Progress)]
    assert done == sorted(done)
    assert done[-1] == 1
