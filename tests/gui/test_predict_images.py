"""Images on the Predict page: a released network asked about a set, a folder or single files; private throughout."""

from __future__ import annotations

import csv
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from mishaps import retype, text_of
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from workbench.data.images.idx import DIGITS
from workbench.data.images.image_set import ImageShape, class_attribute, pixel_attribute
from workbench.deep.features import ImageFeatures
from workbench.learners.tasks import CLASSIFICATION
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.open_model import OpenModel

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
def network(tmp_path, monkeypatch) -> Path:
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


def take(window, qtbot, idle, model: Path) -> None:
    retype(window, qtbot, "predict_model", model)
    qtbot.keyClick(window.page._folder, Qt.Key.Key_Return)
    idle(window)


def cells(window, row: int) -> list[str]:
    model = window.findChild(QWidget, "predict_table").model()
    return [str(model.index(row, column).data() or "") for column in range(model.columnCount())]


def test_open_images_are_predicted_judged_and_exported(digits, press, idle, qtbot, network, tmp_path, monkeypatch):
    assert text_of(digits, "predict_images").startswith("train-images-idx3-ubyte, which is open: 100 images")
    assert not digits.page.primary.isEnabled()
    take(digits, qtbot, idle, network)
    press(digits, "predict_run")
    idle(digits)
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
    press(digits, "predict_export")
    idle(digits)
    with output.open(encoding="utf-8", newline="") as stream:
        header, *lines = csv.reader(stream)
    assert header == ["row", "predicted class", "confidence", "class"]
    assert len(lines) == 100
    assert sum(line[1] == line[3] for line in lines) == found.right
    assert output.stat().st_mode & 0o077 == 0
    assert digits.session.account.releases == 0
    with Ledger.read() as book:  # who sees how many are right may choose settings by it
        assert [figures.study for figures in book.figures()] == ["predict"]


def test_single_images_and_a_folder_without_classes_are_predicted(digits, press, idle, qtbot, network, monkeypatch):
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
    press(digits, "predict_run")
    idle(digits)
    assert text_of(digits, "predict_images_outcome").startswith("1 prediction. Nothing was charged.")
    assert cells(digits, 0)[2:4] == ["scan 1.png", wanted[1]]
    assert not digits.findChild(QWidget, "predict_confusion").isVisible()
    assert not digits.findChild(QWidget, "predict_only_wrong").isVisible()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    press(digits, "predict_images_folder")
    assert not digits.findChild(QWidget, "predict_table").isVisible()  # those were of other images
    press(digits, "predict_run")
    idle(digits)
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
