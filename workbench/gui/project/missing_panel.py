"""What a project was made of is not there any more: where it was, and a way to point to where it is now."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from workbench.gui.project.project import Project
from workbench.gui.project.project_tasks import SourceMissingError
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import button, label, look
from workbench.gui.widgets.dialogs import ask_for_folder, ask_for_images, ask_for_table


class MissingPanel(QWidget):
    """One sentence, two buttons that choose a file or a folder, and one that leaves it; hidden while nothing lacks."""

    def __init__(self, session: Session, project: Project) -> None:
        super().__init__()
        self.setObjectName("missing_panel")
        self._project = project
        self._gone: SourceMissingError | None = None
        self._path: Path | None = None
        self._text = label("", wrap=True, name="missing_text")
        self._file = button(tr("Choose the file…"), "missing_file", "link", tip=tr("Point to where it is now"))
        self._file.clicked.connect(self._ask_for_file)
        self._folder = button(tr("Choose the folder…"), "missing_folder", "link", tip=tr("Point to where it is now"))
        self._folder.clicked.connect(self._ask_for_folder)
        leave = button(tr("Leave it"), "missing_leave", "link", tip=tr("Open nothing; what is open stays"))
        leave.clicked.connect(self.hide)
        frame = look(QFrame(), "banner-warning")
        inner = QHBoxLayout(frame)
        inner.setContentsMargins(12, 6, 12, 6)
        inner.setSpacing(10)
        inner.addWidget(label("⚠", "warn"))
        inner.addWidget(self._text, 1)
        for part in (self._file, self._folder, leave):
            inner.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 16, MARGIN, 0)
        layout.addWidget(frame)
        project.missing.connect(self._offer)
        session.table_changed.connect(self.hide)
        self.hide()

    def _offer(self, gone: SourceMissingError, path: Path | None) -> None:
        self._gone, self._path = gone, path
        images = gone.project.declared is not None
        name = tr("The unsaved work") if path is None else f"{path.name[:1].upper()}{path.name[1:]}"
        source = gone.project.source
        self._text.setText(
            tr("{name}: its images are not there any more: {source}", name=name, source=source)
            if images
            else tr("{name}: its table is not there any more: {source}", name=name, source=source)
        )
        self.setAccessibleName(self._text.text())
        self._folder.setVisible(images)
        self.show()

    def _ask_for_file(self) -> None:
        assert self._gone is not None
        images = self._gone.project.declared is not None
        title = tr("Where the images are now") if images else tr("Where the table is now")
        self._take(ask_for_images(self, title) if images else ask_for_table(self, title))

    def _ask_for_folder(self) -> None:
        self._take(ask_for_folder(self, tr("Where the images are now")))

    def _take(self, chosen: str) -> None:
        if chosen and self._gone is not None:
            self._project.find(self._gone, self._path, chosen)
