"""Train shows what all predictions cost before they are charged, and charges nothing else."""

import threading
from decimal import Decimal

import pytest
from hands import choose_model
from mishaps import PATIENCE, needs_torch, retype, text_of
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLabel, QLineEdit, QPushButton, QScrollArea, QWidget

from workbench.gui.pages.train import tasks
from workbench.gui.shell.main_window import StatusLine
from workbench.params import CancelledError
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release

HEADER = "sepal_length,sepal_width,petal_length,species"
ROWS = ["5.0,3.4,1.5,setosa", "6.5,3.0,5.5,virginica", "6.0,2.9,4.5,versicolor"]


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "ask.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n", "utf-8")
    return path


@pytest.fixture
def train(window, finish, press, tmp_path, qtbot):
    """A window with the iris sample, a median of forests chosen, and a folder to release into."""
    finish(window, "sample_iris")
    window.session.set_target("petal_width")
    press(window, "tab_train")
    choose_model(window, "median-forest")
    retype(window, qtbot, "train_folder", str(tmp_path / "model"))
    retype(window, qtbot, "train_epsilon", "0.5")
    return window


def choose_file(window, press, monkeypatch, path):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    press(window, "train_median_forest_ask_choose")


def fact(window, name):
    return window.findChild(QLabel, f"fact_{name}")


def test_the_cost_of_all_predictions_stands_there_before_it_is_charged(
    train, press, idle, qtbot, answer, tmp_path, asked, monkeypatch
):
    problem = train.findChild(QLabel, "train_problem")
    qtbot.waitUntil(problem.isVisible)
    assert "each prediction costs" in problem.text()
    assert not train.page.primary.isEnabled()
    choose_file(train, press, monkeypatch, asked)
    assert train.findChild(QLineEdit, "train_median_forest_ask").text() == str(asked)
    qtbot.waitUntil(lambda: train.page.primary.isEnabled())
    assert fact(train, "cost").text() == "ε = 1.5"
    assert fact(train, "made_of").text() == "3 predictions × ε 0.5 = 1.5"
    questions = answer("yes")
    press(train, "train_start")
    idle(train)
    idle(train)
    assert "(3 predictions × ε 0.5 = 1.5)" in questions[0]
    assert verify_release(tmp_path / "model") == []
    assert train.session.account.spent == Decimal("1.5")
    choose_model(train, "forest-regression")
    qtbot.waitUntil(lambda: not fact(train, "made_of").isVisible())


def test_epsilon_is_of_each_prediction_and_rows_that_were_added_after_the_cost_was_shown_are_not_charged(
    train, press, idle, qtbot, answer, tmp_path, asked, monkeypatch
):
    # The form says what epsilon is of.
    titles = [label.text() for label in train.page.forms.findChildren(QLabel)]
    assert "cost of each prediction, ε" in titles
    assert train.findChild(QPushButton, "train_median_forest_ask_choose").isVisible()

    # Rows that were added after the cost was shown are not charged.
    choose_file(train, press, monkeypatch, asked)
    qtbot.waitUntil(lambda: train.page.primary.isEnabled())
    asked.write_text("\n".join([HEADER, *ROWS, "4.9,3.1,1.5,setosa"]) + "\n", "utf-8")
    answer("yes")
    press(train, "train_start")
    idle(train)
    idle(train)
    assert not (tmp_path / "model").exists()
    with Ledger.open() as book:
        assert [release.status for release in book.releases()] == []
    heard = [label.text() for label in train.findChildren(QLabel)]
    assert any("the cost has changed since it was shown" in text.lower() for text in heard)

    # Utility says so too.
    press(train, "tab_utility")
    model, epsilons = train.findChild(QWidget, "curve_model"), train.findChild(QLineEdit, "curve_epsilons")
    assert "for each prediction" not in epsilons.toolTip()
    model.setCurrentIndex(model.findData("median-forest"))
    assert "of the private model for each prediction" in epsilons.toolTip()


# -- What a person sees of a run without scrolling or guessing: charts that there will be, how it ended, its files


def in_sight(area: QScrollArea, part: QWidget) -> bool:
    """Whether the whole of ``part`` can be seen in ``area``."""
    viewport = area.viewport()
    top = part.mapTo(viewport, QPoint(0, 0)).y()
    return part.isVisible() and top >= 0 and top + part.height() <= viewport.height()


def shown(page, *names: str) -> list[str]:
    return [name for name in names if page.findChild(QWidget, name).isVisible()]


def test_a_quiet_run_is_announced_with_its_one_chart_and_figures_stand_together_in_a_wide_window(
    people, qtbot, press, idle
):
    # A quiet run is announced with the one chart that it has.
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

    # The figures before a run stand together in a wide window.
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

    monkeypatch.setattr("workbench.jobs.network.train_network", held_up)
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
def test_how_a_run_ended_and_where_its_files_are_is_in_sight(people, qtbot, finish, press, idle, answer, tmp_path):
    press(people, "tab_train")
    choose_model(people, "logistic")
    retype(people, qtbot, "train_logistic_clip", "0.001")
    retype(people, qtbot, "train_folder", str(tmp_path / "net"))
    page = people.page
    qtbot.waitUntil(lambda: page.primary.isEnabled())
    answer("yes")
    finish(people, "train_start")
    idle(people)
    area = page.findChild(QScrollArea, "train_area")
    qtbot.waitUntil(lambda: in_sight(area, page.findChild(QLabel, "train_outcome")))
    assert "Released to" in text_of(people, "train_outcome")
    assert in_sight(area, page.findChild(QLabel, "train_clipped")), "what to do about it, too"
    assert page.findChild(QWidget, "note_train").accessibleName().startswith("Released and paid for.")
    assert text_of(people, "train_speed").endswith(" steps a second")
    finish(people, "train_where")
    qtbot.waitUntil(lambda: in_sight(area, page.going.where))
    assert people.minimumSizeHint().height() <= 800
    finish(people, "train_show_release")
    released = people.page.findChild(QScrollArea, "released_detail")
    qtbot.waitUntil(lambda: in_sight(released, people.page.findChild(QWidget, "shown_release_verify")))
    finish(people, "shown_release_verify")
    qtbot.waitUntil(lambda: in_sight(released, people.page.findChild(QLabel, "shown_release_result")))
    assert "agree" in text_of(people, "shown_release_result")
