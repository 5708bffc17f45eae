"""Projects of images: saved, opened, pointed to another place, kept against a crash; no pixel and no label in them."""

import dataclasses
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from mishaps import retype, save, words_of
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from workbench.data.images.image_reader import ImageOptions
from workbench.deep.plan import DpSgdPlan
from workbench.gui.pages.data.start import reasons
from workbench.gui.project.autosave import claim
from workbench.gui.project.open_table import load_images
from workbench.gui.project.project_file import Planned, project_text, read_project
from workbench.gui.session.draft import DraftPlan
from workbench.params import WorkbenchError
from workbench.paths import user_state
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
CLASSES = ("glioma", "healthy")


def write_folders(folder: Path, each: int = 12, side: int = 8) -> Path:
    """Write PNG images in one folder for each class, whose names say more than anybody declared."""
    noise = np.random.default_rng(5)
    for code, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for at in range(each):
            pixels = (noise.integers(0, 60, (side, side, 3)) + 120 * code).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{at}.png")
    return folder


@pytest.fixture
def scans(window, finish, tmp_path, monkeypatch):
    """A window in which a folder of class folders was opened by its button."""
    folder = write_folders(tmp_path / "scans")
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    finish(window, "open_image_folder")
    return window


def plan_a_training(window, press, qtbot) -> None:
    press(window, "tab_train")
    press(window, "train_model_mlp")
    retype(window, qtbot, "train_mlp_epochs", "7")


@pytest.mark.slow  # it opens a table in between
def test_a_project_of_images_brings_back_what_was_declared_and_planned(scans, press, project, qtbot, idle):
    assert not scans.isWindowModified()
    press(scans, "tab_train")
    assert not scans.isWindowModified()  # what the page begins with is nobody's work
    retype_declared(scans, press, qtbot, idle)
    plan_a_training(scans, press, qtbot)
    assert scans.isWindowModified()
    save(scans, qtbot, idle)
    assert not scans.isWindowModified()
    assert scans.session.recent.paths[0] == str(project)
    planned, declared = scans.session.network.plan, scans.session.images.options
    scans.open("sample:iris")
    idle(scans)
    assert scans.session.network.plan is None
    qtbot.keyClick(scans, Qt.Key.Key_O, CTRL | SHIFT)
    idle(scans)
    assert scans.session.images.options == declared
    assert scans.session.network.plan == planned
    assert not scans.project.unsaved
    press(scans, "tab_train")
    assert scans.page.forms.model == "mlp"
    assert scans.findChild(QWidget, "train_mlp_epochs").text() == "7"
    retype(scans, qtbot, "train_mlp_epochs", "8")
    assert scans.project.unsaved
    retype(scans, qtbot, "train_mlp_epochs", "7")
    assert not scans.project.unsaved


def retype_declared(window, press, qtbot, idle) -> None:
    press(window, "tab_data")
    retype(window, qtbot, "images_image_size", "4")
    retype(window, qtbot, "images_rows_per_person", "2")
    press(window, "images_read")
    idle(window)


def test_names_that_nobody_declared_are_not_in_the_file(tmp_path):
    folder = write_folders(tmp_path / "scans")
    opened = load_images(str(folder), ImageOptions(image_size=4), ignore, CancelToken())
    plan = DpSgdPlan(network="mlp", epsilon=1.0, delta=1e-3, batch=5, epochs=7, lr=0.1, clip=1.0)
    text = project_text(Planned(opened.source, DraftPlan(), declared=opened.options, network=plan), tmp_path)
    assert opened.table.classes == CLASSES
    assert not any(word in text for word in (*CLASSES, "24", ".png"))
    (tmp_path / "scans.workbench.toml").write_text(text, "utf-8")
    found = read_project(tmp_path / "scans.workbench.toml")
    assert (found.source, found.declared, found.network) == (str(folder), ImageOptions(image_size=4), plan)
    declared = dataclasses.replace(opened, options=ImageOptions(classes=CLASSES))
    text = project_text(Planned(declared.source, DraftPlan(), declared=declared.options), tmp_path)
    assert all(name in text for name in CLASSES)


@pytest.mark.slow  # the cost of a network is worked out
def test_no_pixel_and_no_undeclared_class_is_in_the_file(scans, finish, press, project, qtbot, idle):
    retype_declared(scans, press, qtbot, idle)
    plan_a_training(scans, press, qtbot)
    save(scans, qtbot, idle)
    text = project.read_text("utf-8")
    raw = tomllib.loads(text)
    assert raw["images"] == "scans"
    assert raw["declared"] == [{"image_size": 4, "rows_per_person": 2}]
    assert raw["network"][0]["network"] == "mlp"
    assert set(raw) == {"project", "images", "epsilon", "declared", "network"}
    assert not any(name in text for name in (*CLASSES, "24"))  # nor how many there are
    press(scans, "tab_data")
    retype(scans, qtbot, "images_classes", ",".join(CLASSES))
    finish(scans, "images_read")
    assert scans.project.unsaved
    save(scans, qtbot, idle)
    assert tomllib.loads(project.read_text("utf-8"))["declared"][0]["classes"] == list(CLASSES)


@pytest.mark.slow  # it opens a table in between
def test_images_that_are_gone_can_be_pointed_to(scans, finish, press, project, qtbot, idle, tmp_path, monkeypatch):
    plan_a_training(scans, press, qtbot)
    save(scans, qtbot, idle)
    planned = scans.session.network.plan
    scans.open("sample:iris")
    idle(scans)
    moved = tmp_path / "archive" / "scans"
    moved.parent.mkdir()
    os.rename(tmp_path / "scans", moved)
    scans.open(str(project))
    idle(scans)
    assert words_of(scans, "missing_text") == (
        f"town.workbench.toml: its images are no longer there: {tmp_path / 'scans'}"
    )
    assert scans.session.images is None
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(moved))
    finish(scans, "missing_folder")
    assert not scans.findChild(QWidget, "missing_panel").isVisible()
    assert scans.session.images.source == str(moved)
    assert scans.session.network.plan == planned
    assert scans.project.unsaved  # the file still names the former place
    save(scans, qtbot, idle)
    assert tomllib.loads(project.read_text("utf-8"))["images"] == "archive/scans"
    assert not scans.project.unsaved


@pytest.mark.slow  # it opens a table in between
def test_unsaved_work_on_images_is_kept_and_offered_back(scans, finish, press, qtbot, load, monkeypatch):
    plan_a_training(scans, press, qtbot)
    planned = scans.session.network.plan
    qtbot.waitUntil(lambda: bool(list((user_state() / "unsaved").glob("*.toml"))) and not scans.jobs.running)
    kept = next((user_state() / "unsaved").glob("*.toml")).read_text("utf-8")
    assert not any(name in kept for name in CLASSES)
    monkeypatch.setattr("workbench.release.ledger.location.still_runs", lambda process: False)  # as after a kill
    found = claim()
    assert found is not None
    assert found.title == "scans"
    scans.session.may_leave = lambda then: True
    load(scans, "sample:iris")
    scans.restore_panel._offer(found)
    finish(scans, "restore_take")
    assert scans.session.network.plan == planned
    assert scans.project.unsaved


@pytest.mark.slow  # it opens a table in between
def test_a_folder_is_a_recent_file_that_opens(scans, load, press):
    source = scans.session.images.source
    load(scans, "sample:iris")
    assert scans.session.recent.paths[0] == source
    assert reasons([source], CancelToken()) == {source: ""}


def test_what_was_found_is_declared_by_one_press(scans, finish):
    assert "names of the classes and size of the images were taken" in words_of(scans, "images_taken")
    finish(scans, "images_declare")
    options = scans.session.images.options
    assert (options.classes, options.image_size) == (CLASSES, 8)
    assert scans.session.images.outside == ()
    assert not scans.findChild(QWidget, "images_declare").isVisible()
    assert scans.project.unsaved


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("table = 'b.csv'", "does not name its table"),
        ("keep_order = true", "'keep_order' is not known"),
        ("[[declared]]\nspeed = 3", "'speed' is not known"),
        ("[[declared]]\n[[declared]]", "declared is given more than once"),
        ("[[network]]\nnetwork = 'mlp'", "'delta' is missing"),
    ],
)
def test_a_damaged_project_of_images_is_refused_in_one_sentence(tmp_path, line, words):
    path = tmp_path / "bad.workbench.toml"
    path.write_text(f"project = 1\nimages = 'scans'\n{line}\n", "utf-8")
    with pytest.raises(WorkbenchError, match=words):
        read_project(path)
