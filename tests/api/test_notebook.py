"""The notebook in ``resources/examples`` and the Python of README and help: all of it runs."""

import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workbench import api
from workbench.release.statements import CHOSEN

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
from notebook_outputs import NOTEBOOK, code_cells, shown_by  # noqa: E402  # it is a script, not a package


def test_every_cell_runs_and_shows_what_the_text_says(folder):
    shown = list(shown_by(json.loads(NOTEBOOK.read_text("utf-8")), {}))
    assert {warning.category for one in shown for warning in one.warned} == {api.PrivateStudyWarning}
    assert [one.printed for one in shown if one.printed] == ["this release costs epsilon = 3 but nothing is left\n"]
    values = [one.value for one in shown if one.value is not None]
    head, described, plan, forecast, score, accuracy, faults, loaded, predicted, told, rows, estimates, book = values
    assert len(head) == len(described) == len(forecast) == len(plan.columns) == 5
    assert 0 <= score <= 1
    assert list(accuracy.columns) == ["none", "private", "sanitized:staircase"]
    assert accuracy.loc[3.0, "private"] > accuracy.loc[3.0, "sanitized:staircase"]
    assert faults == []
    assert loaded.epsilon == 1
    assert set(predicted) <= {"setosa", "versicolor", "virginica"}
    assert told == {"epsilon": 3.0, "remaining": 0.0, "outside": [CHOSEN]}  # a curve was looked at before
    pd.testing.assert_series_equal(rows.dtypes, head.dtypes)
    assert len(estimates) == 4 + 3
    assert book.to_numpy().tolist() == [["flowers", 4.0, 4.0, 0.0]]
    assert not list(folder.iterdir()), "it writes only where it says"
    stored = [bool(cell["outputs"]) for cell in code_cells(json.loads(NOTEBOOK.read_text("utf-8")))]
    assert stored == [one.value is not None or bool(one.printed) for one in shown], "a cell that shows has its output"


def test_stored_outputs_tell_nothing_of_the_machine():
    text = NOTEBOOK.read_text("utf-8")
    assert not re.search(r"/(tmp|home|work|root|Users|dev)/|[A-Z]:\\", text)
    assert tempfile.gettempdir() not in text
    for cell in code_cells(json.loads(text)):
        assert cell["execution_count"] is not None
        for output in cell["outputs"]:
            assert output["output_type"] in ("stream", "execute_result")


@pytest.mark.parametrize("place", ["README.md", "resources/help/python.md"])
def test_the_python_of_readme_and_help_runs(place, folder):
    generator = np.random.default_rng(0)
    people = {
        "name": [f"person {i}" for i in range(200)],
        "age": generator.integers(0, 100, 200),
        "sex": generator.choice(["female", "male"], 200),
    }
    pd.DataFrame(people).to_csv("people.csv", index=False)
    text = (ROOT / place).read_text("utf-8")
    indented = "".join(line[4:] for line in text.splitlines(keepends=True) if line.startswith("    "))
    code = indented if place != "README.md" else "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    names: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", api.PrivateStudyWarning)
        exec(code, names)
    assert api.verify("released.csv") == api.verify("model") == []
    assert api.ledger("ledger.sqlite").show()["account"].tolist() == ["people"]
    assert "steps" not in names or api.total_epsilon(names["steps"]) == 1.5
