"""``workbench.api.attack``: DataFrames and files in, the keys of the command out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workbench import api
from workbench.params import ParameterError
from workbench.release.ledger.ledger import Ledger


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"a": rng.integers(0, 500, 200), "b": rng.integers(0, 500, 200), "c": rng.choice(["x", "y"], 200)}
    )


def test_an_attack_on_a_frame_is_a_private_study_without_a_bound(tmp_path: Path) -> None:
    rows, others = people(1), people(2)
    with pytest.warns(api.PrivateStudyWarning):
        found = api.attack(
            "inference", rows, original=rows, control=others, known=["a", "b"], study_ledger=tmp_path / "l.sqlite"
        )
    assert found["low"] >= 0.9
    assert found["allowed"] is None
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        assert {one.study for one in ledger.figures()} == {"attack"}


def test_known_people_are_a_table_where_the_attack_reads_one(tmp_path: Path) -> None:
    rows = people(3)
    with pytest.warns(api.PrivateStudyWarning):
        found = api.attack("link", rows, known=rows, on=["a", "b"], study_ledger=tmp_path / "l.sqlite")
    assert found["reidentified_fraction"] > 0.9


def test_a_generated_sample_warns_of_nothing() -> None:
    assert api.attack("traces", people=200, attacks=50)["private"] is False


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ParameterError, match="knwon"):
        api.attack("inference", people(4), original=people(4), knwon=["a"])
