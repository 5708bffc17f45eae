"""A newcomer with a folder of pictures: open, declare, train, predict, save the project, and open it again."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from hands import Hands
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel

from workbench.release.certificate import read_card
from workbench.release.verify import verify_release

pytestmark = [
    pytest.mark.slow,  # it trains in a process of its own
    pytest.mark.skipif(__import__("importlib.util").util.find_spec("torch") is None, reason="networks need PyTorch"),
]
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
CLASSES = ("birch", "maple", "oak")


def write_leaves(folder: Path) -> Path:
    noise = np.random.default_rng(8)
    for code, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for at in range(40):
            pixels = noise.integers(0, 40, (16, 16, 3))
            pixels[..., code] += 180
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{at}.png")
    return folder


def test_from_a_folder_of_pictures_to_predictions_and_back(window, qtbot, tmp_path, monkeypatch):
    leaves, net, project = write_leaves(tmp_path / "leaves"), tmp_path / "net", tmp_path / "leaves.workbench.toml"
    hands = Hands(window, qtbot)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(leaves))
    hands.finish("open_image_folder")
    assert hands.text("fact_images_count") == "120"
    assert "names of the classes and size of the images" in hands.text("images_taken")
    hands.finish("images_declare")
    assert not hands.sees("images_taken")
    hands.click("data_onward")
    window.page.forms.choose("logistic")
    for field, text in (("epsilon", "20"), ("logistic_batch", "30"), ("logistic_epochs", "30")):
        hands.type_into(f"train_{field}", text)
    hands.type_into("train_folder", str(net))
    hands.until(lambda: window.page.primary.isEnabled())
    asked = hands.answer("yes")
    hands.finish("train_start")
    hands.idle()
    assert "trained to predict the class" in asked[0]
    assert verify_release(net) == []
    assert read_card(net)["outside_guarantee"] == []  # what was found had been declared
    hands.finish("train_show_release")
    assert hands.text("shown_release_model") == str(net)
    hands.finish("tab_predict")
    reads = hands.text("fact_reads").replace("\u00a0", " ")
    assert reads == "images of 16 × 16 colour, 3 classes: birch, maple and oak"
    hands.finish("predict_run")
    found = window.page._results._found
    assert found.accuracy > 0.8
    assert hands.table("predict_table").model().rowCount() == 120
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(project), ""))
    hands.key(Qt.Key.Key_S, CTRL)
    hands.idle()
    raw = tomllib.loads(project.read_text("utf-8"))
    assert raw["declared"] == [{"classes": list(CLASSES), "image_size": 16}]
    assert raw["network"][0]["epochs"] == 30
    hands.click("tab_data")
    window.open("sample:iris")
    hands.idle()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(project), ""))
    hands.key(Qt.Key.Key_O, CTRL | SHIFT)
    hands.idle()
    assert window.session.images.title == "leaves"
    assert window.session.account.releases == 1
    assert not window.project.unsaved
    hands.click("tab_train")
    assert window.findChild(QLabel, "train_images").text().endswith("3 classes")
    assert (window.page.forms.model, window.page.forms.value().epochs) == ("logistic", 30)
