"""The files that were opened last, observable: the File menu and the start of Data show them."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from workbench.gui.session.settings import Settings

KEY, MOST = "recent", 10


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
        value = self._settings.load(KEY) or []
        return [str(v) for v in (value if isinstance(value, list) else [value])]  # a list of one comes back as a text

    def add(self, path: str) -> None:
        """Put ``path`` first."""
        self._keep([path, *(p for p in self.paths if p != path)][:MOST])

    def forget(self, path: str) -> None:
        """Leave ``path`` out; the file itself is not touched."""
        self._keep([p for p in self.paths if p != path])

    def clear(self) -> None:
        """Forget all of them."""
        self._keep([])

    def _keep(self, paths: list[str]) -> None:
        self._settings.save(KEY, paths)
        self.changed.emit()
