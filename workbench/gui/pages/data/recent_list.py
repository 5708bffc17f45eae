"""Recent files on the start of Data: a click opens one; one that is gone says so and can be forgotten."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from workbench.data.databases.address import address_of
from workbench.gui.project.recent_tasks import look_for
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.recent_files import RecentFiles
from workbench.gui.style.language import tr
from workbench.gui.widgets.basic import Card, Elided, button, label, row

SHOWN = 5


class RecentLine(QWidget):
    """One file: its name as a button, its folder or what is wrong with it, and a button that forgets it.

    Signals:
        chosen: open it. forgotten: leave it out of the list.
    """

    chosen = Signal()
    forgotten = Signal()

    def __init__(self, path: str, at: int) -> None:
        super().__init__()
        pure = PurePath(path)
        address = address_of(path)
        self._folder, self._name = (str(pure.parent), pure.name) if address is None else (address.place, address.title)
        self.open = button(
            self._name.replace("&", "&&"), f"recent_{at}", "link", accessible=tr("Open {path}", path=path), tip=path
        )
        self._place = Elided(self._folder, "muted")
        self._place.setObjectName(f"recent_place_{at}")
        forget = button(
            "×", f"recent_forget_{at}", "link", tip=tr("Leave it out of this list; the file stays where it is")
        )
        forget.setAccessibleName(tr("Forget {path}", path=path))
        self.open.clicked.connect(self.chosen)
        forget.clicked.connect(self.forgotten)
        line = row(self.open, self._place, forget, spacing=12)
        line.setStretch(1, 1)
        self._place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(line)

    def say(self, reason: str) -> None:
        """Say why the file cannot be opened; an empty reason is none."""
        self.open.setEnabled(not reason)
        self._place.set_whole(f"{reason}: {self._folder}" if reason else self._folder)


class RecentList(QWidget):
    """The newest files; hidden while there are none.

    Signals:
        chosen: (path)
    """

    chosen = Signal(str)

    def __init__(self, recent: RecentFiles | None, jobs: JobCenter) -> None:
        super().__init__()
        self.setObjectName("recent_list")
        self.setAccessibleName(tr("Recent files"))
        self._recent, self._jobs = recent, jobs
        self._lines: dict[str, RecentLine] = {}
        self._card = Card(pad=12, spacing=2)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 8, 0, 0)
        whole.setSpacing(12)
        whole.addWidget(label(tr("RECENT"), "caption"))
        whole.addWidget(self._card)
        if recent is not None:
            recent.changed.connect(self.refresh)
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Look anew whether the files are there."""
        super().showEvent(event)
        self._look()

    def refresh(self) -> None:
        """Show the list as it is."""
        paths = self._recent.paths[:SHOWN] if self._recent is not None else []
        if paths != list(self._lines):
            for former in self._lines.values():
                self._card.body.removeWidget(former)
                former.setParent(None)
                former.deleteLater()
            self._lines = {}
            for at, path in enumerate(paths):
                line = RecentLine(path, at)
                line.chosen.connect(lambda path=path: self.chosen.emit(path))
                line.forgotten.connect(lambda path=path: self._forget(path))
                self._card.body.addWidget(line)
                self._lines[path] = line
        self.setVisible(bool(paths))
        if self.isVisible():
            self._look()

    def _look(self) -> None:
        if self._lines:
            look_for(list(self._lines), self._jobs, self._say)

    def _say(self, reasons: dict[str, str]) -> None:
        for path, reason in reasons.items():
            if path in self._lines:
                self._lines[path].say(reason)

    def _forget(self, path: str) -> None:
        assert self._recent is not None
        self._recent.forget(path)
