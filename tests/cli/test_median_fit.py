"""``fit`` and ``predict`` of a model whose every prediction costs ε: what it costs is shown before it is charged."""

from __future__ import annotations

import csv
import importlib.util
import json
from decimal import Decimal
from pathlib import Path

import pytest
from command_cases import Run

from workbench.data.read import hashlib
from workbench.release.ledger.ledger import Ledger

HEADER = "sepal_length,sepal_width,petal_length,species"
ROWS = ["5.0,3.4,1.5,setosa", "6.5,3.0,5.5,virginica", "5.0,3.4,1.5,setosa", "6.0,2.9,4.5,versicolor"]
FIT = ["fit", "sample:iris", "--target", "petal_width", "--bounds", "plan.toml", "--ledger", "l.sqlite"]
WORDS = [*FIT, "--model", "median-forest", "--epsilon", "0.5", "--ask", "ask.csv", "-o", "model"]
MADE_OF = "3 predictions × ε 0.5 = 1.5"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """A folder to stand in, with a plan for iris and a file of rows to predict, one of them twice."""
    monkeypatch.chdir(tmp_path)
    assert run("plan", "sample:iris", "--epsilon", "1", "--target", "petal_width", "-o", "plan.toml").code == 0
    asked("ask.csv", *ROWS)
    return tmp_path


def asked(name: str, *rows: str, header: str = HEADER) -> None:
    Path(name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def charged() -> list[Decimal]:
    with Ledger.open(Path("l.sqlite")) as ledger:
        return [release.epsilon for release in ledger.releases() if release.status == "charged"]


def test_the_cost_of_all_predictions_is_shown_charged_and_on_the_card(made: Path, run: Run) -> None:
    answer = run(*WORDS)
    assert answer.code == 0
    assert f"before it starts: {MADE_OF}" in answer.err
    assert f"charged epsilon = 1.5 ({MADE_OF})" in answer.out
    assert charged() == [Decimal("1.5")]
    card = json.loads((made / "model" / "card.json").read_text("utf-8"))
    assert card["guarantee"]["epsilon"] == "1.5"
    assert [q["epsilon"] for q in card["training"]["queries"]] == ["0.5"] * 3
    assert "whole-number weights" in card["guarantee"]["randomness"]
    assert card["parameters"] == {"epsilon": 0.5}
    assert "ask.csv" not in (made / "model" / "model.json").read_text("utf-8")
    assert sorted(p.name for p in (made / "model").iterdir()) == ["card.json", "model.json"]
    assert run("verify", "model").code == 0

    answer = run("predict", "ask.csv", "--model", "model", "-o", "out.csv", "--json")
    assert answer.json["rows"] == 4
    with (made / "out.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["row", "predicted petal_width"]
    assert rows[0][1] == rows[2][1], "the same row, answered once"
    assert all(0 <= float(row[1]) <= 5 for row in rows)


def test_json_says_it_too(made: Path, run: Run) -> None:
    told = run(*WORDS, "--json").json
    assert (told["epsilon_charged"], told["predictions"], told["made_of"]) == (1.5, 3, MADE_OF)


def test_a_row_that_was_not_asked_is_refused_and_no_file_is_written(made: Path, run: Run) -> None:
    assert run(*WORDS).code == 0
    asked("new.csv", ROWS[1], "6.5,3.0,5.4,virginica")
    said = run("predict", "new.csv", "--model", "model", "-o", "out.csv").error()
    assert "was not asked about this row" in said
    assert "row 2" in said
    assert "fit again and ask about others" in said
    assert "5.4" not in said
    assert not (made / "out.csv").exists()


def test_rows_of_one_person_multiply_every_prediction(made: Path, run: Run) -> None:
    plan = made / "plan.toml"
    plan.write_text(plan.read_text("utf-8").replace("epsilon = 1.0", "epsilon = 1.0\nrows_per_person = 4", 1), "utf-8")
    answer = run(*WORDS)
    assert "3 predictions × ε 0.5 × 4 rows per person = 6" in answer.err
    assert charged() == [Decimal(6)]
    assert run("verify", "model").code == 0


@pytest.mark.parametrize(
    ("header", "rows", "said"),
    [
        (HEADER, [], "no rows"),
        ("sepal_length,sepal_width,petal_length", ["5,3,1"], "species"),
        (HEADER, [ROWS[0], "5.0,3.4,1.5,rose"], "ask.csv, column species, row 2"),
        (HEADER, ["5.0,,1.5,setosa"], "sepal_width"),
    ],
)
def test_rows_that_cannot_be_asked_are_one_sentence_and_cost_nothing(
    made: Path, run: Run, header: str, rows: list[str], said: str
) -> None:
    asked("ask.csv", *rows, header=header)
    assert said in run(*WORDS).error()
    assert not (made / "model").exists()
    assert charged() == []


def test_what_is_missing_is_said_before_anything_is_charged(made: Path, run: Run) -> None:
    words = [word for word in WORDS if word not in ("--ask", "ask.csv")]
    assert "name a file of public rows with the columns of the table: --ask FILE" in run(*words).error()
    assert "nowhere.csv" in run(*words, "--ask", "nowhere.csv").error()
    assert "has no --ask" in run(*WORDS, "--model", "naive-bayes").error()
    assert "--epsilon = 0" in run(*WORDS, "--epsilon", "0").error()
    assert charged() == []


def test_the_private_table_itself_is_not_published_as_the_rows_to_predict(made: Path, run: Run) -> None:
    rows = [f"{4 + i % 7},3.0,{1 + i % 5},{name},{i % 3}" for i, name in enumerate(["setosa", "virginica"] * 20)]
    asked("table.csv", *rows, header=f"{HEADER},petal_width")
    copy = Path("copy.csv")
    copy.write_bytes(Path("table.csv").read_bytes())
    words = ["fit", "table.csv", *WORDS[2:]]
    for name in ("table.csv", "copy.csv"):
        answer = run(*words, "--ask", name)
        assert answer.code == 2
        assert "is the private table itself" in answer.err.splitlines()[-1]
    assert charged() == []


def test_a_release_is_taken_up_again_only_for_the_same_rows(made: Path, run: Run) -> None:
    """What is asked for is part of what is asked: the same path with other rows is another release."""
    from workbench.learners import learner
    from workbench.release.model.release_learner import unfitted
    from workbench.sanitize.plan import load_plan

    def digests() -> dict[str, bytes]:
        chosen = learner("median-forest")
        parameters = chosen.parameters.from_plain({"epsilon": 1, "ask": "ask.csv"})
        return dict(unfitted(chosen, parameters, load_plan(made / "plan.toml"), "petal_width").files_read)

    before = digests()
    assert before == {"ask": hashlib.sha256((made / "ask.csv").read_bytes()).digest()}
    asked("ask.csv", ROWS[0])
    assert digests() != before


def test_help_says_that_epsilon_is_of_each_prediction(run: Run) -> None:
    told = " ".join(run("fit", "--help").out.split()).replace("- ", "-")
    assert "for median-forest, median-xgboost: of each prediction" in told
    assert "each prediction costs ε" in told


def test_without_xgboost_the_command_is_named(made: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "xgboost" else found(name))
    said = run(*WORDS, "--model", "median-xgboost").error()
    assert 'pip install "privacy-workbench[boost]"' in said
    assert charged() == []


@pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="XGBoost is not installed")
def test_a_curve_says_whose_epsilon_is_of_each_prediction(made: Path, run: Run) -> None:
    words = ["curve", "sample:iris", "--target", "petal_width", "--bounds", "plan.toml", "--model", "median-xgboost"]
    words += ["--regimes", "none,private", "--epsilons", "1,20", "--repeats", "1", "--jobs", "1", "-o", "curve.csv"]
    answer = run(*words)
    assert answer.code == 0
    assert "of the private model, epsilon is of each prediction" in answer.out
    told = run(*words, "--json").json
    assert told["each_prediction"] is True
    best = max(p["mean"] for p in told["r2"] if p["regime"] == "private")
    assert best > 0.5
