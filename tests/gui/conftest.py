"""Fixtures of the window's tests: a real window without a screen, real clicks and keys, nothing left behind."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import gc
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("PySide6.QtWidgets", reason="the window needs Qt and the libraries it draws with")

import psutil
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from workbench.gui.app import application
from workbench.gui.window import MainWindow

PATIENCE = 30_000
"""Milliseconds within which a job of a test must end."""


@pytest.fixture(scope="session")
def qapp() -> QApplication:
    """The application in the project's style, once for all tests."""
    return application()


@pytest.fixture(autouse=True)
def nothing_left_behind(qapp: QApplication) -> Iterator[None]:
    """Fail a test that leaves a window, an active timer, a child process or a temporary file."""
    children = set(psutil.Process().children(recursive=True))
    files = set(Path(tempfile.gettempdir()).glob("workbench*"))
    yield
    qapp.processEvents()
    gc.collect()
    left = [f"window {w.objectName() or type(w).__name__}" for w in qapp.topLevelWidgets() if w.isVisible()]
    left += [f"timer of {t.parent().objectName() or type(t.parent()).__name__}" for t in active_timers(qapp)]
    left += [f"process {p.pid}" for p in psutil.Process().children(recursive=True) if p not in children]
    left += [f"file {f}" for f in Path(tempfile.gettempdir()).glob("workbench*") if f not in files]
    assert not left, f"left behind: {left}"


def active_timers(app: QApplication) -> list[QTimer]:
    """Return the timers that still run, wherever they are."""
    roots: list[QObject] = [app, *app.topLevelWidgets()]
    return [t for root in roots for t in root.findChildren(QTimer) if t.isActive()]


@pytest.fixture
def window(qtbot: QtBot) -> Iterator[MainWindow]:
    """A shown main window of 1280 by 800; at the end its jobs are stopped and it is closed."""
    made = MainWindow()
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.jobs.shut_down()
    made.session.may_leave = lambda then: True  # what a test has changed is not to be saved
    made.close()
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def press(qtbot: QtBot) -> Callable[[QWidget, str], None]:
    """A click of the left button in the middle of the visible widget of that name."""

    def press(within: QWidget, name: str) -> None:
        widget = within.findChild(QWidget, name)
        assert widget is not None, f"there is no {name}"
        assert widget.isVisible(), f"{name} is not visible"
        assert widget.isEnabled(), f"{name} is not enabled"
        qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    return press


@pytest.fixture
def idle(qtbot: QtBot) -> Callable[[MainWindow], None]:
    """Wait until no job runs."""

    def idle(window: MainWindow) -> None:
        qtbot.waitUntil(lambda: not window.jobs.running, timeout=PATIENCE)

    return idle


@pytest.fixture
def people(window: MainWindow, press: Callable[[QWidget, str], None], idle: Callable[[MainWindow], None]) -> MainWindow:
    """A window in which the people sample was opened by a click."""
    press(window, "sample_people")
    idle(window)
    assert window.session.opened is not None
    return window
