"""A release is read with the mechanisms that ran, whatever the advisor of today would choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from release_cases import forge
from released import release_table

from workbench.data.table import Table
from workbench.params import InputError
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verified_release, verify_release
from workbench.sanitize import calibrated
from workbench.sanitize.plan import Plan

AGE = {"name": "age", "kind": "integer", "lower": 0, "upper": 20}


def released(folder: Path, **more: Any) -> Path:
    """Release a small table and return the file."""
    plan = Plan.from_plain({"epsilon": 1.0, "column": [{**AGE, **more}]})
    table = Table(pl.DataFrame({"age": [str(i % 21) for i in range(200)]}), "made.csv")
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        release_table(plan, table, folder / "out.csv", ledger)
    return folder / "out.csv"


def test_advice_that_changed_does_not_change_what_a_release_is_read_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = released(tmp_path)
    before = verified_release(file).column("age")
    advice = calibrated.candidates
    monkeypatch.setattr(calibrated, "candidates", lambda *given: advice(*given)[::-1])
    after = verified_release(file).column("age")
    assert after.mechanism.name == before.mechanism.name == "duchi"
    assert after.randomiser.digest() == before.randomiser.digest()
    assert verify_release(file) == []


def test_a_certificate_from_before_the_default_changed_still_means_single_values(tmp_path: Path) -> None:
    file = released(tmp_path, purpose="values", mechanism="staircase")

    def forget(document: dict[str, Any]) -> None:
        assert 'purpose = "values"\n' in document["plan"]
        document["plan"] = document["plan"].replace('purpose = "values"\n', "")

    forge(file, forget)
    assert verified_release(file).plan.column("age").purpose == "values"
    assert verify_release(file) == []


def test_a_solved_table_that_differs_from_the_one_that_was_drawn_from_is_refused(tmp_path: Path) -> None:
    file = released(tmp_path, mechanism="optimal")
    column = verified_release(file).column("age")
    assert column.mechanism.name == "optimal"
    forge(file, lambda document: document["columns"][0].update(table_digest="0" * 64))
    with pytest.raises(InputError, match="has another table here"):
        verified_release(file)
    assert any("has another table here" in problem for problem in verify_release(file))


def test_a_certificate_that_names_no_known_mechanism_is_refused(tmp_path: Path) -> None:
    file = released(tmp_path)
    forge(file, lambda document: document["columns"][0].update(mechanism="hybird"))
    with pytest.raises(InputError, match="did you mean 'hybrid'"):
        verified_release(file)
    assert any("hybird" in problem for problem in verify_release(file))
