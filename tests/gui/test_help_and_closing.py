"""Help is found by typing and by place, and a table can be closed."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QListWidget, QTextBrowser

CTRL = Qt.KeyboardModifier.ControlModifier


def test_f1_leads_to_the_topic_of_the_page(people, press, qtbot):
    press(people, "tab_data")
    qtbot.keyClick(people, Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
    press(people, "help_more")
    assert people.page.objectName() == "page_help"
    assert people.findChild(QTextBrowser, "help_text").toPlainText().startswith("Bounds: why they must be public")


def test_topics_are_searched_while_typing_and_walked_by_arrows(window, press, qtbot):
    press(window, "tab_help")
    topics, text = window.findChild(QListWidget, "help_topics"), window.findChild(QTextBrowser, "help_text")
    everything = topics.count()
    search = window.findChild(QLineEdit, "help_search")
    qtbot.keyClicks(search, "noisy rows")
    assert 1 <= topics.count() < everything
    before = text.toPlainText()
    qtbot.keyClick(search, Qt.Key.Key_Down)
    assert text.toPlainText() != before
    qtbot.keyClicks(search, " hippopotamus")
    assert topics.count() == 0
    assert "Nothing in the help" in text.toPlainText()


def test_the_glossary_is_a_topic(window):
    window.menus.actions["glossary"].trigger()
    assert "Mostly noise: " in window.findChild(QTextBrowser, "help_text").toPlainText()


def test_a_table_is_closed_by_its_key_and_nothing_of_it_stays(people, qtbot):
    people.session.may_leave = lambda then: True
    qtbot.keyClick(people, Qt.Key.Key_W, CTRL)
    assert people.session.open_data is None
    assert people.findChild(QLabel, "rail_table").text() == "no table yet"
    assert people.page.objectName() == "page_data"
    assert people.statusBar().currentMessage() == "Closed people."


def test_a_long_message_is_cut_with_dots_and_shown_whole_beside_the_page(people, press):
    whole = "A sentence that is far too long for two lines of the window. " * 12
    before = people.page.geometry()
    people.session.notify("error", whole.strip())
    shown = people.findChild(QLabel, "banner_text")
    assert shown.isVisible()
    assert shown.text().endswith("…")
    assert people.page.geometry() == before, "a message moves nothing"
    press(people, "banner_more")
    assert people.findChild(QLabel, "help_what").text() == whole.strip()
