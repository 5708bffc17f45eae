"""Utility draws the figures of a sample-and-aggregate model against the number of its blocks."""

from decimal import Decimal

import pytest
from mishaps import retype, text_of
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit

from workbench.gui.pages.utility.messages import ResultsTable, best_line, crossings, in_words, no_use
from workbench.render.values import Baseline, CurveFigure, Series


def fill(window, qtbot, name, text):
    field = window.findChild(QLineEdit, name)
    field.selectAll()
    qtbot.keyClicks(field, text)


def test_against_blocks(window, finish, press, qtbot):
    finish(window, "sample_diabetes-progression")
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
    finish(window, "curve_run")
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
    finish(window, "tab_compare")
    press(window, "tab_utility")
    window.findChild(QLineEdit, "curve_blocks").clear()
    fill(window, qtbot, "curve_repeats", "2")
    model.setCurrentIndex(model.findData("linear-regression"))
    finish(window, "curve_run")
    assert window.page.figure.title == "R² against ε"


# -- What a curve says of a target that nothing predicts, and which ε it offers to whom -------------------------------


def figure(no_privacy: float, majority: float, sanitised: tuple[float, ...], private: tuple[float, ...]) -> CurveFigure:
    x = (0.1, 1.0, 10.0)
    return CurveFigure(
        title="Accuracy",
        x_label="ε",
        y_label="accuracy",
        series=(
            Series("sanitised", "sanitized", x, sanitised, sanitised, sanitised),
            Series("private model", "private", x, private, private, private),
        ),
        baselines=(Baseline("no privacy", "no-privacy", no_privacy), Baseline("majority", "majority", majority)),
    )


def test_each_way_of_training_has_an_epsilon_of_its_own():
    made = figure(0.9, 0.5, (0.5, 0.6, 0.89), (0.6, 0.88, 0.9))
    assert "from ε = 10 (sanitised) and from ε = 1 (private model)" in in_words(made, Decimal(1))


def test_no_epsilon_is_offered_where_nothing_can_be_predicted():
    made = figure(0.48, 0.5, (0.47, 0.48, 0.48), (0.46, 0.47, 0.48))
    told = in_words(made, 1)
    assert told.startswith("This target cannot be predicted from these columns")
    assert "Within" not in told


def test_a_point_below_the_one_constant_answer_says_so():
    made = figure(0.52, 0.51, (0.5, 0.5, 0.5), (0.5, 0.515, 0.52))
    sanitised, private = made.series
    assert "No better than always predicting the majority class (0.510)" in no_use(made, sanitised, 1)
    assert no_use(made, private, 1) == ""
    assert no_use(made, private, 0)


def test_lines_that_cross_for_good_are_told_of_with_the_place():
    made = figure(0.9, 0.5, (0.5, 0.6, 0.89), (0.6, 0.7, 0.79))
    assert crossings(made) == "Above ε = 3.2 sanitised is ahead of private model, below it behind."
    assert crossings(made) in in_words(made, 1)
    assert crossings(figure(0.9, 0.5, (0.5, 0.8, 0.7), (0.6, 0.7, 0.79))) == "", "they lie at the end as at the start"
    assert crossings(figure(0.9, 0.5, (0.5, 0.6, 0.7), (0.6, 0.7, 0.79))) == ""


def test_the_best_line_at_an_epsilon_is_the_one_that_leads_on():
    made = figure(0.9, 0.5, (0.45, 0.7, 0.9), (0.49, 0.8, 0.8))
    assert best_line(made, Decimal(1)) == 1, "the model, though the table is of use as well"
    assert best_line(made, Decimal(10)) == 0, "the table"
    assert best_line(made, Decimal("0.1")) is None, "neither is of use"
    assert best_line(made, Decimal(50)) is None, "nothing was tested there"


# -- Why it costs: the steps and changes of the open table, or of made-up rows; nothing is charged --------------------


@pytest.fixture
def iris(window, finish):
    finish(window, "sample_iris")
    finish(window, "tab_why")
    return window


def test_the_cost_of_a_model_is_explained(iris, finish, press, qtbot):
    assert "spends none of the budget" in text_of(iris, "why_empty")
    retype(iris, qtbot, "why_repeats", "3")
    finish(iris, "why_run")
    assert "Accuracy is" in text_of(iris, "why_words")
    assert "±" in text_of(iris, "why_step_ordinary")
    assert text_of(iris, "why_step_private_change")[0] in "+−"
    assert "±" in text_of(iris, "why_change_epsilon")
    assert iris.session.runs[-1].kind == "why"
    assert not iris.session.released
    press(iris, "why_to_train")
    assert iris.page.objectName() == "page_train"


def test_generated_rows_are_not_called_private(iris, finish, press, qtbot):
    retype(iris, qtbot, "why_repeats", "2")
    press(iris, "why_generated")
    finish(iris, "why_run")
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
