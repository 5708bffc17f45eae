"""The few questions that are asked in a window of their own: which file, and whether to lose or publish something."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QShowEvent
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QFileDialog,
    QFrame,
    QGridLayout,
    QLabel,
    QMessageBox,
    QPushButton,
    QScrollArea,
    QWidget,
)

from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.formatting import unbroken

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
    """What a question lets a person fill in.

    Signals:
        changed: something was typed; ask :meth:`problem`.
    """

    changed = Signal()

    def problem(self) -> str:
        """Return why what is typed cannot be taken; empty where it can."""
        raise NotImplementedError


MARGINS = (3, 20, 24, 16)
"""Left, top, right and bottom of a question: Qt itself adds 21 on the left, which makes both sides equal."""


ANEW_MS = 100
"""How often a question looks whether what it says has changed."""


AROUND = 60
"""Height that the window system may take of the screen for its title and its frame."""


class Question(QMessageBox):
    """A question with an edge of its own where the window system draws none around it.

    Where it would be higher than the screen, its words scroll: the buttons would be off it.
    """

    _scrolled: QScrollArea | None = None

    def arrange(self) -> None:
        """Give the words the same room on every side: Qt leaves a place for an icon that is not there.

        They are as wide as the buttons at least, which would else begin to the left of them.
        """
        grid, line = self.layout(), self.findChild(QDialogButtonBox)
        assert isinstance(grid, QGridLayout)
        assert line is not None
        grid.setContentsMargins(*MARGINS)
        grid.setColumnMinimumWidth(self._left(grid), line.sizeHint().width())
        for words in self.findChildren(QLabel):
            words.setIndent(0)

    def say(self, buttons: Mapping[str, QPushButton], text: str, verbs: Mapping[str, str]) -> None:
        """Say another text, and other verbs on the same buttons."""
        if self.informativeText() == unbroken(text) and all(verbs[key] == made.text() for key, made in buttons.items()):
            return
        for key, made in buttons.items():
            made.setText(verbs[key])
        self._unscroll()
        self.setInformativeText(unbroken(text))
        self.arrange()  # Qt has laid it out anew
        grid = self.layout()
        assert grid is not None
        grid.activate()
        width = max(self.width(), grid.totalMinimumSize().width())
        self.setFixedSize(width, grid.totalHeightForWidth(width))
        self._scroll()

    def add_entry(self, entry: Entry, verbs: tuple[QPushButton, ...]) -> None:
        """Put ``entry`` below the text; ``verbs`` can be pressed while nothing in it is refused."""
        grid, line = self.layout(), self.findChild(QDialogButtonBox)
        assert isinstance(grid, QGridLayout)
        assert line is not None
        grid.removeWidget(line)
        left = self._left(grid)
        grid.addWidget(entry, grid.rowCount(), left, 1, grid.columnCount() - left)
        grid.addWidget(line, grid.rowCount(), 0, 1, grid.columnCount())

        def follow() -> None:
            for verb in verbs:
                verb.setEnabled(not entry.problem())

        entry.changed.connect(follow)

    def _left(self, grid: QGridLayout) -> int:
        words = self.findChild(QLabel, "qt_msgbox_label")
        assert words is not None
        return int(grid.getItemPosition(grid.indexOf(words))[1])  # type: ignore[index]

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)  # it has its size now
        self._scroll()

    def _scroll(self) -> None:
        """Let the words scroll where there is no room for all of them."""
        grid, words = self.layout(), self.findChild(QLabel, "qt_msgbox_informativelabel")
        room = self.screen().availableGeometry()
        if self.height() <= room.height() - AROUND or words is None or self._scrolled is not None:
            return
        assert isinstance(grid, QGridLayout)
        place = grid.getItemPosition(grid.indexOf(words))
        grid.removeWidget(words)
        area = self._scrolled = QScrollArea(self, widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(words)
        words.show()
        grid.addWidget(area, *place)  # type: ignore[misc]
        area.show()
        self.setFixedSize(self.width() + area.verticalScrollBar().sizeHint().width(), room.height() - AROUND)
        self.move(self.x(), room.y() + AROUND // 2)

    def _unscroll(self) -> None:
        if self._scrolled is not None:
            words = self._scrolled.takeWidget()
            words.setParent(self)
            words.show()
            self._scrolled.deleteLater()
            self._scrolled = None

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
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
    # The question is also the heading: not every system shows the title of such a window.
    box = Question(QMessageBox.Icon.NoIcon, title, title, parent=parent)
    box.setObjectName("confirm")
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(unbroken(text))
    buttons = {key: box.addButton(verb, QMessageBox.ButtonRole.AcceptRole) for key, verb in verbs.items()}
    first, each = next(iter(buttons.values())), dict(buttons)
    ordered = "" in buttons
    none = buttons.pop("", None) or box.addButton(tr(no), QMessageBox.ButtonRole.RejectRole)
    for key, made in buttons.items():
        made.setObjectName(f"confirm_{key}")
    none.setObjectName("confirm_no")
    box.setDefaultButton(first if ordered else none)
    box.setEscapeButton(none)
    if ordered:  # all of one role, which some systems would put in the opposite order
        box.setStyleSheet(f"QDialogButtonBox {{ button-layout: {QDialogButtonBox.ButtonLayout.WinLayout.value} }}")
    if moot is not None:
        moot.connect(box.reject)
    if entry is not None:
        box.add_entry(entry, tuple(buttons.values()))
    box.arrange()
    if anew is not None:
        clock = QTimer(box, interval=ANEW_MS)
        clock.timeout.connect(lambda: box.say(each, *anew()))
        clock.start()
    box.exec()
    clicked = box.clickedButton()
    box.deleteLater()
    return next((key for key, made in buttons.items() if made is clicked), "")
