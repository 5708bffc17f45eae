"""The window in another language while it is open: each text on it is said again, and nothing is made anew.

So no running job, no curve and no entry is lost. What changes with the session is said again by the page that shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Qt
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

from workbench.gui.style.language import sayer


def retranslate() -> None:
    """Say every text of every widget again; one with a ``retranslate`` of its own knows better."""
    for widget in QApplication.allWidgets():
        for action in widget.actions():
            _action(action)
        _texts(widget)
        own = getattr(widget, "retranslate", None)
        if own is not None:
            own()


_said: WeakKeyDictionary[QObject, dict[str, tuple[str, Callable[[], str]]]] = WeakKeyDictionary()
"""How each text came about that was said again: two sentences may share a translation, such as “Annuler”."""


def _again(
    holder: QObject, what: str, read: Callable[[], str], write: Callable[[str], object], *, whole: bool = False
) -> None:
    former = read()
    if not former:
        return
    kept = _said.setdefault(holder, {})
    shown, say = kept.get(what, ("", str))
    if shown != former:  # it was set since
        say = sayer(former, whole=whole)
    text = say()
    kept[what] = (text, say)
    if text != former:
        write(text)


def _action(action: QAction) -> None:
    _again(action, "text", action.text, action.setText)
    _again(action, "tip", action.toolTip, action.setToolTip)
    _again(action, "status", action.statusTip, action.setStatusTip)


def _texts(widget: QWidget) -> None:
    _again(widget, "tip", widget.toolTip, widget.setToolTip)
    _again(widget, "name", widget.accessibleName, widget.setAccessibleName)
    _again(widget, "described", widget.accessibleDescription, widget.setAccessibleDescription)
    _again(widget, "title", widget.windowTitle, widget.setWindowTitle)
    match widget:
        case QLabel() | QAbstractButton():
            _again(widget, "text", widget.text, widget.setText)
        case QLineEdit() | QPlainTextEdit():
            _again(widget, "text", widget.placeholderText, widget.setPlaceholderText)
        case QGroupBox() | QMenu():
            _again(widget, "text", widget.title, widget.setTitle)
        case QComboBox():
            for at in range(widget.count()):
                _again(widget, f"item {at}", partial(widget.itemText, at), partial(widget.setItemText, at), whole=True)
                tip = partial(widget.setItemData, at, role=Qt.ItemDataRole.ToolTipRole)
                _again(widget, f"tip {at}", partial(_tip, widget, at), tip)
        case QTabBar():
            for at in range(widget.count()):
                _again(widget, f"item {at}", partial(widget.tabText, at), partial(widget.setTabText, at))
        case QListWidget():
            for at in range(widget.count()):
                item = widget.item(at)
                _again(widget, f"item {at}", item.text, item.setText, whole=True)
        case QTableView():
            widget.horizontalHeader().viewport().update()
    if isinstance(widget, QAbstractItemView):
        widget.viewport().update()


def _tip(widget: QComboBox, at: int) -> str:
    return widget.itemData(at, Qt.ItemDataRole.ToolTipRole) or ""
