"""Habits that people bring: a list of commands, redo by Ctrl+Y, larger text, samples at hand, messages that end."""

import pytest
from hands import Hands, go_to
from mishaps import status
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QListWidget, QMenu, QWidget

from workbench.gui.pages.train.messages import rising_words
from workbench.gui.session.settings import Settings

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def active(people, qtbot):
    people.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    return people


def test_a_command_is_found_by_typing_and_done_by_return(active, qtbot):
    qtbot.keyClick(active, Qt.Key.Key_K, CTRL)
    search = active.findChild(QWidget, "palette_search")
    assert search.isVisible()
    qtbot.keyClicks(search, "util")
    listed = active.findChild(QListWidget, "palette_list")
    assert [listed.item(at).text().split("  ")[0] for at in range(listed.count())] == ["Models: Curves"]
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert active.page.objectName() == "page_utility"
    assert not search.isVisible()


FORMER = {
    "data": "Data: Columns",
    "risk": "Data: Risk",
    "what to release": "Release: Decide",
    "protect": "Release: Columns",
    "preview": "Release: Rows",
    "release": "Release: Settings",
    "statistics": "Release: Settings",
    "synthetic": "Release: Settings",
    "train": "Models: Train",
    "memory study": "Models: Memory",
    "utility": "Models: Curves",
    "why it costs": "Models: Where accuracy goes",
    "compare": "Models: Compare",
    "predict": "Models: Predict",
    "estimate": "Released: Estimates",
    "ledger": "Released: Ledger",
    "calculator": "Tools: Calculator",
    "rappor": "Tools: RAPPOR",
    "explain epsilon": "Tools: What ε means",
    "help": "Help",
    "reload table": "Reload",
    "budget calculator": "Tools: Calculator",
    "dictionary": "Data: Columns",
    "learner": "Models: Train",
    "prediction": "Models: Predict",
    "certificate": "Released: Releases",
    "cap": "Released: Ledger",
}
"""The pages and commands of before the four rooms, and what people look for, and where each of them is now."""


def test_every_former_page_is_found_by_its_name(active, qtbot):
    qtbot.keyClick(active, Qt.Key.Key_K, CTRL)
    search, listed = active.findChild(QWidget, "palette_search"), active.findChild(QListWidget, "palette_list")
    for former, now in FORMER.items():
        search.selectAll()
        qtbot.keyClicks(search, former)
        assert now in [listed.item(at).text().split("  ")[0] for at in range(listed.count())], former
    qtbot.keyClick(search, Qt.Key.Key_Escape)


def test_what_is_called_as_it_is_typed_comes_before_what_is_known_by_it(active, qtbot):
    qtbot.keyClick(active, Qt.Key.Key_K, CTRL)
    search = active.findChild(QWidget, "palette_search")
    qtbot.keyClicks(search, "data: columns")
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert active.page.objectName() == "page_data", "the questions are known by columns, too"


def test_escape_closes_the_list_of_commands_and_gives_the_keys_back(active, qtbot):
    active.rail.buttons["release"].setFocus()
    qtbot.keyClick(active, Qt.Key.Key_K, CTRL)
    search = active.findChild(QWidget, "palette_search")
    qtbot.keyClicks(search, "no such command")
    assert active.findChild(QListWidget, "palette_list").count() == 0
    qtbot.keyClick(search, Qt.Key.Key_Return)  # nothing is marked: nothing is done
    qtbot.keyClick(search, Qt.Key.Key_Escape)
    assert not search.isVisible()
    assert QApplication.focusWidget() is active.rail.buttons["release"]


def test_every_command_has_its_line_and_arrows_walk_along_them(active, qtbot):
    qtbot.keyClick(active, Qt.Key.Key_K, CTRL)
    listed = active.findChild(QListWidget, "palette_list")
    enabled = [action for action in active.menus.actions.values() if action.isEnabled()]
    assert listed.count() == len(enabled) > 20
    qtbot.keyClick(active.findChild(QWidget, "palette_search"), Qt.Key.Key_Down)
    assert listed.currentRow() == 1
    qtbot.keyClick(active.findChild(QWidget, "palette_search"), Qt.Key.Key_Escape)


def test_ctrl_y_does_an_edit_again_and_the_status_bar_tells_of_it(active, qtbot):
    active.session.edit_column("sex", "drop sex", action="drop")
    qtbot.keyClick(active, Qt.Key.Key_Z, CTRL)
    assert status(active) == "Undone: drop sex."
    qtbot.keyClick(active, Qt.Key.Key_Y, CTRL)
    assert active.session.plan.column("sex").action == "drop"
    assert status(active) == "Done again: drop sex."
    assert QKeySequence("Ctrl+Shift+Z") in active.menus.actions["redo"].shortcuts()


def test_text_is_made_larger_and_stays_so(active, qtbot):
    before = active.findChild(QLabel, "rail_table").fontMetrics().height()
    active.menus.actions["text_larger"].trigger()
    active.menus.actions["text_larger"].trigger()
    try:
        assert status(active) == "Text size 120 %."
        assert active.findChild(QLabel, "rail_table").fontMetrics().height() > before
        assert str(Settings().load("text_size")) == "120"
        for _ in range(12):
            active.menus.actions["text_smaller"].trigger()
        assert active.theme.scale == 80
    finally:
        active.menus.actions["text_normal"].trigger()
    assert active.findChild(QLabel, "rail_table").fontMetrics().height() == before


def test_a_sample_is_at_hand_while_a_table_is_open(active, idle):
    menus = [menu for menu in active.findChildren(QMenu) if menu.title() == "&Samples"]
    (iris,) = [action for action in menus[0].actions() if action.text() == "Iris"]
    iris.trigger()
    idle(active)
    assert active.session.opened.title == "iris"


def test_what_the_program_is_is_shown_beside_the_page(active):
    active.menus.actions["about"].trigger()
    told = active.findChild(QLabel, "help_what")
    assert told.isVisible()
    assert "nothing is uploaded" in told.text()


def test_an_error_of_one_page_does_not_follow_to_another(active):
    active.session.notify("error", "Something of this page went wrong.")
    assert active.findChild(QLabel, "banner_text").isVisible()
    go_to(active, "rows")
    assert not active.findChild(QLabel, "banner_text").isVisible()


def test_a_table_that_cannot_be_opened_says_which_one_still_is(active, tmp_path, load):
    load(active, tmp_path / "missing.csv")
    assert active.session.opened.title == "people"
    told = active.findChild(QLabel, "banner_text").text()
    assert told.startswith("missing.csv was not opened, people still is: ")


def test_the_rail_says_what_its_dots_mean(people):
    legend = people.findChild(QWidget, "rail_legend")
    assert legend.isVisible()
    assert legend.accessibleName() == "Ring dot: nothing here yet; Half dot: needs you; Full dot: ready"


def test_a_loss_that_rises_is_remarked_and_one_that_jitters_is_not():
    falling = [2.0 / (1 + at / 10) for at in range(60)]
    assert rising_words(falling) == ""
    assert rising_words([1.0, 1.2, 0.9] * 20) == ""
    assert rising_words([0.8, 2.4]) == ""  # too few to tell
    rising = [0.8] * 30 + [0.8 + 1.6 * at / 30 for at in range(30)]
    assert rising_words(rising).startswith("⚠ The loss rises: from about 0.8 to 2")


def test_the_keys_stay_with_the_button_of_a_run(window, qtbot, press, idle):
    hands = Hands(window, qtbot)
    window.activateWindow()
    hands.finish("sample_iris")
    hands.click("tab_utility")
    hands.type_into("curve_epsilons", "1, 10")
    hands.type_into("curve_repeats", "2")
    hands.see("curve_run").setFocus()
    hands.key(Qt.Key.Key_Space)
    assert hands.focus.objectName() == "curve_cancel"
    hands.idle()
    assert hands.focus.objectName() == window.page.primary.objectName()
