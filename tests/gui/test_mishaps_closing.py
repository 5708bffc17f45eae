"""The window is closed while something goes on: that stops, nothing is half-written, the ledger knows how it ended."""

import dataclasses
import time

import pytest
from mishaps import PATIENCE, big_table, needs_torch, retype, statuses
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QSlider

from workbench.gui.project.open_table import open_table
from workbench.jobs.runner import Run
from workbench.paths import user_data
from workbench.release.verify import verify_release
from workbench.signals.events import Cancelled


@pytest.fixture(params=["close", pytest.param("keys", marks=pytest.mark.slow)])
def end(request, qtbot):
    """Close a window by its frame or by Ctrl+Q; the call itself must not block."""

    def end(window) -> None:
        window.activateWindow()  # a platform without a screen does not do so after a question
        qtbot.waitUntil(window.isActiveWindow)
        waits, wait = [], Run.wait
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Run, "wait", lambda run, seconds: (waits.append(seconds), wait(run, seconds))[1])
            if request.param == "close":
                window.close()
            else:
                qtbot.keyClick(window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
        assert not any(waits), "closing waited for a job"

    return end


def gone(window, qtbot) -> None:
    qtbot.waitUntil(lambda: not window.isVisible())
    for handle in window.jobs.running:  # what takes longer to stop than a person waits ends by itself
        assert handle.wait(PATIENCE / 1000)


def test_while_a_large_file_is_opened(window, tmp_path, qtbot, end, standstill):
    window.open(str(big_table(tmp_path / "big.csv", 10_000)))
    (handle,) = (h for h in window.jobs.running if h.stoppable)
    end(window)
    assert "Closing: waiting for “Opening big.csv” to stop…" in window.statusBar().currentMessage()
    gone(window, qtbot)
    assert isinstance(handle.end, Cancelled)
    assert window.session.opened is None


def test_while_a_curve_is_computed(window, finish, press, qtbot, end):
    finish(window, "sample_iris")
    press(window, "tab_utility")
    retype(window, qtbot, "curve_epsilons", "0.1:100:13")
    retype(window, qtbot, "curve_repeats", "400")  # more than are ever computed here
    press(window, "curve_run")
    qtbot.waitUntil(lambda: window.page.figure is not None)
    end(window)
    gone(window, qtbot)
    # What was trained is kept for the next time, whole lines only.
    (journal,) = (user_data() / "unfinished").glob("*.jsonl")
    assert journal.read_text("utf-8").endswith("}]\n")


def test_while_the_calculator_is_at_its_far_end(window, press, qtbot, end):
    """Rows and epochs at the end of their sliders: 10⁸ steps and more, which once could not be stopped for minutes."""
    press(window, "tab_calculator")
    for name in ("calculator_rows_slider", "calculator_epochs_slider"):
        slider = window.findChild(QSlider, name)
        for _ in range(20):
            qtbot.keyClick(slider, Qt.Key.Key_PageUp)
        assert slider.value() == slider.maximum()
    retype(window, qtbot, "calculator_epochs_field", "15")
    qtbot.keyClick(window.page.sliders["epochs"].field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.page._exact is not None and window.page._exact.running)
    former = window.page._exact
    qtbot.keyClick(window.page.sliders["rows"].slider, Qt.Key.Key_PageDown)
    assert former.stopping or not former.running
    assert former.wait(PATIENCE / 1000)
    qtbot.waitUntil(lambda: window.page._exact is not former and window.page._exact.running)
    began = time.monotonic()
    end(window)
    gone(window, qtbot)
    assert time.monotonic() - began < 60  # of minutes once, and a busy machine has seconds of its own


@needs_torch
@pytest.mark.slow
def test_while_a_network_is_trained(window, finish, press, qtbot, answer, tmp_path, end):
    finish(window, "sample_iris")
    press(window, "tab_train")
    press(window, "train_model_logistic")
    retype(window, qtbot, "train_logistic_epochs", "3000")
    retype(window, qtbot, "train_logistic_batch", "30")
    retype(window, qtbot, "train_folder", tmp_path / "net")
    qtbot.waitUntil(window.page.primary.isEnabled)
    answer("yes")
    press(window, "train_start")
    qtbot.waitUntil(lambda: len(window.page.going.accuracy.points) > 0)
    told = answer("no")
    end(window)
    assert "is charged by now" in told[-1]
    assert "that ε is lost" in told[-1]
    assert window.isVisible()
    assert window.page.running
    answer("lose")
    end(window)
    gone(window, qtbot)
    assert statuses() == ["charged"]  # its figures were watched
    assert list(tmp_path.glob("net*")) == []


def test_before_a_release_is_reserved(people, at_release, press, qtbot, answer, tmp_path):
    at_release()
    target = tmp_path / "released.csv"
    retype(people, qtbot, "release_target", target)
    ended = []
    people.jobs.started.connect(
        lambda handle: (people.close(), ended.append(1)) if handle.title.startswith("Releasing") else None
    )
    answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: bool(ended))
    gone(people, qtbot)
    assert set(statuses()) <= {"void"}
    assert not target.exists()


def test_a_release_that_does_not_stop_is_not_cut_off(releasing, qtbot, end):
    window, target, turn = releasing
    (handle,) = (h for h in window.jobs.running if h.stoppable)
    end(window)
    assert window.isVisible()
    assert "Releasing people" in window.statusBar().currentMessage()
    assert not window.rail.isEnabled()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert statuses() == ["charged"]  # the draw is finished: all that is missing is its name
    assert not target.exists()
    turn.close()  # the work goes on without a window, and settles by itself
    assert handle.wait(PATIENCE / 1000)
    assert statuses() == ["charged"]
    assert verify_release(target) == []


def test_with_an_edited_plan_that_is_saved_while_another_table_is_opened(people, tmp_path, qtbot, answer, monkeypatch):
    project = tmp_path / "people.workbench.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(project), ""))
    other, plan = dataclasses.replace(people.session.opened, source="other.csv"), people.session.plan
    people.session.edit_column("age", "bounds of age", upper=99.0)
    people.jobs.started.connect(
        lambda handle: people.session.open(other, plan) if handle.title.startswith("Saving") else None
    )
    answer("save")
    people.close()
    gone(people, qtbot)
    assert "upper = 99" in project.read_text("utf-8")


@pytest.mark.parametrize("choice", ["save", "discard", "no"])
def test_with_an_edited_plan_and_a_job(people, tmp_path, qtbot, answer, choice, monkeypatch, standstill):
    project = tmp_path / "people.workbench.toml"
    # The system's own chooser of files cannot be driven by a test.
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(project), ""))
    big = big_table(tmp_path / "big.csv", 10_000)
    handle = open_table(people.session, people.jobs, str(big))
    people.session.edit_column("age", "bounds of age", upper=99.0)
    told = answer(choice)
    people.close()
    assert "people is not saved" in told[0]
    if choice == "no":
        assert people.isVisible()
        assert not handle.stopping
        assert people.rail.isEnabled()
        return
    gone(people, qtbot)
    assert project.exists() == (choice == "save")
