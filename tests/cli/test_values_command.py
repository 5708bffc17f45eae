"""``workbench values``, and what a plan takes of it."""

import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from workbench import api
from workbench.params import CheckFailedError
from workbench.privacy.central.threshold import threshold
from workbench.release import values_work
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import PERSON
from workbench.release.ledger.summary import summary
from workbench.release.values_work import released_values

WORDS = "values towns.csv --category town --number age --epsilon 1 --delta 1e-9 -o found.csv --ledger ledger.sqlite"
PLAN = "plan towns.csv --epsilon 1 --values found.csv -o plan.toml"

pytestmark = pytest.mark.usefixtures("no_bounds_beyond_the_rows")


@pytest.fixture
def towns(folder):
    """A table with a value of one row, and a number far beyond the others."""
    lines = [f"{town},{18 + i % 70}\n" for i, town in enumerate(["Hue", "Hanoi", "Hue", "Da Nang"] * 300)]
    (folder / "towns.csv").write_text("town,age\n" + "".join(lines) + "Secretville,77777777\n", "utf-8")
    return folder


def test_a_plan_takes_what_was_found_and_nothing_else_of_the_rows_is_shown(towns, run):
    answers = [run(*words.split()) for words in (WORDS, "verify found.csv", PLAN)]
    assert [answer.code for answer in answers] == [0, 0, 0]
    lines, release = released_values(Path("found.csv"))
    assert {line.value for line in lines} == {"Hue", "Hanoi", "Da Nang", ""}
    plan = (towns / "plan.toml").read_text("utf-8")
    assert release in plan
    assert plan.count('\nbounds_origin = "released"\n') == 2
    shown = plan + "".join(answer.out + answer.err for answer in answers)
    shown += "".join(path.read_text("utf-8") for path in towns.glob("found.csv*"))
    assert "Secretville" not in shown
    assert "77777777" not in shown
    certificate = json.loads(Path("found.csv.certificate.json").read_text("utf-8"))
    assert certificate["guarantee"]["delta_row"] == "0.000000001"
    assert certificate["method"]["thresholds"] == {"town": threshold(Decimal("0.5"), Decimal("1e-9"))}


def test_python_takes_what_is_not_declared(towns, run, monkeypatch):
    assert run(*WORDS.split()).code == 0
    frame = pd.read_csv("towns.csv")
    town, age = api.plan(frame, epsilon=1, values="found.csv").columns
    assert (set(town.domain or ()), town.other) == ({"Hue", "Da Nang", "Hanoi", "other"}, "other")
    assert (age.lower, age.upper, age.kind) == (16, 128, "integer")
    monkeypatch.setattr(values_work, "_EMPTY_TAKEN", Decimal("1e-7"))
    assert run("verify", "found.csv").code == 0, "a release of another version has another least count"
    assert town.bounds_origin == age.bounds_origin == "released"
    declared = api.plan(frame, epsilon=1, values="found.csv", bounds={"age": (0, 120)}).column("age")
    assert (declared.upper, declared.bounds_origin) == (120, "declared")
    zips = pd.DataFrame({"zip": ["01010"] * 300, "age": [20] * 300})
    plan = api.plan(epsilon=1, drop=["zip", "age"])
    with pytest.warns(UserWarning, match="this result"):
        made = api.publish(zips, plan=plan, kind="values", epsilon=2, category=["zip"], number=["age"], delta=1e-6)
    assert (list(made["column"]), made["value"][0], made["upper"][1]) == (["zip", "age"], "01010", 32)


def test_what_was_changed_after_its_release_gives_no_plan(towns, run):
    assert run(*WORDS.split()).code == 0
    (towns / "found.csv").write_text((towns / "found.csv").read_text("utf-8").replace("Hue", "Bonn"), "utf-8")
    with pytest.raises(CheckFailedError):
        released_values(Path("found.csv"))
    assert "does not match its certificate" in run(*PLAN.split()).error(5)
    run("plan", "towns.csv", "--epsilon", "1", "--values", "towns.csv", "-o", "p.toml").error()


# -- rows of a person --------------------------------------------------------------------------------------------------


@pytest.fixture
def visits(folder):
    """300 persons: most with three rows at most, a few with forty."""
    lines = [f"p{n},{20 + n % 60}\n" for n in range(300) for _ in range(40 if n < 3 else 1 + n % 3)]
    (folder / "visits.csv").write_text("who,age\n" + "".join(lines), "utf-8")
    return folder


PERSONS = "values visits.csv --person who --number age --epsilon 8 -o found.csv --ledger l.sqlite"


def test_the_whole_way_from_the_rows_to_a_release_by_the_person(visits, run):
    answer = run(*PERSONS.split())
    assert answer.code == 0
    assert "the account counts persons from then on" in answer.err, "said before it is charged"
    stated = json.loads(Path("found.csv.certificate.json").read_text("utf-8"))
    assert (stated["guarantee"]["unit"], stated["guarantee"]["epsilon"]) == ("who", "8")
    assert [query["label"] for query in stated["queries"]] == ["scales of age", "rows of each who"]
    assert run("verify", "found.csv", "--ledger", "l.sqlite").code == 0
    assert run("plan", "visits.csv", "--epsilon", "1", "--values", "found.csv", "-o", "p.toml").code == 0
    plan = (visits / "p.toml").read_text("utf-8")
    assert 'unit = "who"' in plan
    assert "rows_per_person = 3\n" in plan
    assert ", as is rows_per_person" in plan
    assert run("plan", "--confirm", "p.toml").code == 0
    run("ledger", "cap", "visits.csv", "--epsilon", "20", "--ledger", "l.sqlite")
    made = run("sanitize", "visits.csv", "--plan", "p.toml", "-o", "rows.csv", "--ledger", "l.sqlite", "--json")
    assert made.code == 0
    assert json.loads(made.out)["epsilon_charged"] == 3
    with Ledger.open(visits / "l.sqlite") as book:  # one sum, of persons: 8 for what was found, 3 for the rows
        (account,) = summary(book)["accounts"]
    assert (account["unit"], account["spent_epsilon"]) == (PERSON, 11.0)


def test_what_a_person_states_goes_before_what_was_found(visits, run):
    assert run(*PERSONS.split()).code == 0
    frame = pd.read_csv("visits.csv")
    made = api.plan(frame, epsilon=1, values="found.csv")
    assert (made.unit, made.rows_per_person, made.invalid) == ("who", 3, "replace")
    assert api.plan(frame, epsilon=1, values="found.csv", rows_per_person=2).rows_per_person == 2
    stated = "plan visits.csv --epsilon 1 --values found.csv --rows-per-person 5 -o p.toml"
    assert run(*stated.split()).code == 0
    assert "rows_per_person = 5\n" in (visits / "p.toml").read_text("utf-8")
    plan = api.plan(epsilon=1, drop=["who", "age"])
    with pytest.warns(UserWarning, match="this result"):
        again = api.publish(frame, plan=plan, kind="values", epsilon=3, person="who", most_rows=8)
    assert again["count"].tolist() == [3]


def test_a_forecast_without_a_plan_is_refused_in_a_sentence(visits, run):
    asked = "values --person who --epsilon 1 --forecast --rows 300"
    assert "add --plan PLAN" in run(*asked.split()).error()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("--person who --person age", "--person takes one value but is given twice"),
        ("--person nope", "there is no column 'nope'"),
    ],
)
def test_what_was_meant_otherwise_is_refused_before_it_costs(visits, run, asked, said):
    words = f"values visits.csv {asked} --epsilon 1 -o found.csv --ledger l.sqlite"
    assert said in run(*words.split()).error()
    assert not Path("found.csv").exists()
    with Ledger.open(visits / "l.sqlite") as book:
        assert book.releases() == []


def test_whether_a_column_holds_any_number_is_answered_by_the_release_alone(folder, run):
    """A refusal would tell it for nothing; a neighbour of the table has one number."""
    (folder / "towns.csv").write_text("town,code\n" + "Hue,\n" * 300, "utf-8")
    words = "values towns.csv --number code --epsilon 1 -o found.csv --ledger l.sqlite"
    assert run(*words.split()).code == 0
    with Ledger.open(folder / "l.sqlite") as book:
        assert [release.status for release in book.releases()] == ["charged"]
