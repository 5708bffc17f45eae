"""A model trained on a released table, in the window: from the Release page or on Predict; nothing is charged."""

import json
import shutil
from pathlib import Path

import pytest
from fits import misfits
from mishaps import choose_by_keys, retype, statuses, text_of
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QPushButton, QWidget

from workbench.cli import main
from workbench.learners import LEARNERS
from workbench.release.verify import verify_release


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A release of iris, charged to a ledger of its own."""
    folder = tmp_path_factory.mktemp("release")
    plan, out, ledger = (str(folder / name) for name in ("plan.toml", "iris-released.csv", "ledger.sqlite"))
    assert main(["plan", "sample:iris", "--epsilon", "10", "--target", "species", "-o", plan]) == 0
    assert main(["sanitize", "sample:iris", "--plan", plan, "-o", out, "--ledger", ledger]) == 0
    return Path(out)


@pytest.fixture
def release(original, tmp_path):
    """A copy of the released file and its certificate, alone in a folder."""
    (tmp_path / "got").mkdir()
    for path in (original, original.with_name(f"{original.name}.certificate.json")):
        shutil.copy(path, tmp_path / "got" / path.name)
    return tmp_path / "got" / original.name


@pytest.fixture
def page(window, finish, press):
    """The Predict page over the iris sample, with the place where a model is trained."""
    finish(window, "sample_iris")
    finish(window, "tab_predict")
    press(window, "predict_learn")
    return window


def name_release(window, qtbot, idle, release: Path) -> None:
    retype(window, qtbot, "learn_release", release)
    qtbot.keyClick(window.findChild(QWidget, "learn_release"), Qt.Key.Key_Return)
    idle(window)


def choices(window, name: str) -> list[str]:
    box = window.findChild(QComboBox, name)
    return [box.itemText(i) for i in range(box.count())]


def test_a_model_is_trained_on_a_release_and_predicts_at_once(page, finish, idle, qtbot, release, tmp_path):
    start = page.findChild(QPushButton, "learn_start")
    assert not start.isEnabled()
    assert choices(page, "learn_model") == [entry.title for entry in LEARNERS if entry.corrected is not None]
    name_release(page, qtbot, idle, release)
    assert choices(page, "learn_target") == ["species"], "naive Bayes predicts classes"
    assert misfits(page) == []
    folder = release.parent / "iris-released-model"
    assert page.findChild(QWidget, "learn_folder").text() == str(folder)
    finish(page, "learn_start")
    assert verify_release(folder) == []
    assert text_of(page, "fact_model") == "Naive Bayes"
    certificate = json.loads(release.with_name(f"{release.name}.certificate.json").read_text("utf-8"))
    costs = text_of(page, "fact_paid")
    assert costs.startswith(f"nothing beyond release {certificate['release_id']} (iris-released.csv), ε = 10, ")
    assert "nothing was charged beyond its ε = 10" in page.statusBar().currentMessage()
    assert statuses() == [], "no ledger knows of it"
    assert misfits(page) == []
    retype(page, qtbot, "predict_output", tmp_path / "told.csv")
    finish(page, "predict_run")
    assert "150 predictions in told.csv" in text_of(page, "predict_outcome")


def test_another_model_predicts_other_columns_and_gets_another_folder(page, finish, idle, qtbot, release):
    name_release(page, qtbot, idle, release)
    finish(page, "learn_start")
    finish(page, "predict_learn")
    assert page.findChild(QWidget, "learn_folder").text().endswith("iris-released-model-2")
    choose_by_keys(page, qtbot, "learn_model", "Linear regression")
    columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    assert choices(page, "learn_target") == ["choose a column", *columns], "none of these names says so"
    assert not page.findChild(QPushButton, "learn_start").isEnabled()
    choose_by_keys(page, qtbot, "learn_target", "petal_width")
    finish(page, "learn_start")
    assert text_of(page, "fact_predicts") == "petal_width"
    assert verify_release(release.parent / "iris-released-model-2") == []


def test_the_release_page_leads_there(people, at_release, finish, answer, tmp_path):
    at_release(tmp_path / "people-released.csv")
    answer("yes")
    finish(people, "release_now")
    finish(people, "tab_released")
    charged = statuses()
    finish(people, "shown_release_learn")
    assert people.findChild(QWidget, "page_predict").isVisible()
    assert people.findChild(QWidget, "learn_release").text() == str(tmp_path / "people-released.csv")
    finish(people, "learn_start")
    assert verify_release(tmp_path / "people-released-model") == []
    assert statuses() == charged, "nothing more is charged"


def test_a_tampered_release_is_refused_in_words_and_leaves_nothing(page, finish, idle, qtbot, release):
    name_release(page, qtbot, idle, release)
    release.write_text(release.read_text("utf-8").replace("setosa", "virginica", 1), "utf-8")
    finish(page, "learn_start")
    assert "The release does not match its certificate" in text_of(page, "learn_problem")
    assert sorted(p.name for p in release.parent.iterdir()) == [release.name, f"{release.name}.certificate.json"]
    name_release(page, qtbot, idle, release.with_name("nowhere.csv"))
    assert "nowhere.csv" in text_of(page, "learn_problem")
    assert not page.findChild(QPushButton, "learn_start").isEnabled()


def test_a_training_is_cancelled_and_leaves_no_folder(page, press, idle, qtbot, release, standstill):
    standstill.go_on()
    name_release(page, qtbot, idle, release)
    before = sorted(release.parent.iterdir())
    standstill.stop()
    press(page, "learn_start")
    qtbot.waitUntil(page.findChild(QPushButton, "learn_cancel").isVisible)
    press(page, "learn_cancel")
    standstill.go_on()
    idle(page)
    assert sorted(release.parent.iterdir()) == before
    assert page.findChild(QPushButton, "learn_start").isEnabled()


def test_the_dialogs_do_the_same(page, finish, press, release, monkeypatch):
    chosen = release.parent / "mine"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(release), ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(chosen), ""))
    finish(page, "learn_release_browse")
    press(page, "learn_folder_browse")
    finish(page, "learn_start")
    assert verify_release(chosen) == []
