"""``api.plan(recipient=, need=, ask=, want=)``: the answers to the three questions, and the plan they lead to."""

from __future__ import annotations

import pandas as pd
import pytest

from workbench import api
from workbench.params import ParameterError

FRAME = pd.DataFrame({"id": ["a", "b"], "age": [30, 40], "sex": ["f", "m"], "income": [1.5, 2.5]})
FACTS = {"bounds": {"age": (0, 120), "income": (0, 9)}, "domains": {"sex": ["f", "m"]}}


def test_what_is_not_needed_is_dropped() -> None:
    plan = api.plan(FRAME, epsilon=1, **FACTS, recipient="named", need=["age", "sex"], want=["mean(age) ± 2"])
    assert {c.name: c.action for c in plan.columns} == {
        "id": "drop",
        "age": "protect",
        "sex": "protect",
        "income": "drop",
    }
    assert plan.questions is not None
    assert (plan.questions.recipient, plan.questions.wishes) == ("named", ("mean(age) ± 2",))


def test_a_model_names_the_target_and_rows_have_values() -> None:
    assert api.plan(FRAME, epsilon=1, **FACTS, need=["age"], ask=["model:sex"]).column("sex").role == "target"
    assert api.plan(FRAME, epsilon=1, **FACTS, need=["age"], ask="rows").column("age").purpose == "values"


@pytest.mark.parametrize(
    ("answers", "part"),
    [
        ({"need": ["agee"]}, "did you mean 'age'"),
        ({"recipient": "anyone", "epsilon": 2}, "more than is offered"),
        ({"ask": ["pair"]}, "did you mean 'pairs'"),
        ({"want": ["mean(sex) ± 2"]}, "share"),
        ({"ask": ["model:sex"], "target": "age"}, "ask names 'sex'"),
    ],
)
def test_what_cannot_be_is_refused(answers: dict[str, object], part: str) -> None:
    given = {"epsilon": 1, **FACTS, "drop": () if "need" in answers else ("id",), **answers}
    with pytest.raises(ParameterError, match=part):
        api.plan(FRAME, **given)


def test_without_answers_a_plan_says_nothing_of_them() -> None:
    assert api.plan(FRAME, epsilon=3, **FACTS, drop=["id"]).questions is None


def test_wishes_are_solved_from_python_as_on_the_command_line() -> None:
    frame = pd.DataFrame({"age": [30, 40, 50] * 200, "sex": ["f", "m", "f"] * 200})
    plan = api.plan(frame, epsilon=1, bounds={"age": (0, 120)}, domains={"sex": ["f", "m"]})
    found = api.solve(frame, ["mean(age) ± 2", "share(sex=f) <= 3 %"], plan=plan)
    assert found["epsilon"] == api.solve(plan, ["mean(age) ± 2", "share(sex=f) <= 3 %"], rows=600)["epsilon"]
    assert sum(found["split"].values()) == pytest.approx(found["epsilon"], rel=1e-12)
    with pytest.warns(api.PrivateStudyWarning):
        made = api.statistics(frame, plan, found["figures"], epsilon=found["epsilon"], seed=1)
    mean = made[made["statistic"] == "mean"].iloc[0]
    assert mean["high"] - mean["low"] <= 4.001
    rows = api.solve(plan, ["mean(age) ± 8"], rows=600, way="rows")
    assert rows["plan"].forecast().attrs["epsilon_total"] == rows["epsilon"]
    assert api.solve(plan, ["mean(age) ± 2"], rows=600, epsilon_max=0.01)["impossible"][0]["needs"] > 0.01
    for given, part in (
        ({}, "rows="),
        ({"rows": 600, "equal": True}, "give epsilon"),
        ({"rows": 600, "delta": 0.1}, "δ|delta"),
    ):
        with pytest.raises(ParameterError, match=part):
            api.solve(plan, ["mean(age) ± 2"], **given)
    with pytest.raises(ParameterError, match="one plan"):
        api.solve(frame, ["mean(age) ± 2"])
