"""A person at the window: she clicks and types at what she can see, and at nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QMimeData, QModelIndex, QObject, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QScrollArea,
    QTableView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from workbench.gui.shell.main_window import MainWindow
from workbench.gui.widgets.dialogs import Question

LEFT, NO_KEY = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
FIRST_NAMES = ("Zoé", "Noël", "Ana", "Bob", "Jürgen", "Li", "Mia", "Omar")
HEADER = ("id", "name", "age", "sex", "zip", "income", "label")


def write_people(
    path: Path, rows: int = 300, delimiter: str = ",", decimal: str = ".", encoding: str = "utf-8"
) -> Path:
    """Write a table of people, none of whom exists, in a dialect."""
    made = random.Random(11)
    lines = [delimiter.join(HEADER)]
    for i in range(rows):
        income = f"{made.uniform(9e3, 15e4):.2f}".replace(".", decimal)
        cells = (f"P{i:05}", f"{FIRST_NAMES[i % 8]} {i}", str(made.randint(18, 95)), "fm"[i % 2])
        lines.append(delimiter.join((*cells, str(75_000 + made.randint(1, 20)), income, ("no", "yes")[i % 3 == 0])))
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def choose_model(within: QWidget, name: str) -> None:
    """Click a model in the list on Train, having opened its part of the list where that is folded."""
    found = within.findChild(QAbstractButton, f"train_model_{name}")
    assert found is not None, f"{name} is not in the list"
    area = within.findChild(QScrollArea, "train_forms")
    assert area is not None
    for fold in area.findChildren(QAbstractButton):
        if not found.isVisible() and fold.objectName().startswith("train_fold_"):
            _click_in(area, fold)
            if not found.isVisible():
                _click_in(area, fold)
    assert found.isVisible(), f"{name} is not to be seen"
    assert found.isEnabled(), f"{name} is not enabled"
    _click_in(area, found)
    assert found.isChecked()


def _click_in(area: QScrollArea, pressed: QAbstractButton) -> None:
    """Scroll to a button, and click where its words begin."""
    area.ensureWidgetVisible(pressed)
    QTest.mouseClick(pressed, LEFT, pos=QPoint(8, pressed.height() // 2))


WAYS = ("rows", "synthetic", "statistics")


def go_to(window: MainWindow, page: str) -> None:
    """Click the room of a page, its tab, and its link where it shares the tab; of a way to release, its settings."""
    if page in WAYS:
        go_to(window, "release")
        _click_seen(window, f"release_way_{page}")
        return
    wanted = window.rail.pages[page]
    _click_seen(window, f"rail_{wanted.room}")
    if len(window.rail.tabs(page)) > 1:
        _click_seen(window, f"tab_{wanted.tab}")
    shown = window.page.objectName().removeprefix("page_")
    if shown != page:
        _click_seen(window, f"{shown}_way_{page}")
    assert window.page.objectName() == f"page_{page}"


def show(window: MainWindow, page: str) -> None:
    """Show a page, or the settings of a way to release, without a click."""
    if page in WAYS:
        window.session.choose_way(page)
        page = "release"
    window.show_page(page)


def _click_seen(window: MainWindow, name: str) -> None:
    seen = [w for w in window.findChildren(QWidget, name) if w.isVisible()]
    assert seen, f"{name} is not to be seen"
    assert seen[0].isEnabled(), f"{name} is not enabled"
    QTest.mouseClick(seen[0], LEFT)


def drop_on(target: QWidget, *paths: Path, held: Callable[[], object] = lambda: None) -> None:
    """Drop files on the middle of a widget; ``held`` is called while they are over it."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    place = target.rect().center()
    enter = QDragEnterEvent(place, Qt.DropAction.CopyAction, mime, LEFT, NO_KEY)
    QApplication.sendEvent(target, enter)
    assert enter.isAccepted()
    held()
    QApplication.sendEvent(target, QDropEvent(QPointF(place), Qt.DropAction.CopyAction, mime, LEFT, NO_KEY))


class Hands:
    """Clicks, keys and drops; every widget is found by its name and must be visible and enabled.

    Attributes:
        clicks: how many there were; a tab counts for two, as its room may have to be clicked first.
    """

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window, self.qtbot, self.clicks = window, qtbot, 0

    def idle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.window.jobs.running)

    def until(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition)

    # -- what is seen ---------------------------------------------------------------------------------------------

    def see(self, name: str) -> QWidget:
        """Return the visible, enabled widget of that name."""
        found = [w for w in self.window.findChildren(QWidget, name) if w.isVisible()]
        assert found, f"{name} is not to be seen"
        assert found[0].isEnabled(), f"{name} is not enabled"
        return found[0]

    def sees(self, name: str) -> bool:
        """Return whether a widget of that name is visible."""
        return any(w.isVisible() for w in self.window.findChildren(QWidget, name))

    def text(self, name: str) -> str:
        """Return what a visible label says, whole where it is shown with an ellipsis."""
        widget = self.see(name)
        assert isinstance(widget, QLabel)
        return widget.accessibleName() if "…" in widget.text() else widget.text()

    def table(self, name: str) -> QTableView:
        found = self.see(name)
        assert isinstance(found, QTableView)
        return found

    def index(self, table: str, attribute: str, heading: str) -> QModelIndex:
        """Return a cell by the name of its row, or its whole first cell, and the heading of its column."""
        model = self.table(table).model()
        heads = [model.headerData(c, Qt.Orientation.Horizontal) for c in range(model.columnCount())]
        whole = [str(model.index(r, 0).data()) for r in range(model.rowCount())]
        names = whole if attribute in whole else [name.split()[0] for name in whole]
        return model.index(names.index(attribute), heads.index(heading))

    def cell(self, table: str, attribute: str, heading: str) -> str:
        return str(self.index(table, attribute, heading).data())

    # -- the mouse ------------------------------------------------------------------------------------------------

    def click(self, name: str) -> None:
        """Click in the middle of a widget, or in the room and tab of a page."""
        self.clicks += 1
        if name.startswith("tab_"):
            self.clicks += 1
            go_to(self.window, name.removeprefix("tab_"))
            return
        self.qtbot.mouseClick(self.see(name), LEFT)

    def finish(self, name: str) -> None:
        """Click, and wait until what that started is finished."""
        self.click(name)
        self.idle()

    def drop(self, path: Path) -> None:
        """Drop a file on the middle of the window."""
        drop_on(self.window, path)
        self.idle()

    def click_cell(self, table: str, attribute: str, heading: str, *, double: bool = False) -> None:
        """Click a cell, twice where it is to be edited."""
        self.clicks += 1 + double
        view, index = self.table(table), self.index(table, attribute, heading)
        view.scrollTo(index)
        place = view.visualRect(index).center()
        assert view.viewport().rect().contains(place), f"{attribute}: {heading} is out of sight"
        self.qtbot.mouseClick(view.viewport(), LEFT, pos=place)
        if double:
            self.qtbot.mouseDClick(view.viewport(), LEFT, pos=place)

    def choose_way(self, words: str) -> None:
        """Click the heading of a way on the decision screen."""
        self.clicks += 1
        view = self.table("decide_table")
        column = self._way(words)
        head = view.horizontalHeader()
        view.scrollTo(view.model().index(0, column))
        place = QPoint(head.sectionViewportPosition(column) + head.sectionSize(column) // 2, head.height() // 2)
        self.qtbot.mouseClick(head.viewport(), LEFT, pos=place)
        assert self.heading(column).startswith("●")

    def choose_way_by_keys(self, words: str) -> None:
        """Go to a way on the decision screen by keys, and press Return."""
        self.tab_to("decide_table")
        column = self._way(words)
        self.key(Qt.Key.Key_Home)
        view = self.table("decide_table")
        for _ in range(sum(not view.isColumnHidden(at) for at in range(1, column + 1))):
            self.key(Qt.Key.Key_Right)
        self.key(Qt.Key.Key_Return)
        assert self.heading(column).startswith("●")

    def heading(self, column: int) -> str:
        return str(self.table("decide_table").model().headerData(column, Qt.Orientation.Horizontal))

    def _way(self, words: str) -> int:
        columns = range(self.table("decide_table").model().columnCount())
        return next(column for column in columns if words in self.heading(column))

    def pick(self, table: str, attribute: str, heading: str, words: str) -> None:
        """Open the list of a cell by a double click, and click the entry that begins with ``words``."""
        self.click_cell(table, attribute, heading, double=True)
        combo = self.open_list()
        at = _entry(combo, words)
        view = combo.view()
        entry = combo.model().index(at, 0)
        view.scrollTo(entry)
        self.qtbot.mouseMove(view.viewport(), view.visualRect(entry).center())
        self.qtbot.mouseClick(view.viewport(), LEFT, pos=view.visualRect(entry).center())
        self.until(lambda: not self.sees("choice_editor"))

    def open_list(self) -> QComboBox:
        """Return the list of the cell that is being edited, once it has opened."""

        def lists() -> list[QComboBox]:
            return [c for c in self.window.findChildren(QComboBox, "choice_editor") if c.view().isVisible()]

        self.until(lambda: bool(lists()))
        return lists()[0]

    # -- the keyboard ---------------------------------------------------------------------------------------------

    def _active(self) -> bool:
        """Activate the window, as a window manager does once a question is answered; the first time may do nothing."""
        self.window.activateWindow()
        return QApplication.focusWidget() is not None

    @property
    def focus(self) -> QWidget:
        if QApplication.activeWindow() is None:
            self.until(self._active)
        found = QApplication.focusWidget()
        assert found is not None, "nothing has the focus"
        return found

    def key(self, key: Qt.Key, modifier: Qt.KeyboardModifier = NO_KEY) -> None:
        """Press a key: it goes to the list that is open, else to what has the focus."""
        popup = QApplication.activePopupWidget()
        self.qtbot.keyClick(popup.windowHandle() if popup is not None else self.focus, key, modifier)
        QApplication.processEvents()  # Qt commits the editor of a cell when it comes back to its event loop

    def keys(self, text: str) -> None:
        self.qtbot.keyClicks(self.focus, text)

    def type_into(self, name: str, text: str) -> None:
        """Click into a field and replace what stands there."""
        self.clicks += 1
        field = self.see(name)
        assert isinstance(field, QLineEdit)
        self.qtbot.mouseClick(field, LEFT)
        self.qtbot.keyClick(field, Qt.Key.Key_A, CTRL)
        self.qtbot.keyClicks(field, text)

    def type_in_cell(self, table: str, attribute: str, heading: str, text: str) -> None:
        """Edit a cell by a double click, keys and Return."""
        self.click_cell(table, attribute, heading, double=True)
        self.keys(text)
        self.key(Qt.Key.Key_Return)

    def tab_to(self, name: str, *, back: bool = False, most: int = 80) -> None:
        """Press Tab (or Shift+Tab) until the widget of that name has the focus."""
        walked = []
        for _ in range(most):
            if self.focus.objectName() == name:
                return
            walked.append(self.focus.objectName() or type(self.focus).__name__)
            self.key(Qt.Key.Key_Backtab if back else Qt.Key.Key_Tab, SHIFT if back else NO_KEY)
        raise AssertionError(f"Tab does not reach {name}: {walked}")

    def arrow_to(self, table: str, attribute: str, heading: str) -> None:
        """Go to a cell of the table that has the focus by arrow keys alone."""
        view, goal = self.table(table), self.index(table, attribute, heading)
        assert view.hasFocus(), f"{self.focus.objectName()} has the focus"
        self.key(Qt.Key.Key_Home, CTRL)
        for _ in range(view.verticalHeader().visualIndex(goal.row())):  # rows can be shown in another order
            self.key(Qt.Key.Key_Down)
        for _ in range(view.horizontalHeader().visualIndex(goal.column())):
            self.key(Qt.Key.Key_Right)
        assert view.currentIndex() == goal, f"the arrows lead to {view.currentIndex().data()}"

    def pick_by_keys(self, table: str, attribute: str, heading: str, words: str) -> None:
        """Open the list of a cell by F2, go to an entry by arrows and take it by Return."""
        self.arrow_to(table, attribute, heading)
        self.key(Qt.Key.Key_F2)
        combo = self.open_list()
        at = _entry(combo, words)
        self.key(Qt.Key.Key_Home)
        for _ in range(at):
            self.key(Qt.Key.Key_Down)
        self.key(Qt.Key.Key_Return)
        self.until(lambda: not self.sees("choice_editor"))

    # -- questions ------------------------------------------------------------------------------------------------

    def answer(self, name: str, *, by_keys: bool = False) -> list[str]:
        """Press a button of the question that comes next; return a list that will hold what it said."""
        told: list[str] = []

        def respond(box: QWidget) -> None:
            assert isinstance(box, Question)
            told.append(f"{box.text()}\n{box.words()}".replace("\u00a0", " "))
            if by_keys:
                self.tab_to(f"confirm_{name}")
                self.key(Qt.Key.Key_Space)
            else:
                self.qtbot.mouseClick(_child(box, QAbstractButton, f"confirm_{name}"), LEFT)

        when_asked(respond)
        return told

    def name_file(self, path: Path) -> None:
        """Type a path into the chooser of files that comes next, and press Return."""

        typing = QTimer(self.window, interval=50)

        def look() -> None:
            box = QApplication.activeModalWidget()
            if not isinstance(box, QFileDialog) or not box.isVisible():
                return
            field = _child(box, QLineEdit, "fileNameEdit")
            assert isinstance(field, QLineEdit)
            if not field.hasFocus():  # until it has, the chooser writes into it what its list selects
                box.activateWindow()
                field.setFocus()
            elif field.text() != str(path):
                field.selectAll()
                self.qtbot.keyClicks(field, str(path))
            else:  # the list of completions may have taken an earlier Return
                box.finished.connect(typing.stop)
                self.qtbot.keyClick(field, Qt.Key.Key_Return)

        typing.timeout.connect(look)
        typing.start()


def when_asked(respond: Callable[[Any], object]) -> None:
    """Call ``respond`` with the question that comes next, again and again while it returns ``False``."""
    asked = QTimer(QApplication.instance(), interval=20)

    def look() -> None:
        box = QApplication.activeModalWidget()
        if asked.isActive() and isinstance(box, Question) and box.isVisible():
            asked.stop()  # what answers it may ask the next one
            if respond(box) is False:
                asked.start()
            else:
                asked.deleteLater()

    asked.timeout.connect(look)
    asked.start()


def _entry(combo: QComboBox, words: str) -> int:
    listed = [combo.itemText(i) for i in range(combo.count())]
    found = [i for i, text in enumerate(listed) if text.startswith(words)]
    assert found, f"{words} is not among {listed}"
    return found[0]


def _child(box: QWidget, kind: type[QObject], name: str) -> QWidget:
    found = box.findChild(kind, name)
    assert isinstance(found, QWidget), f"the question has no {name}"
    return found
