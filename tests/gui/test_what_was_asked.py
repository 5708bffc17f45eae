"""What a question says is what is done: work that ends while it stands, or a second press, changes nothing of it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from mishaps import banner, retype, statuses, text_of
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog

from workbench.gui.pages.train.tasks import PREFLIGHT
from workbench.gui.project.open_table import open_table
from workbench.gui.widgets.dialogs import Question
from workbench.release.ledger.ledger import Ledger

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def when_asked(qtbot):
    """Do something while the next question stands, then press its button of that name; the questions are kept."""
    told: list[str] = []
    asked: list[Question] = []
    waiting = QTimer(interval=20)

    def when_asked(name, meanwhile=lambda: None):
        """Answer every question that is asked; the first one stands while ``meanwhile`` is done."""

        def look():
            box = QApplication.activeModalWidget()
            if not isinstance(box, Question) or not box.isVisible() or box in asked:
                return
            asked.append(box)
            told.append(box.words().replace("\u00a0", " "))
            if len(told) == 1:
                meanwhile()
            qtbot.mouseClick(box.findChild(QAbstractButton, f"confirm_{name}"), LEFT)

        waiting.timeout.connect(look)
        waiting.start()
        return told

    yield when_asked
    waiting.stop()


@pytest.fixture
def iris_opens(qtbot):
    """A table that was asked for before the question, and is there while it stands."""

    def iris_opens(window):
        open_table(window.session, window.jobs, "sample:iris")
        qtbot.waitUntil(lambda: window.session.opened.title == "iris")

    return iris_opens


@pytest.fixture
def releasable(people, at_release, tmp_path):
    """The people sample on the Release page, with a file to release into."""
    at_release(tmp_path / "released.csv")
    return people


def test_another_table_that_opens_under_the_question_is_not_released(
    releasable, when_asked, iris_opens, press, idle, qtbot, tmp_path
):
    told = when_asked("yes", lambda: iris_opens(releasable))
    press(releasable, "release_now")
    qtbot.waitUntil(lambda: bool(told))
    idle(releasable)
    assert statuses() == []
    assert not (tmp_path / "released.csv").exists()
    assert "nothing was released" in banner(releasable).lower()


def test_a_press_more_before_the_question_stands_asks_once_and_charges_once(releasable, when_asked, press, idle, qtbot):
    told = when_asked("yes")
    button = releasable.findChild(QAbstractButton, "release_now")

    def again(handle):
        if handle.title == "Checking the release" and len(told) == 0:
            qtbot.mouseClick(button, LEFT)

    releasable.jobs.ended.connect(again)
    press(releasable, "release_now")
    qtbot.waitUntil(lambda: bool(told))
    idle(releasable)
    assert QApplication.activeModalWidget() is None
    assert len(told) == 1
    assert statuses() == ["charged"]


def test_what_stands_outside_is_in_the_question_however_soon_it_is_asked(releasable, when_asked, press, idle, qtbot):
    told = when_asked("no")
    releasable.session.edit_column("zip", "keep zip", action="keep")
    press(releasable, "release_now")  # before the page has worked out what it shows
    qtbot.waitUntil(lambda: bool(told))
    idle(releasable)
    assert "covered by no epsilon: zip" in told[0]


def test_the_file_is_the_one_that_was_looked_at(releasable, when_asked, press, idle, qtbot, tmp_path):
    other = tmp_path / "precious.csv"
    other.write_text("precious\n", "utf-8")
    told = when_asked("no")
    press(releasable, "release_now")
    retype(releasable, qtbot, "release_target", other)  # while earlier releases are looked at
    qtbot.waitUntil(lambda: bool(told))
    idle(releasable)
    assert "precious.csv" in told[0].partition("It replaces the existing file")[2]
    assert other.read_text("utf-8") == "precious\n"


@pytest.fixture
def trainable(window, finish, press, qtbot, tmp_path):
    finish(window, "sample_iris")
    press(window, "tab_train")
    retype(window, qtbot, "train_folder", tmp_path / "model")
    qtbot.waitUntil(window.page.primary.isEnabled)
    return window


def test_another_table_that_opens_under_the_question_is_not_trained_on(trainable, when_asked, finish, qtbot, tmp_path):
    def opens():
        open_table(trainable.session, trainable.jobs, "sample:people")
        qtbot.waitUntil(lambda: trainable.session.opened.title == "people")

    told = when_asked("yes", opens)
    finish(trainable, "train_start")
    assert told
    assert statuses() == []
    assert not (tmp_path / "model").exists()


def test_the_cost_of_a_former_form_is_never_offered(trainable, qtbot):
    page = trainable.page
    offered = []

    def typed_while_it_is_worked_out(handle):
        if handle.key == PREFLIGHT and not offered:
            offered.append("")
            retype(trainable, qtbot, "train_epsilon", "3")

    trainable.jobs.started.connect(typed_while_it_is_worked_out)
    retype(trainable, qtbot, "train_epsilon", "0.5")
    qtbot.waitUntil(lambda: bool(offered))
    qtbot.waitUntil(page.primary.isEnabled)
    assert text_of(trainable, "fact_cost") == "ε = 3, δ = 1e-5"


def test_the_cap_is_set_of_the_table_that_was_asked_about(people, when_asked, iris_opens, finish, visit, qtbot):
    dataset = people.session.account.dataset
    visit(people, "ledger")

    def meanwhile():
        iris_opens(people)
        qtbot.waitUntil(lambda: people.session.account.dataset not in ("", dataset))

    told = when_asked("yes", meanwhile)
    finish(people, "ledger_set_cap")
    assert told
    assert "people" in told[0]
    with Ledger.open() as book:
        others = {e.dataset for e in book.entries("cap", "reserve")} - {dataset}
        assert not others
        assert book.account(dataset).cap in (None, (Decimal(1), None))


def test_another_table_that_opens_under_the_chooser_is_not_saved_instead(
    people, iris_opens, idle, tmp_path, monkeypatch
):
    path = tmp_path / "people.workbench.toml"

    def choose(*_):  # the system's chooser, which a test cannot drive
        iris_opens(people)
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    people.menus.actions["save_as"].trigger()
    idle(people)
    assert not path.exists()
    assert "nothing was saved" in banner(people)
