"""Utility draws the figures of a sample-and-aggregate model against the number of its blocks."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit

from workbench.gui.pages.utility.messages import ResultsTable


def fill(window, qtbot, name, text):
    field = window.findChild(QLineEdit, name)
    field.selectAll()
    qtbot.keyClicks(field, text)


def test_against_blocks(window, press, qtbot, idle):
    press(window, "sample_diabetes-progression")
    idle(window)
    press(window, "tab_utility")
    blocks, model = window.findChild(QLineEdit, "curve_blocks"), window.findChild(QComboBox, "curve_model")
    assert not blocks.isVisible(), "the first model of numbers has no blocks"
    model.setCurrentIndex(model.findData("median-forest"))
    assert blocks.isVisible()
    fill(window, qtbot, "curve_epsilons", "1, 5")
    fill(window, qtbot, "curve_repeats", "1")
    fill(window, qtbot, "curve_blocks", "5, 10")
    problem = window.findChild(QLabel, "curve_problem")
    assert "A sanitised table has no blocks" in problem.text()
    window.findChild(QAbstractButton, "regime_sanitized").click()
    assert not problem.isVisible(), problem.text()
    press(window, "curve_run")
    idle(window)
    figure = window.page.figure
    assert (figure.title, figure.against) == ("R² against blocks", "blocks")
    assert [line.name for line in figure.series] == ["private, ε = 1", "private, ε = 5"]
    assert all(line.x == (5, 10) for line in figure.series)
    assert figure.baselines[0].name == "no privacy"
    words = window.findChild(QLabel, "curve_words").text()
    assert words.startswith("Best: ")
    assert "at blocks = " in words
    before = window.session.plan
    window.page.plot.setFocus()
    qtbot.keyClick(window.page.plot, Qt.Key.Key_Return)
    assert window.session.plan == before
    assert "blocks = 5" in window.findChild(QLabel, "curve_callout").text()
    press(window, "curve_as_table")
    table = window.findChild(ResultsTable, "curve_table")
    assert table.model().headerData(1, Qt.Orientation.Horizontal) == "blocks"
    press(window, "tab_compare")
    idle(window)
    press(window, "tab_utility")
    window.findChild(QLineEdit, "curve_blocks").clear()
    fill(window, qtbot, "curve_repeats", "2")
    model.setCurrentIndex(model.findData("linear-regression"))
    press(window, "curve_run")
    idle(window)
    assert window.page.figure.title == "R² against ε"
