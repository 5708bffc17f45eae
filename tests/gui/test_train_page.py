"""The Train page: real models by clicks and keys; the cost before, the run as it goes, the charge after."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from mishaps import needs_torch, retype, text_of
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QRadioButton, QWidget

from workbench.release.verify import verify_release


@pytest.fixture
def train(window, finish, press, tmp_path, qtbot):
    """A window with the iris sample, the Train page open and a folder to release into."""
    finish(window, "sample_iris")
    press(window, "tab_train")
    retype(window, qtbot, "train_folder", str(tmp_path / "model"))
    return window


def forecast(window, qtbot):
    """Wait until the cost of what the form says is known."""
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())


@pytest.fixture
def start(train, qtbot, press, answer):
    """Wait for the cost, press Start and answer the question."""

    def start(word="yes"):
        forecast(train, qtbot)
        told = answer(word)
        before = len(told)
        press(train, "train_start")
        qtbot.waitUntil(lambda: len(told) > before)

    return start


def network(window, qtbot, press, tmp_path, *, epochs="4"):
    press(window, "train_model_logistic")
    retype(window, qtbot, "train_logistic_epochs", epochs)
    retype(window, qtbot, "train_logistic_batch", "30")
    retype(window, qtbot, "train_folder", str(tmp_path / "net"))


def test_the_question_says_what_delta_is_and_repeats_what_no_model_answers(people, press, answer, qtbot):
    press(people, "tab_train")
    forecast(people, qtbot)
    told = answer("no")
    press(people, "train_start")
    qtbot.waitUntil(lambda: bool(told))
    assert " and δ = " in told[0]
    assert "δ is the chance that the guarantee fails; the ledger is charged with it, too." in told[0]
    assert "✗ Averages and shares are not available: age, sex, zip, income." in told[0]
    assert told[0].count("✗") == 2, "one line for each reason"
    assert "a model of label" not in told[0].lower()


def test_a_guess_of_how_the_file_is_written_is_confirmed_before_a_model_is_made(window, tmp_path, press, idle, qtbot):
    source = tmp_path / "towns.csv"
    lines = [f"{i % 90};{i % 7},5;{'yes' if i % 3 else 'no'}" for i in range(300)]
    source.write_text("\n".join(["age;hours;label", *lines]) + "\n", "utf-8")
    window.open(str(source))
    idle(window)
    session = window.session
    assert session.opened.table.ambiguities
    for name, facts in (
        ("age", {"lower": 0.0, "upper": 100.0}),
        ("hours", {"lower": 0.0, "upper": 24.0}),
        ("label", {"domain": ("no", "yes")}),
    ):
        session.edit_column(name, f"declare {name}", **facts)
    session.edit("confirm what was guessed", session.plan.confirmed())
    session.set_target("label")
    assert not session.plan.problems()

    press(window, "tab_utility")
    note = window.findChild(QWidget, "note_utility").accessibleName()
    assert "guessed" not in note
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())  # a study releases nothing
    press(window, "tab_train")
    told = window.findChild(QWidget, "note_train").accessibleName()
    press(window, "tab_rows")
    assert told == text_of(window, "release_problem")
    assert "guessed: confirm it in Data, Columns" in told
    press(window, "tab_train")
    press(window, "train_start")
    assert window.page.objectName() == "page_data"
    idle(window)
    while session.opened.table.ambiguities:
        press(window, "data_onward")
        idle(window)
    press(window, "tab_train")
    retype(window, qtbot, "train_folder", str(tmp_path / "model"))
    forecast(window, qtbot)
    assert window.page.primary.text() == "Start"


@pytest.mark.parametrize(("delta", "told"), [("0", "ε = 1;"), ("0.00001", "ε = 1, δ = 1e-5;")])
def test_what_was_charged_is_said_with_its_delta(delta, told):
    from workbench.gui.pages.train.messages import finished

    paid = {"epsilon_charged": Decimal(1), "delta_charged": Decimal(delta), "epsilon_remaining": Decimal(2), "uses": ""}
    said = finished(SimpleNamespace(output="net", **paid))
    assert said == f"Released to net. Charged {told} ε = 2 is left under the cap."


@pytest.mark.parametrize("page", ["train", "utility", "why"])
def test_without_a_table_one_sentence_and_one_button_lead_to_the_data(window, press, page):
    press(window, f"tab_{page}")
    texts = [shown.text() for shown in window.page.findChildren(QLabel) if shown.isVisible()]
    assert len([text for text in texts if text.startswith("Open a table")]) == 1
    assert not window.findChild(QWidget, "train_folder").isVisible()  # there is no cost, and nothing to be put there
    shown = [each for each in window.page.findChildren(QPushButton) if each.isVisible()]
    assert [each for each in shown if each.property("look") == "primary"] == [window.page.primary]
    press(window, window.page.primary.objectName())
    assert window.page.objectName() == "page_data"


def test_a_model_is_released_and_charged_what_was_told_and_another_run_needs_a_higher_cap(
    train, start, qtbot, press, idle, tmp_path, answer
):
    # Naive bayes is released and charged what was told.
    forecast(train, qtbot)
    assert text_of(train, "fact_cost") == "ε = 1"
    start()
    idle(train)
    idle(train)
    assert verify_release(tmp_path / "model") == []
    assert train.session.account.spent == 1
    assert [run.kind for run in train.session.runs] == ["fit"]
    assert "Charged ε = 1" in text_of(train, "train_outcome")
    again = train.findChild(QPushButton, "train_start")
    assert (again.text(), again.isVisible()) == ("Start again", True)
    assert train.page.primary.text() == "The model's files →"
    train.page.run()  # Ctrl+Return leads on: it must not be to pay twice
    assert train.page.objectName() == "page_released"
    idle(train)
    assert train.findChild(QWidget, "shown_release_verify").isVisible()
    press(train, "tab_train")
    note = train.findChild(QWidget, "note_train")
    assert note.accessibleName() == "Released and paid for. Another run needs a higher cap: nothing is left."
    assert not train.findChild(QWidget, "train_raise_cap").isVisible(), "what is done is not refused"
    press(train, "train_model_logistic")
    assert not train.findChild(QLabel, "train_outcome").isVisible()  # it was of the other model
    assert not train.findChild(QWidget, "train_show_release").isVisible()
    press(train, "train_model_logistic-regression")

    # What is beyond the budget cannot be started before the cap is raised.
    account = train.session.account
    retype(train, qtbot, "train_epsilon", str(float(account.cap) / 2))
    qtbot.waitUntil(lambda: "raise the cap of ε" in note.accessibleName())
    assert not train.findChild(QWidget, "train_start").isEnabled()
    raised = train.findChild(QWidget, "train_raise_cap")
    qtbot.waitUntil(lambda: raised.width() <= raised.sizeHint().width())  # not as wide as the card
    answer("yes")
    press(train, "train_raise_cap")
    qtbot.waitUntil(train.findChild(QWidget, "train_start").isEnabled)
    assert train.session.account.cap == account.cap * 3 / 2


def test_a_plan_that_is_edited_during_a_training_is_not_the_trained_one(train, start, qtbot, idle, standstill):
    standstill.go_on()
    forecast(train, qtbot)
    standstill.stop()
    start()
    assert train.page.running
    train.session.edit_column(train.session.plan.columns[0].name, "drop it", action="drop")
    standstill.go_on()
    idle(train)
    assert len(train.session.released) == 1
    assert train.findChild(QPushButton, "train_start").text() == "Start"
    # The one that was trained has set the cap; what another one costs is worked out again.
    qtbot.waitUntil(lambda: train.page.primary.objectName() == "train_raise_cap")


def test_a_table_that_was_trained_on_goes_with_the_next_one(train, start, qtbot, idle):
    start()
    idle(train)
    assert train.page.primary.objectName() == "train_show_release"
    former = weakref.ref(train.session.opened)
    train.open("sample:wine")
    idle(train)

    def gone() -> bool:
        gc.collect()
        return former() is None

    qtbot.waitUntil(gone)  # the line of a job that is done stays in sight for a moment


def test_models_are_advised_and_folded_and_what_is_refused_costs_nothing(
    train, press, qtbot, monkeypatch, start, tmp_path, idle
):
    # The advised model is listed and what else fits is folded.
    options = train.page.forms.list.findChildren(QRadioButton)
    names = [one.objectName().removeprefix("train_model_") for one in options]
    assert not {"linear-regression", "boosted-trees", "vgg16-head", "mnist-cnn"} & set(names)
    shown = [name for name, one in zip(names, options, strict=True) if one.isVisible()]
    assert shown == ["logistic-regression"], "the advised one alone"
    fold = train.findChild(QPushButton, "train_fold_more")
    assert fold.text() == "▸ 4 more that fit"
    fold.setFocus()
    qtbot.keyClick(fold, Qt.Key.Key_Space)
    shown = [name for name, one in zip(names, options, strict=True) if one.isVisible()]
    assert shown == ["logistic-regression", "naive-bayes", "random-forest", "additive-trees", "best-classifier"]
    qtbot.keyClick(fold, Qt.Key.Key_Tab)
    assert train.focusWidget().objectName() == "train_model_naive-bayes"
    assert {"logistic", "mlp", "kmeans", "pca"} <= set(names)
    press(train, "train_fold_networks")
    assert train.findChild(QRadioButton, "train_model_mlp").isVisible()
    train.session.set_target("petal_width")
    assert train.page.forms.model == "boosted-trees"
    assert train.findChild(QRadioButton, "train_model_naive-bayes") is None
    train.session.set_target("species")

    # Epsilon follows the plan until another is entered and is one for all models.
    train.session.set_target(None)
    assert (train.page.forms.model, text_of(train, "train_use")) == ("kmeans", "PREDICT"), "no column is left out"
    qtbot.waitUntil(train.findChild(QWidget, "train_fold_unfit").isVisible)
    press(train, "train_fold_unfit")
    assert "Naive Bayes, Logistic regression, exact noise" in text_of(train, "train_unfit")
    assert text_of(train, "train_unfit").count("It predicts a categorical column.") == 1
    train.session.set_target("species")
    assert (train.page.forms.model, text_of(train, "train_use")) == ("logistic-regression", "PREDICT"), (
        "the advised one"
    )
    assert "recommended" in text_of(train, "train_about")
    assert train.findChild(QWidget, "train_start").property("look") == "primary"
    train.session.set_epsilon(Decimal(2))
    forecast(train, qtbot)
    assert train.findChild(QWidget, "train_start").property("look") == "", "anyone is offered ε up to 1"
    assert text_of(train, "fact_cost") == "ε = 2"
    retype(train, qtbot, "train_epsilon", "0.25")
    press(train, "train_model_naive-bayes")
    forecast(train, qtbot)
    assert text_of(train, "fact_cost") == "ε = 0.25"
    train.session.set_epsilon(Decimal(4))
    assert train.page.forms.value().epsilon == 0.25
    press(train, "train_model_mlp")
    assert train.page.forms.value().epsilon == 0.25
    press(train, "train_follow")
    assert train.page.forms.value().epsilon == 4
    retype(train, qtbot, "train_epsilon", "-1")
    assert train.findChild(QLabel, "train_epsilon_problem").isVisible()
    assert train.page.forms.value() is None
    train.session.set_epsilon(Decimal(1))
    retype(train, qtbot, "train_epsilon", "1")
    press(train, "train_model_naive-bayes")

    # Another epsilon in the form is another cost.
    forecast(train, qtbot)
    retype(train, qtbot, "train_epsilon", "0.25")
    assert not train.page.primary.isEnabled()
    assert text_of(train, "fact_cost") == "working out the cost…"
    forecast(train, qtbot)
    assert text_of(train, "fact_cost") == "ε = 0.25"

    # A wrong field is told below it.
    press(train, "train_model_logistic")
    retype(train, qtbot, "train_logistic_batch", "many")
    problem = train.findChild(QLabel, "train_logistic_batch_problem")
    assert problem.isVisible()
    assert not train.page.primary.isEnabled()
    retype(train, qtbot, "train_logistic_batch", "30")
    press(train, "train_model_naive-bayes")

    # Without torch the page says what is missing.
    monkeypatch.setitem(sys.modules, "torch", None)
    press(train, "train_model_logistic")
    missing = train.findChild(QLabel, "train_missing")
    assert missing.isVisible()
    assert "PyTorch" in missing.text()
    assert "pip install" in missing.text()
    assert not train.page.primary.isEnabled()
    press(train, "train_model_naive-bayes")
    assert not missing.isVisible()

    # A refused question charges nothing.
    start("no")
    assert not train.jobs.running
    assert not (tmp_path / "model").exists()
    assert train.session.account.releases == 0

    # A folder that exists is refused and costs nothing.
    Path(tmp_path / "model").mkdir()
    (tmp_path / "model" / "file").write_text("mine")
    start()
    idle(train)
    idle(train)
    assert train.findChild(QLabel, "banner_text").isVisible()
    assert train.session.account.spent == 0
    assert (tmp_path / "model" / "file").read_text() == "mine"


def test_the_first_showing_works_out_once_what_fits(window, finish, press, monkeypatch):
    from workbench.gui.pages.train import forms

    asked, offer_of = [], forms.offer_of
    monkeypatch.setattr(forms, "offer_of", lambda session: asked.append(session) or offer_of(session))
    finish(window, "sample_iris")
    press(window, "tab_train")
    assert len(asked) == 1


def test_a_delta_at_which_a_row_could_be_published_is_refused_beside_the_cost(train, qtbot, press):
    press(train, "train_model_logistic")
    retype(train, qtbot, "train_logistic_delta", "0.5")
    problem = train.findChild(QLabel, "train_problem")
    qtbot.waitUntil(problem.isVisible)
    assert "δ = 0.5 is not below 1/rows" in problem.text()
    assert text_of(train, "fact_cost") == "–"
    assert not train.page.primary.isEnabled()


@needs_torch
def test_a_network_tells_noise_steps_and_memory_before_it_starts(train, qtbot, press, tmp_path):
    network(train, qtbot, press, tmp_path)
    forecast(train, qtbot)
    assert text_of(train, "fact_sigma").startswith("σ = ")
    assert text_of(train, "fact_steps").startswith("20, 20 % of the rows")
    assert "fits, " in text_of(train, "fact_memory")


@needs_torch
def test_a_delta_that_would_allow_publishing_a_row_is_refused(train, qtbot, press, tmp_path):
    network(train, qtbot, press, tmp_path)
    retype(train, qtbot, "train_logistic_delta", "0.01")
    problem = train.findChild(QLabel, "train_problem")
    qtbot.waitUntil(problem.isVisible)
    assert "δ = 0.01 is not below 1/rows = 0.00667" in problem.text()
    assert "give a δ such as 1e-5" in problem.text()
    assert not train.page.primary.isEnabled()
    retype(train, qtbot, "train_logistic_delta", "1e-4")
    forecast(train, qtbot)
    assert not problem.isVisible()


@pytest.mark.parametrize(
    ("value", "top"), [(1.08, 1.2), (1.2, 1.2), (3.24, 4.0), (0.58, 0.6), (12.5, 16.0), (0.0011, 0.0012), (0.0, 0.0)]
)
def test_the_axis_of_a_chart_ends_at_a_plain_figure(value, top):
    from workbench.gui.pages.train.run_card import rounded_up

    assert rounded_up(value) == pytest.approx(top)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("naive-bayes", "Naive Bayes: trained to predict species, released into out."),
        ("kmeans", "K-means: trained to find clusters of rows, without species, released into out."),
        ("pca", "PCA: fitted to all columns but species, released into out."),
    ],
)
def test_the_question_says_what_the_target_is_for(model: str, said: str) -> None:
    from decimal import Decimal

    from workbench.gui.pages.train.messages import question
    from workbench.learners import learner
    from workbench.release.model.preflight import Preflight

    assert question(learner(model), "species", Path("out"), Preflight(Decimal(1), Decimal(0), ())).startswith(said)


def test_the_question_says_that_all_columns_are_learned_from() -> None:
    from workbench.gui.pages.train.messages import question
    from workbench.learners import learner
    from workbench.release.model.preflight import Preflight

    told = question(learner("pca"), None, Path("out"), Preflight(Decimal(1), Decimal(0), ()))
    assert told.startswith("PCA: fitted to all columns, released into out.")


@pytest.mark.parametrize("model", ["kmeans", "standardize"])
def test_a_model_without_a_target_is_trained_on_all_columns(train, start, press, idle, qtbot, tmp_path, model):
    target = train.findChild(QComboBox, "train_target")
    qtbot.keyClick(target, Qt.Key.Key_Home)
    assert (target.currentText(), train.session.target) == ("no column", None)
    qtbot.waitUntil(train.findChild(QWidget, "train_model_kmeans").isVisible)
    press(train, f"train_model_{model}")
    assert not train.findChild(QWidget, "train_study").isVisible(), "curves need a target"
    start()
    idle(train)
    idle(train)
    assert verify_release(tmp_path / "model") == []
    assert train.session.account.spent == 1
    inputs = json.loads((tmp_path / "model" / "card.json").read_text())["inputs"]
    assert [column["name"] for column in inputs[:-1]] == [column.name for column in train.session.plan.columns]


def test_a_run_that_is_given_up_is_not_called_paused_any_more(people, finish, press, answer, idle, monkeypatch):
    plan = SimpleNamespace(network="logistic")
    spent, epsilon = Decimal("0.5"), Decimal(3)
    run = SimpleNamespace(
        plan=plan, taken=9, steps=90, spent=spent, epsilon=epsilon, cost=None, shown=True, folder=Path("run")
    )
    monkeypatch.setattr("workbench.release.model.paused_training.give_up", lambda book, folder: epsilon)
    finish(people, "tab_train")
    people.page.going.notify("Paused. It can go on from step 9; ε = 3 stays reserved for it.")
    people.session.set_paused((run,))
    told = answer("yes")
    press(people, "train_give_up")
    idle(people)
    assert "the whole ε = 3 stays charged" in told[0]
    said = "The run is given up: it costs ε = 3, and nothing was released."
    assert text_of(people, "train_outcome") == said
    assert people.statusBar().currentMessage() == said
