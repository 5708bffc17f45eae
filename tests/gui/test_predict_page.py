"""Predict: a released model, the open table, a file; nothing is charged, and nothing half-written stays."""

import csv
import json
import os
import struct
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hands import drop_on
from mishaps import banner, retype, statuses, text_of
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QPushButton, QWidget

from workbench.cli import main
from workbench.data.images.idx import DIGITS
from workbench.data.images.image_set import ImageShape, class_attribute, pixel_attribute
from workbench.deep.features import ImageFeatures
from workbench.gui.pages.predict.train_card import open_released
from workbench.learners.tasks import CLASSIFICATION
from workbench.params import InputError
from workbench.release.ledger import file as ledger_file
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.open_model import OpenModel
from workbench.signals.cancel import NEVER


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A released naive Bayes model of iris, in a ledger of its own."""
    folder = tmp_path_factory.mktemp("model")
    plan, out, ledger = (str(folder / name) for name in ("plan.toml", "net", "ledger.sqlite"))
    assert main(["plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", plan]) == 0
    words = ["--target", "species", "--model", "naive-bayes", "--epsilon", "5", "--bounds", plan]
    assert main(["fit", "sample:iris", *words, "-o", out, "--ledger", ledger]) == 0
    return Path(out)


@pytest.fixture
def iris(window, finish):
    finish(window, "sample_iris")
    finish(window, "tab_predict")
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
    with pytest.raises(InputError, match=r"does not match its card|the model card is malformed"):
        open_released(tmp_path, None, print, NEVER)


def test_the_open_table_is_predicted_by_clicks_and_keys_and_what_is_refused_is_said(
    iris, finish, press, idle, qtbot, model, tmp_path, monkeypatch
):
    # The open table is predicted and nothing is charged.
    assert text_of(iris, "predict_problem").startswith("Train a model, or choose the folder of a released one")
    run, train = (iris.findChild(QWidget, name) for name in ("predict_run", "predict_train"))
    assert not run.isEnabled()
    assert iris.page.primary is train
    assert [part.property("look") for part in (train, run)] == ["primary", ""]
    press(iris, "predict_train")
    assert iris.page.objectName() == "page_train"
    press(iris, "tab_predict")
    take(iris, qtbot, idle, model)
    assert not train.isVisible()
    assert iris.page.primary is run
    assert text_of(iris, "fact_predicts") == "species"
    assert text_of(iris, "fact_paid").startswith("ε = 5, ")
    output = tmp_path / "told.csv"
    retype(iris, qtbot, "predict_output", output)
    finish(iris, "predict_run")
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

    # The keys and the dialogs do the same.
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *a, **k: str(model))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(tmp_path / "by-keys.csv"), ""))
    finish(iris, "predict_model_browse")
    press(iris, "predict_output_browse")
    qtbot.keyClick(iris, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    idle(iris)
    assert (tmp_path / "by-keys.csv").exists()

    # A file that cannot be written is told of.
    take(iris, qtbot, idle, model)
    retype(iris, qtbot, "predict_output", tmp_path / "no" / "such" / "told.csv")
    finish(iris, "predict_run")
    assert "folder of the output does not exist" in text_of(iris, "banner_text")
    take(iris, qtbot, idle, tmp_path)
    assert banner(iris) == "" == iris.statusBar().currentMessage(), "it was about the model before"

    # A model that was changed is refused in words.
    import shutil

    changed = tmp_path / "changed"
    shutil.copytree(model, changed)
    document = json.loads((changed / "model.json").read_text())
    (changed / "model.json").write_text(json.dumps({**document, "rows": 151}))
    take(iris, qtbot, idle, changed)
    assert "was changed after its release" in text_of(iris, "predict_problem")
    assert not iris.findChild(QWidget, "predict_run").isEnabled()
    take(iris, qtbot, idle, tmp_path / "nowhere")
    assert "nowhere" in text_of(iris, "predict_problem")


FLOWERS = "sepal_length,sepal_width,petal_length,petal_width\n" + "5.1,3.5,1.4,0.2\n6.7,3.0,5.2,2.3\n" * 20


@pytest.mark.parametrize("opened", [True, False])
def test_rows_of_any_file_are_predicted_whatever_is_open(
    window, finish, press, idle, qtbot, model, tmp_path, monkeypatch, opened
):
    if opened:
        finish(window, "sample_wine")
    finish(window, "tab_predict")
    take(window, qtbot, idle, model)
    assert not window.page.primary.isEnabled()
    (tmp_path / "flowers.csv").write_text(FLOWERS, "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(tmp_path / "flowers.csv"), ""))
    press(window, "predict_rows_choose")
    assert text_of(window, "predict_rows").startswith("flowers.csv, a file.")
    assert window.page._target.text().endswith("flowers-predicted.csv")
    retype(window, qtbot, "predict_output", tmp_path / "told.csv")
    finish(window, "predict_run")
    assert "40 predictions in told.csv" in text_of(window, "predict_outcome")
    assert "read as the table" not in text_of(window, "predict_outcome")
    # A model whose training read another form, as its card says: so is what it predicts.
    monkeypatch.setitem(window.page._model.card, "reading", {"delimiter": ";", "decimal": ","})
    (tmp_path / "flowers.csv").write_text(FLOWERS.replace(",", ";").replace(".", ","), "utf-8")
    finish(window, "predict_run")
    assert text_of(window, "predict_outcome").endswith("The file was read as the table of the training was.")
    # A file of another form is refused with a way that the window has.
    (tmp_path / "flowers.csv").write_text(FLOWERS, "utf-8")
    finish(window, "predict_run")
    assert "(it is read as the table of the training was)" in banner(window)
    assert "open it in Data, state there how it is read, and predict for the open table" in banner(window)
    monkeypatch.delitem(window.page._model.card, "reading")
    (tmp_path / "flowers.csv").write_text(FLOWERS.replace("5.1", "old", 1), "utf-8")
    finish(window, "predict_run")
    assert banner(window).endswith("row 1, line 2); correct it."), "what Data declares changes nothing here"
    assert (window.session.opened is not None) == opened
    assert window.findChild(QWidget, "predict_rows_open").isVisible() == opened
    if opened:
        press(window, "predict_rows_open")
        assert text_of(window, "predict_rows").startswith("wine, open: ")


def test_a_file_that_is_dropped_on_the_page_is_predicted_for_and_not_opened(iris, press, idle, qtbot, model, tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_text(FLOWERS, "utf-8")
    drop_on(iris, path)
    assert text_of(iris, "predict_rows").startswith("flowers.csv"), "without a model, too"
    assert "Predict for flowers.csv: to open it" in iris.statusBar().currentMessage()
    press(iris, "predict_rows_open")
    take(iris, qtbot, idle, model)
    told = []
    drop_on(iris, path, held=lambda: told.append(iris.findChild(QWidget, "drop_veil").accessibleName()))
    assert told == ["Drop to predict for flowers.csv"]
    idle(iris)
    assert iris.session.opened.title == "iris"
    assert text_of(iris, "predict_rows").startswith("flowers.csv")


def test_a_model_that_is_dropped_anywhere_is_the_one_that_predicts(iris, finish, idle, model):
    finish(iris, "tab_data")
    for folder in (model, model):  # on another page, then on the page itself
        drop_on(iris, folder)
        idle(iris)
        assert iris.page.objectName() == "page_predict"
        assert iris.page._folder.text() == str(folder)
        assert text_of(iris, "predict_rows").startswith("iris, open: ")
    assert statuses() == []


def test_a_model_that_was_just_trained_is_taken(window, finish, press, qtbot, answer, tmp_path):
    finish(window, "sample_iris")
    press(window, "tab_train")
    press(window, "train_model_naive-bayes")
    retype(window, qtbot, "train_folder", tmp_path / "net")
    qtbot.waitUntil(window.page.primary.isEnabled)
    answer("yes")
    finish(window, "train_start")
    finish(window, "tab_predict")
    assert window.page._folder.text() == str(tmp_path / "net")
    listed = window.findChild(QComboBox, "predict_models")
    assert listed.isVisible()
    assert listed.currentText().startswith("Naive Bayes, predicts species · ε = 1 · ")
    assert listed.currentData() == str(tmp_path / "net")
    assert text_of(window, "fact_model") == "Naive Bayes"
    assert window.page.primary.isEnabled()
    assert "predicted" in window.page._target.text()


def test_a_table_without_the_columns_says_which_are_missing(window, finish, press, idle, qtbot, model, tmp_path):
    finish(window, "sample_wine")
    press(window, "tab_predict")
    take(window, qtbot, idle, model)
    retype(window, qtbot, "predict_output", tmp_path / "told.csv")
    assert (
        "no column sepal_length, sepal_width"
        in window.findChild(type(window.page._note), "note_predict").accessibleName()
    )
    assert not window.page.primary.isEnabled()


def test_a_prediction_is_cancelled_and_leaves_no_file(iris, finish, press, idle, qtbot, model, tmp_path, monkeypatch):
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
    finish(iris, "predict_cancel")
    assert list(tmp_path.iterdir()) == []
    assert iris.page.primary.isVisible()


def test_columns_that_a_model_makes_are_shown_and_not_counted(iris, finish, idle, qtbot, model, tmp_path, monkeypatch):
    # Elsewhere all ledgers have one key here; with it a second one would be an older copy of the first.
    monkeypatch.setattr(ledger_file, "secrets", SimpleNamespace(token_bytes=os.urandom))
    words = ["--target", "species", "--model", "pca", "--epsilon", "5", "--bounds", str(model.parent / "plan.toml")]
    made = ["-o", str(tmp_path / "components"), "--ledger", str(tmp_path / "ledger.sqlite")]
    assert main(["fit", "sample:iris", *words, *made]) == 0
    take(iris, qtbot, idle, tmp_path / "components")
    assert text_of(iris, "fact_model") == "PCA"
    assert text_of(iris, "fact_predicts") == "component 1 and component 2"
    retype(iris, qtbot, "predict_output", tmp_path / "told.csv")
    finish(iris, "predict_run")
    with (tmp_path / "told.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["row", "component 1", "component 2"]
    assert len(rows) == 150
    assert "150 predictions in told.csv" in text_of(iris, "predict_outcome")
    assert iris.findChild(QLabel, "fact_often_0") is None


# -- Images on the Predict page: a released network asked about a set, a folder or single files; private throughout


SIDE = 8


def write_digits(folder: Path, rows: int, seed: int, side: int = SIDE) -> Path:
    """Write images whose class is the brightness, as MNIST's files are written; return the file of images."""
    codes = (np.arange(rows) % 10).astype(np.uint8)
    noise = np.random.default_rng(seed).integers(0, 20, (rows, side, side))
    folder.mkdir(exist_ok=True)
    for name, array in (("labels-idx1", codes), ("images-idx3", (codes[:, None, None] * 23 + noise).astype(np.uint8))):
        head = struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape)
        (folder / f"train-{name}-ubyte").write_bytes(head + array.tobytes())
    return folder / "train-images-idx3-ubyte"


class Brightness:
    """What stands for a network: it knows an image's class by its first pixel, and is wrong about some."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def inputs_of(self, table):
        return ImageFeatures((pixel_attribute(),), class_attribute(DIGITS), ImageShape(1, SIDE, SIDE)).inputs(table)

    def predict_proba(self, rows):
        self.asked.append(len(rows))
        first = rows[:, 0, 0, 0].astype(int)
        odds = np.full((len(rows), 10), 0.01)
        odds[np.arange(len(rows)), np.minimum(first // 23 + (first % 5 == 0), 9)] = 0.5 + first / 1000
        return odds


@pytest.fixture
def network(tmp_path, monkeypatch):
    """The folder of a released network, as far as the page sees it."""
    folder = tmp_path / "net"
    card = {
        "training": {"images": {"channels": 1, "height": SIDE, "width": SIDE}},
        "guarantee": {"epsilon": "1", "delta": "0.00001"},
        "time": "2020-01-02T03:04:05",
        "outside_guarantee": [],
    }
    attributes, target = (pixel_attribute(),), class_attribute(DIGITS)
    made = OpenModel(folder, card, "A network", CLASSIFICATION, attributes, target, Brightness())  # type: ignore[arg-type]
    monkeypatch.setattr("workbench.release.certificate.read_card", lambda path: card)
    monkeypatch.setattr("workbench.release.model.open_model.open_model", lambda path, weights=None: made)
    return folder


@pytest.fixture
def digits(window, idle, tmp_path):
    """A window in which such images are open, on the page Predict."""
    window.open(str(write_digits(tmp_path / "digits", 100, 2)))
    idle(window)
    window.show_page("predict")
    idle(window)
    return window


def cells(window, row: int) -> list[str]:
    model = window.findChild(QWidget, "predict_table").model()
    return [str(model.index(row, column).data() or "") for column in range(model.columnCount())]


def test_open_images_are_predicted_judged_and_exported(
    digits, finish, press, idle, qtbot, network, tmp_path, monkeypatch
):
    assert text_of(digits, "predict_images").startswith("train-images-idx3-ubyte, which is open: 100 images")
    assert not digits.findChild(QWidget, "predict_run").isEnabled()
    take(digits, qtbot, idle, network)
    finish(digits, "predict_run")
    found = digits.page._results._found
    assert text_of(digits, "predict_images_outcome").startswith(f"{found.right} % right: {found.right} of 100. Noth")
    assert found.confusion.sum() == 100
    assert found.confusion.trace() == found.right
    assert digits.findChild(QWidget, "predict_confusion").accessibleName().startswith("Private, not for release. Taken")
    table = digits.findChild(QWidget, "predict_table")
    assert table.model().rowCount() == 100
    assert cells(digits, 0)[0] == "1"
    assert not table.model().index(0, 1).data(Qt.ItemDataRole.DecorationRole).isNull()
    press(digits, "predict_only_wrong")
    assert table.model().rowCount() == 100 - found.right
    head = table.horizontalHeader()
    place = QPoint(head.sectionViewportPosition(4) + 40, head.height() // 2)
    qtbot.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=place)
    sure = [float(cells(digits, row)[4].removesuffix(" %")) for row in range(table.model().rowCount())]
    assert sure == sorted(sure)
    assert all(cells(digits, row)[5].startswith("✕") for row in range(len(sure)))
    output = tmp_path / "told.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(output), ""))
    finish(digits, "predict_export")
    with output.open(encoding="utf-8", newline="") as stream:
        header, *lines = csv.reader(stream)
    assert header == ["row", "predicted class", "confidence", "class"]
    assert len(lines) == 100
    assert sum(line[1] == line[3] for line in lines) == found.right
    assert output.stat().st_mode & 0o077 == 0
    assert digits.session.account.releases == 0
    with Ledger.read() as book:  # who sees how many are right may choose settings by it
        assert [figures.study for figures in book.figures()] == ["predict"]


def test_single_images_and_a_folder_without_classes_are_predicted(
    digits, finish, press, idle, qtbot, network, monkeypatch
):
    folder = Path(digits.session.images.source).parent / "loose"
    folder.mkdir()
    for at, grey in enumerate((5, 220)):
        Image.fromarray(np.full((20, 30, 3), grey, np.uint8)).save(folder / f"scan {at}.png")
    plain = np.repeat(np.array([5, 220], np.uint8), SIDE * SIDE).reshape(2, 1, SIDE, SIDE)
    wanted = [str(code) for code in Brightness().predict_proba(plain).argmax(axis=1)]  # once they are made small
    take(digits, qtbot, idle, network)
    chosen = [str(folder / "scan 1.png")]
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: (chosen, ""))
    press(digits, "predict_images_choose")
    assert text_of(digits, "predict_images") == "scan 1.png"
    finish(digits, "predict_run")
    assert text_of(digits, "predict_images_outcome").startswith("1 prediction. Nothing was charged.")
    assert cells(digits, 0)[2:4] == ["scan 1.png", wanted[1]]
    assert not digits.findChild(QWidget, "predict_confusion").isVisible()
    assert not digits.findChild(QWidget, "predict_only_wrong").isVisible()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    press(digits, "predict_images_folder")
    assert not digits.findChild(QWidget, "predict_table").isVisible()  # those were of other images
    finish(digits, "predict_run")
    assert [cells(digits, row)[3] for row in range(2)] == wanted
    with Ledger.read() as book:
        assert book.figures() == []
    press(digits, "predict_images_open")
    assert text_of(digits, "predict_images").startswith("train-images-idx3-ubyte, which is open")


def test_images_of_another_shape_are_refused_in_one_sentence(digits, press, idle, qtbot, network, tmp_path):
    take(digits, qtbot, idle, network)
    digits.open(str(write_digits(tmp_path / "large", 20, 3, side=12)))
    idle(digits)
    digits.show_page("predict")
    idle(digits)
    assert text_of(digits, "note_predict") == (
        "The open images are 12 × 12 grey, and the network reads 8 × 8 grey: choose others, or declare that size."
    )
    assert not digits.page.primary.isEnabled()


def test_a_prediction_for_images_is_cancelled(digits, press, idle, qtbot, network, monkeypatch):
    take(digits, qtbot, idle, network)
    monkeypatch.setattr("workbench.release.model.image_predictions.IMAGES_AT_ONCE", 10)
    asked = digits.page._model.model.asked
    ask = Brightness.predict_proba
    started = threading.Event()  # a job may come to its second part before the page knows its handle

    def slowly(model, rows):
        if len(asked) == 1:
            started.wait()
            digits.page.job.cancel()
        return ask(model, rows)

    monkeypatch.setattr(Brightness, "predict_proba", slowly)
    press(digits, "predict_run")
    started.set()
    idle(digits)
    assert asked == [10, 10]
    assert not digits.findChild(QWidget, "predict_table").isVisible()
    assert digits.page.primary.isEnabled()
