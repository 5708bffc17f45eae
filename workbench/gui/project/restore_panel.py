"""The offer to bring back what a window that did not end well had not saved: once, above the page, in no hurry."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from workbench.gui.project.autosave import Unsaved, drop, look_for_unsaved, recover_ledger, restore
from workbench.gui.project.project import Project
from workbench.gui.project.project_tasks import Saved, SourceMissingError
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import day, tr, tr_sentence
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import button, label, look
from workbench.gui.widgets.dialogs import ask_for_folder, ask_for_images, ask_for_table


class RestorePanel(QWidget):
    """One sentence, Restore and Discard; hidden while there is nothing to bring back."""

    def __init__(self, session: Session, jobs: JobCenter, project: Project) -> None:
        super().__init__()
        self.setObjectName("restore_panel")
        self._session, self._jobs, self._project = session, jobs, project
        self._found: Unsaved | None = None
        self._text = label("", wrap=True, name="restore_text")
        take = button(tr("Restore"), "restore_take", "link", tip=tr("Open the table with the plan as it was"))
        take.clicked.connect(self._ask_and_take)
        leave = button(tr("Discard"), "restore_discard", "link", tip=tr("Remove the unsaved changes for good"))
        leave.clicked.connect(self._discard)
        frame = look(QFrame(), "banner-info")
        inner = QHBoxLayout(frame)
        inner.setContentsMargins(12, 6, 12, 6)
        inner.setSpacing(10)
        inner.addWidget(label("↺", "accent"))
        inner.addWidget(self._text, 1)
        inner.addWidget(take)
        inner.addWidget(leave)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 16, MARGIN, 0)
        layout.addWidget(frame)
        self.hide()

    def look_back(self) -> None:
        """Find out, after the first paint, what an earlier window has left, and what became of its releases."""
        look_for_unsaved(self._jobs, self._offer)
        recover_ledger(self._jobs, self._report_charges)

    def forget(self) -> None:
        """Remove what was offered and not taken, as the window ends well: an offer is made once."""
        if self._found is not None:
            drop(self._found)
            self._found = None

    def _offer(self, found: Unsaved | None) -> None:
        self._found = found
        if found is not None:
            when = f"{day(found.time)}, {found.time:%H:%M}"
            self._text.setText(
                tr(
                    "The last window ended unexpectedly: changes to {title} of {when} were kept.",
                    title=found.title,
                    when=when,
                )
            )
            self.setAccessibleName(self._text.text())
            self.show()

    def _report_charges(self, sentences: list[str]) -> None:
        if sentences:
            stated = "; ".join(map(tr_sentence, sentences))
            self._session.notify("warning", f"{stated[:1].upper()}{stated[1:]}.")

    def _ask_and_take(self) -> None:
        if self._found is not None and self._session.may_replace(self._ask_and_take, False):
            found = self._found
            missing = self._project.missing
            restore(
                self._session,
                self._jobs,
                found,
                lambda saved: self._taken(found, saved),
                lambda gone: missing.emit(gone, found.project),
            )

    def _taken(self, found: Unsaved, saved: Saved) -> None:
        self.hide()
        self._found = None
        self._project.restored(found.project, saved.digest)
        # Kept until here: from now on the window's own file holds it.
        drop(found)

    def _discard(self) -> None:
        self.hide()
        self.forget()


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
