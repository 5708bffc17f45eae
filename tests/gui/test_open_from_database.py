"""A table of a database, by clicks: from its server to a verified release; and what a file with several tables asks."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit

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
    window.open(str(file))
    qtbot.waitUntil(lambda: window._database_dialog is not None and window._database_dialog.isVisible())
    _choose(window._database_dialog, "people", qtbot)
    qtbot.waitUntil(lambda: window.session.opened is not None)
    assert window.session.opened.title == "people"
    assert window.session.opened.table.rows == 200
    assert window.session.recent.paths[0] == f"sqlite:///{file}?table=people"


@pytest.fixture(scope="module")
def base() -> Server:
    """The server, which outlives the windows of single tests."""
    return server()


@pytest.mark.slow
def test_a_table_of_postgresql_is_opened_by_its_parts_and_its_password(base: Server, window, qtbot) -> None:
    base.run(
        "DROP TABLE IF EXISTS people",
        "CREATE TABLE people AS SELECT 20 + g % 50 AS age, CASE WHEN g % 2 = 0 THEN 'f' ELSE 'm' END AS sex "
        "FROM generate_series(1, 500) g",
    )
    window.ask_for_database()
    dialog = window._database_dialog
    for name, text in (("host", str(base.folder)), ("database", "postgres"), ("user", "ana")):
        field = dialog.findChild(QLineEdit, f"database_{name}")
        field.setText(text)
    dialog.findChild(QAbstractButton, "database_connect").click()
    qtbot.waitUntil(lambda: "password" in dialog._said.text())
    dialog.findChild(QLineEdit, "database_password").setText(PASSWORD)
    dialog.findChild(QAbstractButton, "database_connect").click()
    _choose(dialog, "people", qtbot)
    qtbot.waitUntil(lambda: window.session.opened is not None)
    assert window.session.opened.table.rows == 500
    assert PASSWORD not in window.session.opened.source
    assert PASSWORD not in repr(window.session.recent.paths)
    assert not dialog.findChild(QLineEdit, "database_password").text()
