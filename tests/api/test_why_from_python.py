"""``workbench.api.why``: steps and changes as a DataFrame."""

from __future__ import annotations

import pandas as pd
import pytest

from workbench import api
from workbench.params import ParameterError

PLAN = api.plan(epsilon=1, bounds={"a": (0, 10)}, domains={"b": ["x", "y"], "c": ["n", "p"]})


def test_generated_rows_are_explained_without_a_warning(recwarn):
    told = api.why(None, PLAN, "c", rows=80, repeats=2)
    assert list(told.columns) == ["part", "name", "title", "mean", "standard_error", "difference"]
    assert list(told[told["part"] == "step"]["name"]) == ["ordinary", "exact", "private"]
    assert "private" not in told.attrs
    assert len(told.attrs["sentences"]) == 2
    assert not [w for w in recwarn if issubclass(w.category, api.PrivateStudyWarning)]


def test_a_frame_is_a_private_study():
    frame = pd.DataFrame({"a": range(20), "b": ["x", "y"] * 10, "c": ["n", "n", "p", "p"] * 5})
    with pytest.warns(api.PrivateStudyWarning):
        told = api.why(frame, PLAN, "c", repeats=2)
    assert told.attrs["private"]
    with pytest.raises(ParameterError, match="twice, or not at all"):
        api.why(frame, PLAN, "c", rows=5)
