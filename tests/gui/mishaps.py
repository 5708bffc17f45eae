"""What the tests of mishaps share: what stands in the ledger and on the disk, what was said, slow work."""

import importlib.util
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QTableView, QWidget

from workbench.gui.shell.main_window import MainWindow
from workbench.release.ledger.ledger import Ledger
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Event

PATIENCE = 600_000
"""Milliseconds within which something must come true, on a machine that is busy with other things too."""


needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="networks need PyTorch")


def statuses() -> list[str]:
    """Return the status of every release in the ledger, in order."""
    with Ledger.open() as book:
        assert book.verify() == []
        return [release.status for release in book.releases()]


def noted() -> list[str]:
    """Return the kinds of study that the ledger has noted."""
    with Ledger.read() as book:
        return [figures.study for figures in book.figures()]


def banner(window: MainWindow) -> str:
    """Return what the banner says, empty while it is hidden."""
    return told(window, "banner_text")


class Heard:
    """Every warning and error that was told, in order: there must be exactly one of each mishap."""

    def __init__(self, window: MainWindow) -> None:
        self.lines: list[str] = []
        window.session.notified.connect(self._on_event)
        window.jobs.noticed.connect(self._on_event)

    def _on_event(self, level: str, text: str) -> None:
        if level != "info":
            self.lines.append(text)

    def one(self) -> str:
        """Return the one message there was, and forget it."""
        (line,) = self.lines
        self.lines.clear()
        assert line.count(". ") <= 1, f"not one or two sentences: {line}"
        assert "Traceback" not in line
        return line


class Standstill:
    """Keeps jobs where they next look whether they are to stop, until they are: a disk as slow as a test needs it.

    Without it a test of what happens during a job would depend on how fast the machine is.
    """

    def __init__(self) -> None:
        self._free = threading.Event()
        self._until: Callable[[Event], bool] = lambda event: False

    def go_on(self, until: Callable[[Event], bool] = lambda event: False) -> None:
        """Let the jobs go on, until one says what ``until`` likes."""
        self._until = until
        self._free.set()

    def stop(self) -> None:
        self._free.clear()

    def on_event(self, event: Event) -> None:
        if self._until(event):
            self._free.clear()

    def on_check(self, token: CancelToken) -> None:
        """Return once the job is to stop or may go on."""
        while not (token.cancelled or self._free.wait(0.005)):
            pass


def text_of(window: QWidget, name: str) -> str:
    """Return the text of the label of that name."""
    label = window.findChild(QLabel, name)
    assert label is not None, name
    return label.text()


def words_of(window: QWidget, name: str) -> str:
    """Return the text of the label of that name, with a space where a line may not be broken."""
    return text_of(window, name).replace("\u00a0", " ")


def text_in_sight(window: QWidget, name: str) -> str:
    """Return the text of the label of that name, which must be visible."""
    label = window.findChild(QLabel, name)
    assert label.isVisible(), f"{name} is not visible"
    return label.text()


def told(window: QWidget, name: str) -> str:
    """Return the text of the label of that name, empty while it is hidden."""
    label = window.findChild(QLabel, name)
    return label.text() if label.isVisible() else ""


def status(window: MainWindow) -> str:
    """Return what the status bar says."""
    return window.statusBar().currentMessage()


def rows_of(window: QWidget, name: str) -> list[list[str]]:
    """Return the texts of the cells of the table of that name."""
    model = window.findChild(QTableView, name).model()
    return [[model.index(r, c).data() for c in range(model.columnCount())] for r in range(model.rowCount())]


def choose(window: QWidget, name: str, value: object) -> None:
    """Choose the entry of the list of that name that stands for ``value``."""
    box = window.findChild(QComboBox, name)
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def choose_by_keys(window: QWidget, qtbot, name: str, text: str) -> None:
    """Choose from a list with the keys, as a person without a mouse does."""
    box = window.findChild(QComboBox, name)
    box.setFocus()
    qtbot.keyClicks(box, text)
    assert box.currentText() == text


def retype(window: QWidget, qtbot, name: str, text: object) -> None:
    """Type over the field of that name; a path is pasted, as a person does it."""
    field = window.findChild(QLineEdit, name)
    field.selectAll()
    if os.sep in str(text):
        field.insert(str(text))
    else:
        qtbot.keyClicks(field, str(text))


def save(window: MainWindow, qtbot, idle) -> None:
    """Save the project by keys."""
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    idle(window)


def activate(window: MainWindow, qtbot) -> None:
    """Make the window the active one, as a window manager does once a question is answered."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)


def big_table(path: Path, rows: int = 400_000) -> Path:
    """Write a table that takes a while to read: quotes and blanks, as files have."""
    block = "".join(f'{i % 97},"{i % 7} words, quoted",{i % 1000}.5,{"ab"[i % 2]}\n' for i in range(10_000))
    path.write_text("age,note,pay,town\n" + block * (rows // 10_000), "utf-8")
    return path


def lines_of(path: Path) -> int:
    """Return the number of lines of a file."""
    return path.read_bytes().count(b"\n")
