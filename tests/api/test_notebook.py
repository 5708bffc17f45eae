"""The notebook in ``resources/examples``: every cell runs, from top to bottom, and it holds no output."""

from __future__ import annotations

import ast
import json
import warnings
from pathlib import Path

from workbench import api

NOTEBOOK = Path(__file__).parents[2] / "resources" / "examples" / "what-privacy-costs.ipynb"


def cells() -> list[str]:
    document = json.loads(NOTEBOOK.read_text("utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


def run(source: str, names: dict) -> object:
    """Run one cell and return the value of its last line, as a notebook shows it."""
    body = ast.parse(source)
    *before, last = body.body
    if not isinstance(last, ast.Expr):
        exec(compile(body, NOTEBOOK.name, "exec"), names)
        return None
    exec(compile(ast.Module(before, []), NOTEBOOK.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)


def test_every_cell_runs_and_shows_what_the_text_says(folder: Path) -> None:
    names: dict = {}
    with warnings.catch_warnings(record=True) as said:  # the first cell asks for each sentence once
        shown_by = [run(cell, names) for cell in cells()]
    head, score, accuracy, faults, predicted, told, estimates = (shown for shown in shown_by if shown is not None)
    assert {warning.category for warning in said} == {api.PrivateStudyWarning}
    assert len(head) == 5
    assert 0 <= score <= 1
    assert list(accuracy.columns) == ["none", "private", "sanitized:staircase"]
    assert accuracy.loc[3.0, "private"] > accuracy.loc[3.0, "sanitized:staircase"]
    assert faults == []
    assert "predicted species" in predicted.columns
    assert told["epsilon"] == 3.0
    assert len(estimates) == 4 + 3
    assert api.verify(told["output"]) == []
    assert not list(folder.iterdir()), "it writes only where it says"


def test_it_holds_no_output() -> None:
    document = json.loads(NOTEBOOK.read_text("utf-8"))
    assert all(not cell.get("outputs") for cell in document["cells"])
