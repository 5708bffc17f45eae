"""What is dragged over the window: whether it can be opened, said while it is still held."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from PySide6.QtCore import QMimeData, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.render.fonts import font

OFFICE = (".xlsx", ".xls", ".ods", ".numbers")
NO_TABLES = (
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".heic", ".mp3", ".mp4", ".mov", ".pdf", ".doc", ".docx"),
    *(".odt", ".ppt", ".pptx", ".gz", ".7z", ".rar", ".tar", ".exe", ".html", ".json", ".xml"),
)
"""What is surely neither a table nor a set of images; the reader decides about everything else, whatever its name."""

PACKED_IMAGES = ("-ubyte.gz", ".bin.gz")
"""Of what is packed, images alone are read."""

KINDS = tr_later("CSV, TSV, Parquet or Feather file, a set of images, or a project")
INSET = 12


@dataclass(frozen=True)
class Dragged:
    """Something that is held over the window.

    Attributes:
        path: the file, where it is one that can be opened.
        problem: why it cannot be; empty where it can.
        use: what a drop does where it does not open the file.
    """

    path: str = ""
    problem: str = ""
    use: str = ""


def dragged(data: QMimeData) -> Dragged:
    """Return what is held; the file itself is not looked at."""
    urls = data.urls()
    if not urls:
        return Dragged(problem=tr("Only files can be dropped here: a {kinds}.", kinds=tr(KINDS)))
    if len(urls) > 1:
        return Dragged(problem=tr("{urls} files are held: drop one of them.", urls=len(urls)))
    if not urls[0].isLocalFile():
        return Dragged(problem=tr("This is not a file of this computer: save it first, then drop it."))
    path = urls[0].toLocalFile()
    name = PurePath(path).name
    if path.lower().endswith(OFFICE):
        return Dragged(problem=tr("{name} is a workbook: save it as CSV first, then drop that.", name=name))
    if path.lower().endswith(NO_TABLES) and not path.lower().endswith(PACKED_IMAGES):
        return Dragged(
            problem=tr("{name} is not a table that can be read: drop a {kinds}.", name=name, kinds=tr(KINDS))
        )
    return Dragged(path=path)


class DropVeil(QWidget):
    """Covers the window while something is held over it, and says what a drop would do."""

    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.setObjectName("drop_veil")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._session = session
        self._held = Dragged()
        self.hide()

    def show_held(self, held: Dragged) -> None:
        """Say what a drop of ``held`` would do."""
        self._held = held
        self.setAccessibleName(self.words())
        self.setGeometry(self._window.rect())
        self.raise_()
        self.show()
        self.update()

    def words(self) -> str:
        """Return what is said."""
        if self._held.problem:
            return f"✕ {self._held.problem}"
        return self._held.use or tr("Drop to open {name}", name=PurePath(self._held.path).name)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw a thin veil, a dashed frame and the words."""
        theme, painter = self._session.theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(theme.window)
        veil.setAlphaF(0.88)
        painter.fillRect(self.rect(), veil)
        ink = QColor(theme.danger if self._held.problem else theme.accent)
        painter.setPen(QPen(ink, 2, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(INSET, INSET, -INSET, -INSET), 8, 8)
        painter.setFont(font(18))
        room = self.rect().adjusted(64, 64, -64, -64)
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.words())
