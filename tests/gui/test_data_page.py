"""The Data page: a sample by a click, a file by a drop, public facts by keys, each edit undone and redone."""

import pytest
from hands import drop_on, go_to
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QTableView, QWidget

from workbench.data.csv.options import ReadOptions
from workbench.gui.pages.data.attribute_table import LOWER, UPPER
from workbench.gui.project.open_table import open_table

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
CSV = "age;income;town\n" + "\n".join(f"{20 + i % 20};{1000 + 37 * i},5;{'AB'[i % 2]}" for i in range(40)) + "\n"


@pytest.fixture
def opened(window, tmp_path, idle):
    """A window with a semicolon file whose facts are all open."""
    path = tmp_path / "town.csv"
    path.write_text(CSV, "utf-8")
    open_table(window.session, window.jobs, str(path), ReadOptions(decimal=","))
    idle(window)
    go_to(window, "data")
    return window


def editor(window) -> QLineEdit:
    """Return the field in which a fact is being edited."""
    return next(field for field in window.findChildren(QLineEdit, "fact_editor") if field.isVisible())


def type_fact(window, qtbot, text: str, end: Qt.Key) -> None:
    """Type into the fact that is being edited and leave it by a key."""
    qtbot.keyClicks(editor(window), text)
    qtbot.keyClick(editor(window), end)
    QApplication.processEvents()  # Qt commits what Return ends when it comes back to its event loop


def test_a_sample_opens_by_a_click_and_its_edits_are_steps_of_the_plan_alone(people, press, qtbot):
    # A sample opens by a click with its public facts.
    plan = people.session.plan
    assert people.session.opened.table.rows == 2000
    assert plan.ready
    assert plan.target == "label"
    assert [c.name for c in plan.columns if c.action == "drop"] == ["id", "name"]
    assert people.rail.pages["data"].state(people.session) == "ready"
    people.session.undo_stack.setIndex(0)

    # The budget of a fresh table is the plan alone.
    assert people.session.account.cap is None
    assert people.findChild(QLabel, "budget_figure").text() == "ε 1"
    assert people.findChild(QLabel, "fact_spent").text() == "ε 0"
    people.session.undo_stack.setIndex(0)

    # An edit that changes nothing is no step.
    people.session.edit_column("age", "edit age", lower=18.0)
    assert not people.session.undo_stack.canUndo()
    people.session.undo_stack.setIndex(0)

    # An identifier is dropped and comes back with another role.
    model = people.page.table.attributes
    model.setData(model.index(2, 1), "identifier")
    assert people.session.plan.column("age").action == "drop"
    model.setData(model.index(2, 1), "sensitive")
    assert people.session.plan.column("age").action == "protect"
    people.session.undo_stack.setIndex(0)

    # Another target replaces the former.
    people.page.table.selectRow(3)
    press(people, "detail_target")
    assert people.session.target == "sex"
    assert [c.name for c in people.session.plan.columns if c.role == "target"] == ["sex"]
    people.session.undo_stack.setIndex(0)

    # Each edit is undone and redone.
    session = people.session
    before = session.plan
    steps = [before]
    for changes in ({"upper": 110.0}, {"lower": 10.0}, {"role": None}, {"missing": "own-value"}, {"action": "drop"}):
        session.edit_column("age", "edit age", **changes)
        steps.append(session.plan)
    assert len(set(steps)) == 6
    for expected in reversed(steps[:-1]):
        qtbot.keyClick(people, Qt.Key.Key_Z, CTRL)
        assert session.plan == expected
    for expected in steps[1:]:
        qtbot.keyClick(people, Qt.Key.Key_Z, CTRL | SHIFT)
        assert session.plan == expected
    people.session.undo_stack.setIndex(0)

    # Rows are fetched only where they are seen.
    press(people, "view_rows")
    view = people.findChild(QTableView, "rows_table")
    assert view.isVisible()
    assert people.page.frame_model.rowCount() == 2000
    view.scrollToBottom()
    QApplication.processEvents()
    assert people.page.frame_model.index(1999, 0).data() == "P02000"
    held = sum(len(piece) for piece in people.page.frame_model._blocks.values())
    assert held <= 3 * 128 * people.page.frame_model.columnCount()


def test_open_facts_are_visibly_open_and_the_button_leads_to_them(opened, press):
    model = opened.page.table.attributes
    assert opened.rail.pages["data"].state(opened.session) == "needs"
    assert model.index(0, LOWER).data() == "not declared"
    button = opened.findChild(QAbstractButton, "data_onward")
    assert button.text() == "Fill the next →"
    press(opened, "data_onward")
    assert editor(opened).isVisible()


def test_facts_are_filled_by_keys_alone(opened, qtbot):
    qtbot.keyClick(opened, Qt.Key.Key_Return, CTRL)
    for text in ("0", "120", "0", "5000"):
        type_fact(opened, qtbot, text, Qt.Key.Key_Tab)
    type_fact(opened, qtbot, "A, B", Qt.Key.Key_Return)
    age, income, town = opened.session.plan.columns
    assert (age.lower, age.upper) == (0, 120)
    assert (income.lower, income.upper) == (0, 5000)
    assert town.domain == ("A", "B")
    assert opened.session.plan.ready
    assert opened.findChild(QAbstractButton, "data_onward").text() == "These are right, and they are public knowledge"
    qtbot.keyClick(opened, Qt.Key.Key_Return, CTRL)
    assert opened.findChild(QAbstractButton, "data_onward").text() == "Decide →"


def test_what_is_no_number_stays_in_sight_with_its_reason(opened, qtbot):
    qtbot.keyClick(opened, Qt.Key.Key_Return, CTRL)
    type_fact(opened, qtbot, "young", Qt.Key.Key_Return)
    assert opened.session.plan.column("age").lower is None
    assert opened.page.table.attributes.index(0, LOWER).data() == "✕ young"
    problem = opened.findChild(QLabel, "detail_problem")
    assert problem.isVisible()
    assert "'young' is not a number" in problem.text()


def test_facts_taken_from_the_data_warn_and_bounds_are_judged_at_once(opened, press, qtbot):
    # Taking facts from the data warns at once.
    press(opened, "take_from_data")
    age = opened.session.plan.column("age")
    assert (age.lower, age.upper, age.bounds_origin) == (20, 40, "data")
    warning = opened.findChild(QLabel, "detail_warning")
    assert warning.isVisible()
    assert "which ε does not cover" in warning.text()
    opened.session.undo_stack.setIndex(0)

    # Declaring one bound opens the other that was read off the rows.
    press(opened, "take_from_data")
    model = opened.page.table.attributes
    model.setData(model.index(0, LOWER), "0")
    age = opened.session.plan.column("age")
    assert (age.lower, age.upper, age.bounds_origin) == (0, None, "declared")
    assert model.index(0, UPPER).data() == "not declared"
    opened.session.undo_stack.setIndex(0)

    # Bounds the wrong way round are told at once.
    opened.session.edit_column("age", "bounds", lower=90.0, upper=10.0)
    problem = opened.findChild(QLabel, "detail_problem")
    assert problem.isVisible()
    assert "The lower bound 90 is not below the upper bound 10" in problem.text()
    assert not opened.session.plan.ready


def test_a_file_is_opened_by_a_drop(window, tmp_path, idle):
    path = tmp_path / "town.csv"
    path.write_text(CSV, "utf-8")
    drop_on(window, path)
    idle(window)
    assert window.session.opened.title == "town.csv"
    assert "separated by semicolon" in window.findChild(QWidget, "data_summary").accessibleName()


def test_what_is_stated_of_the_file_is_read_by_the_button_that_goes_on(window, tmp_path, idle, press, finish, qtbot):
    path = tmp_path / "padded.csv"
    path.write_text("n;town\n" + "1,5;Köln\n2,5;Köln \n" * 20, "cp1252")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    press(window, "view_dialect")
    press(window, "dialect_trim")
    onward = window.findChild(QAbstractButton, "data_onward")
    assert onward.text() == "That is right →"
    finish(window, "data_onward")
    read = window.session.opened
    assert (read.options.trim, read.options.encoding, read.options.decimal) == (True, "cp1252", ",")
    press(window, "view_dialect")
    assert onward.text() == "Fill the next →"
    qtbot.keyClicks(window.findChild(QLineEdit, "dialect_names"), "x, y")
    assert onward.text() == "Read again"
    finish(window, "data_onward")
    assert window.session.opened.table.names == ("x", "y")
    press(window, "view_dialect")
    qtbot.keyClicks(window.findChild(QLineEdit, "dialect_encoding"), "klingon")
    assert not onward.isEnabled()


def test_a_wrong_dialect_is_corrected_and_what_was_declared_stays(opened, finish, press, qtbot):
    opened.session.edit_column("age", "bounds", lower=0.0, upper=120.0)
    press(opened, "view_dialect")
    field = opened.findChild(QLineEdit, "dialect_encoding")
    qtbot.keyClicks(field, "cp1252")
    finish(opened, "dialect_read_again")
    assert opened.session.opened.table.dialect.encoding == "cp1252"
    assert opened.session.plan.column("age").upper == 120


def test_an_unknown_encoding_is_told_below_its_field(opened, press, qtbot):
    press(opened, "view_dialect")
    qtbot.keyClicks(opened.findChild(QLineEdit, "dialect_encoding"), "klingon")
    problem = opened.findChild(QLabel, "dialect_encoding_problem")
    assert problem.isVisible()
    assert "klingon" in problem.text()
    assert not opened.findChild(QAbstractButton, "dialect_read_again").isEnabled()


def test_a_ragged_file_is_refused_by_row_and_the_form_is_offered(window, tmp_path, press, idle):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n3,4,5\n6,7\n", "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    banner = window.findChild(QLabel, "banner_text")
    assert banner.isVisible()
    assert "3" in banner.text()
    assert window.findChild(QWidget, "dialect_form").isVisible()
    assert window.session.opened is None


def test_bounds_line_up_on_the_right_and_lists_of_values_begin_on_the_left(people, qtbot):
    table, right = people.page.table, Qt.AlignmentFlag.AlignRight
    model, align = table.model(), Qt.ItemDataRole.TextAlignmentRole
    assert [bool(model.headerData(c, Qt.Orientation.Horizontal, align) & right) for c in range(7)] == [
        *(False, False, False),
        *(True, True, True),
        False,
    ]
    rows = {model.index(row, 0).data().split()[0]: row for row in range(model.rowCount())}
    assert all(model.index(rows[name], c).data(align) & right for name in ("age", "income") for c in (3, 4))
    assert not any(model.index(rows[name], 3).data(align) & right for name in ("id", "sex", "zip"))
    place = table.visualRect(model.index(rows["age"], 4)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    editor = table.findChild(QLineEdit, "fact_editor")
    assert editor.text() == "100"
    assert editor.alignment() & right
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
