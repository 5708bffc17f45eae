"""What is chosen of a way or pinned is a step that can be undone, as every edit of the plan."""

from __future__ import annotations

import pytest
from comparisons import add, click_cell, pinned, study
from hands import go_to
from PySide6.QtWidgets import QComboBox, QLineEdit


def steps(window) -> list[str]:
    stack = window.session.undo_stack
    return [stack.text(at) for at in range(stack.index())]


def written(window, name: str) -> str:
    return window.findChild(QLineEdit, name).text()


@pytest.fixture
def statistics(people, idle):
    people.session.choose_way("statistics")
    go_to(people, "release")
    idle(people)
    return people


def chosen_group(window) -> str | None:
    return window.findChild(QComboBox, "statistics_by_1").currentData()


def choose(window, name: str, value: str | None) -> None:
    box = window.findChild(QComboBox, name)
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def test_delta_is_one_step_however_many_letters_it_has(statistics, qtbot):
    entry = statistics.findChild(QLineEdit, "statistics_delta")
    qtbot.keyClicks(entry, "1e-6")
    assert steps(statistics) == ["change δ"]
    statistics.session.undo_stack.undo()
    assert entry.text() == ""
    statistics.session.undo_stack.redo()
    assert entry.text() == "1e-6"


def test_groups_are_taken_back_one_by_one(statistics, qtbot):
    choose(statistics, "statistics_by_1", "sex")
    choose(statistics, "statistics_by_1", "label")
    assert steps(statistics) == ["change groups by", "change groups by"]
    assert statistics.page._pane.request().figures[-1].by == ("label",)
    statistics.session.undo_stack.undo()
    assert chosen_group(statistics) == "sex"
    assert statistics.page._pane.request().figures[-1].by == ("sex",)
    statistics.session.undo_stack.undo()
    assert chosen_group(statistics) is None
    assert not statistics.page._pane.request().figures[-1].by


def test_the_settings_of_synthetic_rows_are_taken_back_and_follow_the_plan_again(people, qtbot, idle):
    people.session.choose_way("synthetic")
    go_to(people, "release")
    idle(people)
    usual = written(people, "synthetic_rows")
    field = people.findChild(QLineEdit, "synthetic_rows")
    field.selectAll()
    qtbot.keyClicks(field, "77")
    method = people.findChild(QComboBox, "synthetic_method")
    first = method.currentData()
    other = next(method.itemData(at) for at in range(method.count()) if method.itemData(at) != first)
    choose(people, "synthetic_method", other)
    assert steps(people) == ["change rows to draw", "change method"]
    people.session.undo_stack.undo()
    assert (method.currentData(), written(people, "synthetic_rows")) == (first, "77")
    people.session.undo_stack.undo()
    assert written(people, "synthetic_rows") == usual
    assert "rows" not in people.page._pane._own, "it follows the plan again"


def test_pins_are_taken_back_and_the_picture_follows(window, qtbot, idle):
    go_to(window, "compare")
    add(window, study())
    idle(window)
    first = pinned(window)
    click_cell(window, qtbot, first[0])
    assert pinned(window) == first[1:]
    assert steps(window) == ["change pin"]
    window.session.undo_stack.undo()
    assert pinned(window) == first
    assert len(window.page.figure.series) == len(first)
    window.session.undo_stack.redo()
    assert pinned(window) == first[1:]
