"""What the window remembers from one start to the next: geometry, colours, recent files. No data values."""

from __future__ import annotations

from PySide6.QtCore import QSettings

from workbench.paths import user_data


class Settings:
    """A small file in the user data folder."""

    def __init__(self) -> None:
        self._file = QSettings(str(user_data() / "window.ini"), QSettings.Format.IniFormat)

    @property
    def theme(self) -> str:
        """``system``, ``light`` or ``dark``."""
        value = self._file.value("theme", "system")
        return value if value in ("system", "light", "dark") else "system"

    @theme.setter
    def theme(self, mode: str) -> None:
        self._file.setValue("theme", mode)

    @property
    def language(self) -> str:
        """``system`` or the code of a language."""
        return str(self._file.value("language", "system"))

    @language.setter
    def language(self, code: str) -> None:
        self._file.setValue("language", code)

    def load(self, key: str) -> object:
        """Return what was saved under ``key`` (a state of Qt's), or ``None``."""
        return self._file.value(key)

    def save(self, key: str, value: object) -> None:
        """Save a state of Qt's under ``key``."""
        self._file.setValue(key, value)

    def sync(self) -> None:
        """Write the file now."""
        self._file.sync()
