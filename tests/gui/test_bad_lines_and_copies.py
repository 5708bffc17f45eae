"""A file that is refused shows the place, and loads once it is mended; what is copied says that it is private."""

import threading

import pytest
from hands import go_to
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QMenu, QTableView, QWidget

from workbench.data import table
from workbench.data.last_rows import last_row_notices
from workbench.data.table_reader import read_table
from workbench.gui.pages.data.dialect import lines_near, notices_in_words
from workbench.gui.shell.main_window import MainWindow
from workbench.gui.style.language import set_language
from workbench.gui.widgets.basic import PRIVATE
from workbench.params import InputError
from workbench.params.remedies import STATE_OPTION, Remedy
from workbench.signals.cancel import CancelToken

CTRL = Qt.KeyboardModifier.ControlModifier
RAGGED = "nom;âge;ville\nRené;30;Orléans\nZoé;31;Paris;trop\nAnne;32;Lyon\nLuc;33;Nice\nLéa;34;Pau\n"


def test_a_file_that_does_not_fit_is_told_of_in_a_window_of_its_size_mended_and_left(
    window, tmp_path, load, press, finish, qtbot
):
    # Leaving the form without a table goes back to the start.
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n3,4,5\n", "utf-8")
    load(window, path)
    press(window, "dialect_leave")
    assert window.findChild(QWidget, "data_start").isVisible()

    # The page with the bad lines needs no larger window.
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n" + "3,4\n" * 5 + "3,4,5" + "x" * 900 + "\n", "utf-8")
    load(window, path)
    QApplication.processEvents()
    assert (window.width(), window.height()) == (1280, 800)

    # What was stated stays in the form when it does not fit.
    path = tmp_path / "latin.csv"
    path.write_bytes(RAGGED.encode("latin-1"))
    load(window, path)
    field = window.findChild(QLineEdit, "dialect_encoding")
    qtbot.keyClicks(field, "utf-8")
    finish(window, "dialect_read_again")
    assert field.text() == "utf-8"
    assert "not written in utf-8" in window.findChild(QLabel, "banner_text").text()
    assert window.findChild(QLabel, "bad_line_1").isVisible()

    # A ragged semicolon latin 1 file is mended and loads.
    path = tmp_path / "ragged.csv"
    path.write_bytes(RAGGED.encode("latin-1"))
    load(window, path)
    assert "Row 2 has 4 cells" in window.findChild(QLabel, "banner_text").text()
    assert "--" not in window.findChild(QLabel, "banner_text").text()
    bad = window.findChild(QLabel, "bad_line_3")
    assert bad.isVisible()
    assert bad.text() == "Zoé;31;Paris;trop"
    assert "the one that is wrong" in bad.accessibleName()
    assert window.findChild(QLabel, "bad_line_5").text() == "Luc;33;Nice"
    path.write_bytes(RAGGED.replace(";trop", "").encode("latin-1"))
    finish(window, "dialect_read_again")
    assert window.session.opened.table.names == ("nom", "âge", "ville")
    assert window.session.opened.table.rows == 5
    press(window, "tab_data")
    press(window, "view_dialect")
    assert not window.findChild(QWidget, "bad_lines").isVisible()


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


def test_copied_rows_and_attributes_begin_with_the_badge_and_too_many_are_refused(people, qtbot, press, monkeypatch):
    # The attributes are copied from the menu.
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

    # Copied rows begin with the badge.
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
    view.setColumnHidden(3, False)
    press(people, "view_attributes")

    # A copy that would hold up the window is refused.
    monkeypatch.setattr("workbench.gui.widgets.table_view.MOST_COPIED", 13_999)
    press(people, "view_rows")
    view = people.findChild(QTableView, "rows_table")
    QApplication.clipboard().setText("before")
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_A, CTRL)
    qtbot.keyClick(view, Qt.Key.Key_C, CTRL)
    assert QApplication.clipboard().text() == "before"
    assert "14,000 cells are too many" in people.findChild(QLabel, "banner_text").text()


# -- How the file is read: each doubt shows the cells under its candidates, and a click chooses one -------------------


def open_file(window, tmp_path, idle, content, encoding="utf-8"):
    path = tmp_path / "town.csv"
    path.write_bytes(content.encode(encoding))
    window.open(str(path))
    idle(window)
    go_to(window, "data")


def test_each_candidate_shows_the_cells_and_a_click_chooses_one(window, hands, tmp_path, idle):
    open_file(window, tmp_path, idle, "id;size\n1;'25 m²'\n2;'30 €'\n", "cp1252")
    hands.click("data_onward")
    assert hands.text("cells_encoding_cp1252") == "25 m²   ·   30 €"
    assert "25 m˛" in hands.text("cells_encoding_cp1250")
    assert hands.text("cells_quote_none").startswith("'25 m²'")
    hands.finish("candidate_encoding_cp1250")
    opened = window.session.opened
    assert opened.options.encoding == "cp1250"
    assert opened.table.frame["size"][0] == "25 m˛"
    assert [doubt.name for doubt in opened.table.ambiguities] == ["quote"]
    hands.click("data_onward")
    assert not hands.sees("cells_encoding_cp1252")
    hands.finish("candidate_quote_none")
    assert not window.session.opened.table.ambiguities
    assert window.session.opened.table.frame["size"][0] == "'25 m˛'"
    hands.click("view_dialect")
    assert not hands.sees("reading_candidates")


def test_a_candidate_that_cannot_read_the_file_cannot_be_chosen(window, hands, tmp_path, idle):
    open_file(window, tmp_path, idle, 'a,b\n"x \\"y\\"",1\n')
    hands.click("data_onward")
    assert hands.text("cells_escape_doubled") == "cannot read the file"
    assert not window.findChild(QWidget, "candidate_escape_doubled").isEnabled()
    hands.finish("candidate_escape_backslash")
    assert not window.session.opened.table.ambiguities


def test_lines_blanks_comments_and_names_are_stated_by_clicks(window, hands, tmp_path, idle, qtbot):
    open_file(window, tmp_path, idle, "made by x\n1 , 31\n# two\n2 , 47\n")
    hands.click("view_dialect")
    field = window.findChild(QLineEdit, "dialect_skip_lines")
    field.selectAll()
    qtbot.keyClicks(field, "1")
    qtbot.keyClicks(window.findChild(QLineEdit, "dialect_comment"), "#")
    qtbot.keyClicks(window.findChild(QLineEdit, "dialect_names"), "id, age")
    hands.click("dialect_trim")
    hands.finish("dialect_read_again")
    table = window.session.opened.table
    assert table.names == ("id", "age")
    assert table.frame.rows() == [("1", "31"), ("2", "47")]
    assert "trimmed" in window.findChild(QWidget, "data_summary").accessibleName()


CELLS = "".join(f"{i}, {i % 7},x{i % 3}\n" for i in range(60))
FIRST = (
    "first row was read as values, so the columns are called column1 and so on; use “header row yes” if it names them"
)


def test_what_the_reader_chose_is_seen_beside_how_the_file_is_read(window, hands, tmp_path, idle, monkeypatch):
    looks: list[threading.Thread] = []
    monkeypatch.setattr(
        table, "last_row_notices", lambda rows: (looks.append(threading.current_thread()), last_row_notices(rows))[1]
    )
    open_file(window, tmp_path, idle, CELLS)
    assert f"⚠ The {FIRST}" in hands.text("data_notices")
    assert hands.text("data_notices").endswith("The fields named here are under “How it is read”.")
    hands.click("view_dialect")
    assert hands.text("data_notices").endswith("use “trim cells” to strip them."), "the fields are in sight"
    hands.click("view_rows")
    assert len(looks) == 1, "the last rows are looked at once, not at every change"
    assert looks[0] is not threading.main_thread()
    open_file(window, tmp_path, idle, "a,b\n1,2\n3,4\n")
    assert not hands.sees("data_notices")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (CELLS, FIRST),
        ("a,id,id\n" + CELLS, "the repeated columns are called id.1; use “header row no” if the first row is data"),
        ("a,,id\n" + CELLS, "The header names no column 2; it is called column2."),
        ("a,b,c\nm,s,t\n" + CELLS.replace("x", ""), "use “skip lines 1” to take the names from it"),
        ("a,b\nm,1\nx,2\nTotal,3\n,\n", "⚠ The last row begins with Total: delete it"),
        ("n\n" + "Zoé\n" * 9, "The file is not UTF-8; its encoding was guessed as cp1252"),
    ],
)
def test_no_language_names_options_of_a_command(tmp_path, content, told):
    path = tmp_path / "town.csv"
    path.write_bytes(content.encode("cp1252"))
    table = read_table(str(path))
    assert told in notices_in_words(table)
    try:
        for code in ("fr", "vi", "ru"):
            set_language(code)
            assert "--" not in notices_in_words(table)
            assert not {"use", "called", "cells"} & set(notices_in_words(table).split())
    finally:
        set_language("en")


def test_the_form_fits_into_the_smallest_window(window, hands, tmp_path, idle):
    open_file(window, tmp_path, idle, "id;size\n1;'25 m²'\n2;'1,5'\n3;'2,5'\n", "cp1252")
    window.resize(1280, 800)
    hands.click("data_onward")
    assert hands.see("dialect_form").sizeHint().height() < 640
    for name in ("dialect_encoding", "dialect_names", "dialect_comment", "dialect_skip_lines"):
        assert hands.see(name).width() > 150


def test_a_refusal_names_the_field_in_place_of_the_option(window, tmp_path, idle):
    open_file(window, tmp_path, idle, "a,b\n# remark\n1,2\n3,4\n")
    told = window.findChild(QLabel, "banner_text").text()
    assert "--" not in told
    assert "set comment to # under “How it is read” if lines that begin with #" in told


# -- Recent files on the start page, and what is said while something is held over the window -------------------------


LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
CSV = "age,town\n" + "\n".join(f"{20 + i % 9},{'AB'[i % 2]}" for i in range(30)) + "\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "town & co.csv"
    path.write_text(CSV, "utf-8")
    return path


@pytest.fixture
def recents(window, idle, file, tmp_path):
    """A window that knows two recent files, of which one is gone."""
    window.session.recent.add(str(tmp_path / "gone.csv"))
    window.session.recent.add(str(file))
    idle(window)
    return window


def held(*paths: str, text: str = "") -> QMimeData:
    data = QMimeData()
    if paths:
        data.setUrls([QUrl.fromLocalFile(p) for p in paths])
    else:
        data.setText(text)
    return data


def enter(window: MainWindow, data: QMimeData) -> str:
    """Hold something over the window; return what is said."""
    event = QDragEnterEvent(QPoint(300, 300), Qt.DropAction.CopyAction, data, LEFT, NONE)
    QApplication.sendEvent(window, event)
    veil = window.findChild(QWidget, "drop_veil")
    assert veil.isVisible()
    assert not veil.grab().isNull()
    return veil.accessibleName()


def welcome(window: MainWindow, data: QMimeData) -> bool:
    """Move what is held; return whether it could be dropped here."""
    event = QDragMoveEvent(QPoint(310, 300), Qt.DropAction.CopyAction, data, LEFT, NONE)
    QApplication.sendEvent(window, event)
    return event.isAccepted()


def drop(window: MainWindow, data: QMimeData) -> None:
    event = QDropEvent(QPointF(300, 300), Qt.DropAction.CopyAction, data, LEFT, NONE)
    QApplication.sendEvent(window, event)


def test_a_recent_file_opens_by_a_click(recents, finish, file):
    assert recents.findChild(QAbstractButton, "recent_0").accessibleName() == f"Open {file}"
    finish(recents, "recent_0")
    assert recents.session.opened.title == file.name


def test_a_recent_file_that_is_gone_says_so_and_is_forgotten(recents, press):
    assert not recents.findChild(QAbstractButton, "recent_1").isEnabled()
    assert "is not there any more" in recents.findChild(QLabel, "recent_place_1").accessibleName()
    press(recents, "recent_forget_1")
    assert len(recents.session.recent.paths) == 1
    assert recents.findChild(QAbstractButton, "recent_0").isEnabled()


def test_without_recent_files_there_is_no_list(recents, press, qtbot):
    for _ in range(2):
        qtbot.waitUntil(recents.findChild(QAbstractButton, "recent_forget_0").isVisible)
        press(recents, "recent_forget_0")
    assert not recents.findChild(QWidget, "recent_list").isVisible()


def test_an_opened_file_comes_first_the_next_time(window, load, file, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(CSV, "utf-8")
    for path in (file, other, file):
        load(window, path)
    assert window.session.recent.paths == [str(file), str(other)]


def test_what_is_held_over_the_window_is_said_to_be_welcome_or_not(window, file, idle):
    # A text file of any name is welcome.
    assert enter(window, held("/tmp/adult.data")) == "Drop to open adult.data"
    QApplication.sendEvent(window, QDragLeaveEvent())

    # The veil goes with what is held.
    enter(window, held(str(file)))
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert not window.findChild(QWidget, "drop_veil").isVisible()
    assert window.session.opened is None

    # What cannot be opened is told while it is held and once more when it is dropped.
    for paths, said in (
        (("/tmp/photo.png",), "photo.png is not a table"),
        (("/tmp/Book.NUMBERS",), "is not a table that can be read"),
        (("/tmp/a.csv", "/tmp/b.csv"), "2 files are held"),
        ((), "Only files can be dropped"),
    ):
        assert said in enter(window, held(*paths, text="some words"))
        assert not welcome(window, held(*paths, text="some words"))
        drop(window, held(*paths, text="some words"))
        assert said in window.findChild(QLabel, "banner_text").text()
        assert not window.findChild(QWidget, "drop_veil").isVisible()
        assert not window.jobs.running

    # A table held over the window is welcome.
    assert enter(window, held(str(file))) == f"Drop to open {file.name}"
    assert welcome(window, held(str(file)))
    drop(window, held(str(file)))
    assert not window.findChild(QWidget, "drop_veil").isVisible()
    idle(window)
    assert window.session.opened.title == file.name
