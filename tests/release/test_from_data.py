"""Facts that were read off the rows are counted in a certificate, not listed; the released file alone is read by it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from release_cases import certificate_of, forge
from released import release_table

from workbench.cli import main
from workbench.data.columns.profile import profile
from workbench.data.table import Table
from workbench.params import InputError
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms import MECHANISMS
from workbench.release.atomic import sha256_of
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verified_release, verify_release
from workbench.sanitize.plan import Plan, load_plan
from workbench.sanitize.plan_guesses import confirm
from workbench.sanitize.plan_template import draft

RARE = 400
"""Names that each occur once: at this ε a release shows a few of them."""


def released(folder: Path, frame: pl.DataFrame, epsilon: float, suffix: str = ".csv") -> Path:
    """Release ``frame`` by a plan whose facts were read off it, and return the file."""
    table = Table(frame, "made.csv")
    text, _ = confirm(draft(profile(table), epsilon, from_data=True).toml, "plan.toml")
    (folder / "plan.toml").write_text(text, "utf-8")
    target = folder / f"out{suffix}"
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        release_table(load_plan(folder / "plan.toml"), table, target, ledger)
    return target


@pytest.fixture
def names():
    """A column of many names, most of which one person has, and a pay of which one person has the most."""
    rng = np.random.default_rng(5)
    rows = ["Smith"] * 600 + [f"Rare {k:03}" for k in range(RARE)]
    return pl.DataFrame({"family": rows, "pay": [*(str(v) for v in rng.integers(1_000, 80_000, 999)), "912347"]})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_no_name_and_no_extreme_value_stands_in_the_certificate(tmp_path, names, suffix):
    target = released(tmp_path, names, 1.0, suffix)
    document = certificate_of(target)
    written = json.dumps(document)
    assert "Rare" not in written
    assert "Smith" not in written
    assert "912347" not in written
    family, pay = document["columns"]
    assert (family["kind"], family["cells"], family["bounds_origin"]) == ("category", RARE + 1, "data")
    assert "domain" not in family
    assert (pay["lower"], pay["upper"]) == ("0", "1000000")
    assert document["outside_guarantee"] == [
        "Bounds or values were read off the data, and no epsilon covers that: "
        "family (401 values), pay (bounds of 1001 cells)."
    ]
    assert verify_release(target) == []


def test_the_file_is_decoded_with_a_stand_in_for_each_name_that_it_does_not_show(tmp_path, names, capsys):
    target = released(tmp_path, names, 8.0)
    found = verified_release(target)
    column = found.column("family")
    seen = set(found.table.column("family"))
    unseen = [label for label in column.grid.labels if label not in seen]
    assert 0 < len(unseen) == RARE + 1 - len(seen)
    assert all(label.startswith("value not seen ") for label in unseen)
    counts = np.bincount(found.cells("family"), minlength=column.grid.cells.total)
    assert counts.sum() == 1000
    assert main(["estimate", str(target), "--column", "family", "--confidence", "0.999999", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["columns"]
    assert set(told["frequencies"]) == set(column.grid.labels)
    smith = told["frequencies"]["Smith"]
    assert smith["low"] <= 0.6 <= smith["high"]
    assert smith["high"] - smith["low"] < 0.9


def test_a_file_with_more_values_than_were_counted_is_not_the_certificates(tmp_path):
    target = released(tmp_path, pl.DataFrame({"town": ["a", "b"] * 50}), 20.0)
    target.write_text("town\na\nb\nc\n", "utf-8")
    forge(target, lambda document: document["output"].update(sha256=sha256_of(target), bytes=11))
    with pytest.raises(InputError, match="3 different values, and 2 were counted"):
        verified_release(target)


def test_a_collecting_value_that_a_person_named_keeps_its_name(tmp_path):
    column = {"name": "town", "kind": "category", "domain": ["a", "b"], "other": "elsewhere", "bounds_origin": "data"}
    plan = Plan.from_plain({"epsilon": 12.0, "column": [column]})
    table = Table(pl.DataFrame({"town": ["a", "b", "x"] * 40}), "made.csv")
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        release_table(plan, table, tmp_path / "out.csv", ledger)
    (kept,) = verified_release(tmp_path / "out.csv").plan.columns
    assert kept.values() == ("a", "b", "elsewhere")
    assert verify_release(tmp_path / "out.csv") == []


def test_a_stand_in_never_takes_the_name_of_a_value_that_is_there():
    (column,) = Plan.from_plain(
        {"epsilon": 1.0, "column": [{"name": "x", "kind": "category", "cells": 4, "bounds_origin": "data"}]}
    ).columns
    made = column.with_values_of(["value not seen 1", "z", "z"])
    assert made.values() == ("value not seen 1", "z", "value not seen 2", "value not seen 3")


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if not m.line_only], ids=lambda m: m.name)
def test_every_mechanism_over_names_treats_them_alike(mechanism):
    """Only then does it not matter which cell a value that is not listed has."""
    chances = mechanism.build(Cells(size=2 if mechanism.two_values else 7), 1.3).probabilities()
    others = chances[~np.eye(len(chances), dtype=bool)]
    assert np.ptp(np.diag(chances)) == np.ptp(others) == 0
