"""A file that is refused shows the place, and loads once it is mended; what is copied says that it is private."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QTableView, QWidget

from workbench.gui.pages.data.dialect import lines_near
from workbench.gui.widgets.basic import PRIVATE
from workbench.params import InputError
from workbench.params.remedies import STATE_OPTION, Remedy
from workbench.signals.cancel import CancelToken

CTRL = Qt.KeyboardModifier.ControlModifier
RAGGED = "nom;âge;ville\nRené;30;Orléans\nZoé;31;Paris;trop\nAnne;32;Lyon\nLuc;33;Nice\nLéa;34;Pau\n"


def test_a_ragged_semicolon_latin_1_file_is_mended_and_loads(window, tmp_path, idle, press, qtbot):
    path = tmp_path / "ragged.csv"
    path.write_bytes(RAGGED.encode("latin-1"))
    window.open(str(path))
    idle(window)
    assert "Row 2 has 4 cells" in window.findChild(QLabel, "banner_text").text()
    assert "--" not in window.findChild(QLabel, "banner_text").text()
    bad = window.findChild(QLabel, "bad_line_3")
    assert bad.isVisible()
    assert bad.text() == "Zoé;31;Paris;trop"
    assert "the one that is wrong" in bad.accessibleName()
    assert window.findChild(QLabel, "bad_line_5").text() == "Luc;33;Nice"
    path.write_bytes(RAGGED.replace(";trop", "").encode("latin-1"))
    press(window, "dialect_read_again")
    idle(window)
    assert window.session.opened.table.names == ("nom", "âge", "ville")
    assert window.session.opened.table.rows == 5
    press(window, "tab_data")
    press(window, "view_dialect")
    assert not window.findChild(QWidget, "bad_lines").isVisible()


def test_what_was_stated_stays_in_the_form_when_it_does_not_fit(window, tmp_path, idle, press, qtbot):
    path = tmp_path / "latin.csv"
    path.write_bytes(RAGGED.encode("latin-1"))
    window.open(str(path))
    idle(window)
    field = window.findChild(QLineEdit, "dialect_encoding")
    qtbot.keyClicks(field, "utf-8")
    press(window, "dialect_read_again")
    idle(window)
    assert field.text() == "utf-8"
    assert "not written in utf-8" in window.findChild(QLabel, "banner_text").text()
    assert window.findChild(QLabel, "bad_line_1").isVisible()


def test_leaving_the_form_without_a_table_goes_back_to_the_start(window, tmp_path, idle, press):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n3,4,5\n", "utf-8")
    window.open(str(path))
    idle(window)
    press(window, "dialect_leave")
    assert window.findChild(QWidget, "data_start").isVisible()


def test_the_page_with_the_bad_lines_needs_no_larger_window(window, tmp_path, idle):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n" + "3,4\n" * 5 + "3,4,5" + "x" * 900 + "\n", "utf-8")
    window.open(str(path))
    idle(window)
    QApplication.processEvents()
    assert (window.width(), window.height()) == (1280, 800)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(tmp_path, end):
    path = tmp_path / "lines.csv"
    path.write_bytes(end.join(["a", "é", "c", "d"]).encode())
    found = lines_near(path, 2, None, CancelToken())
    assert [(line.number, line.text, line.bad) for line in found] == [
        (1, "a", False),
        (2, "é", True),
        (3, "c", False),
        (4, "d", False),
    ]


def test_an_error_speaks_of_fields_instead_of_options(window):
    about = {"option": "quote", "value": "none", "condition": "quote marks are plain text"}
    way_out = Remedy(STATE_OPTION, "use --quote none if quote marks are plain text", about)
    window.session.report(InputError("it is odd", "file", way_out))
    told = window.findChild(QLabel, "banner_text").text()
    assert "set quote to none under “How it is read” if quote marks are plain text" in told


def test_copied_rows_begin_with_the_badge(people, press, qtbot):
    press(people, "view_rows")
    view = people.findChild(QTableView, "rows_table")
    view.setFocus()
    model = view.model()
    view.selectionModel().select(
        QItemSelection(model.index(1, 2), model.index(2, 4)), QItemSelectionModel.SelectionFlag.ClearAndSelect
    )
    qtbot.keyClick(view, Qt.Key.Key_C, CTRL)
    lines = QApplication.clipboard().text().splitlines()
    assert lines[:2] == [PRIVATE, "age\tsex\tzip"]
    assert lines[2] == "\t".join(model.index(1, c).data() for c in (2, 3, 4))
    assert len(lines) == 4
    assert "Copied 2 rows" in people.statusBar().currentMessage()
    view.setColumnHidden(3, True)
    qtbot.keyClick(view, Qt.Key.Key_C, CTRL)
    assert QApplication.clipboard().text().splitlines()[1] == "age\tzip"


def test_a_copy_that_would_hold_up_the_window_is_refused(people, press, qtbot, monkeypatch):
    monkeypatch.setattr("workbench.gui.widgets.table_view.MOST_COPIED", 13_999)
    press(people, "view_rows")
    view = people.findChild(QTableView, "rows_table")
    QApplication.clipboard().setText("before")
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_A, CTRL)
    qtbot.keyClick(view, Qt.Key.Key_C, CTRL)
    assert QApplication.clipboard().text() == "before"
    assert "14,000 cells are too many" in people.findChild(QLabel, "banner_text").text()


def test_the_attributes_are_copied_from_the_menu(people, qtbot):
    table = people.page.table
    at = table.visualRect(table.model().index(2, 0)).center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, table.viewport().mapToGlobal(at))
    QApplication.sendEvent(table.viewport(), event)
    menu = next(m for m in QApplication.topLevelWidgets() if isinstance(m, QMenu) and m.isVisible())
    every = next(a for a in menu.actions() if a.text() == "Copy All Rows")
    qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=QPoint(menu.actionGeometry(every).center()))
    lines = QApplication.clipboard().text().splitlines()
    assert lines[0] == PRIVATE
    assert lines[1].startswith("Attribute\tRole\tKind\tLower bound")
    assert len(lines) == 9
    assert lines[2].split("\t")[:5] == ["age", "quasi-identifier", "integer", "18", "100"]
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_C, CTRL)
    assert len(QApplication.clipboard().text().splitlines()) == 3
