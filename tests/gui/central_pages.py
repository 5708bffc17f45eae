"""What the pages of central releases (synthetic rows, statistics) must all do, and how their widgets are found."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from mishaps import statuses, text_of
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QWidget
from pytestqt.qtbot import QtBot

from workbench.gui.session.account_task import read_account
from workbench.gui.shell.main_window import MainWindow
from workbench.release.ledger.ledger import Ledger

Press = Callable[[QWidget, str], None]
Idle = Callable[[MainWindow], None]
Answer = Callable[[str], list[str]]


def seen(window: QWidget, name: str) -> bool:
    """Whether a widget of that name is in sight."""
    return any(part.isVisible() for part in window.findChildren(QWidget, name))


def enabled(window: QWidget, name: str) -> bool:
    """Whether the button of that name can be pressed."""
    return window.findChild(QAbstractButton, name).isEnabled()


def pick(window: QWidget, name: str, words: str) -> None:
    """Choose an entry of a list by keys."""
    box = window.findChild(QComboBox, name)
    assert box.isVisible()
    assert box.isEnabled()
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(box.findText(words)):
        QTest.keyClick(box, Qt.Key.Key_Down)
    assert box.currentText() == words


def cap(window: MainWindow, epsilon: str) -> None:
    """Set the cap of the open table behind the window's back."""
    with Ledger.open() as book:
        book.set_cap(window.session.account.dataset, Decimal(epsilon))


def locked_by_the_budget(
    window: MainWindow, press: Press, answer: Answer, idle: Idle, qtbot: QtBot, target: Path
) -> None:
    """With a quarter of what it needs, Release is locked and says why; the button beside it raises the cap."""
    cap(window, "0.25")
    read_account(window.session, window.jobs)
    idle(window)
    told = "⚠ Needs ε = 1, but only 0.25 remain"
    assert text_of(window, "release_short").startswith(told)
    release = window.findChild(QAbstractButton, "release_now")
    assert not release.isEnabled()
    assert "needs ε = 1, but only 0.25 remain" in release.toolTip()
    asked = answer("yes")
    press(window, "release_onward")
    qtbot.waitUntil(lambda: window.session.account.cap == 1)
    assert "it needs a cap of ε = 1 or more" in asked[0]
    assert window.page.objectName() == "page_release"
    idle(window)
    assert release.isEnabled()
    assert statuses() == []
    assert not target.exists()


def refused_if_spent_meanwhile(window: MainWindow, page: str, press: Press, qtbot: QtBot, target: Path) -> None:
    """What another program spent since the window read the ledger refuses the release, with both numbers."""
    cap(window, "0.25")
    press(window, "release_now")
    qtbot.waitUntil(lambda: bool(text_of(window, "release_refusal")))
    refused = text_of(window, "release_refusal")
    assert refused.startswith("✕ Refused, nothing was charged or written.")
    assert "0.25" in refused
    assert statuses() == []
    assert not target.exists()
