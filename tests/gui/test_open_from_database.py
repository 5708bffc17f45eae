"""A table of a database, by clicks: from its server to a verified release; and what a file with several tables asks."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hands import LEFT, Hands
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QListWidget
from test_story_sources import confirmed_and_released, declare

from tests.postgres import PASSWORD, Server, server
from workbench.gui.project.database_dialog import DatabaseDialog

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing the keyboard|propagateSizeHints)")


def _choose(dialog: DatabaseDialog, name: str, qtbot) -> None:
    qtbot.waitUntil(lambda: name in dialog._names)
    dialog._tables.selectRow(dialog._names.index(name))
    button = dialog.findChild(QAbstractButton, "database_open")
    qtbot.waitUntil(button.isEnabled)
    assert "PRIVATE" in " ".join(shown.text() for shown in dialog.findChildren(QLabel))
    button.click()


def test_a_file_with_several_tables_asks_which(window, qtbot, tmp_path: Path) -> None:
    file = tmp_path / "two.db"
    with sqlite3.connect(file) as base:
        base.execute("CREATE TABLE visits (day TEXT)")
        base.execute("CREATE TABLE people (age INTEGER, sex TEXT)")
        base.executemany("INSERT INTO people VALUES (?, ?)", [(20 + i % 50, "fm"[i % 2]) for i in range(200)])
    base.close()
    said: list[str] = []
    window.session.notified.connect(lambda _level, text: said.append(text))
    window.open(str(file))
    qtbot.waitUntil(lambda: window._database_dialog is not None and window._database_dialog.isVisible())
    assert said == []  # a question is no failure
    _choose(window._database_dialog, "people", qtbot)
    qtbot.waitUntil(lambda: window.session.opened is not None)
    assert window.session.opened.title == "people"
    assert window.session.opened.table.rows == 200
    assert window.session.recent.paths[0] == f"sqlite:///{file}?table=people"


@pytest.fixture(scope="module")
def base() -> Server:
    """The server, which outlives the windows of single tests."""
    return server()


def _stored_people(base: Server, rows: int = 400) -> None:
    base.run(
        "DROP TABLE IF EXISTS people",
        "CREATE TABLE people AS SELECT 20 + g % 50 AS age, CASE WHEN g % 2 = 0 THEN 'f' ELSE 'm' END AS sex, "
        f"'P' || g AS name FROM generate_series(1, {rows}) g",
    )


def _from_the_menu(hands: Hands) -> None:
    """Open the dialog by the mouse: File, then its entry."""
    bar = hands.window.menuBar()
    file = next(action for action in bar.actions() if action.text().replace("&", "") == "File")
    hands.qtbot.mouseClick(bar, LEFT, pos=bar.actionGeometry(file).center())
    menu = file.menu()
    hands.until(menu.isVisible)
    entry = next(action for action in menu.actions() if "Database" in action.text())
    hands.qtbot.mouseClick(menu, LEFT, pos=menu.actionGeometry(entry).center())
    hands.until(lambda: hands.sees("database_connect"))


def _tick(hands: Hands, column: str) -> None:
    listed = hands.see("database_columns")
    assert isinstance(listed, QListWidget)
    place = listed.visualItemRect(listed.findItems(column, Qt.MatchFlag.MatchExactly)[0])
    hands.qtbot.mouseClick(listed.viewport(), LEFT, pos=place.center() - QPoint(place.width() // 2 - 14, 0))


@pytest.mark.slow
def test_a_table_of_postgresql_is_opened_planned_released_and_verified(
    base: Server, hands: Hands, tmp_path: Path
) -> None:
    _stored_people(base)
    _from_the_menu(hands)
    for name, text in (("host", str(base.folder)), ("database", "postgres"), ("user", "ana")):
        hands.type_into(f"database_{name}", text)
    hands.click("database_connect")
    hands.until(lambda: "password" in hands.text("database_said"))
    hands.keys(PASSWORD)  # the field has the focus
    hands.key(Qt.Key.Key_Return)
    hands.until(lambda: hands.sees("database_tables") and "people" in hands.window._database_dialog._names)
    assert hands.cell("database_tables", "people", "Rows") == "400"
    hands.click_cell("database_tables", "people", "Table or view")
    hands.until(lambda: hands.sees("database_columns"))
    _tick(hands, "name")
    assert {"age", "sex"} == _headings(hands)
    hands.click("database_open")
    hands.until(lambda: hands.window.session.opened is not None)
    hands.idle()
    opened = hands.window.session.opened
    assert (opened.title, opened.table.rows, opened.table.names) == ("people", 400, ("age", "sex"))
    assert PASSWORD not in opened.source + repr(hands.window.session.recent.paths)
    assert not hands.window._database_dialog._text("password")
    assert hands.text("questions_count") == "2 columns: all are needed"
    hands.click("tab_data")
    declare(hands, {"age": ("0", "120"), "sex": ("f, m", "")})
    released = confirmed_and_released(hands, tmp_path / "out.csv")
    assert released.columns == ["age", "sex"]
    assert released.height == 400


def _headings(hands: Hands) -> set[str]:
    model = hands.table("database_rows").model()
    return {str(model.headerData(at, Qt.Orientation.Horizontal)) for at in range(model.columnCount())}
