"""What never occurs is chosen in a question, kept in the plan, refused beside its field, and undone by a key."""

from __future__ import annotations

from hands import when_asked
from mishaps import retype, text_of
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit

from workbench.gui.widgets.dialogs import Question


def test_what_is_impossible_is_chosen_in_a_question_kept_in_the_plan_and_undone(people, finish, idle, qtbot):
    finish(people, "tab_synthetic")
    field = people.findChild(QLineEdit, "synthetic_impossible")

    def fill(box: Question) -> None:
        box.findChild(QComboBox, "impossible_column_0").setCurrentText("age")
        box.findChild(QComboBox, "impossible_column_1").setCurrentText("label")
        yes = box.findChild(QAbstractButton, "confirm_yes")
        assert "Choose a value" in box.findChild(QLabel, "impossible_problem").text()
        QTest.keyClicks(box.findChild(QComboBox, "impossible_value_0"), "0..30")
        box.findChild(QComboBox, "impossible_value_1").setCurrentText("yes")
        assert yes.isEnabled()
        qtbot.mouseClick(yes, Qt.MouseButton.LeftButton)

    when_asked(fill)
    finish(people, "synthetic_impossible_add")
    assert people.session.plan.impossible == ("age = 0..30 & label = yes",)
    assert field.text() == "age = 0..30 & label = yes"
    assert text_of(people, "release_problem") == ""
    raw = people.session.plan.to_raw()
    assert type(people.session.plan).from_raw(raw).impossible == people.session.plan.impossible
    retype(people, qtbot, "synthetic_impossible", "town = Graz")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert "names the column 'town'" in text_of(people, "synthetic_field_problem")
    assert people.session.plan.impossible == ("age = 0..30 & label = yes",)
    people.session.undo_stack.undo()
    idle(people)
    assert field.text() == ""
    assert people.session.plan.impossible == ()
