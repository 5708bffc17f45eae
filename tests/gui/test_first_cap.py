"""The first release sets the cap: its question offers to set a larger one, so that others stay possible."""

from __future__ import annotations

from decimal import Decimal

from mishaps import PATIENCE, retype
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMessageBox, QPushButton

from workbench.release.ledger.ledger import Ledger


def typing(qtbot, entries, then):
    """Type into the fields of the next question, keep what it says of each, and press a button of it."""
    told = []
    waiting = QTimer(QApplication.instance(), interval=20)

    def fill():
        box = QApplication.activeModalWidget()
        if not isinstance(box, QMessageBox):
            return
        waiting.stop()
        waiting.deleteLater()
        field, yes = box.findChild(QLineEdit, "first_cap_epsilon"), box.findChild(QPushButton, "confirm_yes")
        for text in entries:
            field.selectAll()
            qtbot.keyClicks(field, text)
            told.append((box.findChild(QLabel, "first_cap_problem").text(), yes.isEnabled()))
        qtbot.mouseClick(box.findChild(QPushButton, then), Qt.MouseButton.LeftButton)

    waiting.timeout.connect(fill)
    waiting.start()
    return told


def test_the_question_of_a_first_release_sets_the_cap_that_is_typed_there(people, press, idle, qtbot, tmp_path):
    press(people, "tab_rows")
    idle(people)
    retype(people, qtbot, "release_target", tmp_path / "out.csv")
    cost = people.session.plan.cost()
    told = typing(qtbot, ["many", str(cost / 2), str(cost * 4)], "confirm_yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(people.session.released) == 1, timeout=PATIENCE)
    idle(people)
    assert [enabled for _, enabled in told] == [False, False, True]
    assert "is not a number" in told[0][0]
    assert "This release alone costs" in told[1][0]
    assert people.session.account.cap == cost * 4
    assert people.session.account.remaining == cost * 3
    with Ledger.open() as book:
        (entry,) = book.account(people.session.account.dataset).cap_history
    assert (Decimal(entry["epsilon"]), entry["origin"]) == (cost * 4, "steward")


def test_a_question_that_is_declined_sets_no_cap(people, press, idle, qtbot, tmp_path):
    press(people, "tab_rows")
    idle(people)
    retype(people, qtbot, "release_target", tmp_path / "out.csv")
    told = typing(qtbot, ["50"], "confirm_no")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(told) == 1, timeout=PATIENCE)
    idle(people)
    with Ledger.open() as book:
        assert book.account(people.session.account.dataset).cap is None
