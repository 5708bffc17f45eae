"""Two DataFrames that are joined on the person: a plan of both, a study, and releases charged to one account."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from workbench import api
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.release.ledger.ledger import Ledger

VISITS = pd.DataFrame({"who": [f"p{n % 60}" for n in range(300)], "days": [n % 30 for n in range(300)]})
PEOPLE = pd.DataFrame({"patient": [f"p{n}" for n in range(80)], "sex": ["f", "m"] * 40, "days": [0.5, 2.25] * 40})


def plan_of_both(**keys: object) -> api.Plan:
    bounds = {"days": (0, 30), "days_2": (0, 5)}
    stated: dict = {"epsilon": 4, "unit": "who", "rows_per_person": 2, "join": PEOPLE, "on": "patient"}
    return api.plan(VISITS, bounds=bounds, domains={"sex": ["f", "m"]}, **{**stated, **keys})


def test_rows_of_both_have_the_types_of_both_and_one_account_pays(tmp_path: Path) -> None:
    plan, pays = plan_of_both(), {"account": "clinic", "ledger": tmp_path / "l.sqlite"}
    assert {column.name: column.kind for column in plan.columns if column.action != "drop"} == {
        "days": "integer",
        "sex": "category",
        "days_2": "real",
    }
    api.ledger(tmp_path / "l.sqlite").cap(api.dataset(VISITS, **pays), epsilon=18)
    made = api.release(VISITS, plan, join=PEOPLE, output=tmp_path / "r.csv", **pays)
    assert list(made) == ["days", "sex", "days_2"]
    assert (str(made["days"].dtype), str(made["days_2"].dtype)) == ("Int64", "float64")
    figures = api.statistics(
        VISITS, plan, [{"statistic": "mean", "column": "days_2"}], join=PEOPLE, output=tmp_path / "s.csv", **pays
    )
    assert figures.attrs["remaining"] == 2
    assert json.loads((tmp_path / "s.csv.certificate.json").read_text("utf-8"))["joined_rows"] == 80
    assert api.verify(tmp_path / "s.csv") == []
    alone = api.plan(PEOPLE, epsilon=4, unit="patient", rows_per_person=2, domains={"sex": ["f", "m"]}, drop=["days"])
    with pytest.raises(BudgetRefusedError):
        api.release(PEOPLE, alone, output=tmp_path / "p.csv", **pays)


def test_a_study_of_both_can_be_repeated() -> None:
    with pytest.warns(UserWarning, match="private study"):
        one, other = (api.synthesize(VISITS, plan_of_both(), join=PEOPLE, seed=3) for _ in range(2))
    assert one.equals(other)


@pytest.mark.parametrize("carries", ["visits", "people"])
def test_a_study_of_both_is_noted_in_the_ledger_that_one_of_them_carries(carries: str, tmp_path: Path) -> None:
    frames = {"visits": VISITS, "people": PEOPLE}
    frames[carries] = api.dataset(frames[carries], account="clinic", ledger=tmp_path / "l.sqlite")
    with pytest.warns(UserWarning, match="private study"):
        api.statistics(
            frames["visits"], plan_of_both(), [{"statistic": "mean", "column": "days"}], join=frames["people"]
        )
    with Ledger.open(tmp_path / "l.sqlite") as book:
        assert book.figures_shown(book.accounts().named("clinic"))


def test_what_is_joined_otherwise_than_planned_is_refused() -> None:
    with pytest.raises(InputError, match="join= in Python"):
        api.release(VISITS, plan_of_both())
    by_row = api.plan(VISITS, epsilon=1, bounds={"days": (0, 30)}, drop=["who"])
    with pytest.raises(ParameterError, match="joins no second table"):
        api.release(VISITS, by_row, join=PEOPLE)
    for keys, said in (({"on": None}, "has no column 'who'"), ({"unit": None}, "on the person of the first one")):
        with pytest.raises(ParameterError, match=said):
            plan_of_both(**keys)
