"""What the window says: a line in the status bar, and the banner for what went wrong; nothing outlasts its cause."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QStatusBar

from workbench.gui.session.session import Session
from workbench.gui.shell.banner import Banner
from workbench.gui.style.language import tr_sentence


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
        self._about: int | None = None  # the step that the newest message tells of
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
        """Tell that an edit was undone or done again, and end the message that it had."""
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
        stated = text[:1].upper() + text[1:]
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
