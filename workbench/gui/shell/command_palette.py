"""Ctrl+K: every action and page in one list that is searched by typing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QFrame, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from workbench.gui.style.language import tr
from workbench.gui.widgets.basic import look, named

SIZE = (460, 360)
TOP = 64
MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
ACTION = Qt.ItemDataRole.UserRole


class CommandPalette(QFrame):
    """A panel over the window. Typing narrows the list, Return does what is marked, Esc closes it."""

    def __init__(self, window: QWidget, actions: Callable[[], Iterable[QAction]]) -> None:
        super().__init__(window)
        self.setObjectName("command_palette")
        self.setAccessibleName(tr("Commands and pages"))
        look(self, "card")
        self._actions = actions
        self._former: QWidget | None = None
        self._search = named(QLineEdit(), "palette_search", tr("Search commands and pages"))
        self._search.setPlaceholderText(tr("Type a command or a page"))
        self._list = named(QListWidget(), "palette_list", tr("Commands that match"))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(self._search)
        layout.addWidget(self._list, 1)
        self._search.textChanged.connect(self._narrow)
        self._search.installEventFilter(self)
        self._list.itemClicked.connect(self._do)
        self.hide()

    def open(self) -> None:
        """Show every command that can be given now, with the keys in the search field."""
        self._former = QApplication.focusWidget()
        self._search.clear()
        self._narrow("")
        parent = self.parentWidget()
        assert parent is not None
        self.resize(min(SIZE[0], parent.width() - 32), min(SIZE[1], parent.height() - TOP - 32))
        self.move(QPoint((parent.width() - self.width()) // 2, TOP))
        self.show()
        self.raise_()
        self._search.setFocus()

    def close_quietly(self) -> None:
        """Hide it and give the keys back to what had them."""
        self.hide()
        if self._former is not None and self._former.isVisible():
            self._former.setFocus()
        self._former = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Let the arrows walk the list and Return take what is marked, while the keys are in the search field."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in MOVES:
                QApplication.sendEvent(self._list, QKeyEvent(event.type(), event.key(), event.modifiers()))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._do(self._list.currentItem())
                return True
        return super().eventFilter(watched, event)

    def _narrow(self, typed: str) -> None:
        words = typed.lower().split()
        self._list.clear()
        for action in self._actions():
            text = action.text().replace("&", "").rstrip("…")
            searched = f"{text} {action.whatsThis()}".lower()
            if not action.isEnabled() or not all(word in searched for word in words):
                continue
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            item = QListWidgetItem(f"{text}    {keys}".rstrip())
            item.setData(ACTION, action)
            self._list.addItem(item)
        self._list.setCurrentRow(0)

    def _do(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            action = item.data(ACTION)
            self.close_quietly()
            action.trigger()
