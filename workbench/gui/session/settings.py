"""What the window remembers from one start to the next: geometry, colours, recent files. No data values."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSettings

from workbench.paths import user_data


@dataclass(frozen=True)
class Cluster:
    """The Dask cluster that releases are computed on: by an address, by a file that has one, or none."""

    scheduler: str = ""
    file: str = ""


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

    @property
    def cluster(self) -> Cluster:
        """Where releases are computed."""
        return Cluster(*(str(self._file.value(key, "")) for key in ("scheduler", "scheduler_file")))

    @cluster.setter
    def cluster(self, cluster: Cluster) -> None:
        self._file.setValue("scheduler", cluster.scheduler)
        self._file.setValue("scheduler_file", cluster.file)

    def load(self, key: str) -> object:
        """Return what was saved under ``key`` (a state of Qt's), or ``None``."""
        return self._file.value(key)

    def save(self, key: str, value: object) -> None:
        """Save a state of Qt's under ``key``."""
        self._file.setValue(key, value)

    def sync(self) -> None:
        """Write the file now."""
        self._file.sync()
