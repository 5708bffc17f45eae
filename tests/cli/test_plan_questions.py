"""``plan --for --need --ask --want``: a plan of what somebody asks, with everything else left out."""

import tomllib
from pathlib import Path

import pytest

from workbench.params.codec import read_toml
from workbench.sanitize.plan import Plan

ROWS = "\n".join(f"P{i:03},{20 + i % 50},{'fm'[i % 2]},{1000 + 7 * i},{['no', 'yes'][i % 3 == 0]}" for i in range(60))


@pytest.fixture
def survey_folder(folder):
    (folder / "t.csv").write_text(f"id,age,sex,income,label\n{ROWS}\n", "utf-8")
    return folder


def plan_of(path: Path) -> dict:
    raw = read_toml(path, "plan")
    return {"questions": raw.get("questions"), "epsilon": raw["epsilon"]} | {c["name"]: c for c in raw["column"]}


def test_what_is_not_needed_is_left_out_and_the_answers_are_in_the_plan(survey_folder, run):
    words = ("--for", "named", "--need", "age,sex", "--ask", "averages,pairs", "--want", "mean age within 2 years")
    answer = run("plan", "t.csv", "--header", "yes", *words, "-o", "made.toml", "--json").json
    made = plan_of(survey_folder / "made.toml")
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


def test_without_names_the_suggestion_is_a_guess_that_is_to_be_confirmed(survey_folder, run):
    answer = run("plan", "t.csv", "--for", "anyone", "-o", "made.toml", "--json").json
    made = plan_of(survey_folder / "made.toml")
    assert made["id"]["action"] == "drop"
    assert made["age"]["action"] == "protect"
    assert "action of id" in answer["guesses"]
    assert any("1 column is left out, as suggested" in note for note in answer["notes"])


def test_a_model_has_a_target_and_rows_have_values(survey_folder, run):
    run("plan", "t.csv", "--need", "age,sex", "--ask", "model:label", "-o", "made.toml")
    made = plan_of(survey_folder / "made.toml")
    assert made["label"]["role"] == "target"
    run("plan", "t.csv", "--need", "age,sex", "--ask", "rows", "-o", "rows.toml")
    assert {plan_of(survey_folder / "rows.toml")[name]["purpose"] for name in ("age", "sex")} == {"values"}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--need", "age,sxe"), "did you mean 'sex'"),
        (("--for", "everyone"), "everyone"),
        (("--ask", "pair"), "did you mean 'pairs'"),
        (("--ask", "model"), "model:COLUMN"),
        (("--ask", "model:labl"), "did you mean 'label'"),
        (("--ask", "model:label", "--target", "sex"), "--ask names 'label'"),
        (("--for", "anyone", "--epsilon", "3"), "above the range"),
        (("--want", "mean(aeg) ± 2"), "did you mean 'age'"),
        (("--need", "age", "--want", "mean(income) ± 2"), "income"),
        (("--want", "mean(sex) ± 2"), "share(sex=VALUE)"),
    ],
)
def test_what_cannot_be_is_refused_and_named(survey_folder, run, words, part):
    assert part in run("plan", "t.csv", *words, "-o", "made.toml").error()
    assert not (survey_folder / "made.toml").exists()


def test_without_questions_a_plan_is_as_it_was(survey_folder, run):
    run("plan", "t.csv", "--epsilon", "3", "-o", "made.toml")
    made = plan_of(survey_folder / "made.toml")
    assert made["questions"] is None
    assert made["label"]["action"] == "protect"


def test_a_plan_of_questions_makes_a_release_whose_certificate_does_not_repeat_them(survey_folder, run):
    run("plan", "sample:people", "--for", "anyone", "--need", "age,sex", "--want", "mean(age) ± 2", "-o", "made.toml")
    assert run("sanitize", "sample:people", "--plan", "made.toml", "-o", "out.csv").code == 0
    assert run("verify", "out.csv").code == 0
    certificate = (survey_folder / "out.csv.certificate.json").read_text("utf-8")
    assert "questions" not in certificate
    assert Plan.from_plain(read_toml(survey_folder / "made.toml", "plan")).questions.wishes == ("mean(age) ± 2",)


# -- ``forecast --rows``: the four ways to release side by side, without reading data ---------------------------------


def test_the_ways_stand_beside_the_forecast(tmp_path, run):
    plan = str(tmp_path / "plan.toml")
    assert run("plan", "sample:people", "--epsilon", "1", "--target", "label", "-o", plan).code == 0
    told = run("forecast", "--plan", plan, "--rows", "2000", "--json").done["release"]
    assert [way["name"] for way in told["ways"]] == ["rows", "synthetic", "statistics", "model"]
    assert told["advised"] == "synthetic"
    assert all(len(way["half_lengths"]) == len(told["questions"]) for way in told["ways"])
    text = run("forecast", "--plan", plan, "--rows", "2000").shown
    assert "kind of release" in text
    assert "recommended: synthetic." in text
    assert "release" not in run("forecast", "--plan", plan, "--json").done


def test_the_command_advises_by_what_was_asked_as_the_window_does(tmp_path, run):
    plan = str(tmp_path / "plan.toml")
    words = ("--for", "named", "--epsilon", "3", "--need", "age,sex,income,label", "--ask", "figures,model:label")
    assert run("plan", "sample:people", *words, "-o", plan).code == 0
    told = run("forecast", "--plan", plan, "--rows", "2000", "--json").done["release"]
    useful = {way["name"]: sum(way["useful"]) for way in told["ways"]}
    assert useful["statistics"] > useful["model"]
    assert (told["advised"], told["second"]) == ("model", "statistics")
    assert "a model does not give exact figures. " in told["reason"]
    assert told["reason"].endswith(
        "Together they cost ε = 6; at ε = 1.5 each they stay within ε = 3, the highest on offer."
    )


# -- ``workbench plan --target``: what the classes to predict get of ε, written into the plan -------------------------


@pytest.mark.parametrize(("epsilon", "share", "weight"), [("1", 0.5, 2.0), ("2.5", 0.4, 1.333), ("9", 1 / 3, None)])
def test_the_classes_to_predict_get_half_of_epsilon_until_they_have_1(folder, run, epsilon, share, weight):
    """``zip`` is named: it is no sample's target, and without ``--target`` nothing weighs more."""
    words = ["plan", "sample:people", "--epsilon", epsilon, "--drop", "label", "--drop", "sex", "-o", "new.toml"]
    answer = run(*words, "--target", "zip", "--json")
    assert any("zip, the target, gets" in note for note in answer.json["notes"]) == (weight is not None)
    columns = {c["name"]: c for c in tomllib.loads((folder / "new.toml").read_text("utf-8"))["column"]}
    assert columns["zip"].get("weight") == weight
    told = {c["name"]: c["epsilon"] for c in run("forecast", "--plan", "new.toml", "--json").json["columns"]}
    assert told["zip"] == pytest.approx(share * float(epsilon), rel=1e-3)
    assert sum(told.values()) == pytest.approx(float(epsilon))
    (folder / "new.toml").unlink()
    run(*words)
    assert all("weight" not in c for c in tomllib.loads((folder / "new.toml").read_text("utf-8"))["column"])
