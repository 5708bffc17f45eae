"""A job that begins and ends moves no button, shows one Cancel, and leaves the keyboard where it was."""

from pathlib import Path

import pytest
from hands import Hands
from mishaps import retype
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget

from workbench.jobs import Job, Run
from workbench.jobs import start as begin
from workbench.signals.events import Cancelled, Progress


def corner(window) -> QPoint:
    """The lower right corner, on the screen, of the button that is farthest right in the page's foot."""
    foot = [b for b in window.page.findChildren(QPushButton) if b.isVisible() and window.page.foot.indexOf(b) >= 0]
    return max((b.mapToGlobal(b.rect().bottomRight()) for b in foot), key=QPoint.x)


def cancels(window) -> list[str]:
    """The names of the visible buttons that stop a job."""
    return [b.objectName() for b in window.findChildren(QPushButton) if b.isVisible() and b.text().startswith("Cancel")]


def listed(window) -> bool:
    strip = window.findChild(QWidget, "jobs_panel")
    return strip.isVisible() and strip.findChild(QWidget, "job_line") is not None


def on_train(window, qtbot, press, idle, tmp_path: Path) -> tuple[str, str]:
    press(window, "sample_iris")
    idle(window)
    press(window, "tab_train")
    retype(window, qtbot, "train_folder", tmp_path / "model")
    return "train_start", "train_cancel"


LONG = "5000"
"""Repeats of a curve that is still being computed when the test has seen enough of it."""


def on_utility(window, qtbot, press, idle, tmp_path: Path, repeats: str = "40") -> tuple[str, str]:
    press(window, "sample_iris")
    idle(window)
    press(window, "tab_utility")
    retype(window, qtbot, "curve_epsilons", "1, 10")
    retype(window, qtbot, "curve_repeats", repeats)
    return "curve_run", "curve_cancel"


def on_release(window, qtbot, press, idle, tmp_path: Path) -> tuple[str, str]:
    press(window, "sample_people")
    idle(window)
    window.session.choose_way("rows")
    window.show_page("release")
    idle(window)
    retype(window, qtbot, "release_target", tmp_path / "people-released.csv")
    return "release_now", "release_cancel"


@pytest.mark.parametrize(
    ("prepare", "by_keys"),
    [
        (on_train, False),
        (on_train, True),
        pytest.param(on_utility, False, marks=pytest.mark.slow),
        pytest.param(on_utility, True, marks=pytest.mark.slow),
        (on_release, False),
        pytest.param(on_release, True, marks=pytest.mark.slow),
    ],
)
def test_the_button_stays_where_it_is_while_its_job_runs(
    window, qtbot, press, idle, answer, standstill, tmp_path, monkeypatch, prepare, by_keys
):
    standstill.go_on()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    start, cancel = prepare(window, qtbot, press, idle, tmp_path)
    hands = Hands(window, qtbot)
    qtbot.waitUntil(lambda: window.page.primary.isEnabled() and not window.jobs.running)
    before, place = corner(window), window.page.mapToGlobal(window.page.rect().topLeft())
    size = window.page.size()
    assert window.page.primary.objectName() == start
    # The job of the page stands still: not what checks the release before it, nor what comes after it.
    hold = ["it"]

    def held(job: Job) -> Run:
        if hold and not job.title.startswith(("Looking", "Checking")):
            standstill.stop()  # before the job begins: a quick one would be over before its start is told of
        return begin(job)

    monkeypatch.setattr("workbench.gui.session.job_center.start", held)
    if start != "curve_run":
        answer("yes")
    if by_keys:
        window.page.primary.setFocus()
        hands.key(Qt.Key.Key_Space)
    else:
        press(window, start)
    qtbot.waitUntil(lambda: window.page.job is not None)
    qtbot.waitUntil(lambda: listed(window))
    assert corner(window) == before
    assert (window.page.mapToGlobal(window.page.rect().topLeft()), window.page.size()) == (place, size)
    assert cancels(window) == [cancel]
    assert not hands.focus.objectName().startswith("rail_")
    hold.clear()
    standstill.go_on()
    idle(window)
    assert window.page.primary.objectName() != start, "it is done, and the highlighted button leads on"
    assert corner(window) == before
    assert window.page.size() == size
    assert not hands.focus.objectName().startswith("rail_")
    if by_keys:
        assert hands.focus is window.page.primary
    qtbot.waitUntil(lambda: not listed(window))
    assert corner(window) == before


def endless(emit, cancel) -> None:
    while not cancel.cancelled:
        cancel._event.wait(0.02)
    cancel.check()


def test_another_page_has_the_cancel_of_the_strip(window, qtbot, press, idle, standstill, tmp_path):
    standstill.go_on()
    on_utility(window, qtbot, press, idle, tmp_path, LONG)
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())
    standstill.stop()
    press(window, "curve_run")
    qtbot.waitUntil(lambda: listed(window))
    assert cancels(window) == ["curve_cancel"]
    press(window, "tab_train")
    assert cancels(window) == ["job_cancel"]
    press(window, "tab_utility")
    assert cancels(window) == ["curve_cancel"]
    press(window, "tab_data")
    press(window, "job_cancel")
    standstill.go_on()
    idle(window)
    assert [b.text() for b in window.findChildren(QPushButton, "job_cancel")] == ["Cancelled"]


def test_escape_stops_a_job_whose_strip_has_no_cancel(window, qtbot, press, idle, standstill, tmp_path):
    standstill.go_on()
    on_utility(window, qtbot, press, idle, tmp_path, LONG)
    window.activateWindow()
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())
    standstill.stop()
    press(window, "curve_run")
    qtbot.waitUntil(lambda: listed(window))
    qtbot.waitUntil(window.isActiveWindow)  # a window takes its keys once the system has made it the active one
    handle = window.page.job
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    standstill.go_on()
    idle(window)
    assert isinstance(handle.end, Cancelled)


def test_cancel_in_the_strip_gives_the_keyboard_to_the_page(people, qtbot, press, idle):
    people.activateWindow()
    qtbot.waitUntil(people.isActiveWindow)
    people.jobs.start(Job("Waiting", endless))
    qtbot.waitUntil(lambda: "job_cancel" in cancels(people))
    button = people.findChild(QPushButton, "job_cancel")
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert QApplication.focusWidget() is people.page.primary
    idle(people)
    assert QApplication.focusWidget() is people.page.primary


def test_a_training_that_is_shown_has_one_cancel_and_both_themes_fit(people, qtbot, idle):
    from fits import misfits

    people.jobs.start(Job("Releasing a table with quite a long name.csv", endless))
    qtbot.waitUntil(lambda: listed(people))
    for theme in ("light", "dark"):
        people.theme.set_mode(theme)
        assert misfits(people) == []
    people.jobs.cancel_all()
    idle(people)


def test_work_that_takes_a_while_says_what_it_is_and_how_long_it_takes(people, qtbot, idle):
    def counted(emit, cancel):
        emit(Progress(1, 3, "columns", 90.0))
        endless(emit, cancel)

    def said() -> dict[str, str]:
        lines = [line for line in people.findChildren(QWidget, "job_line") if line.isVisible()]
        parts = [[line.findChild(QLabel, name) for name in ("job_title", "job_time_left")] for line in lines]
        assert all(title.wordWrap() for title, _ in parts)
        return {title.text().replace("\u200b", ""): left.accessibleName() for title, left in parts}

    first = "Reading people_of_the_whole_city_2026.csv"
    people.jobs.start(Job(first, endless), key="a", stoppable=False)
    qtbot.waitUntil(lambda: first in said())
    assert said()[first].endswith(" so far")
    assert cancels(people) == [], "what is read anew by itself is not for a person to stop"
    people.jobs.start(Job("Reading it anew", counted), key="a", stoppable=False)
    assert first not in said(), "nobody waits for the former one"
    qtbot.waitUntil(lambda: said().get("Reading it anew") == "1:29 left")
    people.jobs.start(Job("Waiting", endless))
    people.jobs.cancel_all()
    idle(people)
    assert said() == {}, "no end of it is shown that nobody asked for"


def test_a_job_whose_title_takes_two_lines_is_no_higher_than_they_are(people, qtbot, idle):
    people.theme.set_scale(150)
    people.resize(1280, 800)
    people.jobs.start(Job("Looking for the least ε for the mean of Age", endless))
    qtbot.waitUntil(lambda: listed(people))
    qtbot.wait(100)
    line = people.findChild(QWidget, "job_line")
    title = line.findChild(QLabel, "job_title")
    assert title.height() >= title.heightForWidth(title.width()) > title.fontMetrics().height()
    assert line.height() <= line.heightForWidth(line.width())
    people.jobs.cancel_all()
    idle(people)
