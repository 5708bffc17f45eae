"""Why it costs: the steps and changes of the open table, or of made-up rows; nothing is charged."""

from __future__ import annotations

import pytest
from mishaps import retype, text_of
from PySide6.QtCore import Qt


@pytest.fixture
def iris(window, press, idle):
    press(window, "sample_iris")
    idle(window)
    press(window, "tab_why")
    idle(window)
    return window


def test_the_cost_of_a_model_is_explained(iris, press, idle, qtbot):
    assert "spends none of the budget" in text_of(iris, "why_empty")
    retype(iris, qtbot, "why_repeats", "3")
    press(iris, "why_run")
    idle(iris)
    assert "Accuracy is" in text_of(iris, "why_words")
    assert "±" in text_of(iris, "why_step_ordinary")
    assert text_of(iris, "why_step_private_change")[0] in "+-"
    assert "±" in text_of(iris, "why_change_epsilon")
    assert iris.session.runs[-1].kind == "why"
    assert not iris.session.released
    press(iris, "why_to_train")
    assert iris.page.objectName() == "page_train"


def test_generated_rows_are_not_called_private(iris, press, idle, qtbot):
    retype(iris, qtbot, "why_repeats", "2")
    press(iris, "why_generated")
    press(iris, "why_run")
    idle(iris)
    assert text_of(iris, "why_words").startswith("Made-up rows, none of yours.")
    assert not iris.page._badge.isVisible()


def test_what_is_refused_is_said_and_cannot_be_run(iris, qtbot):
    retype(iris, qtbot, "why_epsilon", "-1")
    assert "ε" in text_of(iris, "why_problem")
    assert not iris.page.primary.isEnabled()
    retype(iris, qtbot, "why_epsilon", "1")
    assert iris.page.primary.isEnabled()
    iris.page.model.setCurrentIndex(iris.page.model.findData("linear-regression"))
    assert "species" in text_of(iris, "why_problem")


def test_escape_stops_the_study(iris, press, idle, qtbot, standstill):
    press(iris, "why_run")
    qtbot.waitUntil(lambda: iris.page.running)
    qtbot.keyClick(iris.page, Qt.Key.Key_Escape)
    standstill.go_on()
    idle(iris)
    assert not any(run.kind == "why" for run in iris.session.runs)
    assert "spends none" in text_of(iris, "why_empty")


def test_without_a_table_the_button_leads_to_it(window, press):
    press(window, "tab_why")
    assert "Open a table" in text_of(window, "why_empty")
    press(window, "why_run")
    assert window.page.objectName() == "page_data"
