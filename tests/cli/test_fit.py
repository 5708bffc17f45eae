"""``workbench fit``: one model, charged before it reads, whole or not at all."""

import json
from decimal import Decimal
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from command_cases import names, sanitize

from workbench.cli import main
from workbench.data.columns.grid import matrix
from workbench.data.columns.values import codes
from workbench.data.samples.sample_tables import sample_table
from workbench.learners import LEARNERS
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.release.ledger.ledger import Ledger

OPTIONS = {"--target": "species", "--model": "naive-bayes", "--epsilon": "2"}
FIT = ["fit", "sample:iris", *chain(*OPTIONS.items())]


@pytest.fixture
def bounds(tmp_path, run):
    path = tmp_path / "plan.toml"
    assert run("plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", str(path)).code == 0
    return path


@pytest.mark.parametrize("command", ["fit", "curve", "why", "dpsgd"])
def test_the_plan_is_named_as_in_other_commands_too(command, bounds, run):
    words = run(command, "--help").shown
    assert "--bounds PLAN, --plan PLAN" in words
    assert "unrecognized" not in run(command, "sample:iris", "--plan", str(bounds)).error()


def fit(tmp_path: Path, bounds: Path, *more: str) -> int:
    places = ["--bounds", str(bounds), "-o", str(tmp_path / "model"), "--ledger", str(tmp_path / "l.sqlite")]
    other = chain(*(option for option in OPTIONS.items() if option[0] not in more))
    return main(["fit", "sample:iris", *other, *places, *more])


def test_a_released_model_predicts_and_is_charged(tmp_path, bounds, capsys):
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


def test_a_card_says_what_is_charged_and_verifies(tmp_path, bounds, capsys):
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("upper = 10.0", 'upper = "?"'), 'still "?"'),
        (('name = "species"', 'name = "kind"'), "no column 'species'"),
        (("epsilon = 1.0", "epsilon = nan"), "epsilon = nan"),
    ],
)
def test_bounds_that_are_not_declared_stop_before_the_charge(tmp_path, bounds, capsys, change, said):
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
        ("--delta", "1e-5 --model best-classifier", "delta = 0"),
        ("--seed", "3", "draws fresh randomness"),
    ],
)
def test_impossible_options_are_one_sentence(tmp_path, bounds, capsys, option, value, said):
    assert fit(tmp_path, bounds, option, *value.split()) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_rows_per_person_multiply_the_charge(tmp_path, bounds, capsys):
    bounds.write_text(bounds.read_text().replace("epsilon = 1.0", "epsilon = 1.0\nrows_per_person = 3", 1))
    assert fit(tmp_path, bounds, "--json") == 0
    assert json.loads(capsys.readouterr().out)["epsilon_charged"] == 6.0
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["guarantee"]["epsilon"] == "6"
    assert "at most 3 rows" in card["guarantee"]["statement"]
    assert card["parameters"]["epsilon"] == 2.0


def test_a_file_whose_reading_is_a_guess_is_refused_before_the_charge(tmp_path, run):
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


# -- ``fit --on-release``: a model of a released table at no cost, from the command line ------------------------------


ABLE = [entry.name for entry in LEARNERS if entry.corrected is not None]
ON = ("fit", "--on-release", "out.csv", "--model", "naive-bayes", "--target", "city", "-o", "model")


def test_it_costs_nothing_says_of_which_release_and_predicts(released, run):
    before = (released / "ledger.sqlite").read_bytes()
    certificate = json.loads((released / "out.csv.certificate.json").read_text("utf-8"))
    answer = run(*ON, "--json").json
    assert answer == {
        "model": "naive-bayes",
        "epsilon_charged": 0.0,
        "release_id": certificate["release_id"],
        "on_release": "out.csv",
        "epsilon_release": 3.0,
        "rows": 20,
        "outside_guarantee": [],
        "output": "model",
    }
    assert (released / "ledger.sqlite").read_bytes() == before
    again = run(*ON[:-1], "again", "--bounds", "plan.toml", "--ledger", "ledger.sqlite", "--json").json
    assert {**again, "output": "model"} == answer
    assert (released / "ledger.sqlite").read_bytes() == before
    assert run("verify", "model").code == 0
    told = run("verify", "model", "--ledger", "ledger.sqlite", "--json").json
    assert told["ok"] is True
    assert "trained on the release that its card names" in told["cannot_know"]
    assert run("predict", "people.csv", "--model", "model", "-o", "told.csv", "--json").json["rows"] == 20
    line = run(*ON[:-1], "second")
    assert line.code == 0
    assert f"trained Naive Bayes on release {certificate['release_id']} (20 rows) into second" in line.out
    assert "charged epsilon = 0: it costs nothing beyond the release" in line.out


def test_nothing_but_the_release_is_needed(released, run):
    for name in names(released) - {"out.csv", "out.csv.certificate.json"}:
        (released / name).unlink()
    assert run(*ON).code == 0
    assert names(released) == {"out.csv", "out.csv.certificate.json", "model"}
    (released / "out.csv.certificate.json").rename(released / "paper.json")
    assert "no certificate next to the file" in run(*ON[:-1], "other").error()
    assert run(*ON[:-1], "other", "--certificate", "paper.json").code == 0


def test_what_epsilon_does_not_cover_is_repeated(released, run):
    plan = (released / "plan.toml").read_text("utf-8")
    extra = '[[column]]\nname = "sex"\nkind = "category"\ndomain = ["f", "m"]\n'
    (released / "plan.toml").write_text(
        plan.replace('name = "age"', 'name = "age"\naction = "keep"', 1) + extra, "utf-8"
    )
    lines = (released / "people.csv").read_text("utf-8").splitlines()
    rows = [f"{line},{'fm'[i % 2]}" for i, line in enumerate(lines[1:])]
    (released / "people.csv").write_text("\n".join([f"{lines[0]},sex", *rows]) + "\n", "utf-8")
    assert run(*sanitize(output="kept.csv", ledger="other.sqlite")).code == 0
    answer = run("fit", "--on-release", "kept.csv", *ON[3:])
    sentence = "Published as it is, covered by no epsilon: age."
    assert f"not covered by epsilon: {sentence}" in answer.out
    assert json.loads((released / "model" / "card.json").read_text("utf-8"))["outside_guarantee"] == [sentence]
    assert "as it is" in run("fit", "--on-release", "kept.csv", *ON[3:6], "age", "-o", "other").error()


@pytest.mark.parametrize("entry", [e for e in LEARNERS if e.corrected is None], ids=lambda entry: entry.name)
def test_models_that_cannot_learn_from_a_release_say_which_can(released, run, entry):
    said = run("fit", "--on-release", "out.csv", "--model", entry.name, "--target", "city", "-o", "model").error()
    assert said.startswith(f"the model “{entry.title}” cannot learn from a release (workbench fit); choose one of ")
    assert said.endswith(", ".join(ABLE))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("people.csv",), "takes no DATA (workbench fit); leave it out, or --on-release"),
        (("--epsilon", "1"), "takes no --epsilon"),
        (("--delta", "1e-6"), "takes no --delta"),
        (("--bounds", "other.toml"), "the certificate declares the column 'age' otherwise than this plan (--bounds)"),
        (("--delimiter", ";"), "takes no --delimiter"),
        (("--smoothing", "1"), "takes no --smoothing"),
        (
            ("people.csv", "--epsilon", "1", "--delta", "0"),
            "no DATA, --epsilon and --delta (workbench fit); leave them out",
        ),
        (("--seed", "1"), "--seed is for studies"),
    ],
)
def test_what_is_for_raw_rows_makes_no_sense_here(released, run, words, said):
    plan = (released / "plan.toml").read_text("utf-8")
    (released / "other.toml").write_text(plan.replace("120", "121"), "utf-8")
    assert said in run(*ON, *words).error()
    assert not (released / "model").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (),
            "DATA, --epsilon and --bounds are missing (workbench fit); give them, or give a"
            " released table with --on-release",
        ),
        (("people.csv", "--epsilon", "1"), "--bounds is missing (workbench fit); give it"),
        (("people.csv", "--certificate", "c"), "--certificate is for --on-release"),
    ],
)
def test_without_a_release_the_rows_and_their_facts_are_needed(released, run, words, said):
    assert said in run("fit", *words, *ON[3:]).error()


@pytest.mark.parametrize("what", ["out.csv", "out.csv.certificate.json"])
def test_a_tampered_release_is_refused_with_the_sentence_that_estimate_gives(released, run, what):
    text = (released / what).read_text("utf-8")
    (released / what).write_text(text.replace("city", "town", 1), "utf-8")  # a drawn value may not be there
    said = run(*ON).error()
    assert said.startswith("the release does not match its certificate: ")
    assert said == run("estimate", "out.csv").error()
    assert not (released / "model").exists()


def test_the_help_says_how_and_which_models(run):
    told = run("fit", "--help").out
    assert "--on-release OUT" in told
    assert f"Models: {', '.join(ABLE)}." in " ".join(told.split())
