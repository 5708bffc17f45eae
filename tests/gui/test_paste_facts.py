"""Blocks of a spreadsheet over the facts of columns, one value for all selected, the context menu, the border."""

from __future__ import annotations

import pytest
from hands import CTRL, NO_KEY, SHIFT, Hands
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QSplitter
from survey import NEEDED, write_survey

TABLE = "attribute_table"


@pytest.fixture
def survey(window, qtbot, tmp_path) -> Hands:
    """Hands at the columns of a survey, of which eight are released."""
    window.activateWindow()
    person = Hands(window, qtbot)
    person.drop(write_survey(tmp_path / "survey.csv"))
    person.click("questions_onward")
    return person


def paste(hands: Hands, name: str, heading: str, text: str) -> None:
    """Put a block on the clipboard, go to a cell, and paste it there."""
    QGuiApplication.clipboard().setText(text)
    hands.click_cell(TABLE, name, heading)
    hands.key(Qt.Key.Key_V, CTRL)


def facts(hands: Hands, *names: str) -> list[tuple[object, ...]]:
    plan = hands.window.session.plan
    return [(c.kind, c.lower, c.upper, c.domain) for c in map(plan.column, names)]


def menu_entry(hands: Hands, name: str, words: str) -> None:
    """Open the context menu of a row, and click an entry."""
    view = hands.table(TABLE)
    at = view.visualRect(hands.index(TABLE, name, "Attribute")).center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, view.viewport().mapToGlobal(at))
    QApplication.sendEvent(view.viewport(), event)
    menu = next(m for m in QApplication.topLevelWidgets() if isinstance(m, QMenu) and m.isVisible())
    action = next(a for a in menu.actions() if a.text() == words)
    hands.qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=QPoint(menu.actionGeometry(action).center()))


def test_a_block_goes_over_kinds_bounds_and_values_as_one_step(survey):
    block = "integer\t18\t90\r\ncategory\tf, m\t\r\n\tEast, North, South, West\r\n"
    paste(survey, "Age", "Kind", block)
    assert facts(survey, "Age", "Sex", "Region") == [
        ("integer", 18, 90, None),
        ("category", None, None, ("f", "m")),
        ("category", None, None, ("East", "North", "South", "West")),
    ]
    assert survey.window.session.undo_stack.undoText() == "paste 3 rows of facts"
    survey.window.session.undo_stack.undo()
    assert facts(survey, "Age", "Sex") == [("integer", None, None, None), ("category", None, None, None)]


def test_a_block_with_names_finds_its_rows(survey):
    paste(survey, "Age", "Attribute", "Income\t\t\t0\t9000\nAge\tsensitive\treal\t18\t90\n")
    assert facts(survey, "Income", "Age") == [("integer", 0, 9000, None), ("real", 18, 90, None)]
    assert survey.window.session.plan.column("Age").role == "sensitive"


def test_one_row_is_for_all_that_are_selected(survey):
    survey.click_cell(TABLE, "Age", "Lower bound")
    view, last = survey.table(TABLE), survey.index(TABLE, "Income", "Lower bound")
    survey.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CTRL, view.visualRect(last).center())
    QGuiApplication.clipboard().setText("0\t100\n")
    survey.key(Qt.Key.Key_V, CTRL)
    assert facts(survey, "Age", "Income") == [("integer", 0, 100, None), ("integer", 0, 100, None)]


def test_a_block_that_is_wrong_changes_nothing_and_names_row_and_column(survey):
    before = survey.window.session.plan
    for heading, block, part in (
        ("Lower bound", "0\t120\nf, m\t\nabc", "row 3 (Region), lower bound or values"),
        ("Lower bound", "young\t120", "row 1 (Age), lower bound"),
        ("Kind", "integr", "did you mean 'integer'"),
        ("Kind", "integer\t0\t1\t2", "do not fit"),
        ("Lower bound", "0\t1\n\t5\n", "row 2 (Sex), upper bound"),
        ("Attribute", "Aeg\t\t\t0", "did you mean 'Age'"),
        ("Missing", "3", "do not fit"),
        ("Lower bound", "", "no cells"),
    ):
        paste(survey, "Age", heading, block)
        assert part in survey.see("banner").accessibleName(), block
        assert survey.window.session.plan == before


def test_the_current_cell_is_used_for_all_selected(survey):
    survey.type_in_cell(TABLE, "Age", "Upper bound", "100")
    survey.click_cell(TABLE, "Income", "Upper bound")
    view, age = survey.table(TABLE), survey.index(TABLE, "Age", "Upper bound")
    survey.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CTRL, view.visualRect(age).center())
    survey.key(Qt.Key.Key_D, CTRL)
    assert [upper for _, _, upper, _ in facts(survey, "Age", "Income", "Satisfaction")] == [100, 100, None]


def test_the_context_menu_leaves_out_gives_roles_and_the_target(survey):
    plan = lambda name: survey.window.session.plan.column(name)  # noqa: E731 - what it says now
    survey.click_cell(TABLE, "Age", "Attribute")
    menu_entry(survey, "Age", "Quasi-identifier")
    assert plan("Age").role == "quasi-identifier"
    survey.click_cell(TABLE, "Smoker", "Attribute")
    menu_entry(survey, "Smoker", "Use as Target")
    assert survey.window.session.target == "Smoker"
    menu_entry(survey, "Smoker", "Not Released")
    assert plan("Smoker").action == "drop"
    assert "Smoker" not in survey.window.session.questions.needed
    menu_entry(survey, "Smoker", "Release It Protected")
    assert plan("Smoker").action == "protect"


def test_what_is_released_comes_first_and_the_rest_is_grey(survey):
    page = survey.window.page
    shown = [page.table.attributes.name_at(row) for row in page.table.in_sight()]
    assert tuple(shown[:8]) == NEEDED
    assert survey.cell(TABLE, "Q01", "Lower bound") == "dropped: not released"
    survey.click("attribute_table_needs")
    assert [page.table.attributes.name_at(row) for row in page.table.in_sight()] == list(NEEDED)


def test_the_foot_names_what_is_missing_and_nothing_else(survey):
    note = survey.see("note_data").accessibleName()
    assert "bounds of Age, Income, Satisfaction" in note
    assert "values of Sex, Region and 3 more" in note
    assert "what a missing value means of Income" in note
    assert "day or month first" not in note, "no date is released"
    survey.click("tab_questions")
    survey.click_cell("question_columns", "Interview", "Needed")
    survey.click("tab_data")
    assert "day or month first of Interview date" in survey.see("note_data").accessibleName()


def test_a_household_raises_the_question_about_rows_per_person(survey):
    survey.click_cell(TABLE, "Household", "Attribute")
    assert "may belong to one person" in survey.text("suspicion_0")
    survey.click("suspicion_accept_0")
    assert survey.focus.objectName() == "rows_per_person"


def test_the_border_below_the_table_is_moved_and_remembered(survey):
    border = survey.see("attribute_detail_border")
    assert isinstance(border, QSplitter)
    survey.idle()
    survey.qtbot.wait(200)  # until nothing is laid out any more: the sentences below the table take their height
    before = border.sizes()
    handle, left = border.handle(1), Qt.MouseButton.LeftButton
    at = handle.rect().center()
    there = handle.mapToGlobal(at) + QPoint(0, 30)
    survey.qtbot.mousePress(handle, left, pos=at)
    place = QPointF(at + QPoint(0, 30))
    moved = QMouseEvent(QEvent.Type.MouseMove, place, QPointF(there), Qt.MouseButton.NoButton, left, NO_KEY)
    QApplication.sendEvent(handle, moved)
    survey.qtbot.mouseRelease(handle, left, pos=handle.mapFromGlobal(there))
    survey.until(lambda: 20 <= border.sizes()[0] - before[0] <= 32)
    assert survey.window.settings.load("border/attribute_detail/below") is not None


def test_a_range_is_selected_and_dropped_at_once(survey):
    survey.click_cell(TABLE, "Age", "Attribute")
    view, last = survey.table(TABLE), survey.index(TABLE, "Region", "Attribute")
    survey.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, SHIFT, view.visualRect(last).center())
    survey.click("detail_drop")
    assert survey.window.session.questions.needed == NEEDED[3:]
