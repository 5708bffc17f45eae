"""One table has one budget, also when only some of its columns or rows are in the file that is released."""

from pathlib import Path

import polars as pl
import pytest
from command_cases import Run

from workbench.data.table_reader import read_table

FACTS = {
    "id": 'action = "drop"',
    "name": 'action = "drop"',
    "age": 'kind = "integer"\nlower = 0\nupper = 120',
    "sex": 'kind = "category"\ndomain = ["female", "male"]',
    "zip": 'kind = "category"\ndomain = [' + ", ".join(f'"{1010 + 10 * k:05}"' for k in range(24)) + "]",
    "income": 'kind = "integer"\nlower = 0\nupper = 500000',
    "label": 'kind = "category"\ndomain = ["yes", "no"]',
}
LEDGER = ("--ledger", "l.sqlite")


@pytest.fixture
def people():
    return read_table("sample:people").frame


def planned(run: Run, frame: pl.DataFrame, name: str) -> tuple[str, ...]:
    """Write a file and its plan, and return the options that name both."""
    frame.write_csv(f"{name}.csv")
    columns = [f'[[column]]\nname = "{column}"\n{FACTS[column]}\n' for column in frame.columns]
    Path(f"{name}.toml").write_text("epsilon = 1\n" + "".join(columns), "utf-8")
    return f"{name}.csv", "--epsilon", "1", "-o", f"{name}.out.csv", *LEDGER


def statistics(run: Run, frame: pl.DataFrame, name: str, *more: str) -> tuple[str, ...]:
    column = next(c for c in ("income", "age") if c in frame.columns)
    return "statistics", *planned(run, frame, name), "--plan", f"{name}.toml", "--mean", column, *more


def fit(run: Run, frame: pl.DataFrame, name: str) -> tuple[str, ...]:
    data, *others = planned(run, frame, name)
    return "fit", data, "--target", "sex", "--model", "naive-bayes", "--bounds", f"{name}.toml", *others


def accounts(run: Run) -> list[dict[str, object]]:
    shown = run("ledger", "show", *LEDGER, "--json").json
    assert shown["ok"]
    return shown["accounts"]


def test_six_projections_of_one_table_are_one_account_one_charge_and_five_refusals(folder, run, people):
    """The attack: every projection of a file was a fresh budget, six times epsilon = 1."""
    done = run(*statistics(run, people.select("age", "sex", "zip", "income", "label"), "all"))
    assert done.code == 0, done.err
    attempts = [
        fit(run, people.select("age", "sex"), "one"),
        fit(run, people.select("age", "zip", "sex"), "two"),
        statistics(run, people.select("age", "zip", "income"), "three"),
        statistics(run, people.select("income"), "income"),
        fit(run, people.select("age", "sex")[:1600], "some"),
    ]
    for attempt in attempts:
        said = run(*attempt)
        assert said.code == 2, attempt
        assert "it is not certain who pays" in said.err
        assert not Path(attempt[attempt.index("-o") + 1]).exists()
    (account,) = accounts(run)
    assert account["spent_epsilon"] == 1


def test_both_ways_out_of_a_doubt_can_be_copied_from_the_refusal(folder, run, people):
    assert run(*statistics(run, people, "all")).code == 0
    part = statistics(run, people.select("age", "sex"), "part one")
    told = run(*part).error()
    (account,) = accounts(run)
    short = str(account["dataset"])[:6]
    assert f"`workbench ledger name {short} NAME --ledger l.sqlite` and give --account NAME" in told
    other = f"ledger separate 'part one.csv' --from {short} --ledger l.sqlite"
    assert f"`workbench {other}`" in told
    # The one way: the account that is known pays, and its cap is spent.
    assert run("ledger", "name", short, "clinic", *LEDGER).code == 0
    assert "give --account clinic to charge that account" in run(*part).error()
    assert run(*part, "--account", "clinic").code == 3
    assert run("ledger", "cap", "all.csv", "--epsilon", "5", *LEDGER).code == 0
    assert run(*part, "--account", "clinic").code == 0
    assert [(a["tables"], a["spent_epsilon"]) for a in accounts(run)] == [(2, 2)]
    # The other way: a budget of its own, which the ledger records.
    again = statistics(run, people.select("income"), "income")
    assert run(*again).code == 2
    assert run("ledger", "separate", "income.csv", "--from", "clinic", *LEDGER).code == 0
    assert run(*again).code == 0
    assert sorted(a["spent_epsilon"] for a in accounts(run)) == [1, 2]
    assert "separate" in [e["kind"] for e in run("ledger", "export", *LEDGER, "--json").json["chain"]]
    assert run("ledger", "verify", *LEDGER).code == 0


def test_a_doubt_is_not_lost_where_the_table_is_capped_or_named_first(folder, run, people):
    assert run(*statistics(run, people, "all")).code == 0
    part = statistics(run, people.select("age", "zip"), "part")
    for attempt in (("cap", "part.csv", "--epsilon", "9"), ("name", "part.csv", "other")):
        assert "it is not certain who pays" in run("ledger", *attempt, *LEDGER).error()
    assert "it is not certain who pays" in run(*part, "--account", "other").error()
    assert len(accounts(run)) == 1


@pytest.mark.parametrize("command", ["sanitize", "synthesize", "statistics", "fit", "dpsgd", "rappor encode"])
def test_every_releasing_command_takes_the_account_that_pays(command, run):
    assert "--account NAME" in run(*command.split(), "--help").out


def test_an_account_beside_that_of_the_plan_is_refused_where_they_differ(folder, run, people):
    command = statistics(run, people.select("age", "sex"), "one", "--account", "clinic")
    plan = Path("one.toml")
    plan.write_text('account = "hospital"\n' + plan.read_text("utf-8"), "utf-8")
    assert "the plan already has the account 'hospital' (--account); leave --account out" in run(*command).error()
    plan.write_text(plan.read_text("utf-8").replace("hospital", "clinic"), "utf-8")
    assert run(*command).code == 0
    assert [a["name"] for a in accounts(run)] == ["clinic"]
