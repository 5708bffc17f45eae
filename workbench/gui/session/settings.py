"""What the window remembers from one start to the next: geometry, colours, recent files. No data values."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, QSettings, Signal

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
        return self._file.value(key)

    def save(self, key: str, value: object) -> None:
        self._file.setValue(key, value)

    def sync(self) -> None:
        self._file.sync()


# -- files that were opened last --------------------------------------------------------------------------------------


KEY, MOST = "recent", 10


class RecentFiles(QObject):
    """Tables and projects, the newest first."""

    changed = Signal()  # one was opened or forgotten

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings

    @property
    def paths(self) -> list[str]:
        value = self._settings.load(KEY) or []
        return [str(v) for v in (value if isinstance(value, list) else [value])]  # a list of one comes back as a text

    def add(self, path: str) -> None:
        self._keep([path, *(p for p in self.paths if p != path)][:MOST])

    def forget(self, path: str) -> None:
        """Leave ``path`` out; the file itself is not touched."""
        self._keep([p for p in self.paths if p != path])

    def clear(self) -> None:
        self._keep([])

    def _keep(self, paths: list[str]) -> None:
        self._settings.save(KEY, paths)
        self.changed.emit()
