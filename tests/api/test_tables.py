"""Releases, estimates and curves from Python: the same as from the command line, on DataFrames."""

import csv
import dataclasses
import datetime
import warnings
from decimal import Decimal

import pandas as pd
import pytest

from workbench import api
from workbench.cli import main
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.release.ledger.ledger import Ledger

FACTS = {"bounds": {"age": (0, 99), "income": (0.0, 9000.0)}, "domains": {"sex": ["female", "male"]}, "drop": ["name"]}


def test_a_study_says_so_and_charges_nothing(people, folder):
    plan = api.plan(epsilon=3, **FACTS)
    with pytest.warns(api.PrivateStudyWarning, match="not for release"):
        drawn = api.release(people, plan)
    assert list(drawn.columns) == ["age", "sex", "income"]
    assert len(drawn) == 40
    assert drawn.attrs == {"private": "private – not for release"}
    assert drawn["age"].dtype.kind == "i"
    assert drawn["income"].dtype.kind == "f"
    assert set(drawn["sex"]) <= {"female", "male"}
    assert not list(folder.iterdir())


def test_a_study_with_a_seed_is_repeatable_and_one_without_is_not(people):
    plan = api.plan(epsilon=3, **FACTS)
    with pytest.warns(api.PrivateStudyWarning):
        drawn = [api.release(people, plan, seed=seed) for seed in (1, 1, 2, None, None)]
    pd.testing.assert_frame_equal(drawn[0], drawn[1])
    assert not drawn[0].equals(drawn[2])
    assert not drawn[3].equals(drawn[4])


@pytest.mark.slow
def test_a_release_is_made_into_a_bundle(people, folder):
    api.release(people, api.plan(epsilon=3, **FACTS), ledger="ledger.sqlite", account="people", output="out.csv")
    made = api.bundle("out.csv", "out.bundle", ledger="ledger.sqlite")
    assert api.verify(made) == []
    assert {"MANIFEST.json", "verify.py", "certificate.pdf"} <= {part.name for part in made.iterdir()}
    with pytest.raises(InputError):
        api.bundle("out.csv", "out.bundle", ledger="ledger.sqlite")


def test_an_output_that_exists_is_replaced_only_when_asked(people, folder):
    plan = api.plan(epsilon=3, **FACTS)
    told = {"ledger": "ledger.sqlite", "account": "people", "output": "out.csv"}
    first = api.release(people, plan, **told)
    with pytest.raises(
        InputError, match=r"\); replace it with replace=True, which is charged again, or choose a new one$"
    ):
        api.release(people, plan, **told)
    with pytest.raises(BudgetRefusedError):  # it is another charge
        api.release(people, plan, **told, replace=True)
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        ledger.set_cap(ledger.releases()[0].dataset, Decimal(9))
    assert api.release(people, plan, **told, replace=True).attrs["release_id"] != first.attrs["release_id"]
    assert api.verify("out.csv") == []


def test_a_release_is_charged_certified_and_read_back(people, folder):
    plan = api.plan(epsilon=3, **FACTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        released = api.release(people, plan, ledger="ledger.sqlite", account="people", output="out.csv")
    assert released.attrs["epsilon"] == 3.0
    assert released.attrs["remaining"] == 0.0
    assert api.verify("out.csv") == []
    with (folder / "out.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == list(released.columns)
    assert [row[header.index("sex")] for row in rows] == list(released["sex"])
    assert [int(row[header.index("age")]) for row in rows] == list(released["age"])
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        (release,) = ledger.releases()
    assert (release.status, release.epsilon) == ("charged", Decimal(3))
    assert release.release_id == released.attrs["release_id"]
    with pytest.raises(BudgetRefusedError):
        api.release(
            people.assign(age=people["age"] + 0), plan, ledger="ledger.sqlite", account="people", output="again.csv"
        )
    assert not (folder / "again.csv").exists()


def test_a_frame_and_its_file_are_one_account(people, folder, capsys):
    plan = api.plan(epsilon=3, **FACTS)
    people.to_csv("people.csv", index=False)
    (folder / "plan.toml").write_text(plan.to_toml(), "utf-8")
    words = ["--plan", "plan.toml", "-o", "one.csv", "--ledger", "ledger.sqlite"]
    assert main(["sanitize", "people.csv", *words]) == 0
    with pytest.raises(InputError, match="not named 'people'"):
        api.release(people, plan, ledger="ledger.sqlite", account="people", output="two.csv")
    api.ledger("ledger.sqlite").name(people, "people")
    with pytest.raises(BudgetRefusedError):
        api.release(people, plan, ledger="ledger.sqlite", account="people", output="two.csv")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"output": "out.csv"}, "ledger="),
        ({"ledger": "l.sqlite"}, "output="),
        ({"ledger": "l.sqlite", "account": "people", "output": "out.csv", "seed": 1}, "fresh randomness"),
    ],
)
def test_arguments_that_contradict_each_other_release_nothing(people, folder, more, said):
    with pytest.raises(ParameterError, match=said):
        api.release(people, api.plan(epsilon=3, **FACTS), **more)
    assert not list(folder.iterdir())


def test_a_cell_that_cannot_be_used_is_told_of_before_anything_is_charged(people, folder):
    people["sex"] = people["sex"].where(people.index != 4, "other")
    with pytest.raises(InputError, match=r"column sex, row 5"):
        api.release(people, api.plan(epsilon=3, **FACTS), ledger="l.sqlite", account="people", output="out.csv")
    assert not (folder / "out.csv").exists()


def test_dates_and_missing_values(folder):
    born = pd.to_datetime(pd.Series(["1990-05-01", None, "2001-12-31"] * 20))
    plan = api.plan(
        epsilon=5, bounds={"born": (datetime.date(1980, 1, 1), datetime.date(2010, 1, 1))}, missing=["born"]
    )
    with pytest.warns(api.PrivateStudyWarning):
        drawn = api.release(pd.DataFrame({"born": born}), plan)
    assert drawn["born"].dtype.kind == "M"


def test_quantiles_and_pairs_are_rows_of_the_frame(people, folder):
    plan = api.plan(epsilon=30, **FACTS)
    columns = tuple(dataclasses.replace(c, cells=90) if c.name == "income" else c for c in plan.columns)
    api.release(
        people, dataclasses.replace(plan, columns=columns), ledger="ledger.sqlite", account="people", output="out.csv"
    )
    told = api.estimate("out.csv", quantiles=[0.5], pairs=[("age", "income")]).set_index(["column", "of"])
    assert ("sex", "quantile 0.5") not in told.index
    for row in (("age", "quantile 0.5"), ("income", "quantile 0.5"), ("age × income", "correlation")):
        assert told.loc[row, "low"] <= told.loc[row, "estimate"] <= told.loc[row, "high"]
        assert told.loc[row, "biased"]
    with pytest.raises(ParameterError, match="not between 0 and 1"):
        api.estimate("out.csv", quantiles=[1.5])


def test_estimates_are_a_frame(people, folder):
    api.release(people, api.plan(epsilon=30, **FACTS), ledger="l.sqlite", account="people", output="out.csv")
    told = api.estimate("out.csv").set_index(["column", "of"])
    assert {("age", "mean"), ("income", "mean"), ("sex", "male"), ("sex", "female")} == set(told.index)
    assert (told["low"] <= told["high"]).all()
    (folder / "out.csv").write_text("age,sex,income\n1,male,2\n", "utf-8")
    assert api.verify("out.csv")
    with pytest.raises(InputError, match="does not match its certificate"):
        api.estimate("out.csv")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"bounds": {"age": (0, 99)}, "drop": ["age"]}, "bounds and in drop"),
        ({"bounds": {"age": 99}}, "not a pair"),
        ({"bounds": {"age": (5, 5)}}, "not below"),
        ({"domains": {"sex": "female"}}, "not a list"),
        ({"domains": {"sex": ["female", None]}}, "missing value"),
        ({"domains": {"sex": ["a", "b"]}, "missing": ["age"]}, "missing= names it"),
        ({"domains": {"sex": ["a", "b"]}, "mechanism": {"age": "grr"}}, "has a mechanism"),
    ],
)
def test_facts_that_no_plan_can_hold_are_one_sentence(facts, said):
    with pytest.raises(ParameterError, match=said):
        api.plan(epsilon=1, **facts)


def test_a_curve_has_the_figures_of_the_command(iris, folder):
    X, y = iris
    frame = X.assign(species=y)
    frame.columns = [c.replace(" (cm)", "").replace(" ", "_") for c in frame.columns]
    frame.to_csv("iris.csv", index=False)
    plan = api.plan(
        epsilon=1,
        bounds=dict.fromkeys(frame.columns[:4], (0.0, 10.0)),
        domains={"species": ["setosa", "versicolor", "virginica"]},
    )
    (folder / "plan.toml").write_text(plan.to_toml(), "utf-8")
    with pytest.warns(api.PrivateStudyWarning):
        told = api.curve(frame, plan, "species", epsilons=[1, 10], repeats=2, regimes=["none", "private"])
    assert told.attrs["private"]
    assert "accuracy" in set(told["metric"])
    words = ["--target", "species", "--bounds", "plan.toml", "--epsilons", "1,10", "--repeats", "2"]
    assert main(["curve", "iris.csv", *words, "--regimes", "none,private", "--jobs", "1", "-o", "curve.csv"]) == 0
    pd.testing.assert_frame_equal(told, pd.read_csv("curve.csv"), check_dtype=False)
    with pytest.raises(ParameterError, match=r"'here' is not the address of a Dask scheduler"):
        api.curve(frame, plan, "species", scheduler="here")
    with pytest.warns(api.PrivateStudyWarning):
        alone = api.curve(frame, plan, "species", epsilons=1, repeats=2, regimes=["none", "private"])
    assert alone["value"].tolist() == told.loc[told["epsilon"] == 1, "value"].tolist()
