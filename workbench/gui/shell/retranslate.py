"""The window in another language while it is open: each text on it is said again, and nothing is made anew.

So no running job, no curve and no entry is lost. What changes with the session is said again by the page that shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QGroupBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QTableView,
    QWidget,
)

from workbench.gui.style.language import again


def retranslate() -> None:
    """Say every text of every widget again; one with a ``retranslate`` of its own knows better."""
    for widget in QApplication.allWidgets():
        for action in widget.actions():
            _action(action)
        _texts(widget)
        own = getattr(widget, "retranslate", None)
        if own is not None:
            own()


def _again(read: Callable[[], str], write: Callable[[str], object]) -> None:
    former = read()
    text = again(former) if former else ""
    if text != former:
        write(text)


def _action(action: QAction) -> None:
    _again(action.text, action.setText)
    _again(action.toolTip, action.setToolTip)
    _again(action.statusTip, action.setStatusTip)


def _texts(widget: QWidget) -> None:
    _again(widget.toolTip, widget.setToolTip)
    _again(widget.accessibleName, widget.setAccessibleName)
    _again(widget.accessibleDescription, widget.setAccessibleDescription)
    _again(widget.windowTitle, widget.setWindowTitle)
    match widget:
        case QLabel() | QAbstractButton():
            _again(widget.text, widget.setText)
        case QLineEdit() | QPlainTextEdit():
            _again(widget.placeholderText, widget.setPlaceholderText)
        case QGroupBox() | QMenu():
            _again(widget.title, widget.setTitle)
        case QComboBox():
            for at in range(widget.count()):
                _again(partial(widget.itemText, at), partial(widget.setItemText, at))
        case QTabBar():
            for at in range(widget.count()):
                _again(partial(widget.tabText, at), partial(widget.setTabText, at))
        case QListWidget():
            for at in range(widget.count()):
                item = widget.item(at)
                _again(item.text, item.setText)
        case QTableView():
            widget.horizontalHeader().viewport().update()
    if isinstance(widget, QAbstractItemView):
        widget.viewport().update()
