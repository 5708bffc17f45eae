"""``workbench fit``: one model, charged before it reads, whole or not at all."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from command_cases import Run

from workbench.cli import main
from workbench.data.columns.grid import matrix
from workbench.data.columns.values import codes
from workbench.data.samples.sample_tables import sample_table
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.release.ledger.ledger import Ledger

FIT = ["fit", "sample:iris", "--target", "species", "--model", "naive-bayes", "--epsilon", "2"]


@pytest.fixture
def bounds(tmp_path: Path, run: Run) -> Path:
    path = tmp_path / "plan.toml"
    assert run("plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", str(path)).code == 0
    return path


def fit(tmp_path: Path, bounds: Path, *more: str) -> int:
    places = ["--bounds", str(bounds), "-o", str(tmp_path / "model"), "--ledger", str(tmp_path / "l.sqlite")]
    return main([*FIT, *places, *more])


def test_a_released_model_predicts_and_is_charged(tmp_path: Path, bounds: Path, capsys) -> None:
    assert fit(tmp_path, bounds, "--epsilon", "200", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["epsilon_charged"] == 200.0
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        (release,) = ledger.releases()
    assert release.status == "charged"
    assert release.release_id == result["release_id"]
    assert release.epsilon == Decimal("200.0")
    model = NaiveBayes.from_plain(json.loads((tmp_path / "model" / "model.json").read_text()))
    assert model.releasable
    iris = sample_table("iris")
    X = matrix(iris, model.setting.attributes)
    accuracy = np.mean(model.predict(X) == codes(iris, model.setting.target))
    assert accuracy > 0.8  # chance is a third; the worst of 1,500 at a tenth of ε, ten times the noise, was 0.887


def test_a_card_says_what_is_charged_and_verifies(tmp_path: Path, bounds: Path, capsys) -> None:
    assert fit(tmp_path, bounds) == 0
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["guarantee"]["epsilon"] == "2"
    assert card["guarantee"]["replace_one"] == {"epsilon": 4.0, "delta": 0.0}
    assert sum(Decimal(q["epsilon"]) for q in card["training"]["queries"]) == 2
    assert main(["verify", str(tmp_path / "model")]) == 0
    model = tmp_path / "model" / "model.json"
    model.write_text(model.read_text().replace('"rows": 150', '"rows": 151'))
    assert main(["verify", str(tmp_path / "model"), "--json"]) == 5
    assert "model.json was changed" in capsys.readouterr().out


def test_a_second_model_is_refused_by_the_budget_and_leaves_nothing(tmp_path: Path, bounds: Path, run: Run) -> None:
    assert fit(tmp_path, bounds) == 0
    before = sorted(p.name for p in tmp_path.iterdir())
    again = ["--bounds", str(bounds), "-o", str(tmp_path / "second"), "--ledger", str(tmp_path / "l.sqlite")]
    assert "costs epsilon = 2 but only 0 remain" in run(*FIT, *again).error(3)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_an_existing_folder_is_not_overwritten_nor_charged(tmp_path: Path, bounds: Path, capsys) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("keep me")
    assert fit(tmp_path, bounds) == 2
    assert "exists already" in capsys.readouterr().err
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        assert ledger.releases() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("upper = 10.0", 'upper = "?"'), 'still "?"'),
        (('name = "species"', 'name = "kind"'), "no column 'species'"),
        (("epsilon = 1.0", "epsilon = nan"), "epsilon = nan"),
    ],
)
def test_bounds_that_are_not_declared_stop_before_the_charge(
    tmp_path: Path, bounds: Path, capsys, change: tuple[str, str], said: str
) -> None:
    text = bounds.read_text()
    assert change[0] in text
    bounds.write_text(text.replace(change[0], change[1], 1))
    assert fit(tmp_path, bounds) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--epsilon", "0", "--epsilon = 0"),
        ("--epsilon", "nan", "--epsilon = 'nan'"),
        ("--model", "naive-bayse", "did you mean 'naive-bayes'"),
        ("--target", "specie", "no column 'specie'"),
        ("--delta", "1e-5 --model logistic-regression", "delta = 0"),
        ("--seed", "3", "draws fresh randomness"),
    ],
)
def test_impossible_options_are_one_sentence(
    tmp_path: Path, bounds: Path, capsys, option: str, value: str, said: str
) -> None:
    assert fit(tmp_path, bounds, option, *value.split()) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_rows_per_person_multiply_the_charge(tmp_path: Path, bounds: Path, capsys) -> None:
    bounds.write_text(bounds.read_text().replace("epsilon = 1.0", "epsilon = 1.0\nrows_per_person = 3", 1))
    assert fit(tmp_path, bounds, "--json") == 0
    assert json.loads(capsys.readouterr().out)["epsilon_charged"] == 6.0
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["guarantee"]["epsilon"] == "6"
    assert "at most 3 rows" in card["guarantee"]["statement"]
    assert card["parameters"]["epsilon"] == 2.0


def test_a_file_whose_reading_is_a_guess_is_refused_before_the_charge(tmp_path: Path, run: Run) -> None:
    table, plan = tmp_path / "t.csv", tmp_path / "p.toml"
    rows = ["café,yes", "thé,no"] * 30
    table.write_bytes("\n".join(["drink,label", *rows, ""]).encode("latin-1"))
    plan.write_text(
        'epsilon = 1\n[[column]]\nname = "drink"\nkind = "category"\ndomain = ["café", "thé"]\n'
        '[[column]]\nname = "label"\nkind = "category"\ndomain = ["yes", "no"]\n',
        encoding="utf-8",
    )
    ledger, out = tmp_path / "l.sqlite", tmp_path / "out.csv"
    words = ["sanitize", str(table), "--plan", str(plan), "-o", str(out), "--ledger", str(ledger)]
    assert "which one row can change" in run(*words).refused()
    assert not out.exists()
    assert run(*words, "--encoding", "latin-1").code == 0
