"""Many columns on Data and Protect: selected together, edited in one step, filtered and sorted in the view alone."""

import random

import pytest
from hands import Hands, go_to
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit

from workbench.gui.pages.data.attribute_table import KIND, LOWER, NAME, ROLE, UPPER
from workbench.gui.pages.protect.share_model import ACTION, LOCK, MECHANISM, SHARE
from workbench.gui.pages.protect.share_model import NAME as SHARE_NAME
from workbench.gui.project.open_table import open_table

# Said by the platform without a screen whenever a list opens: there is nothing that it could raise or grab.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing the keyboard)")

LEFT = Qt.MouseButton.LeftButton
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
SCORES = [f"score_{i}" for i in range(6)]
AGE, TOWN, FIRST, LAST = 0, 1, 2, 7


@pytest.fixture
def wide(window, tmp_path, idle):
    """A window with an age, a town, six scores and a day, of which nothing is declared."""
    made = random.Random(5)
    path = tmp_path / "scores.csv"
    lines = [",".join(["age", "town", *SCORES, "day"])]
    for i in range(60):
        scores = [str(made.randint(0, 20)) for _ in SCORES]
        lines.append(",".join([str(20 + i % 50), "AB"[i % 2], *scores, f"2010-0{1 + i % 9}-11"]))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    window.activateWindow()
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    return window


@pytest.fixture
def ready(wide, idle):
    """The same with everything declared, on the Protect page."""
    facts = {name: {"lower": 0.0, "upper": 20.0} for name in SCORES}
    facts |= {"age": {"lower": 0.0, "upper": 120.0}, "town": {"domain": ("A", "B")}}
    facts["day"] = {"lower": 733_773.0, "upper": 734_137.0}
    wide.session.edit("declare", wide.session.plan.with_columns(facts).confirmed())
    go_to(wide, "protect")
    idle(wide)
    return wide


def cell(window, row: int, column: int) -> QModelIndex:
    return window.page.table.model().index(row, column)


def click(window, qtbot, row: int, column: int, modifier=Qt.KeyboardModifier.NoModifier, *, right: int | None = None):
    """Click a cell in its middle, or so many pixels from its right end."""
    table = window.page.table
    table.scrollTo(cell(window, row, column))
    box = table.visualRect(cell(window, row, column))
    place = box.center() if right is None else QPoint(box.right() - right, box.center().y())
    qtbot.mouseClick(table.viewport(), LEFT, modifier, place)


def select(window, qtbot, first: int, last: int) -> None:
    """Select rows by a click and a click with Shift."""
    click(window, qtbot, first, NAME)
    click(window, qtbot, last, NAME, SHIFT)


def type_fact(window, qtbot, name: str, text: str) -> None:
    """Edit the current cell by Return, keys and Return."""
    qtbot.keyClick(window.page.table, Qt.Key.Key_Return)
    field = next(f for f in window.findChildren(QLineEdit, name) if f.isVisible())
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not any(f.isVisible() for f in window.findChildren(QLineEdit, name)))


def plan(window):
    return window.session.plan


def shown(window) -> list[str]:
    """The names in sight, from top to bottom."""
    table = window.page.table
    return [table.model().name_at(row) for row in table.in_sight()]


# -- Data -------------------------------------------------------------------------------------------------------------


def test_a_bound_is_set_for_all_selected_numbers_in_one_step(wide, qtbot):
    before = plan(wide)
    select(wide, qtbot, AGE, LAST + 1)  # with the town, which has values instead, and the day, which has dates
    wide.page.table.selectionModel().setCurrentIndex(
        cell(wide, FIRST, LOWER), wide.page.table.selectionModel().SelectionFlag.NoUpdate
    )
    type_fact(wide, qtbot, "fact_editor", "0")
    assert [c.name for c in plan(wide).columns if c.lower == 0] == ["age", *SCORES]
    assert plan(wide).column("day").lower is None
    qtbot.keyClick(wide, Qt.Key.Key_Z, CTRL)
    assert plan(wide) == before


def test_a_kind_is_chosen_for_rows_picked_with_ctrl(wide, qtbot):
    click(wide, qtbot, AGE, NAME)
    click(wide, qtbot, FIRST, NAME, CTRL)
    click(wide, qtbot, LAST, NAME, CTRL)
    hands = Hands(wide, qtbot)
    click(wide, qtbot, FIRST, KIND, right=8)  # on the chevron, which leaves the selection as it is
    combo = hands.open_list()
    qtbot.keyClick(combo, Qt.Key.Key_Home)
    combo.setCurrentText("category")
    combo.activated.emit(combo.currentIndex())
    hands.until(lambda: not hands.sees("choice_editor"))
    assert [c.name for c in plan(wide).columns if c.kind == "category"] == ["age", "town", "score_0", "score_5"]
    assert wide.session.undo_stack.count() == 1


def test_only_one_column_becomes_the_target(wide, qtbot):
    told = []
    wide.session.notified.connect(lambda level, text: told.append((level, text)))
    select(wide, qtbot, FIRST, LAST)
    assert not wide.page.table.model().setData(cell(wide, FIRST, ROLE), "target")
    assert told == [("warning", "Select one target.")]
    assert wide.page.table.model().setData(cell(wide, FIRST, ROLE), "sensitive")
    assert [c.role for c in plan(wide).columns[FIRST : LAST + 1]] == ["sensitive"] * 6


def test_what_a_missing_value_means_is_said_for_all_selected(wide, qtbot):
    select(wide, qtbot, FIRST, LAST)
    combo = wide.findChild(QComboBox, "fact_missing")
    assert wide.findChild(QLabel, "detail_kind").text() == "edits apply to all selected columns"
    combo.setFocus()
    qtbot.keyClick(combo, Qt.Key.Key_End)
    assert {c.name for c in plan(wide).columns if c.missing == "own-value"} == set(SCORES)


def test_the_values_found_are_used_for_all_in_sight_with_one_warning(wide, qtbot, press):
    told = []
    wide.session.notified.connect(lambda level, text: told.append((level, text)))
    wide.findChild(QLineEdit, "attribute_table_filter").setText("score")
    wide.page.table.setFocus()
    qtbot.keyClick(wide.page.table, Qt.Key.Key_A, CTRL)
    press(wide, "take_from_data")
    taken = [c for c in plan(wide).columns if c.bounds_origin == "data"]
    assert [c.name for c in taken] == SCORES
    assert all(c.lower is not None and "missing" in c.guessed for c in taken)
    (warning,) = told
    assert warning[0] == "warning"
    assert warning[1].startswith("The values found are used in 6 columns. Read off the rows")
    qtbot.keyClick(wide, Qt.Key.Key_Z, CTRL)
    assert all(c.bounds_origin == "declared" for c in plan(wide).columns)


def test_all_selected_are_dropped_and_come_back(wide, qtbot, press):
    select(wide, qtbot, FIRST, LAST)
    press(wide, "detail_drop")
    assert [c.name for c in plan(wide).columns if c.action == "drop"] == SCORES
    press(wide, "detail_drop")
    assert not [c.name for c in plan(wide).columns if c.action == "drop"]
    assert wide.session.undo_stack.count() == 2


def test_a_filter_hides_and_never_edits_what_it_hides(wide, qtbot):
    field = wide.findChild(QLineEdit, "attribute_table_filter")
    qtbot.keyClicks(field, "SCORE_")
    assert shown(wide) == SCORES
    assert wide.findChild(QLabel, "attribute_table_count").text() == "6 of 9"
    assert wide.page.table.model().name_at(wide.page.table.currentIndex().row()) == "score_0"
    field.clear()
    qtbot.keyClicks(field, "e")
    select(wide, qtbot, AGE, LAST)  # the town lies between them, out of sight
    assert wide.page.table.model().setData(cell(wide, AGE, KIND), "real")
    assert plan(wide).column("town").kind == "category"
    assert plan(wide).column("score_3").kind == "real"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert len(shown(wide)) == 9


def test_needs_you_shows_what_is_left_and_keeps_the_row_at_hand(wide, qtbot):
    wide.session.edit("confirm", plan(wide).confirmed())
    wide.session.edit_column("age", "bounds", lower=0.0, upper=99.0)
    box = wide.findChild(QCheckBox, "attribute_table_needs")
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert shown(wide) == ["town", *SCORES, "day"]
    wide.page.table.setCurrentIndex(cell(wide, FIRST, UPPER))
    wide.session.edit_column("score_0", "bounds", lower=0.0, upper=20.0)
    assert "score_0" in shown(wide)
    wide.page.table.setCurrentIndex(cell(wide, FIRST + 1, UPPER))
    wide.session.edit_column("score_1", "bounds", lower=0.0, upper=20.0)
    assert shown(wide) == ["town", *SCORES[1:], "day"]


def test_a_click_on_a_heading_sorts_the_view_and_not_the_plan(wide, qtbot):
    table, names = wide.page.table, [c.name for c in plan(wide).columns]
    heads = table.horizontalHeader()

    def click_heading() -> None:
        place = QPoint(heads.sectionViewportPosition(NAME) + 20, heads.height() // 2)
        qtbot.mouseClick(heads.viewport(), LEFT, pos=place)

    click_heading()
    assert shown(wide) == ["age", "day", *SCORES, "town"]
    click_heading()
    assert shown(wide) == ["town", *reversed(SCORES), "day", "age"]
    select(wide, qtbot, FIRST + 1, FIRST)  # neighbours on the screen
    table.model().setData(cell(wide, FIRST, ROLE), "sensitive")
    assert [c.name for c in plan(wide).columns if c.role == "sensitive"] == ["score_0", "score_1"]
    assert [c.name for c in plan(wide).columns] == names
    qtbot.keyClick(wide, Qt.Key.Key_Z, CTRL)
    assert not any(c.role for c in plan(wide).columns)
    click_heading()
    assert shown(wide) == names


def test_rows_are_filtered_and_sorted_by_keys_alone(wide, qtbot):
    table = wide.page.table
    table.setFocus()
    table.setCurrentIndex(cell(wide, FIRST, NAME))
    orders = []
    for _ in range(3):
        qtbot.keyClick(table, Qt.Key.Key_S, Qt.KeyboardModifier.AltModifier)
        orders.append(shown(wide)[0])
    assert orders == ["age", "town", "age"]
    qtbot.keyClick(table, Qt.Key.Key_F, CTRL)
    field = wide.findChild(QLineEdit, "attribute_table_filter")
    assert field.hasFocus()
    qtbot.keyClicks(field, "score")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert table.hasFocus()
    qtbot.keyClick(table, Qt.Key.Key_A, CTRL)
    assert [table.model().name_at(row) for row in table.chosen()] == SCORES


def test_another_table_is_shown_whole_and_in_its_order(wide, idle):
    wide.findChild(QLineEdit, "attribute_table_filter").setText("score")
    wide.page.table.horizontalHeader().setSortIndicator(NAME, Qt.SortOrder.DescendingOrder)
    wide.session.may_leave = lambda then: True
    open_table(wide.session, wide.jobs, "sample:people")
    idle(wide)
    go_to(wide, "data")
    released = [c.name for c in plan(wide).columns if c.action != "drop"]
    assert shown(wide) == [*released, *(c.name for c in plan(wide).columns if c.action == "drop")]
    assert wide.findChild(QLineEdit, "attribute_table_filter").text() == ""


def test_the_next_open_fact_is_shown_whatever_the_filter_hides(wide, qtbot, press):
    wide.session.edit_column("age", "bounds", lower=0.0, upper=99.0)
    qtbot.keyClicks(wide.findChild(QLineEdit, "attribute_table_filter"), "age")
    press(wide, "data_onward")
    assert not wide.page.table.isRowHidden(TOWN)
    assert wide.page.table.currentIndex().row() == TOWN


# -- Protect ----------------------------------------------------------------------------------------------------------


def test_actions_mechanisms_and_purposes_are_chosen_for_all_selected(ready, qtbot, idle):
    model = ready.page.shares
    click(ready, qtbot, AGE, SHARE_NAME)
    click(ready, qtbot, LAST, SHARE_NAME, SHIFT)
    words = next(words for words, name in model.choices_at(FIRST) if name == "bounded-laplace")
    told = []
    ready.session.notified.connect(lambda level, text: told.append(text))
    assert model.setData(model.index(FIRST, MECHANISM), words)
    assert {c.mechanism for c in plan(ready).columns if c.name in (*SCORES, "age")} == {"bounded-laplace"}
    assert plan(ready).column("town").mechanism == "auto"
    assert told == ["Chosen for 7 columns; it does not fit town."]
    idle(ready)
    combo = ready.findChild(QComboBox, "share_purpose")
    combo.setFocus()
    qtbot.keyClick(combo, Qt.Key.Key_Home)
    assert [c.name for c in plan(ready).columns if c.purpose == "values"] == ["age", "town", *SCORES]
    assert model.setData(model.index(FIRST, ACTION), "drop")
    assert [c.name for c in plan(ready).protected] == ["day"]
    for _ in range(3):
        qtbot.keyClick(ready, Qt.Key.Key_Z, CTRL)
    assert {c.mechanism for c in plan(ready).columns} == {"auto"}
    assert len(plan(ready).protected) == 9


def test_a_share_is_typed_for_all_selected_or_for_none(ready, qtbot):
    before = plan(ready)
    click(ready, qtbot, FIRST, SHARE_NAME)
    click(ready, qtbot, FIRST + 2, SHARE, SHIFT)
    type_fact(ready, qtbot, "share_editor", "0.4")
    assert plan(ready) == before
    assert "does not fit" in ready.findChild(QLabel, "share_problem").text()
    type_fact(ready, qtbot, "share_editor", "0.2")
    assert [float(c.epsilon) for c in plan(ready).columns if c.epsilon] == [0.2, 0.2, 0.2]
    qtbot.keyClick(ready, Qt.Key.Key_Z, CTRL)
    assert plan(ready) == before


def test_locks_are_ticked_together_by_space(ready, qtbot):
    click(ready, qtbot, FIRST, SHARE_NAME)
    click(ready, qtbot, FIRST + 2, SHARE_NAME, SHIFT)
    selection = ready.page.table.selectionModel()
    selection.setCurrentIndex(cell(ready, FIRST, LOCK), selection.SelectionFlag.NoUpdate)
    qtbot.keyClick(ready.page.table, Qt.Key.Key_Space)
    assert [c.name for c in plan(ready).columns if c.epsilon is not None] == SCORES[:3]


def test_errors_are_sorted_by_what_is_left_of_each_column(ready, qtbot):
    type_fact_row = ready.page.shares.index(LAST, SHARE)
    ready.page.table.setCurrentIndex(type_fact_row)
    ready.page.table.setFocus()
    qtbot.waitUntil(ready.page.table.hasFocus)
    type_fact(ready, qtbot, "share_editor", "0.6")
    heads = ready.page.table.horizontalHeader()
    heads.setSortIndicator(SHARE, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: shown(ready)[0] == "score_5")
    ready.findChild(QLineEdit, "share_table_filter").setText("score")
    assert shown(ready)[0] == "score_5"
    assert set(shown(ready)) == set(SCORES)
