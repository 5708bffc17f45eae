"""The hands and the eyes of a tour: presses what a person presses, waits as she waits, and takes pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, QTimer
from PySide6.QtGui import QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QLineEdit, QMessageBox, QPushButton, QWidget

from workbench.gui.app import application, main_window, settle
from workbench.gui.widgets import figures_first

PATIENCE_S = 60.0
LOOK_MS = 20
CALM_LOOKS = 30
"""In how many looks nothing must go on before a picture: forms wait a moment before they work something out."""


class LostError(Exception):
    """A step of the tour could not be taken."""


class Guide:
    """One window on its tour.

    Attributes:
        window: the real window.
        taken: the name of the last picture.
    """

    def __init__(self, folder: Path, theme: str, size: tuple[int, int]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._number = 0
        self.taken = "none"
        self.app = application()
        self.window = main_window()
        self.window.session.table_changed.connect(
            lambda: figures_first.agree(self.window.session)
        )  # no question stops it
        self.window.theme.set_mode(theme)
        self._size = QSize(*size)
        self.window.resize(self._size)
        self.window.move(0, 0)
        self.window.show()
        self.window.activateWindow()
        settle(self.window, None)
        self.until(self.window.isActiveWindow, "the window does not get the keyboard")
        self.press("tour_leave")  # the card of the first start
        self.calm()

    # -- hands ----------------------------------------------------------------------------------------------------

    def find(self, name: str) -> QWidget:
        """Return the visible widget called ``name``."""
        for root in (self.window, *self.app.topLevelWidgets()):
            for widget in root.findChildren(QWidget, name):
                if widget.isVisible():
                    return widget
        raise LostError(f"no {name} is in sight")

    def press(self, name: str) -> None:
        """Click a button once it can be pressed; of a tab, first its room."""
        if name.startswith("tab_"):
            self.window.show_room(self.window.rail.pages[name.removeprefix("tab_")].room)
        self.until(lambda: self.find(name).isEnabled(), f"{name} cannot be pressed")
        QTest.mouseClick(self.find(name), Qt.MouseButton.LeftButton)

    def choose(self, name: str, value: str) -> None:
        """Choose the entry of a list that stands for ``value``, by keys."""
        chooser = self.find(name)
        assert isinstance(chooser, QComboBox)
        chooser.setFocus()
        QTest.keyClick(chooser, Qt.Key.Key_Home)
        for _ in range(chooser.findData(value)):
            QTest.keyClick(chooser, Qt.Key.Key_Down)

    def type(self, name: str, text: str) -> None:
        """Replace what stands in a field."""
        field = self.find(name)
        assert isinstance(field, QLineEdit)
        field.setFocus()
        field.selectAll()
        QTest.keyClicks(field, text)

    def key(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Press a key where the keyboard is."""
        QTest.keyClick(self.app.focusWidget() or self.window, key, modifier)

    def cell(self, table: str, row: int, column: int) -> QModelIndex:
        """Click a cell of a table."""
        view = self.find(table)
        assert isinstance(view, QAbstractItemView)
        index = view.model().index(row, column)
        view.scrollTo(index)
        middle = view.visualRect(index).center()
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, middle)
        return index

    def fill(self, text: str) -> None:
        """Type into the cell that is being edited, and end it by Return."""
        self.until(lambda: isinstance(self.app.focusWidget(), QLineEdit), "no cell is being edited")
        field = self.app.focusWidget()
        assert field is not None
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)
        self.app.processEvents()

    def answer(self, name: str, picture: str, asked: str) -> None:
        """Press the button ``asked``, take a picture of the question that it opens, and press ``name``."""
        seen: list[str] = []

        def look() -> None:
            box = next((w for w in self.app.topLevelWidgets() if isinstance(w, QMessageBox) and w.isVisible()), None)
            if box is not None:
                timer.stop()
                self.shot(picture)
                seen.append(picture)
                button = box.findChild(QPushButton, name)
                assert button is not None, f"the question has no {name}"
                button.click()

        timer = QTimer(self.window, interval=150)
        timer.timeout.connect(look)
        timer.start()
        self.press(asked)
        self.until(lambda: bool(seen), f"{asked} asked no question")

    # -- patience -------------------------------------------------------------------------------------------------

    def until(self, holds: Callable[[], bool], otherwise: str, seconds: float = PATIENCE_S) -> None:
        """Wait, with the window alive, until ``holds``."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                raise LostError(otherwise)
            QTest.qWait(20)

    def calm(self) -> None:
        """Wait until no job has run for a moment: looks are counted, as time alone passes also while nothing moves."""
        deadline = time.monotonic() + PATIENCE_S
        quiet = 0
        while quiet < CALM_LOOKS:
            if time.monotonic() > deadline:
                raise LostError("the work does not end")
            quiet = 0 if self.window.jobs.running else quiet + 1
            QTest.qWait(LOOK_MS)

    # -- eyes -----------------------------------------------------------------------------------------------------

    def shot(self, name: str) -> None:
        """Take the next picture: the window, and whatever stands open above it."""
        QTest.qWait(60)  # what has just changed is arranged by then
        if self.window.size() != self._size:
            raise LostError(f"the window has grown to {self.window.width()} by {self.window.height()}")
        picture = QImage(self._size, QImage.Format.Format_RGB32)
        painter = QPainter(picture)
        self.window.render(painter, QPoint(0, 0))
        for above in self.app.topLevelWidgets():
            if above is not self.window and above.isVisible() and above.width() > 1:
                above.render(painter, above.mapToGlobal(QPoint(0, 0)) - self.window.mapToGlobal(QPoint(0, 0)))
        painter.end()
        self._number += 1
        self.taken = f"{self._number:02}-{name}"
        if not picture.save(str(self._folder / f"{self.taken}.png")):
            raise LostError(f"the picture could not be written into {self._folder}")

    def leave(self) -> None:
        """Close the window without a question."""
        self.window.session.may_leave = lambda then: True
        self.window.jobs.shut_down()
        self.window.close()
