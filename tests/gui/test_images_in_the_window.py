"""Images in the window: opened, shown, trained on and tested by clicks; other pages say that they are for tables."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hands import drop_on
from mishaps import needs_torch, retype, text_of
from PySide6.QtWidgets import QFileDialog, QLabel, QRadioButton, QWidget

from workbench.data.images.image_reader import ENDINGS
from workbench.gui.session.session import FOR_TABLES
from workbench.gui.shell.main_window import NO_TABLES
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release

ROWS, TEST_ROWS, SIDE = 240, 40, 8


def write_idx(folder: Path, begin: str, rows: int, seed: int) -> Path:
    """Write images whose class is the brightness, as MNIST's files are written; return the file of images."""
    codes = (np.arange(rows) % 10).astype(np.uint8)
    noise = np.random.default_rng(seed).integers(0, 20, (rows, SIDE, SIDE))
    images = (codes[:, None, None] * 23 + noise).astype(np.uint8)
    folder.mkdir(exist_ok=True)
    for name, array in ((f"{begin}-labels-idx1-ubyte", codes), (f"{begin}-images-idx3-ubyte", images)):
        head = struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape)
        (folder / name).write_bytes(head + array.tobytes())
    return folder / f"{begin}-images-idx3-ubyte"


@pytest.fixture
def digits(tmp_path):
    write_idx(tmp_path / "digits", "train", ROWS, 1)
    write_idx(tmp_path / "digits", "t10k", TEST_ROWS, 2)
    return tmp_path / "digits"


@pytest.fixture
def images(window, finish, digits, monkeypatch):
    """A window in which the images were opened by the button of the start page."""
    chosen = digits / "train-images-idx3-ubyte"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(chosen), ""))
    finish(window, "open_file")
    return window


def test_what_is_opened_is_shown_and_leads_to_train(images, press) -> None:
    assert text_of(images, "fact_images_count") == "240"
    assert text_of(images, "fact_images_size") == "8 × 8 pixels"
    assert text_of(images, "fact_images_channels") == "1, grey"
    assert text_of(images, "fact_images_classes").startswith("10: 0, 1, 2")
    assert images.windowTitle().startswith("train-images-idx3-ubyte")
    assert "240 images" in images.rail._table.accessibleName()
    assert images.page.primary.text() == "Train a network →"
    press(images, "data_onward")
    assert images.page.objectName() == "page_train"
    assert text_of(images, "train_images") == "240 images, 8 × 8 grey, 10 classes"


def test_learners_of_tables_are_not_offered(images, press) -> None:
    press(images, "tab_train")
    assert images.findChild(QRadioButton, "train_model_scatter-linear").isChecked(), "the advised one"
    assert images.findChild(QRadioButton, "train_model_naive-bayes") is None
    logistic = images.findChild(QRadioButton, "train_model_logistic")
    assert not logistic.isVisible()
    press(images, "train_fold_more")
    assert logistic.isVisible()
    assert "public filters" in text_of(images, "train_about")
    fields = {name: images.findChild(QWidget, f"train_scatter_linear_{name}").text() for name in ("batch", "clip")}
    assert fields == {"batch": "30", "clip": "0.1"}  # an eighth of the rows at most; what did well on public images


@pytest.mark.slow  # it opens a sample as well
def test_a_table_after_images_is_a_table_again(images, press, load) -> None:
    press(images, "tab_train")
    load(images, "sample:iris")
    assert images.session.images is None
    assert images.page.objectName() == "page_questions"
    press(images, "tab_train")
    assert text_of(images, "train_images") == ""
    assert not images.findChild(QWidget, "train_test_choose").isVisible()
    assert images.findChild(QRadioButton, "train_model_naive-bayes") is not None


def says_for_tables(window: QWidget, name: str) -> bool:
    """Whether the page that is shown says that it is for tables."""
    labels = [one for one in window.page.findChildren(QLabel) if one.isVisible()]
    told = [one.text().replace("\u00a0", " ") for one in labels]
    return FOR_TABLES in [*told, *(one.accessibleName() for one in labels if one.objectName() == f"note_{name}")]


def test_pages_for_tables_say_so(images, press) -> None:
    for name in ("protect", "ways", "utility"):
        images.show_page(name)
        assert says_for_tables(images, name), name


def test_release_says_that_networks_alone_leave(images, press) -> None:
    press(images, "tab_release")
    assert "Only a trained network can be released of a set of images." in text_of(images, "release_leaves")
    assert text_of(images, "fact_release_images_left") == "the first network that is released sets its cap"
    for name in (
        "release_ways",
        "release_now",
        "release_target",
        "release_account",
        "release_to_ways",
        "release_onward",
    ):
        assert not images.findChild(QWidget, name).isVisible(), name
    assert images.page.primary.objectName() == "release_to_train"
    press(images, "release_to_train")
    assert images.page.objectName() == "page_train"


def test_counts_of_classes_are_shown_as_private(images, finish, press) -> None:
    sheet = images.findChild(QWidget, "images_sheet")
    assert sheet.isVisible()
    assert sheet.accessibleName().startswith("Private, not for release. Images of each class: 0: 24 images, 1: 24")
    assert not images.findChild(QWidget, "images_changed").isVisible()
    source = Path(images.session.images.source)
    write_idx(source.parent, "train", ROWS + 20, 1)
    press(images, "tab_train")
    finish(images, "tab_data")
    assert images.findChild(QWidget, "images_changed").isVisible()
    finish(images, "images_reload")
    assert images.session.images.table.rows == ROWS + 20
    assert not images.findChild(QWidget, "images_changed").isVisible()


@pytest.mark.slow  # it waits for what every page works out of a table
def test_every_page_bears_images_after_a_table_and_those_for_tables_say_so(window, finish, visit, idle, digits) -> None:
    finish(window, "sample_iris")
    for name in list(window.rail.pages):
        visit(window, name)
    window.open(str(digits))
    idle(window)
    assert window.session.opened is None
    said = set()
    for name in list(window.rail.pages):
        visit(window, name)
        if says_for_tables(window, name):
            said.add(name)
    assert said >= {"questions", "ways", "protect", "preview", "utility", "why"}


def test_a_folder_is_opened_by_its_button_and_a_file_by_a_drop(window, finish, idle, digits, monkeypatch) -> None:
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(digits))
    finish(window, "open_image_folder")
    assert window.session.images.table.rows == ROWS
    drop_on(window, digits / "t10k-images-idx3-ubyte")
    idle(window)
    assert window.session.images.table.rows == TEST_ROWS


def test_files_that_are_refused_when_dropped_are_none_that_can_be_read() -> None:
    assert not [ending for ending in ENDINGS if ending.endswith(NO_TABLES)]


def test_declared_names_of_classes_are_read_anew(images, finish, press, qtbot) -> None:
    read = images.findChild(QWidget, "images_read")
    assert not read.isEnabled()
    assert not images.findChild(QWidget, "images_image_size").isEnabled()  # of class folders alone
    retype(images, qtbot, "images_rows_per_person", "3")
    assert text_of(images, "images_waits") == "⚠ Not in effect yet: press Read again."
    assert images.findChild(QLabel, "images_waits").isVisible()
    retype(images, qtbot, "images_classes", "a,b,c,d,e,f,g,h,i,j")
    finish(images, "images_read")
    assert images.session.images.table.classes == tuple("abcdefghij")
    assert images.session.images.stated.endswith("10 classes, 3 per person")
    assert not images.findChild(QLabel, "images_waits").isVisible()
    retype(images, qtbot, "images_classes", "a,b")
    finish(images, "images_read")
    assert "none of the 2 classes" in text_of(images, "banner_text")
    assert images.session.images.table.classes == tuple("abcdefghij")  # what was open still is


def test_a_damaged_file_leaves_what_is_open(images, load, tmp_path) -> None:
    broken = write_idx(tmp_path / "broken", "train", ROWS, 3)
    broken.write_bytes(broken.read_bytes()[:-5])
    load(images, broken)
    assert "train-images-idx3-ubyte still is" in text_of(images, "banner_text")
    assert images.session.images.source != str(broken)


@needs_torch
def test_a_network_is_trained_on_images_and_tested_on_public_ones(
    images, finish, press, idle, qtbot, answer, digits, tmp_path, monkeypatch
) -> None:
    press(images, "tab_train")
    press(images, "train_model_logistic")
    for name, text in (("epochs", "4"), ("batch", "60")):
        retype(images, qtbot, f"train_logistic_{name}", text)
    test = digits / "t10k-images-idx3-ubyte"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(test), ""))
    finish(images, "train_test_choose")
    told = images.findChild(QWidget, "train_test_told").accessibleName()
    assert told == "40 images of t10k-images-idx3-ubyte, declared public"
    retype(images, qtbot, "train_folder", str(tmp_path / "net"))
    qtbot.waitUntil(lambda: images.page.primary.isEnabled())
    assert text_of(images, "fact_sigma").startswith("σ = ")
    assert text_of(images, "fact_steps").startswith("16, 25 % of the rows")
    asked = answer("yes")
    finish(images, "train_start")
    idle(images)
    assert "trained to predict the class" in asked[0]
    assert "accuracy on 40 test images, which you declare public" in asked[0]
    assert verify_release(tmp_path / "net") == []
    card = json.loads((tmp_path / "net" / "card.json").read_text("utf-8"))
    assert card["training"]["images"] == {"channels": 1, "height": SIDE, "width": SIDE}
    assert card["training"]["accuracy"]["rows"] == TEST_ROWS
    assert "on the public test images" in text_of(images, "train_outcome")
    account = images.session.account
    assert 0.99 < account.spent <= 1
    with Ledger.open() as book:
        assert [release.status for release in book.releases(account.dataset)] == ["charged"]
    finish(images, "train_show_release")
    assert images.findChild(QWidget, "shown_release_verify").isVisible()


@pytest.mark.slow  # a pause of a table's run is in the default suite
@needs_torch
def test_a_run_on_images_is_paused_found_again_and_resumed(
    images, finish, press, idle, qtbot, answer, digits, tmp_path, monkeypatch
) -> None:
    press(images, "tab_train")
    press(images, "train_model_logistic")
    for name, text in (("epochs", "900"), ("batch", "60")):
        retype(images, qtbot, f"train_logistic_{name}", text)
    test = digits / "t10k-images-idx3-ubyte"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(test), ""))
    finish(images, "train_test_choose")
    retype(images, qtbot, "train_folder", str(tmp_path / "net"))
    qtbot.waitUntil(lambda: images.page.primary.isEnabled())
    answer("yes")
    press(images, "train_start")
    qtbot.waitUntil(lambda: len(images.page.going.accuracy.points) > 0)
    finish(images, "train_pause")
    idle(images)
    assert not (tmp_path / "net").exists()
    asked = answer("discard")  # the planned training is not saved; the run is kept in any case
    images.open("sample:iris")  # another dataset: the run is not offered there
    idle(images)
    assert "is not saved" in asked[-1]
    assert images.session.paused == ()
    images.open(str(digits))  # the same images, named by their folder
    idle(images)
    press(images, "tab_train")
    assert "is paused after" in text_of(images, "train_paused")
    press(images, "train_resume")
    assert "public test images: choose the same ones first" in text_of(images, "banner_text")
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(digits))
    finish(images, "train_test_choose")
    finish(images, "train_resume")
    idle(images)
    assert verify_release(tmp_path / "net") == []
    assert "3,600 steps: all epochs" in text_of(images, "train_outcome")
    with Ledger.open() as book:
        assert [release.status for release in book.releases(images.session.account.dataset)] == ["charged"]
    assert images.session.account.spent <= 1


def test_values_for_other_images_begin_with_the_form_of_these(images, press, load, visit, tmp_path, qtbot) -> None:
    """Train is out of sight when they are offered, and has the form of the former images until it is shown."""
    press(images, "tab_train")
    retype(images, qtbot, "train_scatter_linear_clip", "7")
    visit(images, "data")
    images.session.may_replace = lambda then, keeps_plan: True
    load(images, write_idx(tmp_path / "others", "train", ROWS, 3))
    images.session.to_run.make({"batch": 24, "noise": 2.0, "epochs": 3, "delta": 1e-5})
    visit(images, "train")
    fields = {name: images.findChild(QWidget, f"train_scatter_linear_{name}").text() for name in ("batch", "clip")}
    assert fields == {"batch": "24", "clip": "0.1"}
    planned = images.session.network.plan
    assert planned is not None
    assert (planned.batch, planned.clip) == (24, 0.1)
