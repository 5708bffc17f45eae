"""What Data shows before a table is open: where to drop one, and samples to learn with."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QFrame, QGridLayout, QSizePolicy, QVBoxLayout, QWidget

from workbench.data.samples.sample_tables import SAMPLES, Sample
from workbench.gui.pages.data.recent_list import RecentList
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_sentence
from workbench.gui.widgets.basic import button, label, look, row, stack

WIDEST = 860


class DropHere(QFrame):
    """A dashed frame that says what it is for."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("drop_here")
        self._session = session
        session.theme_changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the surface and the dashes."""
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
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        press = button(
            "",
            f"sample_{sample.name}",
            "sample",
            accessible=tr("Sample {name}: {help}", name=sample.name, help=about),
        )
        press.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        press.setMinimumHeight(76)
        text = label(f"{about[:1].upper()}{about[1:]}.", "muted", wrap=True)
        title = label(tr_sentence(sample.name.replace("-", " ").capitalize()), "heading")
        inner = stack(title, text, None, spacing=4)
        inner.setContentsMargins(16, 12, 16, 12)
        press.setLayout(inner)
        for child in press.findChildren(QWidget):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        press.clicked.connect(lambda: self.chosen.emit(sample.name))
        layout.addWidget(press)
        self.press: QAbstractButton = press


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
        title.setStyleSheet("font-size: 18px; font-weight: 600;")
        text = label(
            tr("Drop a CSV, TSV, Parquet or Feather file here, or a set of images for a network, or choose one."),
            "muted",
            wrap=True,
        )
        self.open_button = button(tr("Open a table…"), "open_file", "primary", tip=tr("Choose a file (Ctrl+O)"))
        self.open_button.clicked.connect(self.open_asked)
        first = button(
            tr("Open sample"), "open_sample", tip=tr("Open a made-up table of 2,000 people: nobody in it exists")
        )
        first.clicked.connect(lambda: self.sample_chosen.emit(SAMPLES[0].name))
        safe = label(
            tr("What you open stays on this computer. Nothing is published before you press Release."),
            "muted",
            wrap=True,
        )
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
        inner = QVBoxLayout(drop)
        inner.setContentsMargins(24, 36, 24, 32)
        inner.setSpacing(12)
        inner.addWidget(title)
        inner.addWidget(text)
        inner.addLayout(row(None, self.open_button, first, database, images, None, spacing=12))
        inner.addSpacing(4)
        inner.addWidget(safe)
        column = look(QWidget(), "clear")
        column.setMaximumWidth(WIDEST)
        layout = QVBoxLayout(column)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(drop)
        recent = RecentList(session.recent, jobs)
        recent.chosen.connect(session.open_asked)
        layout.addWidget(recent)
        layout.addSpacing(8)
        layout.addWidget(label(tr("OR LEARN WITH A SAMPLE"), "caption"))
        layout.addLayout(self._samples())
        layout.addStretch(1)
        whole = row(column)
        self.setLayout(whole)

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
