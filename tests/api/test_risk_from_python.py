"""``api.risk`` and ``api.anonymity``: the figures of the command, of a DataFrame, with those of each row."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from workbench import api
from workbench.params import InputError, ParameterError
from workbench.release.ledger.ledger import Ledger

FRAME = pd.DataFrame(
    {"age": [30, 30, 40, 50], "town": list("HHDH"), "ill": ["flu", "cold", "flu", "flu"]}, index=list("pqrs")
)


def test_figures_are_those_of_the_command_and_noted_in_the_ledger(tmp_path: Path) -> None:
    with pytest.warns(api.PrivateStudyWarning):
        found = api.risk(FRAME, ["age", "town"], "ill", sample_fraction=0.5, study_ledger=tmp_path / "b.sqlite")
    assert (found["k"], found["unique"], found["l_distinct"]) == (1, 2, 1)
    assert found.rows.index.tolist() == list("pqrs")
    assert found.rows["class_size"].tolist() == [2, 2, 1, 1]
    assert found.rows["risk"].tolist() == [0.5, 0.5, 1, 1]
    assert found.rows["score"].tolist() == [0, 0, 2, 1]
    assert "k = 1" in repr(found)
    assert "ℓ of ill" in found._repr_html_()
    with Ledger.open(tmp_path / "b.sqlite") as ledger:
        assert [one.study for one in ledger.figures()] == ["risk"]


def test_anonymity_has_the_keys_of_the_contract(tmp_path: Path) -> None:
    with pytest.warns(api.PrivateStudyWarning):
        found = api.anonymity(FRAME, "age", "ill", study_ledger=tmp_path / "b.sqlite")
    assert {"k", "l_distinct", "l_entropy", "t", "risk"} <= set(found)
    assert "score" not in found.rows


def test_values_are_as_far_apart_as_the_hierarchy_of_a_sensitive_column_says(tmp_path: Path) -> None:
    frame = pd.DataFrame({"town": list("HHDD"), "ill": ["flu", "cold", "ulcer", "ulcer"]})
    groups = pd.DataFrame({"ill": ["flu", "cold", "ulcer"], "organ": ["lung", "lung", "stomach"], "all": "*"})
    book = tmp_path / "b.sqlite"
    for given in ({"ill": groups}, {"ill": "tree:groups=lung=flu|cold,stomach=ulcer"}):
        with pytest.warns(api.PrivateStudyWarning):
            found = api.risk(frame, "town", "ill", hierarchies=given, study_ledger=book)
        assert found["closeness"][0]["distance"] == "hierarchical"
        # In each town half of the weight has to go to the other organ, the whole height of the tree away.
        assert found["t"] == pytest.approx(0.5)
    (tmp_path / "ill.csv").write_text("flu;lung;*\ncold;lung;*\nulcer;stomach;*\n", "utf-8")
    with pytest.warns(api.PrivateStudyWarning):
        found = api.anonymity(frame, "town", "ill", hierarchies=tmp_path, distance="hierarchical", study_ledger=book)
    assert found["t"] == pytest.approx(0.5)


def test_what_cannot_be_measured_is_refused_before_anything_is_noted(tmp_path: Path) -> None:
    book = tmp_path / "b.sqlite"
    with pytest.raises(InputError, match="no column 'agee'"):
        api.risk(FRAME, ["agee"], study_ledger=book)
    with pytest.raises(ParameterError):
        api.anonymity(FRAME, ["age"], ["ill"], threshold=0, study_ledger=book)
    assert not book.exists()
