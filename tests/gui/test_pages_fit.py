"""Every page fits the smallest window that is promised, whatever the lists of models and mechanisms hold."""

from __future__ import annotations

from collections.abc import Iterable

from comparisons import add, study
from PySide6.QtWidgets import QPushButton, QWidget

from workbench.gui.pages import PAGES


def test_no_page_needs_more_than_1280_by_800_pixels(window, press, idle) -> None:
    press(window, "sample_people")
    idle(window)
    for page in PAGES:
        press(window, f"tab_{page.name}")
        idle(window)
        needed = window.minimumSizeHint()
        assert needed.width() <= 1280, page.name
        assert needed.height() <= 800, page.name
    assert (window.width(), window.height()) == (1280, 800)


def test_buttons_that_come_to_a_head_never_widen_the_window(window, press, idle, qtbot) -> None:
    """Showing one lays out the whole window at once, so that a page is asked for their place too late."""
    window.resize(1280, 800)
    press(window, "sample_people")
    idle(window)
    press(window, "tab_train")
    qtbot.wait(50)
    made = [QPushButton(text) for text in ("Pause", "Cancel without a model", "Where did the accuracy go?")]
    for one in made:
        one.hide()
        window.page.header.addWidget(one)
    qtbot.wait(50)
    for one in made:
        one.show()
    assert window.width() == 1280
    qtbot.waitUntil(lambda: all(one.width() >= one.sizeHint().width() for one in made))
    assert window.width() == 1280


def share_of_the_page(window, parts: Iterable[QWidget]) -> float:
    """How much of the page some parts of it fill."""
    area = sum(part.width() * part.height() for part in parts if part.isVisible())
    return area / (window.page.width() * window.page.height())


def test_on_a_large_display_the_room_goes_to_what_is_read(people, press, idle, qtbot) -> None:
    """On Data to table and picture; on Train to the charts of a run, or to the curve of a model without steps."""
    people.resize(2560, 1440)
    qtbot.waitUntil(lambda: share_of_the_page(people, [people.findChild(QWidget, "attribute_table")]) > 0.4)
    qtbot.waitUntil(lambda: share_of_the_page(people, [people.findChild(QWidget, "attribute_histogram")]) > 0.12)
    press(people, "tab_train")
    idle(people)
    add(people, study("logistic-regression"), "people")
    curve = people.findChild(QWidget, "train_study_holder")
    qtbot.waitUntil(lambda: share_of_the_page(people, [curve]) > 0.45)
    people.page.forms.choose("logistic")
    idle(people)
    qtbot.waitUntil(lambda: share_of_the_page(people, people.page.going.charts) > 0.4)
