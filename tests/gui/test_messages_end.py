"""What the window says is over with its cause: the page it was about, or the edit that was undone."""

from __future__ import annotations

import pytest
from hands import go_to
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel

from workbench.gui.pages.data.attribute_table import KIND
from workbench.gui.pages.protect.share_model import ACTION, MECHANISM
from workbench.gui.project.open_table import open_table

CTRL = Qt.KeyboardModifier.ControlModifier
SCORES = [f"score_{i}" for i in range(4)]


@pytest.fixture
def scores(window, tmp_path, idle, qtbot):
    """A window with a town and four scores, of which nothing is declared."""
    path = tmp_path / "scores.csv"
    lines = [",".join(["town", *SCORES]), *(f"{'AB'[i % 2]}," + ",".join([str(i % 21)] * 4) for i in range(60))]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    return window


def status(window) -> str:
    return window.statusBar().currentMessage()


def banner(window) -> str:
    text = window.findChild(QLabel, "banner_text")
    return text.text() if text.isVisible() else ""


def select_all(window, qtbot) -> None:
    window.page.table.setFocus()
    qtbot.keyClick(window.page.table, Qt.Key.Key_A, CTRL)


def test_the_warning_of_an_edit_of_many_rows_goes_when_it_is_undone(scores, qtbot, press):
    select_all(scores, qtbot)
    press(scores, "take_from_data")
    assert "values found are used in 5 columns" in banner(scores)
    assert "values found are used in 5 columns" in status(scores)
    qtbot.keyClick(scores, Qt.Key.Key_Z, CTRL)
    assert banner(scores) == ""
    assert status(scores) == "Undone: use the values found in 5 columns."
    qtbot.keyClick(scores, Qt.Key.Key_Y, CTRL)
    assert status(scores) == "Done again: use the values found in 5 columns."


def test_what_is_said_of_an_undo_goes_with_the_next_edit(scores, qtbot):
    select_all(scores, qtbot)
    model = scores.page.table.model()
    assert model.setData(model.index(1, KIND), "real")
    qtbot.keyClick(scores, Qt.Key.Key_Z, CTRL)
    assert status(scores).startswith("Undone: ")
    assert model.setData(model.index(2, KIND), "category")
    assert status(scores) == ""


def test_on_protect_what_was_chosen_for_many_rows_is_not_told_once_undone(scores, qtbot, idle):
    facts = {name: {"lower": 0.0, "upper": 20.0} for name in SCORES} | {"town": {"domain": ("A", "B")}}
    scores.session.edit("declare", scores.session.plan.with_columns(facts).confirmed())
    go_to(scores, "protect")
    idle(scores)
    select_all(scores, qtbot)
    shares = scores.page.shares
    words = next(words for words, name in shares.choices_at(1) if name == "bounded-laplace")
    assert shares.setData(shares.index(1, MECHANISM), words)
    assert status(scores) == "Chosen for 4 columns; it does not fit town."
    qtbot.keyClick(scores, Qt.Key.Key_Z, CTRL)
    assert status(scores) == "Undone: choose the mechanism of 4 columns."
    qtbot.keyClick(scores, Qt.Key.Key_Y, CTRL)
    assert shares.setData(shares.index(1, ACTION), "drop")
    assert status(scores) == ""


def test_an_edit_that_is_undone_by_other_means_takes_its_message_along(scores, qtbot, press):
    select_all(scores, qtbot)
    press(scores, "take_from_data")
    scores.session.undo_stack.undo()
    assert (banner(scores), status(scores)) == ("", "")


def test_an_error_that_is_about_no_edit_outlasts_an_undo(scores, qtbot):
    scores.session.edit_column("town", "drop town", action="drop")
    QApplication.processEvents()
    scores.session.notify("error", "The ledger is locked.")
    qtbot.keyClick(scores, Qt.Key.Key_Z, CTRL)
    assert banner(scores) == "The ledger is locked."
    assert status(scores) == "Undone: drop town."


@pytest.mark.parametrize("way", ["page", "close", "escape", "table"])
def test_an_error_is_over_in_the_status_bar_when_its_banner_is(scores, qtbot, press, idle, way):
    scores.session.notify("error", "Something of this page went wrong.")
    assert status(scores) == banner(scores) == "Something of this page went wrong."
    if way == "page":
        press(scores, "tab_protect")
    elif way == "close":
        press(scores, "banner_close")
    elif way == "escape":
        qtbot.keyClick(scores, Qt.Key.Key_Escape)
    else:
        scores.open("sample:people")
        idle(scores)
    assert banner(scores) == ""
    assert "went wrong" not in status(scores)


def test_no_page_is_left_with_the_error_of_another(scores, press, idle):
    press(scores, f"tab_{scores.page_names()[0]}")
    for name in scores.page_names():
        scores.session.notify("error", f"Wrong on {name}.")
        following = scores.page_names()[(scores.page_names().index(name) + 1) % len(scores.page_names())]
        press(scores, f"tab_{following}")
        idle(scores)
        assert "Wrong" not in banner(scores) + status(scores)
