"""``workbench plan --target``: what the classes to predict get of ε, written into the plan."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from command_cases import Run


@pytest.mark.parametrize(("epsilon", "share", "weight"), [("1", 0.5, 2.0), ("2.5", 0.4, 1.333), ("9", 1 / 3, None)])
def test_the_classes_to_predict_get_half_of_epsilon_until_they_have_1(
    folder: Path, run: Run, epsilon: str, share: float, weight: float | None
) -> None:
    """``zip`` is named: it is no sample's target, and without ``--target`` nothing weighs more."""
    words = ["plan", "sample:people", "--epsilon", epsilon, "--drop", "label", "--drop", "sex", "-o", "new.toml"]
    answer = run(*words, "--target", "zip", "--json")
    assert any("zip, the target, gets" in note for note in answer.json["notes"]) == (weight is not None)
    columns = {c["name"]: c for c in tomllib.loads((folder / "new.toml").read_text("utf-8"))["column"]}
    assert columns["zip"].get("weight") == weight
    told = {c["name"]: c["epsilon"] for c in run("forecast", "--plan", "new.toml", "--json").json["columns"]}
    assert told["zip"] == pytest.approx(share * float(epsilon), rel=1e-3)
    assert sum(told.values()) == pytest.approx(float(epsilon))
    (folder / "new.toml").unlink()
    run(*words)
    assert all("weight" not in c for c in tomllib.loads((folder / "new.toml").read_text("utf-8"))["column"])
