"""What the window says: a line in the status bar, and a banner for what went wrong; nothing outlasts its cause."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QStatusBar, QVBoxLayout, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import capital, tr, tr_later, tr_sentence
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


class Messages(QObject):
    """The newest message, and when it is over.

    An error or a warning is removed with the page it was shown on, and with the edit it is about
    when that is undone.

    Signals:
        more_asked: (sentence) show all of a message that is too long for its place.
    """

    more_asked = Signal(str)

    def __init__(self, session: Session, banner: Banner, status: QStatusBar) -> None:
        super().__init__(status)
        self._banner, self._status = banner, status
        self._shown = ""
        self._edit: int | None = None  # the step that was just made, until the event in which it was made is over
        self._about: int | None = None  # the step that the newest message is about
        self._of_step = False  # whether it says that a step was undone or done again
        self._over = QTimer(self, singleShot=True, interval=0)
        self._over.timeout.connect(self._end_edit)
        self._index = 0
        self._stopped = False
        banner.closed.connect(self.drop)
        banner.more_asked.connect(self.more_asked)
        session.notified.connect(self.notify)
        session.table_changed.connect(self.drop)  # what was said was about the former table
        session.undo_stack.indexChanged.connect(self._moved)

    def notify(self, level: str, text: str) -> None:
        """Say ``text``; in the banner, too, where it is an error or a warning."""
        text = tr_sentence(text)
        self._show(text)
        self._about = self._edit
        if level != "info":
            self._banner.show_text(level, text)
        elif self._edit is not None:  # what went wrong before was put right, or left, by a step that went well
            self._banner.hide()

    def report_step(self, what: str, edit: str) -> None:
        """Say that an edit was undone or done again, and end the message that it had."""
        self._show(f"{what}: {edit}" if edit else "")
        self._of_step = True

    def drop(self) -> None:
        if self._banner.isHidden():
            return
        self._banner.hide()
        if self._status.currentMessage() == self._shown:
            self._status.clearMessage()

    def stop(self) -> None:
        """Follow the edits no longer: the status bar goes before the session, which forgets its edits last."""
        self._stopped = True

    def _show(self, text: str) -> None:
        stated = capital(text)
        self._shown = stated if not stated or stated.endswith((".", "…", "?", "!")) else f"{stated}."
        self._of_step = False
        self._status.showMessage(self._shown)

    def _moved(self, index: int) -> None:
        if self._stopped:
            return
        undone = self._about is not None and index < self._about
        if undone:
            self._banner.hide()
            self._about = None
        if (undone or self._of_step) and self._status.currentMessage() == self._shown:
            self._status.clearMessage()
        self._edit = index if index > self._index else None
        self._index = index
        self._over.start()

    def _end_edit(self) -> None:
        self._edit = None
