"""What went wrong, in the reserved line at the foot of the window: nothing on the page moves when it appears."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import button, label, look, row

LEVELS = {"error": tr_later("Error"), "warning": tr_later("Warning"), "info": tr_later("Note")}
SIGNS = {"error": "✕", "warning": "⚠", "info": "i"}
LINES = 2
"""Lines of text that are reserved; what is longer ends with … and is in the tooltip and behind More."""


class Banner(QWidget):
    """One sentence with a sign for its level and a button that closes it.

    Signals:
        closed: the button was pressed.
        more_asked: (sentence) the person wants to read all of a long one.
    """

    closed = Signal()
    more_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self._whole = ""
        self._frame = look(QFrame(), "banner-error")
        self._sign = label("", "danger")
        self._text = label("", wrap=True, name="banner_text")
        self._more = button(tr("More"), "banner_more", "link", tip=tr("Show the whole message beside the page"))
        self._more.clicked.connect(lambda: self.more_asked.emit(self._whole))
        self._more.hide()
        close = button(tr("Close"), "banner_close", "link", tip=tr("Close this message (Esc)"))
        close.clicked.connect(lambda: self.closed.emit())
        inner = row(self._sign, spacing=10, margins=(12, 0, 12, 0))
        self._frame.setLayout(inner)
        inner.addWidget(self._text, 1)
        inner.addWidget(self._more)
        inner.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 1, 0, 1)
        layout.addWidget(self._frame)
        self.hide()

    @property
    def reserved(self) -> int:
        """The height that it needs for its lines."""
        return LINES * self._text.fontMetrics().lineSpacing() + 6

    def show_text(self, level: str, text: str) -> None:
        """Show ``text`` at ``level`` (error, warning or info)."""
        look(self._frame, f"banner-{level}")
        look(self._sign, {"error": "danger", "warning": "warn"}.get(level, "accent"))
        self._sign.setText(SIGNS[level])
        self._whole = text
        self.setAccessibleName(f"{tr(LEVELS[level])}: {text}")
        self.setToolTip(text)
        self.show()
        self._cut()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Show as much of the sentence as there is room for."""
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        metrics, whole = self._text.fontMetrics(), self._whole
        room = QRect(0, 0, max(self._text.width(), 80), LINES * metrics.lineSpacing())

        def fits(text: str) -> bool:
            return metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, text).height() <= room.height()

        shown, end = whole, len(whole)
        while not fits(shown) and end > 20:
            end = whole.rfind(" ", 0, end - 1)
            shown = f"{whole[: max(end, 20)]} …"
        self._text.setText(shown)
        self._more.setVisible(shown != whole)
