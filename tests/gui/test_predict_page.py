"""Predict: a released model, the open table, a file; nothing is charged, and nothing half-written stays."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from mishaps import retype, statuses, text_of
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QLabel, QPushButton, QWidget

from workbench.cli import main
from workbench.gui.pages.predict import train_card as tasks
from workbench.params import CancelledError, InputError
from workbench.release.ledger import file as ledger_file


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A released naive Bayes model of iris, in a ledger of its own."""
    folder = tmp_path_factory.mktemp("model")
    plan, out, ledger = (str(folder / name) for name in ("plan.toml", "net", "ledger.sqlite"))
    assert main(["plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", plan]) == 0
    words = ["--target", "species", "--model", "naive-bayes", "--epsilon", "5", "--bounds", plan]
    assert main(["fit", "sample:iris", *words, "-o", out, "--ledger", ledger]) == 0
    return Path(out)


@pytest.fixture
def iris(window, press, idle):
    press(window, "sample_iris")
    idle(window)
    press(window, "tab_predict")
    idle(window)
    return window


def take(window, qtbot, idle, model: Path) -> None:
    """Name a model, as a person does: type the folder and press Return."""
    retype(window, qtbot, "predict_model", model)
    qtbot.keyClick(window.page._folder, Qt.Key.Key_Return)
    idle(window)


@pytest.mark.parametrize("odd", [[1], "text", 7, {"weights_sha256": None}])
def test_a_hostile_card_is_a_sentence(model, tmp_path, odd):
    card = json.loads((model / "card.json").read_text("utf-8"))
    card["training"]["architecture"] = odd
    (tmp_path / "card.json").write_text(json.dumps(card), "utf-8")
    jobs = SimpleNamespace(start=lambda job, **_: job.work(lambda event: None, None))
    with pytest.raises(InputError, match=r"not what its card says|the model card is malformed"):
        tasks.open_released(jobs, tmp_path, None, None)


def test_the_open_table_is_predicted_and_nothing_is_charged(iris, press, idle, qtbot, model, tmp_path):
    assert "Choose a released model" in text_of(iris, "predict_problem")
    assert not iris.page.primary.isEnabled()
    press(iris, "predict_train")
    assert iris.page.objectName() == "page_train"
    press(iris, "tab_predict")
    take(iris, qtbot, idle, model)
    assert not iris.findChild(QWidget, "predict_train").isVisible()
    assert text_of(iris, "fact_predicts") == "species"
    assert text_of(iris, "fact_paid").startswith("ε = 5, ")
    output = tmp_path / "told.csv"
    retype(iris, qtbot, "predict_output", output)
    press(iris, "predict_run")
    idle(iris)
    with output.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header[:2] == ["row", "predicted species"]
    assert len(rows) == 150
    assert "150 predictions in told.csv" in text_of(iris, "predict_outcome")
    told = {name: sum(row[1] == name for row in rows) for name in ("setosa", "versicolor", "virginica")}
    shown = iris.page._sheet.table.model().index(0, 1)
    assert float(shown.data()) == pytest.approx(float(rows[0][2]), rel=1e-3)
    assert len(shown.data().lstrip("0.")) <= 4
    assert shown.data(Qt.ItemDataRole.ToolTipRole) == rows[0][2], "all digits"
    most = max(told.values())
    assert text_of(iris, "fact_often_0") == f"{most} rows"
    assert statuses() == []


FLOWERS = "sepal_length,sepal_width,petal_length,petal_width\n" + "5.1,3.5,1.4,0.2\n6.7,3.0,5.2,2.3\n" * 20


@pytest.mark.parametrize("opened", [True, False])
def test_rows_of_any_file_are_predicted_whatever_is_open(
    window, press, idle, qtbot, model, tmp_path, monkeypatch, opened
):
    if opened:
        press(window, "sample_wine")
        idle(window)
    press(window, "tab_predict")
    idle(window)
    take(window, qtbot, idle, model)
    assert not window.page.primary.isEnabled()
    (tmp_path / "flowers.csv").write_text(FLOWERS, "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(tmp_path / "flowers.csv"), ""))
    press(window, "predict_rows_choose")
    assert text_of(window, "predict_rows").startswith("flowers.csv, a file.")
    assert window.page._target.text().endswith("flowers-predicted.csv")
    retype(window, qtbot, "predict_output", tmp_path / "told.csv")
    press(window, "predict_run")
    idle(window)
    assert "40 predictions in told.csv" in text_of(window, "predict_outcome")
    assert (window.session.opened is not None) == opened
    assert window.findChild(QWidget, "predict_rows_open").isVisible() == opened
    if opened:
        press(window, "predict_rows_open")
        assert text_of(window, "predict_rows").startswith("wine, open: ")


def test_a_file_that_is_dropped_on_the_page_is_predicted_for_and_not_opened(iris, press, idle, qtbot, model, tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_text(FLOWERS, "utf-8")
    assert iris.page.drop_words(str(path)) == "", "without a model it is opened"
    take(iris, qtbot, idle, model)
    held = QMimeData()
    held.setUrls([QUrl.fromLocalFile(str(path))])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entered = QDragEnterEvent(QPoint(300, 300), Qt.DropAction.CopyAction, held, left, none)
    QApplication.sendEvent(iris, entered)
    assert iris.findChild(QWidget, "drop_veil").accessibleName() == "Drop to predict for flowers.csv"
    QApplication.sendEvent(iris, QDropEvent(QPointF(300, 300), Qt.DropAction.CopyAction, held, left, none))
    idle(iris)
    assert iris.session.opened.title == "iris"
    assert text_of(iris, "predict_rows").startswith("flowers.csv")


def test_a_model_that_was_just_trained_is_taken(window, press, idle, qtbot, answer, tmp_path):
    press(window, "sample_iris")
    idle(window)
    press(window, "tab_train")
    press(window, "train_model_naive-bayes")
    retype(window, qtbot, "train_folder", tmp_path / "net")
    qtbot.waitUntil(window.page.primary.isEnabled)
    answer("yes")
    press(window, "train_start")
    idle(window)
    press(window, "tab_predict")
    idle(window)
    assert window.page._folder.text() == str(tmp_path / "net")
    listed = window.findChild(QComboBox, "predict_models")
    assert listed.isVisible()
    assert listed.currentText().startswith("Naive Bayes, predicts species · ε = 1 · ")
    assert listed.currentData() == str(tmp_path / "net")
    assert text_of(window, "fact_model") == "Naive Bayes"
    assert window.page.primary.isEnabled()
    assert "predicted" in window.page._target.text()


def test_the_keys_and_the_dialogs_do_the_same(iris, press, idle, qtbot, model, tmp_path, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *a, **k: str(model))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(tmp_path / "by-keys.csv"), ""))
    press(iris, "predict_model_browse")
    idle(iris)
    press(iris, "predict_output_browse")
    qtbot.keyClick(iris, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    idle(iris)
    assert (tmp_path / "by-keys.csv").exists()


def test_a_model_that_was_changed_is_refused_in_words(iris, idle, qtbot, model, tmp_path):
    import shutil

    changed = tmp_path / "changed"
    shutil.copytree(model, changed)
    document = json.loads((changed / "model.json").read_text())
    (changed / "model.json").write_text(json.dumps({**document, "rows": 151}))
    take(iris, qtbot, idle, changed)
    assert "was changed after its release" in text_of(iris, "predict_problem")
    assert not iris.page.primary.isEnabled()
    take(iris, qtbot, idle, tmp_path / "nowhere")
    assert "nowhere" in text_of(iris, "predict_problem")


def test_a_table_without_the_columns_says_which_are_missing(window, press, idle, qtbot, model, tmp_path):
    press(window, "sample_wine")
    idle(window)
    press(window, "tab_predict")
    take(window, qtbot, idle, model)
    retype(window, qtbot, "predict_output", tmp_path / "told.csv")
    assert (
        "no column sepal_length, sepal_width"
        in window.findChild(type(window.page._note), "note_predict").accessibleName()
    )
    assert not window.page.primary.isEnabled()


def test_a_prediction_is_cancelled_and_leaves_no_file(iris, press, idle, qtbot, model, tmp_path, monkeypatch):
    take(iris, qtbot, idle, model)
    output = tmp_path / "told.csv"
    retype(iris, qtbot, "predict_output", output)

    from workbench.release.model import open_model

    written = open_model.write_predictions

    def slow(*arguments, **more):
        cancel = arguments[4]
        while not cancel.cancelled:
            cancel.rest(0.01) if not cancel.cancelled else None
        return written(*arguments, **more)

    monkeypatch.setattr(open_model, "write_predictions", slow)
    press(iris, "predict_run")
    qtbot.waitUntil(lambda: iris.findChild(QPushButton, "predict_cancel").isVisible())
    press(iris, "predict_cancel")
    idle(iris)
    assert list(tmp_path.iterdir()) == []
    assert iris.page.primary.isVisible()


def test_a_file_that_cannot_be_written_is_told_of(iris, press, idle, qtbot, model, tmp_path):
    take(iris, qtbot, idle, model)
    retype(iris, qtbot, "predict_output", tmp_path / "no" / "such" / "told.csv")
    press(iris, "predict_run")
    idle(iris)
    assert "folder of the output does not exist" in text_of(iris, "banner_text")
    assert tasks.KEY_OPEN
    assert CancelledError


def test_columns_that_a_model_makes_are_shown_and_not_counted(iris, press, idle, qtbot, model, tmp_path, monkeypatch):
    # Elsewhere all ledgers have one key here; with it a second one would be an older copy of the first.
    monkeypatch.setattr(ledger_file, "secrets", SimpleNamespace(token_bytes=os.urandom))
    words = ["--target", "species", "--model", "pca", "--epsilon", "5", "--bounds", str(model.parent / "plan.toml")]
    made = ["-o", str(tmp_path / "components"), "--ledger", str(tmp_path / "ledger.sqlite")]
    assert main(["fit", "sample:iris", *words, *made]) == 0
    take(iris, qtbot, idle, tmp_path / "components")
    assert text_of(iris, "fact_model") == "PCA"
    assert text_of(iris, "fact_predicts") == "component 1, component 2"
    retype(iris, qtbot, "predict_output", tmp_path / "told.csv")
    press(iris, "predict_run")
    idle(iris)
    with (tmp_path / "told.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["row", "component 1", "component 2"]
    assert len(rows) == 150
    assert "150 predictions in told.csv" in text_of(iris, "predict_outcome")
    assert iris.findChild(QLabel, "fact_often_0") is None
