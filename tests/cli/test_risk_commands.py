"""``workbench risk`` and ``workbench anonymity``: the keys of the contract, words, and what the ledger notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_cases import Run

from workbench.release.ledger.ledger import Ledger
from workbench.risk import measures
from workbench.risk.measures import Line, Measure

ROWS = "age,town,ill\n30,H,flu\n30,H,cold\n40,D,flu\n50,H,flu\n"
RISK = ("risk", "t.csv", "--quasi", "age,town", "--ledger", "book.sqlite")
ANONYMITY = ("anonymity", "t.csv", "--quasi", "age,town", "--sensitive", "ill", "--ledger", "book.sqlite")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t.csv").write_text(ROWS, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def noted(folder: Path) -> list[str]:
    with Ledger.open(folder / "book.sqlite") as ledger:
        return [one.study for one in ledger.figures()]


def test_risk_has_the_keys_of_the_contract_and_the_ledger_notes_it_first(folder: Path, run: Run) -> None:
    found = run(*RISK, "--sensitive", "ill", "--sample-fraction", "0.1", "--json").done
    assert (found["unique"], found["k"], found["private"]) == (2, 1, True)
    assert found["risk"]["prosecutor"] == {"highest": 1.0, "average": 0.75, "above_threshold": 1.0}
    assert set(found["risk"]) == {"threshold", "prosecutor", "journalist", "marketer"}
    assert found["population"]["sample_fraction"] == 0.1
    assert set(found["population"]["models"]) == {"pitman", "zayatz", "snb"}
    assert noted(folder) == ["risk"]


def test_anonymity_has_the_keys_of_the_contract(folder: Path, run: Run) -> None:
    found = run(*ANONYMITY, "--json").done
    assert (found["k"], found["l_distinct"], found["l_entropy"]) == (1, 1, 1.0)
    assert found["t"] == pytest.approx(1 / 4)
    assert found["risk"]["marketer"]["average"] == 0.75
    assert "population" not in found
    assert noted(folder) == ["risk"]


def test_words_have_each_measure_and_the_badge(folder: Path, run: Run) -> None:
    shown = run(*RISK, "--sensitive", "ill").shown
    for title in ("Classes", "Risk of being found", "ℓ-diversity", "t-closeness", "Special uniques", "HIPAA"):
        assert title in shown
    assert "2 (50 %)" in shown
    assert shown.endswith("private – not for release\n")


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        (("--quasi", "age,twon"), "there is no column 'twon', did you mean 'town'? (t.csv); the columns are"),
        (("--quasi", "age", "--sample-fraction", "1.5"), "--sample-fraction = 1.5"),
        (("--quasi", "age", "--sensitive", "age"), "'age' is both quasi and sensitive (workbench risk); leave it out"),
        (("--quasi", "age", "--sensitive", "ill", "--distance", "hierarchical"), "ill has no hierarchy"),
        (
            ("--quasi", "age", "--population", "t.csv", "--sample-fraction", "0.5"),
            "as a table and as a sample fraction",
        ),
        (("--quasi", "age", "--population", "p.csv"), "the population does not contain every row of the table (p.csv)"),
    ],
)
def test_an_error_is_one_sentence_with_place_and_fix(
    folder: Path, run: Run, words: tuple[str, ...], stated: str
) -> None:
    (folder / "p.csv").write_text("age\n30\n", "utf-8")
    answer = run("risk", "t.csv", *words, "--ledger", "book.sqlite")
    assert (answer.code, answer.out) == (2, "")
    assert stated in answer.err.splitlines()[-1]
    assert "; " in answer.err.splitlines()[-1]


def test_anonymity_without_a_sensitive_column_names_the_option(folder: Path, run: Run) -> None:
    answer = run("anonymity", "t.csv", "--quasi", "age")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "--sensitive" in answer.err


def test_a_hierarchy_says_how_far_apart_sensitive_values_are(folder: Path, run: Run) -> None:
    """Flu and a cold are both of the lungs, which is half as far as the whole way."""
    (folder / "trees").mkdir()
    (folder / "trees" / "ill.csv").write_text("flu;lungs;*\ncold;lungs;*\nulcer;stomach;*\n", "utf-8")
    found = run(*ANONYMITY, "--hierarchies", "trees", "--json").done
    assert found["closeness"][0]["distance"] == "hierarchical"
    assert found["t"] == pytest.approx(1 / 8)
    (folder / "trees" / "ill.csv").write_text("flu;lungs;*\n", "utf-8")
    answer = run(*ANONYMITY, "--hierarchies", "trees")
    assert (answer.code, "the value 'cold'" in answer.err) == (2, True)


def test_the_population_answers_in_place_of_a_fraction(folder: Path, run: Run) -> None:
    (folder / "p.csv").write_text("town,age\n" + "H,30\n" * 4 + "D,40\n" * 5 + "H,50\n" * 2 + "D,9\n", "utf-8")
    found = run(*RISK, "--population", "p.csv", "--json").done
    assert found["risk"]["journalist"]["highest"] == 0.5
    assert (found["population"]["unique"], found["population"]["model"]) == (1.0, "counted")


def test_a_measure_is_its_line_in_the_list(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = Measure("toy", "A toy", "toy", lambda subject: {"toy": subject.rows}, lambda f: [Line("rows", str(f["toy"]))])
    monkeypatch.setattr(measures, "MEASURES", (*measures.MEASURES, toy))
    assert run(*RISK, "--json").done["toy"] == 4
    assert "A toy\nrows  4\n" in run(*RISK).shown


def test_figures_of_a_release_are_public_and_not_noted(folder: Path, run: Run) -> None:
    assert run("plan", "sample:iris", "--epsilon", "1", "-o", "plan.toml").code == 0
    done = run("sanitize", "sample:iris", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "book.sqlite")
    assert done.code == 0, done
    found = run("risk", "out.csv", "--quasi", "species", "--ledger", "book.sqlite", "--json").done
    assert found["private"] is False
    assert noted(folder) == []
    lines = (folder / "out.csv").read_text("utf-8").splitlines()
    (folder / "out.csv").write_text("\n".join(lines[:-1]) + "\n", "utf-8")  # no longer what was certified
    assert run("risk", "out.csv", "--quasi", "species", "--ledger", "book.sqlite", "--json").done["private"] is True
    assert noted(folder) == ["risk"]


def test_figures_of_a_generalised_table_are_public_as_well(folder: Path, run: Run) -> None:
    (folder / "trees").mkdir()
    for name, values in (("age", ("30", "40", "50")), ("town", ("H", "D"))):
        (folder / "trees" / f"{name}.csv").write_text("".join(f"{value};*\n" for value in values), "utf-8")
    words = ("--quasi", "age,town", "--hierarchies", "trees", "--k", "2", "-o", "out.csv", "--ledger", "book.sqlite")
    assert run("generalize", "t.csv", *words).code == 0
    found = run("risk", "out.csv", "--quasi", "age,town", "--ledger", "book.sqlite", "--json").done
    assert (found["private"], found["k"] >= 2) == (False, True)
    assert "risk" not in noted(folder)
