"""Help is found by typing and by place, and a table can be closed."""

import re

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListWidget, QTextBrowser

from workbench.gui.app import main_window
from workbench.gui.pages import PAGES
from workbench.gui.shell import main_window as shell
from workbench.gui.shell.main_window import MainWindow
from workbench.gui.style.stylesheet import MARGIN
from workbench.render.help_topics import topic_markdown

CTRL = Qt.KeyboardModifier.ControlModifier


def test_messages_help_and_the_tour_are_read_beside_a_table_that_is_closed_by_its_key(people, press, qtbot):
    # A long message is cut with dots and shown whole beside the page.
    whole = "A sentence that is far too long for two lines of the window. " * 12
    before = people.page.geometry()
    people.session.notify("error", whole.strip())
    shown = people.findChild(QLabel, "banner_text")
    assert shown.isVisible()
    assert shown.text().endswith("…")
    assert people.page.geometry() == before, "a message moves nothing"
    press(people, "banner_more")
    assert people.findChild(QLabel, "help_what").text() == whole.strip()
    press(people, "banner_close")

    # F1 leads to the topic of the page.
    press(people, "tab_data")
    qtbot.keyClick(people, Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
    press(people, "help_more")
    assert people.page.objectName() == "page_help"
    assert people.findChild(QTextBrowser, "help_text").toPlainText().startswith("Bounds: why they must be public")

    # The tour goes on to the budget where the list of releases is shown.
    people.tour.start(lead=False)
    press(people, "tab_ways")
    assert people.findChild(QLabel, "tour_count").text() == "3 of 5"
    press(people, "tab_released")
    assert people.findChild(QLabel, "tour_count").text() == "4 of 5"
    assert people.page.objectName() == "page_released"

    # A table is closed by its key and nothing of it stays.
    people.session.may_leave = lambda then: True
    qtbot.keyClick(people, Qt.Key.Key_W, CTRL)
    assert people.session.open_data is None
    assert people.findChild(QLabel, "rail_table").text() == "no table yet"
    assert people.page.objectName() == "page_data"
    assert people.statusBar().currentMessage() == "Closed people."


def test_topics_of_the_help_are_searched_have_room_and_lines_and_one_is_the_glossary(window, press, qtbot):
    # Topics are searched while typing and walked by arrows.
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
    search.clear()

    # The text has the room beside the topics and lines that can be read.
    press(window, "tab_help")
    topics, text = window.findChild(QListWidget, "help_topics"), window.findChild(QTextBrowser, "help_text")
    qtbot.waitUntil(lambda: text.width() > 1.4 * topics.width())
    card = text.parentWidget()
    right = lambda of: of.mapTo(window, of.rect().topRight()).x()  # noqa: E731 - it is asked for again
    qtbot.waitUntil(lambda: right(card) == right(window.page) - MARGIN)
    window.resize(2400, 800)
    qtbot.waitUntil(lambda: 800 < text.width() <= 900)

    # The glossary is a topic.
    window.menus.actions["glossary"].trigger()
    assert "Mostly noise: " in window.findChild(QTextBrowser, "help_text").toPlainText()


@pytest.mark.parametrize("code", ["en", "fr", "ru", "vi"])
def test_the_help_on_the_window_names_every_tab(code):
    named = re.findall(r"\*\*(.+?)\*\*", topic_markdown("window", code))
    assert len(named) == len(PAGES) - 1, "all but the help itself"
    if code == "en":
        assert named == [page.title for page in PAGES if page.name != "help"]


def close(made: MainWindow) -> None:
    made.jobs.shut_down()
    made.close()
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_the_first_window_begins_with_a_tour_that_is_not_shown_again(monkeypatch, qtbot, press):
    monkeypatch.setattr(shell, "FIRST_TOUR", True)
    first = main_window()
    first.show()
    qtbot.waitExposed(first)
    assert first.tour.isVisible()
    pages = []
    for count in range(1, 6):
        assert first.findChild(QLabel, "tour_count").text() == f"{count} of 5"
        press(first, "tour_next")
        pages.append(first.page.objectName())
    assert not first.tour.isVisible()
    assert pages == ["page_questions", "page_ways", "page_ledger", "page_help", "page_help"]
    close(first)
    second = main_window()
    second.show()
    qtbot.waitExposed(second)
    assert not second.tour.isVisible()
    second.menus.actions["tour"].trigger()
    assert second.tour.isVisible()
    second.activateWindow()
    qtbot.waitUntil(second.isActiveWindow)
    qtbot.keyClick(second, Qt.Key.Key_Escape)
    assert not second.tour.isVisible()
    close(second)
