"""What Data shows before a table is open: where to drop one, and samples to learn with."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QGridLayout, QSizePolicy, QWidget

from workbench.data.databases.address import address_of
from workbench.data.samples.sample_tables import SAMPLES, Sample
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.recent_files import RecentFiles
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, Elided, button, label, look, named, panel, row, stack
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken

RECENT_KEY = "recent"


def look_for(paths: Sequence[str], jobs: JobCenter, apply: Callable[[dict[str, str]], None]) -> JobHandle:
    """Find out why each of ``paths`` cannot be opened; the reason is empty where it can."""
    job = Job(tr("Looking for recent files"), lambda emit, cancel: reasons(paths, cancel))
    return jobs.start(job, key=RECENT_KEY, shown=False, on_result=apply)


def reasons(paths: Sequence[str], cancel: CancelToken) -> dict[str, str]:
    """Return why each of ``paths`` cannot be opened; runs in a worker."""
    out = {}
    for path in paths:
        cancel.check()
        if address_of(path) is not None:
            out[path] = ""  # whether a database answers is found out when it is opened
        elif not Path(path).exists():
            out[path] = tr("is not there any more")
        else:
            out[path] = "" if os.access(path, os.R_OK) else tr("may not be read")
    return out


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
        self._place = Elided(self._folder, "muted", name=f"recent_place_{at}")
        forget = button(
            "×", f"recent_forget_{at}", "link", tip=tr("Leave it out of this list; the file stays where it is")
        )
        forget.setAccessibleName(tr("Forget {path}", path=path))
        self.open.clicked.connect(self.chosen)
        forget.clicked.connect(self.forgotten)
        self._place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(row(self.open, (self._place, 1), forget, spacing=12))

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
        named(self, "recent_list", tr("Recent files"))
        self._recent, self._jobs = recent, jobs
        self._lines: dict[str, RecentLine] = {}
        self._card = Card(pad=12, spacing=2)
        self.setLayout(stack(label(tr("RECENT"), "caption"), self._card, spacing=12, margins=(0, 8, 0, 0)))
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


WIDEST = 860


class DropHere(QFrame):
    """A dashed frame that says what it is for."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("drop_here")
        self._session = session
        session.theme_changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        theme = self._session.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setBrush(QColor(theme.surface))
            painter.setPen(QPen(QColor(theme.muted), 1.2, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)


class SampleCard(QFrame):
    """A sample: its name, a line about it, and the whole card is the button.

    Signals:
        chosen: (name)
    """

    chosen = Signal(str)

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        about = tr_sentence(sample.help)
        self.press: QAbstractButton = button(
            "",
            f"sample_{sample.name}",
            "sample",
            accessible=tr("Sample {name}: {help}", name=sample.name, help=about),
            press=lambda: self.chosen.emit(sample.name),
        )
        self.press.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.press.setMinimumHeight(76)
        text = label(f"{about[:1].upper()}{about[1:]}.", "muted", wrap=True)
        title = label(tr_sentence(sample.name.replace("-", " ").capitalize()), "heading")
        self.press.setLayout(stack(title, text, None, spacing=4, margins=(16, 12, 16, 12)))
        for child in self.press.findChildren(QWidget):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setLayout(stack(self.press))


DROP = tr_later(
    "Drop a table here (text, Parquet, Excel, SPSS, Stata and more), or a set of images for a network, or choose one."
)
SAFE = tr_later("What you open stays on this computer. Nothing is published before you press Release.")


class StartPanel(QWidget):
    """The inviting empty state.

    Signals:
        open_asked: the person wants to choose a file.
        folder_asked: the person wants to choose a folder of images.
        sample_chosen: (name)
    """

    open_asked = Signal()
    folder_asked = Signal()
    sample_chosen = Signal(str)

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self.setObjectName("data_start")
        drop = DropHere(session)
        title = label(tr("Open a table or images"), "heading")
        text = label(tr(DROP), "muted", wrap=True)
        self.open_button = button(tr("Open a table…"), "open_file", "primary", tip=tr("Choose a file (Ctrl+O)"))
        self.open_button.clicked.connect(self.open_asked)
        first = button(
            tr("Open sample"), "open_sample", tip=tr("Open a made-up table of 2,000 people: nobody in it exists")
        )
        first.clicked.connect(lambda: self.sample_chosen.emit(SAMPLES[0].name))
        safe = label(tr(SAFE), "muted", wrap=True)
        for line in (title, text, safe):
            line.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        database = button(
            tr("Open from a database…"), "open_database", tip=tr("A table of PostgreSQL, SQLite or another database")
        )
        database.clicked.connect(session.database_asked)
        images = button(
            tr("Open a folder of images…"),
            "open_image_folder",
            tip=tr("Images in one folder for each class, or the files of MNIST or CIFAR-10"),
        )
        images.clicked.connect(self.folder_asked)
        # Four in a row are cut in larger text.
        ways = (row(None, *two, None, spacing=12) for two in ((self.open_button, first), (database, images)))
        drop.setLayout(stack(title, text, stack(*ways), safe, spacing=12, margins=(24, 18, 24, 14)))
        recent = RecentList(session.recent, jobs)
        recent.chosen.connect(session.open_asked)
        samples = label(tr("OR LEARN WITH A SAMPLE"), "caption"), self._samples()
        column = look(panel(stack(drop, recent, 8, *samples, None, spacing=12)), "clear")
        column.setMaximumWidth(WIDEST)
        self.setLayout(row(column))

    def _samples(self) -> QGridLayout:
        cards = QGridLayout()
        cards.setSpacing(12)
        for position, sample in enumerate(SAMPLES):
            card = SampleCard(sample)
            card.chosen.connect(self.sample_chosen)
            cards.addWidget(card, position // 2, position % 2)
        cards.setColumnStretch(0, 1)
        cards.setColumnStretch(1, 1)
        return cards
