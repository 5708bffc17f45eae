"""A learner that is registered by one line is in every list, form, command, curve and help, and works there."""

import csv
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from bin_means import TOY
from mishaps import retype
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QRadioButton, QWidget

from workbench import learners
from workbench.cli import main
from workbench.deep.networks import NETWORKS
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.params import ParameterError
from workbench.release.certificate import read_card
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release
from workbench.studies.curve import CurvePlan


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(learners, "LEARNERS", (NAIVE_BAYES, TOY))


@pytest.fixture
def bounds(tmp_path, capsys):
    path = tmp_path / "plan.toml"
    assert main(["plan", "sample:iris", "--epsilon", "1", "--target", "petal_width", "-o", str(path)]) == 0
    capsys.readouterr()
    return path


def test_names_are_of_one_model_each():
    names = [entry.name for entry in (*learners.LEARNERS, *NETWORKS)]
    assert len(set(names)) == len(names)


# -- the window --------------------------------------------------------------------------------------------------


@pytest.fixture
def iris(window, finish):
    finish(window, "sample_iris")
    window.session.set_target("petal_width")
    return window


def test_train_shows_it_and_releases_it_with_a_card_of_its_own(iris, finish, press, idle, qtbot, answer, tmp_path):
    press(iris, "tab_train")
    assert iris.findChild(QWidget, "train_model_naive-bayes") is None, "it predicts classes"
    assert iris.page.forms.model == "bin-means", "the only one that predicts numbers"
    offered = iris.findChild(QWidget, "train_model_bin-means")
    assert offered.toolTip() == f"{TOY.title}. {TOY.about} It predicts a numeric column with declared bounds."
    press(iris, "train_model_bin-means")
    parts = iris.findChild(QLineEdit, "train_bin_means_bins")
    assert parts.toolTip() == "Parts of the third column's range"
    parts.setFocus()
    told = iris.findChild(QLabel, "train_help")
    qtbot.waitUntil(lambda: told.text() == "Parts of the third column's range. Usually 5.")
    assert "the part that a row falls into" in iris.findChild(QLabel, "train_no_steps").text()
    retype(iris, qtbot, "train_bin_means_bins", "0")
    assert "parts = 0 is not" in iris.findChild(QLabel, "train_bin_means_bins_problem").text()
    retype(iris, qtbot, "train_bin_means_bins", "4")
    folder = tmp_path / "model"
    retype(iris, qtbot, "train_folder", str(folder))
    qtbot.waitUntil(lambda: iris.page.primary.isEnabled())
    assert iris.findChild(QLabel, "fact_cost").text() == "ε = 1"
    asked = answer("yes")
    finish(iris, "train_start")
    idle(iris)
    assert TOY.title in asked[0]
    card = read_card(folder)
    assert (card["model"], card["parameters"]) == ("bin-means", {"epsilon": 1.0, "bins": 4})
    assert [query["label"] for query in card["training"]["queries"]] == ["sizes", "sums"]
    assert verify_release(folder) == []
    assert len(json.loads((folder / "model.json").read_text())["answers"]["sums"]) == 4
    assert "Charged ε = 1" in iris.findChild(QLabel, "train_outcome").text()
    assert [run.title for run in iris.session.runs] == [TOY.title]
    with Ledger.open() as book:
        assert [release.body["work"] for release in book.releases()] == ["fit bin-means"]


def test_of_many_models_a_list_is_shown(window, finish, press, qtbot, monkeypatch):
    more = tuple(replace(TOY, name=f"toy-{i}", title=f"Toy {i}") for i in range(9))
    monkeypatch.setattr(learners, "LEARNERS", (*learners.LEARNERS, *more))
    finish(window, "sample_iris")
    window.session.set_target("petal_width")
    press(window, "tab_train")
    assert window.width() == 1280  # as many buttons would have made it wider
    press(window, "train_fold_more")
    listed = [w.objectName() for w in window.page.forms.list.findChildren(QRadioButton) if w.isVisible()]
    assert {f"train_model_toy-{i}" for i in range(9)} <= set(listed)
    assert "train_model_kmeans" not in listed, "what does without the target is folded"
    press(window, "train_model_toy-2")
    assert window.findChild(QWidget, "train_toy_2_bins").isVisible()
    qtbot.waitUntil(lambda: window.findChild(QLabel, "fact_cost").text() == "ε = 1")


def test_utility_draws_its_own_metrics(iris, finish, press, qtbot):
    press(iris, "tab_utility")
    model, metric = iris.findChild(QComboBox, "curve_model"), iris.findChild(QComboBox, "curve_metric")
    model.setFocus()
    assert model.currentData() == TOY.name, "the advised one"
    qtbot.keyClick(model, Qt.Key.Key_Up)
    former = [metric.itemText(i) for i in range(metric.count())]
    qtbot.keyClick(model, Qt.Key.Key_Down)
    assert model.currentData() == TOY.name
    assert [metric.itemText(i) for i in range(metric.count())] == ["R²", "RMSE", "MSE"]
    retype(iris, qtbot, "curve_epsilons", "1, 1000")
    retype(iris, qtbot, "curve_repeats", "2")
    finish(iris, "curve_run")
    figure = iris.page.figure
    assert figure.title == "R² against ε"
    assert "Means of parts" in figure.subtitle
    assert "2 random 80/20 splits" in figure.subtitle
    levels = {baseline.name: baseline.value for baseline in figure.baselines}
    assert levels["no privacy"] > 0.8
    assert levels["always the mean"] == pytest.approx(0, abs=0.1)
    private = next(series for series in figure.series if series.style == "private")
    assert private.mean[-1] == pytest.approx(levels["no privacy"], abs=0.05)
    assert "Within 0.03 of no privacy" in iris.findChild(QLabel, "curve_words").text()
    metric.setFocus()
    qtbot.keyClick(metric, Qt.Key.Key_Down)
    assert iris.page.figure.title == "RMSE against ε"
    assert "Within 1 % of the declared range" in iris.findChild(QLabel, "curve_words").text()
    assert [run.title for run in iris.session.runs] == ["R² against ε: iris"]
    model.setFocus()
    qtbot.keyClick(model, Qt.Key.Key_Up)
    assert [metric.itemText(i) for i in range(metric.count())] == former


def test_models_that_cannot_learn_the_target_are_not_offered(iris, press, idle, qtbot):
    press(iris, "tab_utility")
    problem, run = iris.findChild(QLabel, "curve_problem"), iris.findChild(QWidget, "curve_run")
    model = iris.findChild(QComboBox, "curve_model")
    offered = lambda name: model.model().item(model.findData(name)).isEnabled()  # noqa: E731 - a word for one expression
    assert not offered("naive-bayes"), "it predicts classes"
    assert model.itemData(model.findData("naive-bayes"), Qt.ItemDataRole.ToolTipRole) == NAIVE_BAYES.needs
    assert not problem.isVisible()
    assert run.isEnabled()
    retype(iris, qtbot, "curve_repeats", "0")
    assert problem.text().startswith("Repeats = 0")
    retype(iris, qtbot, "curve_repeats", "2")
    iris.session.set_target("species")
    idle(iris)
    assert not offered("bin-means")
    assert offered("naive-bayes")
    assert not problem.isVisible()
    press(iris, "tab_train")
    assert iris.findChild(QWidget, "train_model_bin-means") is None
    iris.session.to_train.make(("bin-means", Decimal(1)))  # as a point of an older curve does
    refused = iris.findChild(QLabel, "train_problem")
    qtbot.waitUntil(refused.isVisible)
    assert "not as numeric" in refused.text()


def test_ways_that_a_learner_does_not_have_are_not_offered(iris, press, qtbot, monkeypatch):
    toy = replace(TOY, ordinary=None, task=NAIVE_BAYES.task)
    monkeypatch.setattr(learners, "LEARNERS", (NAIVE_BAYES, toy))
    iris.session.set_target("species")
    press(iris, "tab_utility")
    model = iris.findChild(QComboBox, "curve_model")
    model.setFocus()
    qtbot.keyClick(model, Qt.Key.Key_Down)
    ways = {name: iris.findChild(QWidget, f"regime_{name}") for name in ("none", "sanitized", "private")}
    assert [name for name, box in ways.items() if box.isEnabled()] == ["private"]
    assert iris.page.setup.value().regimes == ("private",)
    qtbot.keyClick(model, Qt.Key.Key_Up)
    assert all(box.isEnabled() and box.isChecked() for box in ways.values())
    corrected = iris.findChild(QWidget, "regime_corrected")
    assert (corrected.isEnabled(), corrected.isChecked()) == (True, False)
    press(iris, "regime_corrected")
    qtbot.keyClick(model, Qt.Key.Key_Down)  # the toy says nothing of a corrected form
    assert (corrected.isEnabled(), corrected.isChecked()) == (False, False)
    assert "knowing the public tables" in corrected.toolTip()
    qtbot.keyClick(model, Qt.Key.Key_Up)
    assert (corrected.isEnabled(), corrected.isChecked()) == (True, True)
    with pytest.raises(ParameterError, match="no ordinary model"):
        CurvePlan(model="bin-means")


# -- the command line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["fit", "curve"])
def test_help_names_it(command, capsys):
    assert main([command, "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "bin-means (Means of parts)" in told
    if command == "fit":
        assert "bin-means (Means of parts):" in told
        assert f"{TOY.about} It predicts a numeric column with declared bounds." in told
        assert "--bins BINS parts of the third column's range (default 5)" in told


def fit(folder: Path, bounds: Path, *more: str) -> int:
    words = ["fit", "sample:iris", "--epsilon", "2", "--bounds", str(bounds), "-o", str(folder / "model")]
    return main([*words, "--ledger", str(folder / "l.sqlite"), "--json", *more])


def test_fit_releases_it(tmp_path, bounds, capsys):
    assert fit(tmp_path, bounds, "--model", "bin-means", "--target", "petal_width", "--bins", "7") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["model"], told["epsilon_charged"]) == ("bin-means", 2.0)
    assert verify_release(tmp_path / "model") == []
    assert read_card(tmp_path / "model")["parameters"] == {"epsilon": 2.0, "bins": 7}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--model", "bin-means", "--target", "species"), "declared as category, not as numeric"),
        (("--model", "naive-bayes", "--target", "petal_width"), "declared as real, not category or boolean"),
        (("--model", "naive-bayes", "--target", "species", "--bins", "3"), "naive-bayes has no --bins"),
        (("--model", "bin-means", "--target", "petal_width", "--bins", "0"), "--bins = 0"),
        (("--model", "bin-means", "--target", "petal_width", "--delta", "1e-6"), "delta = 0"),
        (("--model", "bin-mean", "--target", "petal_width"), "did you mean 'bin-means'"),
    ],
)
def test_what_does_not_fit_a_learner_is_refused_and_not_charged(tmp_path, bounds, capsys, more, said):
    assert fit(tmp_path, bounds, *more) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        assert ledger.releases() == []


def test_curve_measures_what_a_regression_is_measured_by(tmp_path, bounds, capsys):
    words = ["curve", "sample:iris", "--target", "petal_width", "--model", "bin-means", "--bounds", str(bounds)]
    words += ["--epsilons", "1,1000", "--repeats", "2", "--jobs", "1", "-o", str(tmp_path / "curve.csv")]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["task"], told["metric"]) == ("regression", "r2")
    assert "majority" not in told
    figures = {(p["regime"], p["epsilon"]): p["mean"] for p in told["r2"]}
    assert figures["none", 1.0] > 0.8
    assert figures["private", 1000.0] == pytest.approx(figures["none", 1.0], abs=0.05)
    assert figures["private", 1.0] < figures["private", 1000.0]
    with (tmp_path / "curve.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["metric"] for row in rows} == {"r2", "rmse", "mse"}
    assert all(0 <= float(row["value"]) <= 1 for row in rows if row["metric"] != "r2")
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("R² on held-out rows")
    assert any(line.startswith("always the mean: ") for line in lines)


def test_a_metric_that_cannot_be_measured_says_why_and_which_is_drawn_instead(iris, finish, press, qtbot):
    iris.session.set_target("species")  # three classes: F1 is for two, AUC for any
    press(iris, "tab_utility")
    retype(iris, qtbot, "curve_epsilons", "1, 1000")
    retype(iris, qtbot, "curve_repeats", "2")
    finish(iris, "curve_run")
    metric, told = iris.findChild(QComboBox, "curve_metric"), iris.findChild(QLabel, "curve_words")
    metric.setFocus()
    for title, drawn in (("Balanced accuracy", "Balanced accuracy"), ("F1", "Accuracy"), ("AUC", "AUC")):
        qtbot.keyClick(metric, Qt.Key.Key_Down)
        assert metric.currentText() == title
        assert iris.page.figure.title == f"{drawn} against ε"
        absent = "F1 needs a target with two classes. Accuracy is drawn instead."
        assert told.text().startswith(absent) == (title == "F1")
    levels = {baseline.name: baseline.value for baseline in iris.page.figure.baselines}
    assert levels["by chance"] == 0.5
    assert levels["no privacy"] > 0.9
