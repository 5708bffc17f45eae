"""The command line called in this process, and little tables for it."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from workbench.cli import main

PLAN = """\
epsilon = 3.0

[[column]]
name = "age"
kind = "integer"
lower = 0
upper = 120

[[column]]
name = "city"
kind = "category"
domain = ["Graz", "Linz", "Wien"]
"""

ROWS = ["31,Graz", "47,Linz", "8,Wien", "64,Graz", "29,Wien"] * 4
TABLE = "\n".join(["age,city", *ROWS]) + "\n"


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.out.count("\n") == 1
        answer: dict[str, Any] = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer

    @property
    def done(self) -> dict[str, Any]:
        """The JSON object of a command that did what it was asked."""
        assert self.code == 0, self
        return self.json

    @property
    def shown(self) -> str:
        """What a command shows that did what it was asked."""
        assert self.code == 0, self
        return self.out

    def refused(self, code: int = 2) -> str:
        """The one sentence of an error, which notes may come before."""
        assert self.code == code, self
        assert self.out == ""
        last = self.err.splitlines()[-1]
        assert last.startswith("error: ")
        return last

    def error(self, code: int = 2) -> str:
        """The one sentence of an error, after checking that there is nothing else."""
        assert self.code == code, self
        assert self.out == ""
        assert self.err.endswith("\n")
        (line,) = self.err.splitlines()
        assert line.startswith("error: ")
        assert "Traceback" not in line
        return line.removeprefix("error: ")


Run = Callable[..., Answer]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command line and returns its answer."""

    def run(*words: object) -> Answer:
        capsys.readouterr()
        code = main([str(w) for w in words])
        return Answer(code, *capsys.readouterr())

    return run


def written(folder: Path) -> tuple[Path, Path, Path]:
    """Write the little table and its plan; return (table, plan, ledger)."""
    table, plan = folder / "people.csv", folder / "plan.toml"
    table.write_text(TABLE, "utf-8")
    plan.write_text(PLAN, "utf-8")
    return table, plan, folder / "ledger.sqlite"


CITIES = """epsilon = 1.0
[[column]]
name = "age"
kind = "integer"
lower = 0
upper = 100
[[column]]
name = "city"
kind = "category"
domain = ["Graz", "Linz"]
"""


def cities(folder: Path) -> Path:
    """Write a table in which age tells the city, and its plan; return the folder."""
    (folder / "plan.toml").write_text(CITIES, "utf-8")
    lines = [f"{i % 100},{'Graz' if i % 100 < 50 else 'Linz'}" for i in range(300)]
    (folder / "t.csv").write_text("\n".join(["age,city", *lines]) + "\n", "utf-8")
    return folder


def sanitize(**changed: str) -> list[str]:
    """The words of a release of the little table, some changed: ``data=``, ``plan=``, ``output=``, ``ledger=``."""
    words = ["sanitize", "people.csv", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "ledger.sqlite"]
    places = {"data": 1, "plan": 3, "output": 5, "ledger": 7}
    for name, word in changed.items():
        words[places[name]] = word
    return words


def lines_of(path: Path) -> list[list[str]]:
    """Return the cells of a comma-separated file, line by line."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}
