"""Recent files on the start page, and what is said while something is held over the window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from workbench.gui.shell.main_window import MainWindow

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
CSV = "age,town\n" + "\n".join(f"{20 + i % 9},{'AB'[i % 2]}" for i in range(30)) + "\n"


@pytest.fixture
def file(tmp_path):
    """A small table."""
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
    """Return what is dragged."""
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
    """Let go of it."""
    event = QDropEvent(QPointF(300, 300), Qt.DropAction.CopyAction, data, LEFT, NONE)
    QApplication.sendEvent(window, event)


def test_a_recent_file_opens_by_a_click(recents, press, idle, file):
    assert recents.findChild(QAbstractButton, "recent_0").accessibleName() == f"Open {file}"
    press(recents, "recent_0")
    idle(recents)
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


def test_an_opened_file_comes_first_the_next_time(window, idle, file, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(CSV, "utf-8")
    for path in (file, other, file):
        window.open(str(path))
        idle(window)
    assert window.session.recent.paths == [str(file), str(other)]


def test_a_table_held_over_the_window_is_welcome(window, idle, file):
    assert enter(window, held(str(file))) == f"Drop to open {file.name}"
    assert welcome(window, held(str(file)))
    drop(window, held(str(file)))
    assert not window.findChild(QWidget, "drop_veil").isVisible()
    idle(window)
    assert window.session.opened.title == file.name


def test_a_text_file_of_any_name_is_welcome(window):
    assert enter(window, held("/tmp/adult.data")) == "Drop to open adult.data"
    QApplication.sendEvent(window, QDragLeaveEvent())


def test_the_veil_goes_with_what_is_held(window, file):
    enter(window, held(str(file)))
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert not window.findChild(QWidget, "drop_veil").isVisible()
    assert window.session.opened is None


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (("/tmp/photo.png",), "photo.png is not a table"),
        (("/tmp/Book.NUMBERS",), "is not a table that can be read"),
        (("/tmp/a.csv", "/tmp/b.csv"), "2 files are held"),
        ((), "Only files can be dropped"),
    ],
)
def test_what_cannot_be_opened_is_told_while_it_is_held_and_once_more_when_it_is_dropped(window, paths, said):
    assert said in enter(window, held(*paths, text="some words"))
    assert not welcome(window, held(*paths, text="some words"))
    drop(window, held(*paths, text="some words"))
    assert said in window.findChild(QLabel, "banner_text").text()
    assert not window.findChild(QWidget, "drop_veil").isVisible()
    assert not window.jobs.running
