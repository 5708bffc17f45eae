"""The files that were opened last, observable: the File menu and the start of Data show them."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from workbench.gui.session.settings import Settings


class RecentFiles(QObject):
    """Tables and projects, the newest first.

    Signals:
        changed: one was opened or forgotten.
    """

    changed = Signal()

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings

    @property
    def paths(self) -> list[str]:
        """The files, the newest first."""
        return self._settings.recent

    def add(self, path: str) -> None:
        """Put ``path`` first."""
        self._settings.add_recent(path)
        self.changed.emit()

    def forget(self, path: str) -> None:
        """Leave ``path`` out; the file itself is not touched."""
        self._settings.forget_recent(path)
        self.changed.emit()

    def clear(self) -> None:
        """Forget all of them."""
        self._settings.clear_recent()
        self.changed.emit()
