"""Every page fits the smallest window that is promised, whatever the lists of models and mechanisms hold."""

from __future__ import annotations

import pytest
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


@pytest.mark.parametrize(
    ("page", "parts"),
    [
        ("data", ("attribute_table", "attribute_detail")),
        ("train", ("train_forms", "train_area")),
    ],
)
def test_a_large_display_is_filled_and_not_half_empty(people, qtbot, press, idle, page, parts):
    people.resize(2560, 1440)
    press(people, f"tab_{page}")
    idle(people)
    found = [people.findChild(QWidget, name) for name in parts]

    def filled() -> float:
        return sum(part.width() * part.height() for part in found) / (people.page.width() * people.page.height())

    qtbot.waitUntil(lambda: filled() > 0.8)
