"""The line above the page that says what went wrong, until it is closed or something new is to be said."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import button, label, look

SIGNS = {"error": "✕", "warning": "⚠", "info": "i"}


class Banner(QWidget):
    """One sentence with a sign for its level and a button that closes it.

    Signals:
        closed: the button was pressed.
    """

    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self._frame = look(QFrame(), "banner-error")
        self._sign = label("", "danger")
        self._text = label("", wrap=True, name="banner_text")
        close = button("Close", "banner_close", "link", tip="Close this message (Esc)")
        close.clicked.connect(lambda: self.closed.emit())
        inner = QHBoxLayout(self._frame)
        inner.setContentsMargins(12, 6, 12, 6)
        inner.setSpacing(10)
        inner.addWidget(self._sign)
        inner.addWidget(self._text, 1)
        inner.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 16, MARGIN, 0)
        layout.addWidget(self._frame)
        self.hide()

    def show_text(self, level: str, text: str) -> None:
        """Show ``text`` at ``level`` (error, warning or info)."""
        look(self._frame, f"banner-{level}")
        look(self._sign, {"error": "danger", "warning": "warn"}.get(level, "accent"))
        self._sign.setText(SIGNS[level])
        self._text.setText(text)
        self.setAccessibleName(f"{level}: {text}")
        self.show()
