"""``fit --on-release``: a model of a released table at no cost, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_cases import Run, names, sanitize

from workbench.learners import LEARNERS

ABLE = [entry.name for entry in LEARNERS if entry.corrected is not None]
ON = ("fit", "--on-release", "out.csv", "--model", "naive-bayes", "--target", "city", "-o", "model")


def test_it_costs_nothing_says_of_which_release_and_predicts(released: Path, run: Run) -> None:
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
    assert run("verify", "model").code == 0
    told = run("verify", "model", "--ledger", "ledger.sqlite", "--json").json
    assert told["ok"] is True
    assert "trained on the release that its card names" in told["cannot_know"]
    assert run("predict", "people.csv", "--model", "model", "-o", "told.csv", "--json").json["rows"] == 20
    line = run(*ON[:-1], "second")
    assert line.code == 0
    assert f"trained Naive Bayes on release {certificate['release_id']} (20 rows) into second" in line.out
    assert "charged epsilon = 0: it costs nothing beyond the release" in line.out


def test_nothing_but_the_release_is_needed(released: Path, run: Run) -> None:
    for name in names(released) - {"out.csv", "out.csv.certificate.json"}:
        (released / name).unlink()
    assert run(*ON).code == 0
    assert names(released) == {"out.csv", "out.csv.certificate.json", "model"}
    (released / "out.csv.certificate.json").rename(released / "paper.json")
    assert "no certificate beside it" in run(*ON[:-1], "other").error()
    assert run(*ON[:-1], "other", "--certificate", "paper.json").code == 0


def test_what_epsilon_does_not_cover_is_repeated(released: Path, run: Run) -> None:
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
def test_models_that_cannot_learn_from_a_release_say_which_can(released: Path, run: Run, entry) -> None:
    said = run("fit", "--on-release", "out.csv", "--model", entry.name, "--target", "city", "-o", "model").error()
    assert said.startswith(f"the model “{entry.title}” cannot learn from a release (workbench fit); choose one of ")
    assert said.endswith(", ".join(ABLE))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("people.csv",), "it takes no DATA (workbench fit); leave it out, or --on-release"),
        (("--epsilon", "1"), "it takes no --epsilon"),
        (("--delta", "1e-6"), "it takes no --delta"),
        (("--bounds", "plan.toml"), "it takes no --bounds"),
        (("--ledger", "ledger.sqlite"), "it takes no --ledger"),
        (("--delimiter", ";"), "it takes no --delimiter"),
        (("--smoothing", "1"), "it takes no --smoothing"),
        (
            ("people.csv", "--epsilon", "1", "--bounds", "plan.toml"),
            "no DATA, --epsilon and --bounds (workbench fit); leave them out",
        ),
        (("--seed", "1"), "--seed is for studies"),
    ],
)
def test_what_is_for_raw_rows_makes_no_sense_here(released: Path, run: Run, words: tuple[str, ...], said: str) -> None:
    assert said in run(*ON, *words).error()
    assert not (released / "model").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (),
            "DATA, --epsilon and --bounds are missing (workbench fit); give them, or name a"
            " released table with --on-release",
        ),
        (("people.csv", "--epsilon", "1"), "--bounds is missing (workbench fit); give it"),
        (("people.csv", "--certificate", "c"), "--certificate is for --on-release"),
    ],
)
def test_without_a_release_the_rows_and_their_facts_are_needed(
    released: Path, run: Run, words: tuple[str, ...], said: str
) -> None:
    assert said in run("fit", *words, *ON[3:]).error()


@pytest.mark.parametrize("what", ["out.csv", "out.csv.certificate.json"])
def test_a_tampered_release_is_refused_with_the_sentence_that_estimate_gives(
    released: Path, run: Run, what: str
) -> None:
    text = (released / what).read_text("utf-8")
    (released / what).write_text(text.replace("Graz", "Linz", 1), "utf-8")
    said = run(*ON).error()
    assert said.startswith("the release is not what its certificate says: ")
    assert said == run("estimate", "out.csv").error()
    assert not (released / "model").exists()


def test_the_help_says_how_and_which_models(run: Run) -> None:
    told = run("fit", "--help").out
    assert "--on-release OUT" in told
    assert f"Models: {', '.join(ABLE)}." in " ".join(told.split())
