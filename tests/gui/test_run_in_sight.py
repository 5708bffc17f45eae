"""What a person sees of a run without scrolling or guessing: charts that there will be, how it ended, its files."""

from __future__ import annotations

import threading

import pytest
from hands import choose_model
from mishaps import PATIENCE, retype, text_of
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QScrollArea, QWidget

from workbench.gui.pages.train import tasks
from workbench.gui.shell.main_window import StatusLine
from workbench.params import CancelledError

needs_torch = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("torch") is None, reason="networks need PyTorch"
)


def in_sight(area: QScrollArea, part: QWidget) -> bool:
    """Whether the whole of ``part`` can be seen in ``area``."""
    viewport = area.viewport()
    top = part.mapTo(viewport, QPoint(0, 0)).y()
    return part.isVisible() and top >= 0 and top + part.height() <= viewport.height()


def shown(page, *names: str) -> list[str]:
    return [name for name in names if page.findChild(QWidget, name).isVisible()]


def test_a_quiet_run_is_announced_with_the_one_chart_that_it_has(people, qtbot, press, idle):
    press(people, "tab_train")
    choose_model(people, "logistic")
    idle(people)
    page = people.page
    charts = ("train_accuracy", "train_loss", "train_epsilon", "train_norms", "train_badge")
    assert shown(page, *charts) == list(charts)
    low = page.going.epsilon.height()
    box = page.findChild(QCheckBox, "train_quiet")
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert shown(page, *charts) == ["train_epsilon"], "nothing of it is private"
    qtbot.waitUntil(lambda: page.going.epsilon.height() > 1.5 * low)
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert shown(page, *charts) == list(charts)


def test_the_figures_before_a_run_stand_together_in_a_wide_window(people, qtbot, press, idle):
    press(people, "tab_train")
    choose_model(people, "logistic")
    idle(people)
    people.resize(2560, 1440)
    cost = people.page.findChild(QLabel, "fact_cost")
    qtbot.waitUntil(lambda: people.page.before.width() > 1200)
    qtbot.waitUntil(lambda: cost.mapTo(people.page.before, QPoint(cost.width(), 0)).x() < 800)
    for chart in people.page.going.charts:
        assert chart.width() >= 360
        assert chart.height() >= 220


@needs_torch
def test_the_beginning_of_a_run_says_what_goes_on_and_how_long(
    people, qtbot, press, idle, answer, tmp_path, monkeypatch
):
    held = threading.Event()

    def held_up(*_: object) -> None:
        held.wait(PATIENCE / 1000)
        raise CancelledError

    monkeypatch.setattr(tasks, "train_in_process", held_up)
    press(people, "tab_train")
    choose_model(people, "logistic")
    retype(people, qtbot, "train_folder", str(tmp_path / "net"))
    qtbot.waitUntil(lambda: people.page.primary.isEnabled())
    answer("yes")
    try:
        press(people, "train_start")
        qtbot.waitUntil(lambda: people.findChild(QWidget, "job_line") is not None)
        line = people.findChild(QWidget, "job_line")
        stated = [part.accessibleName() for part in line.findChildren(QLabel)]
        assert tasks.BEGINNING in stated, "what goes on, beside the bar"
        assert "about 15 s" in people.findChild(QLabel, "train_speed").accessibleName()
    finally:
        held.set()
        idle(people)


def test_a_message_that_is_too_long_ends_with_dots_and_is_told_in_full_at_the_pointer(window, qtbot):
    line = window.statusBar()
    assert isinstance(line, StatusLine)
    window.session.notify("info", "word " * 80)
    assert line.shown.endswith("…")
    assert line.toolTip() == line.currentMessage()
    window.resize(4000, 800)
    qtbot.waitUntil(lambda: line.toolTip() == "")
    assert line.shown == line.currentMessage()


@needs_torch
@pytest.mark.slow
def test_how_a_run_ended_and_where_its_files_are_is_in_sight(people, qtbot, press, idle, answer, tmp_path):
    press(people, "tab_train")
    choose_model(people, "logistic")
    retype(people, qtbot, "train_logistic_clip", "0.001")
    retype(people, qtbot, "train_folder", str(tmp_path / "net"))
    page = people.page
    qtbot.waitUntil(lambda: page.primary.isEnabled())
    answer("yes")
    press(people, "train_start")
    idle(people)
    idle(people)
    area = page.findChild(QScrollArea, "train_area")
    qtbot.waitUntil(lambda: in_sight(area, page.findChild(QLabel, "train_outcome")))
    assert "Released to" in text_of(people, "train_outcome")
    assert in_sight(area, page.findChild(QLabel, "train_clipped")), "what to do about it, too"
    assert page.findChild(QWidget, "note_train").accessibleName().startswith("Released and paid for.")
    assert text_of(people, "train_speed").endswith(" steps/s")
    press(people, "train_where")
    idle(people)
    qtbot.waitUntil(lambda: in_sight(area, page.going.where))
    assert people.minimumSizeHint().height() <= 800
    press(people, "train_show_release")
    idle(people)
    released = people.page.findChild(QScrollArea, "released_detail")
    qtbot.waitUntil(lambda: in_sight(released, people.page.findChild(QWidget, "shown_release_verify")))
    press(people, "shown_release_verify")
    idle(people)
    qtbot.waitUntil(lambda: in_sight(released, people.page.findChild(QLabel, "shown_release_result")))
    assert "agree" in text_of(people, "shown_release_result")
