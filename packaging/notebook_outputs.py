"""Runs the example notebook and stores its outputs: ``python packaging/notebook_outputs.py``.

A cell is run as a notebook runs it: the value of its last line is shown, as text and where it has one as HTML. What is
drawn at random differs from run to run; the folder that the notebook writes to is cut from what is stored.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "resources" / "examples" / "what-privacy-costs.ipynb"


def code_cells(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells of a notebook that are run."""
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


@dataclass(frozen=True)
class Shown:
    """What a cell shows.

    Attributes:
        cell: the cell.
        value: of its last line; ``None`` for nothing.
        warned: its warnings.
        printed: what it printed.
    """

    cell: dict[str, Any]
    value: Any
    warned: list[warnings.WarningMessage]
    printed: str


def shown_by(document: dict[str, Any], names: dict[str, Any]) -> Iterator[Shown]:
    """Run each cell with the variables ``names``; yield what it shows."""
    with warnings.catch_warnings(record=True) as said:
        for cell in code_cells(document):
            before, printed = len(said), io.StringIO()
            with contextlib.redirect_stdout(printed):
                value = run_cell("".join(cell["source"]), names)
            yield Shown(cell, value, said[before:], printed.getvalue())


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run one cell and return the value of its last line, as a notebook shows it."""
    body = ast.parse(source)
    *before, last = body.body
    if not isinstance(last, ast.Expr):
        exec(compile(body, NOTEBOOK.name, "exec"), names)
        return None
    exec(compile(ast.Module(before, []), NOTEBOOK.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)


def with_outputs(document: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of a run."""
    names: dict[str, Any] = {}
    for count, shown in enumerate(shown_by(document, names), start=1):
        outputs: list[dict[str, Any]] = []
        said = "".join(f"{warning.category.__name__}: {warning.message}\n" for warning in shown.warned)
        for name, text in (("stderr", said), ("stdout", shown.printed)):
            if text:
                outputs.append({"name": name, "output_type": "stream", "text": text.splitlines(keepends=True)})
        if shown.value is not None:
            data = {"text/plain": repr(shown.value).splitlines(keepends=True)}
            html = getattr(shown.value, "_repr_html_", lambda: None)()
            data |= {"text/html": html.splitlines(keepends=True)} if html else {}
            outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
        shown.cell["execution_count"], shown.cell["outputs"] = count, outputs
    text = json.dumps(document, indent=1, ensure_ascii=False).replace(str(names.get("folder", "\0")), "…")
    stored: dict[str, Any] = json.loads(text.replace(tempfile.gettempdir(), "…"))
    return stored


def main() -> int:
    """Store the outputs of a run in the notebook."""
    document = with_outputs(json.loads(NOTEBOOK.read_text("utf-8")))
    NOTEBOOK.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
