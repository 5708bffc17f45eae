"""``workbench values``, and what a plan takes of it."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from command_cases import Run

from workbench import api
from workbench.params import CheckFailedError
from workbench.privacy.central.threshold import threshold
from workbench.release import values_work
from workbench.release.values_work import released_values

WORDS = "values towns.csv --category town --number age --epsilon 1 --delta 1e-9 -o found.csv --ledger ledger.sqlite"
PLAN = "plan towns.csv --epsilon 1 --values found.csv -o plan.toml"


@pytest.fixture
def towns(folder: Path) -> Path:
    """A table with a value of one row, and a number far beyond the others."""
    lines = [f"{town},{18 + i % 70}\n" for i, town in enumerate(["Hue", "Hanoi", "Hue", "Da Nang"] * 300)]
    (folder / "towns.csv").write_text("town,age\n" + "".join(lines) + "Secretville,77777777\n", "utf-8")
    return folder


def test_a_plan_takes_what_was_found_and_nothing_else_of_the_rows_is_shown(towns: Path, run: Run) -> None:
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


def test_python_takes_what_is_not_declared(towns: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values_work, "_EMPTY_TAKEN", Decimal("1e-7"))  # the chance that bounds are wider than expected
    assert run(*WORDS.split()).code == 0
    frame = pd.read_csv("towns.csv")
    town, age = api.plan(frame, epsilon=1, values="found.csv").columns
    assert (set(town.domain or ()), town.other) == ({"Hue", "Da Nang", "Hanoi", "other"}, "other")
    assert (age.lower, age.upper, age.kind) == (16, 128, "integer")
    monkeypatch.setattr(values_work, "_EMPTY_TAKEN", Decimal("1e-8"))
    assert run("verify", "found.csv").code == 0, "a release of another version has another least count"
    assert town.bounds_origin == age.bounds_origin == "released"
    declared = api.plan(frame, epsilon=1, values="found.csv", bounds={"age": (0, 120)}).column("age")
    assert (declared.upper, declared.bounds_origin) == (120, "declared")
    zips = pd.DataFrame({"zip": ["01010"] * 300, "age": [20] * 300})
    plan = api.plan(epsilon=1, drop=["zip", "age"])
    with pytest.warns(UserWarning, match="this result"):
        made = api.publish(zips, plan=plan, kind="values", epsilon=2, category=["zip"], number=["age"], delta=1e-6)
    assert (list(made["column"]), made["value"][0], made["upper"][1]) == (["zip", "age"], "01010", 32)


def test_what_was_changed_after_its_release_gives_no_plan(towns: Path, run: Run) -> None:
    assert run(*WORDS.split()).code == 0
    (towns / "found.csv").write_text((towns / "found.csv").read_text("utf-8").replace("Hue", "Bonn"), "utf-8")
    with pytest.raises(CheckFailedError):
        released_values(Path("found.csv"))
    assert "not what its certificate says" in run(*PLAN.split()).error(5)
    run("plan", "towns.csv", "--epsilon", "1", "--values", "towns.csv", "-o", "p.toml").error()
