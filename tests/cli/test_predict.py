"""``workbench predict``: a released model applied to a table, with nothing charged and nothing half-written."""

import csv
import importlib.util
import json
import stat
import sys
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_cases import Run, lines_of

from workbench.data.columns.grid import matrix
from workbench.data.samples.sample_tables import sample_table
from workbench.data.table_reader import hashlib
from workbench.learners import LEARNERS
from workbench.release.certificate import CARD, checksum
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.open_model import open_model

TARGETS = {"regression": "petal_width"}
"""The column of iris to predict by task; of all others it is the species."""

MISSING = set() if find_spec("xgboost") else {"median-xgboost"}
"""Models whose optional library is not installed."""

CHANCES = {"naive-bayes", "logistic-regression", "random-forest"}


@pytest.fixture
def made(tmp_path, monkeypatch, run):
    """A folder of its own to stand in, with a plan for iris and a naive Bayes model of its species."""
    monkeypatch.chdir(tmp_path)
    assert run("plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", "plan.toml").code == 0
    trained(run, "naive-bayes")
    return tmp_path


def trained(run: Run, model: str, target: str = "species", epsilon: str = "5", *more: str) -> None:
    words = ("--target", target, "--model", model, "--epsilon", epsilon, "--bounds", "plan.toml")
    assert run("fit", "sample:iris", *words, *more, "-o", f"{model}-model", "--ledger", f"{model}.sqlite").code == 0


@pytest.mark.parametrize(
    "learner", [entry for entry in LEARNERS if entry.name not in MISSING], ids=lambda entry: entry.name
)
def test_each_model_predicts_each_row_of_a_table(made, run, learner):
    target = TARGETS.get(learner.task, "species")
    if learner.name != "naive-bayes":
        # The sample is no private table: it may be asked about.
        more = ("--ask", "sample:iris") if learner.each_prediction else ()
        trained(run, learner.name, target, "5", *more)
    answer = run("predict", "sample:iris", "--model", f"{learner.name}-model", "-o", "out.csv", "--json").json
    assert answer["rows"] == 150
    assert answer["private"] is True
    header, *rows = lines_of(made / "out.csv")
    assert header == ["row", *answer["columns"]]
    assert [row[0] for row in rows] == [str(i) for i in range(1, 151)]

    opened = open_model(made / f"{learner.name}-model")
    predicted = opened.model.predict(matrix(sample_table("iris"), opened.attributes))
    if learner.task == "regression":
        np.testing.assert_allclose([float(row[1]) for row in rows], predicted, rtol=1e-9)
    elif opened.columns:
        assert header[1:] == [column.name for column in opened.columns]
        np.testing.assert_allclose([[float(cell) for cell in row[1:]] for row in rows], predicted, rtol=1e-9)
        for column, made in zip(opened.columns, predicted.T, strict=True):
            assert column.bounds()[0] <= made.min() <= made.max() <= column.bounds()[1]
    elif learner.task == "clustering":
        assert [int(row[1]) for row in rows] == list(predicted)
    else:
        assert [row[1] for row in rows] == [opened.target.values()[code] for code in predicted]
    if learner.name in CHANCES:
        assert header[2:] == [f"probability of {name}" for name in opened.target.values()]
        np.testing.assert_allclose([sum(map(float, row[2:])) for row in rows], 1, atol=1e-5)


def test_nothing_is_charged_and_the_file_is_the_owners_alone(made, run):
    before = (made / "naive-bayes.sqlite").read_bytes()
    answer = run("predict", "sample:iris", "--model", "naive-bayes-model", "-o", "out.csv")
    assert answer.code == 0
    assert "nothing is charged" in answer.out
    assert "not for release" in answer.out
    assert (made / "naive-bayes.sqlite").read_bytes() == before
    if sys.platform != "win32":
        assert stat.S_IMODE((made / "out.csv").stat().st_mode) == 0o600


def table(folder: Path, *rows: str, header: str = "sepal_length,sepal_width,petal_length,petal_width") -> str:
    (folder / "new.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return "new.csv"


def test_a_table_without_the_target_is_enough(made, run):
    data = table(made, "5.0,3.4,1.5,0.2", "6.5,3.0,5.8,2.2")  # rows 8 and 105 of the sample, which has the target
    for out, of in (("two.csv", data), ("all.csv", "sample:iris")):
        assert run("predict", of, "--model", "naive-bayes-model", "-o", out).code == 0
    both, every = (lines_of(made / out)[1:] for out in ("two.csv", "all.csv"))
    assert [row[1:] for row in both] == [every[7][1:], every[104][1:]]


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        ("sepal_length,sepal_width,petal_length", "5,3,1", "petal_width"),
        ("sepal_length,sepal_width,petal_length,petal_width", "5,3,1,wide", "petal_width"),
        ("sepal_length,sepal_width,petal_length,petal_width", "5,,1,0.2", "sepal_width"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_and_no_file(made, run, header, row, said):
    data = table(made, row, header=header)
    assert said in run("predict", data, "--model", "naive-bayes-model", "-o", "out.csv").error()
    assert not (made / "out.csv").exists()


def test_a_model_that_was_changed_is_refused(made, run):
    path = made / "naive-bayes-model" / "model.json"
    path.write_text(path.read_text().replace('"rows": 150', '"rows": 151'))
    said = run("predict", "sample:iris", "--model", "naive-bayes-model", "-o", "out.csv").error()
    assert "model.json was changed after its release" in said
    assert not (made / "out.csv").exists()


def test_a_card_of_a_model_that_is_not_known_is_refused(made, run):
    path = made / "naive-bayes-model" / CARD
    card = {**json.loads(path.read_text()), "model": "os.system"}
    path.write_text(json.dumps({**card, "checksum": checksum(card)}))
    run("predict", "sample:iris", "--model", "naive-bayes-model", "-o", "out.csv").error()
    assert not (made / "out.csv").exists()


@pytest.mark.parametrize("model", ["nowhere", "plan.toml"])
def test_what_is_no_model_is_refused(made, run, model):
    assert model in run("predict", "sample:iris", "--model", model, "-o", "out.csv").error()


def test_the_table_itself_is_never_overwritten(made, run):
    data = table(made, "5.0,3.4,1.5,0.2")
    before = (made / data).read_bytes()
    assert "replace" in run("predict", data, "--model", "naive-bayes-model", "-o", data).error()
    assert (made / data).read_bytes() == before


def test_cells_that_cannot_be_used_are_replaced_where_that_is_asked_for(made, run):
    plan = (made / "plan.toml").read_text()
    (made / "plan.toml").write_text(plan.replace("[[column]]", 'invalid = "replace"\n[[column]]', 1))
    words = ("--target", "species", "--model", "naive-bayes", "--epsilon", "5", "--bounds", "plan.toml")
    assert run("fit", "sample:iris", *words, "-o", "total", "--ledger", "total.sqlite").code == 0
    data = table(made, "5.0,3.4,wide,0.2", "", "600,3.0,5.5,2.0")
    said = run("predict", data, "--model", "total", "-o", "out.csv").error()
    assert "petal_length" in said
    assert "with --replace-invalid" in said
    assert "plan" not in said
    assert run("predict", data, "--model", "total", "-o", "out.csv", "--replace-invalid").code == 0
    assert len(lines_of(made / "out.csv")) == 4, "a blank line is a row, too"


@pytest.mark.skipif(find_spec("torch") is None, reason="networks need PyTorch")
def test_a_network_predicts(made, run):
    words = ("--target", "species", "--bounds", "plan.toml", "--network", "logistic", "--epsilon", "5")
    more = ("--delta", "1e-3", "--batch", "50", "--epochs", "3", "--lr", "1", "--clip", "1")
    assert run("dpsgd", "sample:iris", *words, *more, "-o", "net", "--ledger", "net.sqlite").code == 0
    assert run("predict", "sample:iris", "--model", "net", "-o", "out.csv").code == 0
    header, *rows = lines_of(made / "out.csv")
    assert header[:3] == ["row", "predicted species", "probability of setosa"]
    for row in rows:
        chances = [float(cell) for cell in row[2:]]
        assert sum(chances) == pytest.approx(1, abs=1e-5)
        assert header[2 + int(np.argmax(chances))] == f"probability of {row[1]}"


def test_columns_that_are_made_keep_categories_and_missing_values(made, run):
    rows = [
        "size,colour,label",
        *(f"{size},{colour},a" for size, colour in (("1", "red"), ("", "blue"), ("3", "")) * 9),
    ]
    (made / "mixed.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (made / "mixed.toml").write_text(
        """version = 1
epsilon = 1.0
[[column]]
name = "size"
action = "protect"
kind = "real"
lower = 0
upper = 4
missing = "own-value"
[[column]]
name = "colour"
action = "protect"
kind = "category"
domain = ["red", "blue"]
missing = "own-value"
[[column]]
name = "label"
action = "protect"
kind = "category"
domain = ["a", "b"]
""",
        encoding="utf-8",
    )
    words = ("--target", "label", "--epsilon", "50", "--bounds", "mixed.toml", "--ledger", "mixed.sqlite")
    assert run("ledger", "cap", "mixed.csv", "--epsilon", "100", "--ledger", "mixed.sqlite").code == 0
    for model in ("standardize", "pca"):
        assert run("fit", "mixed.csv", "--model", model, *words, "-o", f"{model}-mixed").code == 0
    assert run("predict", "mixed.csv", "--model", "standardize-mixed", "-o", "scaled.csv").code == 0
    header, *cells = lines_of(made / "scaled.csv")
    assert header == ["row", "size", "colour"]
    assert [row[2] for row in cells[:3]] == ["red", "blue", ""]
    assert [row[1] == "" for row in cells[:3]] == [False, True, False]
    # The mean is 2 ± 0.004; noise that brings it to 1 or 3 has a chance below e⁻¹⁹⁰.
    assert float(cells[0][1]) < 0 < float(cells[2][1])
    told = run("predict", "mixed.csv", "--model", "pca-mixed", "-o", "components.csv")
    assert "component 1, component 2" in told.out
    assert "not for release" in told.out
    # No noise brings a component to 4: its length is √(1.5² + 3·2²) = 3.8 at most, as a mean is within the bounds.
    assert all(abs(float(cell)) < 4 for row in lines_of(made / "components.csv")[1:] for cell in row[1:])


# -- ``fit`` and ``predict`` of a model whose every prediction costs ε: what it costs is shown before it is charged


HEADER = "sepal_length,sepal_width,petal_length,species"
ROWS = ["5.0,3.4,1.5,setosa", "6.5,3.0,5.5,virginica", "5.0,3.4,1.5,setosa", "6.0,2.9,4.5,versicolor"]
FIT = ["fit", "sample:iris", "--target", "petal_width", "--bounds", "plan.toml", "--ledger", "l.sqlite"]
WORDS = [*FIT, "--model", "median-forest", "--epsilon", "0.5", "--ask", "ask.csv", "-o", "model"]


def words_with(option: str, value: str) -> list[str]:
    """Return the words of the command with another value of an option."""
    at = WORDS.index(option)
    return [*WORDS[: at + 1], value, *WORDS[at + 2 :]]


MADE_OF = "3 predictions × ε 0.5 = 1.5"


@pytest.fixture
def median_made(tmp_path, monkeypatch, run):
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


def test_the_cost_of_all_predictions_is_shown_charged_and_on_the_card(median_made, run):
    answer = run(*WORDS)
    assert answer.code == 0
    assert f"before it starts: {MADE_OF}" in answer.err
    assert f"charged epsilon = 1.5 ({MADE_OF})" in answer.out
    assert charged() == [Decimal("1.5")]
    card = json.loads((median_made / "model" / "card.json").read_text("utf-8"))
    assert card["guarantee"]["epsilon"] == "1.5"
    assert [q["epsilon"] for q in card["training"]["queries"]] == ["0.5"] * 3
    assert "whole-number weights" in card["guarantee"]["randomness"]
    assert card["parameters"] == {"epsilon": 0.5}
    assert "ask.csv" not in (median_made / "model" / "model.json").read_text("utf-8")
    assert sorted(p.name for p in (median_made / "model").iterdir()) == ["card.json", "model.json"]
    assert run("verify", "model").code == 0

    answer = run("predict", "ask.csv", "--model", "model", "-o", "out.csv", "--json")
    assert answer.json["rows"] == 4
    with (median_made / "out.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["row", "predicted petal_width"]
    assert rows[0][1] == rows[2][1], "the same row, answered once"
    assert all(0 <= float(row[1]) <= 5 for row in rows)


def test_json_says_it_too(median_made, run):
    told = run(*WORDS, "--json").json
    assert (told["epsilon_charged"], told["predictions"], told["made_of"]) == (1.5, 3, MADE_OF)


def test_a_row_that_was_not_asked_is_refused_and_no_file_is_written(median_made, run):
    assert run(*WORDS).code == 0
    asked("new.csv", ROWS[1], "6.5,3.0,5.4,virginica")
    said = run("predict", "new.csv", "--model", "model", "-o", "out.csv").error()
    assert "is not among the" in said
    assert "row 2" in said
    assert "fit again with other rows to predict" in said
    assert "5.4" not in said
    assert not (median_made / "out.csv").exists()


def test_rows_of_one_person_multiply_every_prediction(median_made, run):
    plan = median_made / "plan.toml"
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
def test_rows_that_cannot_be_asked_are_one_sentence_and_cost_nothing(median_made, run, header, rows, said):
    asked("ask.csv", *rows, header=header)
    assert said in run(*WORDS).error()
    assert not (median_made / "model").exists()
    assert charged() == []


def test_what_is_missing_is_said_before_anything_is_charged(median_made, run):
    words = [word for word in WORDS if word not in ("--ask", "ask.csv")]
    assert "name a file of public rows with the columns of the table: --ask FILE" in run(*words).error()
    assert "nowhere.csv" in run(*words, "--ask", "nowhere.csv").error()
    assert "has no --ask" in run(*words_with("--model", "naive-bayes")).error()
    assert "--epsilon = 0" in run(*words_with("--epsilon", "0")).error()
    assert charged() == []


def test_the_private_table_itself_is_not_published_as_the_rows_to_predict(median_made, run):
    rows = [f"{4 + i % 7},3.0,{1 + i % 5},{name},{i % 3}" for i, name in enumerate(["setosa", "virginica"] * 20)]
    asked("table.csv", *rows, header=f"{HEADER},petal_width")
    copy = Path("copy.csv")
    copy.write_bytes(Path("table.csv").read_bytes())
    for name in ("table.csv", "copy.csv"):
        answer = run("fit", "table.csv", *words_with("--ask", name)[2:])
        assert answer.code == 2
        assert "is the private table itself" in answer.err.splitlines()[-1]
    assert charged() == []


def test_a_release_is_taken_up_again_only_for_the_same_rows(median_made, run):
    """What is asked for is part of what is asked: the same path with other rows is another release."""
    from workbench.learners import learner
    from workbench.release.model.release_learner import unfitted
    from workbench.sanitize.plan import load_plan

    def digests() -> dict[str, bytes]:
        chosen = learner("median-forest")
        parameters = chosen.parameters.from_plain({"epsilon": 1, "ask": "ask.csv"})
        return dict(unfitted(chosen, parameters, load_plan(median_made / "plan.toml"), "petal_width").files_read)

    before = digests()
    assert before == {"ask": hashlib.sha256((median_made / "ask.csv").read_bytes()).digest()}
    asked("ask.csv", ROWS[0])
    assert digests() != before


def test_help_says_that_epsilon_is_of_each_prediction(run):
    told = " ".join(run("fit", "--help").out.split()).replace("- ", "-")
    assert "for median-forest, median-xgboost: per prediction" in told
    assert "each prediction costs ε" in told


def test_without_xgboost_the_command_is_named(median_made, run, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "xgboost" else found(name))
    said = run(*words_with("--model", "median-xgboost")).error()
    assert 'pip install "privacy-workbench[boost]"' in said
    assert charged() == []


@pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="XGBoost is not installed")
def test_a_curve_says_whose_epsilon_is_of_each_prediction(median_made, run):
    words = ["curve", "sample:iris", "--target", "petal_width", "--bounds", "plan.toml", "--model", "median-xgboost"]
    words += ["--regimes", "none,private", "--epsilons", "1,20", "--repeats", "1", "--jobs", "1", "-o", "curve.csv"]
    answer = run(*words)
    assert answer.code == 0
    assert "epsilon of the private model is per prediction" in answer.out
    told = run(*words, "--json").json
    assert told["each_prediction"] is True
    best = max(p["mean"] for p in told["r2"] if p["regime"] == "private")
    assert best > 0.5


HEAD, WIDE = "Report of the lab\nyear 2026\n", "weight;width;kind\n"
LINES = "".join(f"{k % 7},{k % 10};{k % 5},5;{'heavy' if k % 7 > 3 else 'light'}\n" for k in range(80))


@pytest.fixture
def of_a_form(tmp_path, monkeypatch, run):
    """A folder with a model of a file with titles, semicolons, decimal commas and a mark for missing values."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.csv").write_text(HEAD + WIDE + LINES, "utf-8")
    facts = "name,kind,lower,upper,values,missing\nweight,real,0,8,,own-value\nwidth,real,0,8,,\n"
    (tmp_path / "facts.csv").write_text(f"{facts}kind,category,,,heavy|light,\n", "utf-8")
    form = ("--skip-lines", "2", "--delimiter", ";", "--decimal", ",", "--missing", "k.A.", "--header", "yes")
    words = ("--epsilon", "1", "--dictionary", "facts.csv", *form, "-o", "plan.toml")
    assert run("plan", "lab.csv", *words).code == 0
    # At a tenth of it no prediction of the two rows below was another in 300 fits, at ε = 5 none in 300.
    words = ("--target", "kind", "--model", "naive-bayes", "--epsilon", "500", "--bounds", "plan.toml")
    assert run("fit", "lab.csv", *words, "-o", "model", "--ledger", "l.sqlite").code == 0
    return tmp_path


def test_a_file_of_the_form_of_the_training_is_read_without_options(of_a_form, run):
    card = json.loads((of_a_form / "model" / CARD).read_text("utf-8"))
    assert card["reading"] == {"delimiter": ";", "decimal": ",", "skip_lines": 2, "missing": ["k.A."]}
    assert run("verify", "model").code == 0
    (of_a_form / "new.csv").write_text(f"{HEAD}{WIDE}6,5;0,5;light\n0,5;4,5;heavy\nk.A.;0,5;light\n", "utf-8")
    answer = run("predict", "new.csv", "--model", "model", "-o", "out.csv")
    assert answer.code == 0
    assert "read as the table of the training was: --delimiter ';' --decimal , --skip-lines 2 --missing=" in answer.err
    assert [row[1] for row in lines_of(of_a_form / "out.csv")[1:3]] == ["heavy", "light"]


def test_a_file_of_another_form_is_one_sentence_until_its_form_is_stated(of_a_form, run):
    (of_a_form / "new.csv").write_text("weight,width\n6.5,0.5\n0.5,4.5\n", "utf-8")
    said = run("predict", "new.csv", "--model", "model", "-o", "out.csv").error()
    assert "it is read as the table of the training was: --delimiter ';'" in said
    assert "state how this file is read" in said
    assert run("predict", "new.csv", "--delimiter", ",", "--model", "model", "-o", "out.csv").code == 0
    assert [row[1] for row in lines_of(of_a_form / "out.csv")[1:]] == ["heavy", "light"]
    pl.DataFrame({"weight": [6.5, 0.5], "width": [0.5, 4.5]}).write_parquet(of_a_form / "new.parquet")
    assert run("predict", "new.parquet", "--model", "model", "-o", "out.csv").code == 0
    assert [row[1] for row in lines_of(of_a_form / "out.csv")[1:]] == ["heavy", "light"]


def test_a_card_with_a_form_that_is_none_is_no_card(of_a_form, run):
    path = of_a_form / "model" / CARD
    card = json.loads(path.read_text("utf-8"))
    card["reading"]["delimiter"] = "ab"
    card["checksum"] = checksum(card)
    path.write_text(json.dumps(card), "utf-8")
    assert "delimiter = 'ab'" in str(run("verify", "model", "--json").json["problems"])
    card["reading"] = {"encoding": None, "delimiter": ";", "decimal": ",", "skip_lines": 2, "missing": ["k.A."]}
    path.write_text(json.dumps({**card, "checksum": checksum(card)}), "utf-8")
    assert "training table is read is malformed" in str(run("verify", "model", "--json").json["problems"])


def test_a_model_without_a_target_says_so(made, run):
    words = ("--model", "kmeans", "--epsilon", "5", "--bounds", "plan.toml", "-o", "groups", "--ledger", "k.sqlite")
    assert run("fit", "sample:iris", *words).code == 0
    assert run("predict", "sample:iris", "--model", "groups", "-o", "out.csv", "--json").done["target"] is None
