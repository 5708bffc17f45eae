"""What to release: four ways side by side; nothing is charged, and the trial on the rows is a private study."""

from __future__ import annotations

import pytest
from fits import misfits
from mishaps import retype, statuses, text_of
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget


@pytest.fixture
def ways(window, press, idle):
    press(window, "sample_iris")
    idle(window)
    press(window, "tab_ways")
    idle(window)
    return window


def seen(window, name: str) -> bool:
    return window.findChild(QWidget, name).isVisible()


def test_without_a_table_the_page_says_what_to_do(window, press):
    press(window, "tab_ways")
    assert "Open a table" in text_of(window, "ways_nothing_why")
    press(window, "ways_nothing_go")
    assert window.page.objectName() == "page_data"


def test_the_advised_way_follows_epsilon_and_leads_on(ways, press, idle, qtbot):
    assert misfits(ways) == []
    assert seen(ways, "way_synthetic_advised")
    assert not seen(ways, "way_rows_advised")
    assert "mostly noise" in text_of(ways, "ways_reason")
    assert text_of(ways, "fact_model_predicts") == "species"
    assert text_of(ways, "fact_statistics_mean").startswith("±")
    retype(ways, qtbot, "ways_epsilon_field", "400")
    idle(ways)
    assert seen(ways, "way_rows_advised")
    assert str(ways.session.plan.epsilon) == "400"
    assert ways.findChild(QPushButton, "ways_go").text() == "Noisy rows →"
    retype(ways, qtbot, "ways_epsilon_field", "1")
    idle(ways)
    press(ways, "ways_go")
    assert ways.page.objectName() == "page_synthetic"
    assert statuses() == []


@pytest.mark.parametrize(("way", "page"), [("rows", "protect"), ("model", "train"), ("statistics", "statistics")])
def test_each_way_leads_to_its_page(ways, press, way, page):
    press(ways, f"way_{way}_choose")
    assert ways.page.objectName() == f"page_{page}"


def test_a_trial_on_the_rows_is_private_and_can_be_stopped(ways, press, idle, qtbot):
    assert "It spends none of the budget" in text_of(ways, "ways_trial_words")
    press(ways, "ways_try")
    cancel = ways.findChild(QPushButton, "ways_cancel")
    qtbot.waitUntil(cancel.isVisible)
    qtbot.keyClick(ways.page, Qt.Key.Key_Escape)
    idle(ways)
    assert "It spends none of the budget" in text_of(ways, "ways_trial_words")
    press(ways, "ways_try")
    idle(ways)
    assert "always the majority gives 0.333" in text_of(ways, "ways_trial_words")
    assert "±" in text_of(ways, "ways_trial_synthetic")
    badges = [b for b in ways.page.findChildren(QLabel) if "NOT FOR RELEASE" in b.text().upper() and b.isVisible()]
    assert len(badges) == 1
    assert statuses() == []


def test_without_a_target_there_is_no_trial(ways, press, idle):
    ways.session.set_target(None)
    idle(ways)
    assert not ways.findChild(QPushButton, "ways_try").isEnabled()
    assert "Choose on the Data page" in text_of(ways, "ways_trial_words")
    assert "no column is the target" in text_of(ways, "way_model_problem")
