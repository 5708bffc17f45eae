"""``plan --for --need --ask --want``: a plan of what somebody asks, with everything else left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.params.codec import read_toml
from workbench.sanitize.plan import Plan

ROWS = "\n".join(f"P{i:03},{20 + i % 50},{'fm'[i % 2]},{1000 + 7 * i},{['no', 'yes'][i % 3 == 0]}" for i in range(60))


@pytest.fixture
def folder(folder: Path) -> Path:
    """A folder with a small table."""
    (folder / "t.csv").write_text(f"id,age,sex,income,label\n{ROWS}\n", "utf-8")
    return folder


def plan_of(path: Path) -> dict:
    raw = read_toml(path, "plan")
    return {"questions": raw.get("questions"), "epsilon": raw["epsilon"]} | {c["name"]: c for c in raw["column"]}


def test_what_is_not_needed_is_left_out_and_the_answers_are_in_the_plan(folder, run):
    words = ("--for", "named", "--need", "age,sex", "--ask", "averages,pairs", "--want", "mean age within 2 years")
    answer = run("plan", "t.csv", "--header", "yes", *words, "-o", "made.toml", "--json").json
    made = plan_of(folder / "made.toml")
    assert {name: made[name]["action"] for name in ("id", "age", "sex", "income", "label")} == {
        "id": "drop",
        "age": "protect",
        "sex": "protect",
        "income": "drop",
        "label": "drop",
    }
    assert made["questions"] == {"for": "named", "wishes": ["mean(age) ± 2"]}
    assert made["epsilon"] == 1.0
    assert not [fact for fact in answer["guesses"] if fact.startswith("action")], "who names columns has said it"


def test_without_names_the_suggestion_is_a_guess_that_is_to_be_confirmed(folder, run):
    answer = run("plan", "t.csv", "--for", "anyone", "-o", "made.toml", "--json").json
    made = plan_of(folder / "made.toml")
    assert made["id"]["action"] == "drop"
    assert made["age"]["action"] == "protect"
    assert "action of id" in answer["guesses"]
    assert any("1 column is left out, as suggested" in note for note in answer["notes"])


def test_a_model_has_a_target_and_rows_have_values(folder, run):
    run("plan", "t.csv", "--need", "age,sex", "--ask", "model:label", "-o", "made.toml")
    made = plan_of(folder / "made.toml")
    assert made["label"]["role"] == "target"
    run("plan", "t.csv", "--need", "age,sex", "--ask", "rows", "-o", "rows.toml")
    assert {plan_of(folder / "rows.toml")[name]["purpose"] for name in ("age", "sex")} == {"values"}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--need", "age,sxe"), "did you mean 'sex'"),
        (("--for", "everyone"), "everyone"),
        (("--ask", "pair"), "did you mean 'pairs'"),
        (("--ask", "model"), "model:COLUMN"),
        (("--ask", "model:labl"), "did you mean 'label'"),
        (("--ask", "model:label", "--target", "sex"), "--ask names 'label'"),
        (("--for", "anyone", "--epsilon", "3"), "more than is offered"),
        (("--want", "mean(aeg) ± 2"), "did you mean 'age'"),
        (("--need", "age", "--want", "mean(income) ± 2"), "income"),
        (("--want", "mean(sex) ± 2"), "share(sex=VALUE)"),
    ],
)
def test_what_cannot_be_is_refused_and_named(folder, run, words, part):
    assert part in run("plan", "t.csv", *words, "-o", "made.toml").error()
    assert not (folder / "made.toml").exists()


def test_without_questions_a_plan_is_as_it_was(folder, run):
    run("plan", "t.csv", "--epsilon", "3", "-o", "made.toml")
    made = plan_of(folder / "made.toml")
    assert made["questions"] is None
    assert made["label"]["action"] == "protect"


def test_a_plan_of_questions_makes_a_release_whose_certificate_does_not_repeat_them(folder, run):
    run("plan", "sample:people", "--for", "anyone", "--need", "age,sex", "--want", "mean(age) ± 2", "-o", "made.toml")
    assert run("sanitize", "sample:people", "--plan", "made.toml", "-o", "out.csv").code == 0
    assert run("verify", "out.csv").code == 0
    certificate = (folder / "out.csv.certificate.json").read_text("utf-8")
    assert "questions" not in certificate
    assert Plan.from_plain(read_toml(folder / "made.toml", "plan")).questions.wishes == ("mean(age) ± 2",)
