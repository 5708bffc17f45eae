"""Nobody loses ε by one key: a job that was charged is stopped only after a question, which says what is lost."""

import threading
from decimal import Decimal

import pytest
from mishaps import needs_torch, retype, statuses, text_of
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QLabel, QPushButton

from workbench.gui.pages.train import tasks
from workbench.gui.widgets.dialogs import Question
from workbench.gui.widgets.stopping import ask_to_stop
from workbench.jobs import Job
from workbench.release import release_path as export
from workbench.signals.events import AtStake, Cancelled


@pytest.fixture
def charged(window, qtbot):
    """Start a job that was charged ε and waits for its end, as a training does."""

    def begin(epsilon="3", *, pausable=True):
        def work(emit, cancel):
            emit(AtStake(Decimal(epsilon)))
            while not ended.is_set():
                cancel.rest(0.01)
                while more:
                    emit(AtStake(more.pop()))

        handle = window.jobs.start(Job("Training: toy", work))
        handle.ending, handle.more = ended, more
        handle.on_pause = (lambda: None) if pausable else None
        qtbot.waitUntil(lambda: handle.at_stake == Decimal(epsilon))
        return handle

    ended, more = threading.Event(), []
    yield begin
    ended.set()


def escape(window, qtbot):
    """Press Esc in the window, which a platform without a screen does not make active again after a question."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_Escape)


def question():
    box = QApplication.activeModalWidget()
    return box if isinstance(box, Question) else None


def places(box):
    """Where the words of a question begin, how wide they are, and where its first button begins."""
    words = box.findChild(QLabel, "confirm_text")
    buttons = box.findChild(QDialogButtonBox).buttons()
    return words.mapTo(box, QPoint()).x(), words.width(), min(b.mapTo(box, QPoint()).x() for b in buttons)


def in_question(qtbot, act):
    """Do ``act`` with the next question; return what it said: its texts, and its buttons from left to right."""
    seen = []
    timer = QTimer(QApplication.instance(), interval=10)

    def look():
        box = question()
        if box is not None and not seen:
            timer.stop()
            line = box.findChild(QDialogButtonBox)
            buttons = sorted(line.buttons(), key=lambda b: b.geometry().x())
            seen.append((box.text(), box.words().replace("\u00a0", " "), [b.text() for b in buttons]))
            seen.append(next(b.text() for b in buttons if b.isDefault()))
            seen.append(places(box))
            act(box)

    timer.timeout.connect(look)
    timer.start()
    return seen


@pytest.mark.parametrize("key", ["Return", "Escape"])
def test_escape_asks_pauses_first_and_escape_again_keeps(window, qtbot, idle, charged, key):
    handle = charged()
    pressed = {"Return": Qt.Key.Key_Return, "Escape": Qt.Key.Key_Escape}[key]
    seen = in_question(qtbot, lambda box: qtbot.keyClick(box, pressed))
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    (title, text, buttons), default, (words, _, first) = seen
    assert first >= words, "the buttons begin where the words do"
    assert buttons == ["Pause", "Keep training", "Cancel and lose ε = 3"]
    assert default == "Pause"
    assert "Training: toy" in title
    assert "ε = 3 is charged by now" in text
    assert "goes on later at no further cost" in text
    assert handle.paused == (key == "Return")
    if handle.paused:
        idle(window)
        assert isinstance(handle.end, Cancelled)
    else:
        assert not handle.stopping


def test_what_cannot_pause_is_kept_first(window, qtbot, charged):
    handle = charged("0.5", pausable=False)
    seen = in_question(qtbot, lambda box: qtbot.keyClick(box, Qt.Key.Key_Return))
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    (_, text, buttons), default, _ = seen
    assert buttons == ["Keep running", "Cancel and lose ε = 0.5"]
    assert default == "Keep running"
    assert "pause" not in text
    assert not handle.stopping


def test_the_button_of_the_job_asks_as_well_and_cancels_when_told(window, qtbot, press, idle, charged, answer):
    handle = charged()
    qtbot.waitUntil(lambda: any(b.isVisible() for b in window.findChildren(QPushButton, "job_cancel")))
    told = answer("lose")
    press(window, "job_cancel")
    assert "ε = 3 is lost" in told[0] or "that ε is lost" in told[0]
    idle(window)
    assert isinstance(handle.end, Cancelled)
    assert not handle.paused


@pytest.mark.parametrize("closing", [False, True])
def test_what_is_charged_while_the_question_stands_is_said_in_it(window, qtbot, idle, charged, closing):
    """A training goes on meanwhile: nobody agrees to lose less than what she loses."""
    handle = charged("4")
    told = []

    def look(box):
        before = places(box)
        handle.more.append(Decimal(3))
        lose = box.findChild(QPushButton, "confirm_lose")
        qtbot.waitUntil(lambda: lose.text().endswith("lose ε = 3"))
        told.append(box.words().replace("\u00a0", " "))
        assert places(box) == before, "the words stay in their places"
        qtbot.keyClick(box, Qt.Key.Key_Escape)

    in_question(qtbot, look)
    if closing:
        window.close()
    else:
        ask_to_stop(window, handle)
    assert "ε = 3 is charged by now" in told[0]
    assert not handle.stopping


def test_a_job_that_ends_meanwhile_takes_its_question_away(window, qtbot, idle, charged):
    handle = charged()
    seen = in_question(qtbot, lambda box: handle.ending.set())
    ask_to_stop(window, handle)
    assert seen
    assert question() is None
    idle(window)
    assert not isinstance(handle.end, Cancelled)


def test_what_was_not_charged_is_cancelled_at_once(window, qtbot, idle):
    job = window.jobs.start(Job("Looking", lambda emit, cancel: cancel.rest(60)))
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert question() is None
    idle(window)
    assert isinstance(job.end, Cancelled)


def test_closing_says_first_that_epsilon_is_lost_and_then_asks_about_the_plan(people, qtbot, charged, answer):
    people.session.edit_column("age", "bounds of age", upper=99.0)
    handle = charged()
    seen = in_question(qtbot, lambda box: qtbot.keyClick(box, Qt.Key.Key_Escape))
    people.close()
    assert people.isVisible()
    assert not handle.stopping
    (_, text, buttons), default, _ = seen
    assert buttons == ["Pause and quit", "Keep training", "Quit and lose ε = 3"]
    assert default == "Pause and quit"
    assert "that ε is lost" in text
    plan = []
    seen = in_question(
        qtbot, lambda box: (plan.extend(answer("no")), box.findChild(QPushButton, "confirm_pause").click())
    )
    people.close()
    # The plan's question was answered by Cancel: nothing was paused.
    assert people.isVisible()
    assert not handle.stopping
    told = in_question(qtbot, lambda box: (answer("discard"), box.findChild(QPushButton, "confirm_lose").click()))
    people.close()
    assert told
    qtbot.waitUntil(lambda: not people.isVisible())
    assert not handle.paused


@pytest.mark.parametrize(
    ("button", "opened", "stopping", "paused"),
    [("no", "people", False, False), ("pause", "iris", True, True), ("lose", "iris", True, False)],
)
def test_opening_another_table_asks_first_about_the_training_that_ends_by_it(
    people, qtbot, press, idle, charged, answer, button, opened, stopping, paused
):
    press(people, "tab_train")
    handle = charged()
    people.page.follow(handle)
    seen = in_question(qtbot, lambda box: box.findChild(QPushButton, f"confirm_{button}").click())
    people.open("sample:iris")
    (_, text, buttons), default, _ = seen
    assert buttons == ["Pause and open another table", "Keep training", "Open another table and lose ε = 3"]
    assert default == "Pause and open another table"
    assert "that ε is lost" in text
    if button == "no":
        assert not any(job.title == "Opening" for job in people.jobs.running)
    else:
        idle(people)
    assert people.session.opened.title == opened
    assert (handle.stopping or not handle.running, handle.paused) == (stopping, paused)


def test_a_training_is_asked_about_once_where_the_plan_is_saved_first(people, qtbot, press, load, charged, answer):
    people.session.edit_column("age", "bounds of age", upper=99.0)
    press(people, "tab_train")
    handle = charged()
    people.page.follow(handle)
    in_question(qtbot, lambda box: (answer("no"), box.findChild(QPushButton, "confirm_pause").click()))
    people.open("sample:iris")
    assert not handle.stopping, "the plan was kept, and so was the training"
    in_question(qtbot, lambda box: (answer("discard"), box.findChild(QPushButton, "confirm_pause").click()))
    load(people, "sample:iris")
    assert people.session.opened.title == "iris"
    assert handle.paused


def test_a_table_that_is_being_written_is_charged_and_asked_about(
    people, at_release, press, idle, qtbot, answer, tmp_path, monkeypatch, request
):
    """Drawn values are being written: a stop throws them away, and their charge stays."""
    at_release(tmp_path / "released.csv")
    held, write = threading.Event(), export._Drawing._write

    def slowly(*given):
        held.wait()
        return write(*given)

    monkeypatch.setattr(export._Drawing, "_write", slowly)
    request.addfinalizer(held.set)
    answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: any(h.at_stake for h in people.jobs.running))
    seen = in_question(qtbot, lambda box: qtbot.keyClick(box, Qt.Key.Key_Escape))
    escape(people, qtbot)
    assert seen[0][2] == ["Keep running", "Cancel and lose ε = 1"]
    answer("lose")
    press(people, "release_cancel")
    held.set()
    idle(people)
    assert statuses() == ["charged"]
    assert not (tmp_path / "released.csv").exists()


@needs_torch
@pytest.mark.slow
def test_a_training_that_is_paused_before_its_first_step_can_go_on(
    window, press, idle, qtbot, answer, tmp_path, monkeypatch
):
    asked, rows_of = threading.Event(), tasks.training_rows

    def rows_when_asked(session):
        make = rows_of(session)
        return lambda: asked.wait() and make()

    press(window, "sample_iris")
    idle(window)
    press(window, "tab_train")
    press(window, "train_model_logistic")
    retype(window, qtbot, "train_logistic_epochs", "20000")  # nor does it end before a slow window cancels it
    retype(window, qtbot, "train_logistic_batch", "30")
    retype(window, qtbot, "train_folder", tmp_path / "net")
    qtbot.waitUntil(window.page.primary.isEnabled)
    answer("yes")
    # The job waits where the earliest pause can come: before it has read a row.
    monkeypatch.setattr(tasks, "training_rows", rows_when_asked)
    press(window, "train_start")
    qtbot.waitUntil(lambda: window.page.job is not None)
    assert window.page.job.at_stake == 0
    press(window, "train_pause")
    asked.set()
    idle(window)
    idle(window)
    assert statuses() == ["reserved"]
    (run,) = window.session.paused
    assert run.taken >= 1
    assert text_of(window, "train_paused").startswith("Logistic regression, DP-SGD is paused after ")
    press(window, "train_resume")
    qtbot.waitUntil(lambda: window.page.going.step > run.taken + 5)
    seen = in_question(qtbot, lambda box: box.findChild(QPushButton, "confirm_lose").click())
    escape(window, qtbot)
    assert seen[0][2][0] == "Pause"
    assert seen[0][2][2].startswith("Cancel and lose ε = ")
    idle(window)
    assert statuses() == ["charged"]
