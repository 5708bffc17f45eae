"""The few questions that are asked in a window of their own: which file, and whether to lose or publish something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QTimer, Signal, SignalInstance
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFileDialog, QPushButton, QWidget

from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import enable_if, label, named, scrolled, stack
from workbench.render.fonts import scaled

TABLES = tr_later(
    "Tables (*.csv *.tsv *.txt *.gz *.zst *.bz2 *.xz *.zip *.parquet *.pq *.feather *.arrow *.ipc *.jsonl *.ndjson "
    "*.xlsx *.xls *.xlsm *.xlsb *.ods *.sav *.zsav *.por *.dta *.sas7bdat *.xpt *.xport);;Text, also packed (*.csv "
    "*.tsv *.txt *.gz *.zst *.bz2 *.xz *.zip *.jsonl *.ndjson);;Parquet and Feather (*.parquet *.pq *.feather *.arrow "
    "*.ipc);;Excel and ODS (*.xlsx *.xls *.xlsm *.xlsb *.ods);;SPSS, Stata and SAS (*.sav *.zsav *.por *.dta "
    "*.sas7bdat *.xpt *.xport);;All files (*)"
)
IMAGES = tr_later("Images (*-ubyte *-ubyte.gz *.bin *.bin.gz *.npz *.zip)")
ALL = tr_later("All files (*)")
PICTURES = tr_later("PNG and JPEG images (*.png *.jpg *.jpeg *.PNG *.JPG *.JPEG)")
WEIGHTS = tr_later("Weights (*.safetensors *.pt *.pth *.bin)")
FOLDER_OF_IMAGES = tr_later("Open a folder of images")
DICTIONARIES = tr_later("Data dictionaries (*.csv);;All files (*)")
CERTIFICATES = tr_later("Certificates (*.certificate.json *.json);;All files (*)")
DATABASES = tr_later("SQLite files (*.sqlite *.sqlite3 *.db);;All files (*)")
SWEEPS = tr_later("Sweeps (*.csv);;All files (*)")
HIERARCHY_FILES = tr_later("Hierarchies (*.csv);;All files (*)")
SCHEDULERS = tr_later("Scheduler files (*.json);;All files (*)")
PROJECTS = tr_later("Projects (*.workbench.toml *.toml)")


FILES = {
    "table": (tr_later("Open a table"), (TABLES,)),
    "images": (tr_later("Open a table or images"), (IMAGES, ALL)),
    "weights": (tr_later("The public weights of the network"), (WEIGHTS, ALL)),
    "database": (tr_later("Choose a file of SQLite"), (DATABASES,)),
    "project": (tr_later("Open a project"), (PROJECTS,)),
    "certificate": (tr_later("Choose a certificate"), (CERTIFICATES,)),
    "dictionary": (tr_later("Import a data dictionary"), (DICTIONARIES,)),
    "hierarchy": (tr_later("Import a hierarchy"), (HIERARCHY_FILES,)),
    "sweep": (tr_later("Open a sweep"), (SWEEPS,)),
    "scheduler": (tr_later("Choose the file of a scheduler"), (SCHEDULERS,)),
}
"""The usual question for each file that a person chooses, and its kinds."""


def ask_for_file(parent: QWidget, what: str, title: str = "", folder: str = "") -> str:
    """Ask for one of :data:`FILES`, first in ``folder``; empty where the person thought better of it."""
    usual, kinds = FILES[what]
    return QFileDialog.getOpenFileName(parent, title or tr(usual), folder, ";;".join(map(tr, kinds)))[0]


def ask_for_data(parent: QWidget, folder: str = "") -> str:
    """Ask which table or set of images to open, first in ``folder``; empty where the person thought better of it."""
    tables, images = (kind.partition("(")[2].partition(")")[0] for kind in (TABLES, IMAGES))
    kinds = f"{tr('Tables and images')} ({tables} {images});;{tr(TABLES)}"
    return QFileDialog.getOpenFileName(parent, tr("Open a table or images"), folder, kinds)[0]


def ask_for_pictures(parent: QWidget, title: str) -> tuple[str, ...]:
    """Ask for single images, or for a file of them; empty where the person thought better of it."""
    kinds = f"{tr(PICTURES)};;{tr(IMAGES)};;{tr(ALL)}"
    return tuple(QFileDialog.getOpenFileNames(parent, title, "", kinds)[0])


def ask_where_to_save(parent: QWidget, title: str, suggested: str, kinds: str) -> str:
    """Ask where to save something; empty where the person thought better of it."""
    return QFileDialog.getSaveFileName(parent, title, suggested, tr(kinds))[0]


def ask_for_folder(parent: QWidget, title: str) -> str:
    """Ask for a folder; empty where the person thought better of it."""
    return QFileDialog.getExistingDirectory(parent, tr(title))


class Entry(QWidget):
    """What a question lets a person fill in."""

    changed = Signal()  # something was typed; ask `problem`

    def problem(self) -> str:
        """Return why what is typed cannot be taken; empty where it can."""
        raise NotImplementedError


WIDTH, SIDE = 500, 24  # points that a question is wide at least, and beside its words

ANEW_MS = 100  # how often a question looks whether what it says has changed

AROUND = 60  # height that the window system may take of the screen for its title and its frame


class Question(QDialog):
    """A question in a window of its own. Where it would be higher than the screen, its words scroll.

    Attributes:
        chosen: the key of the button that was pressed; empty for none of them.
    """

    def __init__(
        self, parent: QWidget, title: str, text: str, verbs: Mapping[str, str], no: str = "", entry: Entry | None = None
    ) -> None:
        """Make it; see :func:`choose`."""
        super().__init__(parent)
        named(self, "confirm", title).setWindowTitle(title)
        # The question is also the heading: not every system shows the title of such a window.
        self._title = label(title, "heading", wrap=True, name="confirm_title")
        self._words = label(text, wrap=True, name="confirm_text")
        self._area = scrolled(stack(self._words), "confirm_area")
        self._line = QDialogButtonBox()
        self.chosen, ordered = "", "" in verbs
        self._buttons = {
            key: self._verb(key, words, QDialogButtonBox.ButtonRole.AcceptRole) for key, words in verbs.items()
        }
        first = (
            next(iter(self._buttons.values()))
            if ordered
            else self._verb("", no, QDialogButtonBox.ButtonRole.RejectRole)
        )
        if ordered:  # all of one role, which some systems would put in the opposite order
            layout = QDialogButtonBox.ButtonLayout.WinLayout.value
            self._line.setStyleSheet(f"QDialogButtonBox {{ button-layout: {layout} }}")
        parts = [self._title, self._area, *([] if entry is None else [entry]), self._line]
        self.setLayout(stack(*parts, spacing=10, margins=(SIDE, 20, SIDE, 16)))
        first.setDefault(True)
        first.setFocus()
        if entry is not None:
            entry.changed.connect(lambda: enable_if(not entry.problem(), *self._buttons.values()))
        self._fit()

    def text(self) -> str:
        return self._title.text()

    def words(self) -> str:
        return self._words.text()

    def _verb(self, key: str, words: str, role: QDialogButtonBox.ButtonRole) -> QPushButton:
        made = self._line.addButton(words, role)
        made.setObjectName(f"confirm_{key or 'no'}")
        made.clicked.connect(partial(self._take, key))
        return made

    def _take(self, key: str) -> None:
        self.chosen = key
        self.accept()

    def say(self, text: str, verbs: Mapping[str, str]) -> None:
        """Say another text, and other verbs on the same buttons."""
        if (text, verbs) != (self.words(), {key: made.text() for key, made in self._buttons.items()}):
            self._words.setText(text)
            for key, made in self._buttons.items():
                made.setText(verbs[key])
            self._fit()

    def _fit(self) -> None:
        """Be as high as the words are, within the screen, and never less wide than before."""
        whole, screen = self.layout(), self.screen().availableGeometry()
        assert whole is not None
        self.ensurePolished()  # else letters and buttons have not the size that the style sheet gives them
        self._area.setFixedHeight(0)
        width = max(self.width() if self.isVisible() else scaled(WIDTH), whole.totalMinimumSize().width())
        rest = whole.totalHeightForWidth(width)
        room = screen.height() - AROUND - rest
        self._area.setFixedHeight(max(min(self._words.heightForWidth(width - 2 * SIDE), room), 0))
        self.setFixedSize(width, rest + self._area.height())
        if self.isVisible() and self.geometry().bottom() > screen.bottom():
            self.move(self.x(), screen.y() + AROUND // 2)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw an edge where the window system draws none around it."""
        super().paintEvent(event)
        if self.frameGeometry() == self.geometry():
            with QPainter(self) as painter:
                painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
                painter.drawRect(self.rect().adjusted(0, 0, -1, -1))


def confirm(parent: QWidget, title: str, text: str, verb: str) -> bool:
    """Ask whether to do what cannot be undone; Esc and Return say no."""
    return choose(parent, title, text, {"yes": verb}) == "yes"


def choose(
    parent: QWidget,
    title: str,
    text: str,
    verbs: dict[str, str],
    *,
    no: str = tr_later("Cancel"),
    entry: Entry | None = None,
    moot: SignalInstance | None = None,
    anew: Callable[[], tuple[str, dict[str, str]]] | None = None,
) -> str:
    """Ask which of several things to do; Esc chooses none of them, and so does Return unless ``verbs`` say otherwise.

    Args:
        parent: the widget it is about.
        title: the question in a few words.
        text: what each choice does.
        verbs: the text of the button of each choice; its object name is ``confirm_KEY``. Where one of them has the
            empty key, that is the button that chooses none; then they have this order, and Return presses the
            first.
        no: the text of the button that chooses none, where ``verbs`` have it not.
        entry: what can be filled in below the text; while it is refused nothing can be chosen.
        moot: takes the question away, with none of them chosen: there is nothing to decide any more.
        anew: returns text and verbs as they are now, where they can change while the question is open.

    Returns:
        The key of the choice, empty for none of them.
    """
    box = Question(parent, title, text, verbs, tr(no), entry)
    if moot is not None:
        moot.connect(box.reject)
    if anew is not None:
        clock = QTimer(box, interval=ANEW_MS)
        clock.timeout.connect(lambda: box.say(*anew()))
        clock.start()
    box.exec()
    box.deleteLater()
    return box.chosen
