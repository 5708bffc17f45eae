"""Offers above the page: bring back unsaved work, or point to where a missing table or images are now."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from workbench.gui.project.autosave import Unsaved, drop, look_for_unsaved, recover_ledger, restore
from workbench.gui.project.project import Project
from workbench.gui.project.project_tasks import Saved, SourceMissingError
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, capital, day, tr, tr_sentence
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import button, label, look, row
from workbench.gui.widgets.dialogs import ask_for_file, ask_for_folder


class _Offer(QWidget):
    """A framed line above the page: a sign, one sentence and what can be done; hidden while there is nothing to say."""

    def __init__(self, name: str, kind: str, sign: QLabel, *actions: QPushButton) -> None:
        super().__init__()
        self.setObjectName(f"{name}_panel")
        self._text = label("", wrap=True, name=f"{name}_text")
        frame = look(QFrame(), kind)
        line = row(sign, self._text, *actions, spacing=10, margins=(12, 6, 12, 6))
        line.setStretch(1, 1)
        frame.setLayout(line)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 16, MARGIN, 0)
        layout.addWidget(frame)
        self.hide()

    def _say(self, text: str) -> None:
        self._text.setText(text)
        self.setAccessibleName(text)
        self.show()


class RestorePanel(_Offer):
    """One sentence, Restore and Discard; hidden while there is nothing to bring back."""

    def __init__(self, session: Session, jobs: JobCenter, project: Project) -> None:
        take = button(tr("Restore"), "restore_take", "link", tip=tr("Open the table with the plan as it was"))
        leave = button(tr("Discard"), "restore_discard", "link", tip=tr("Remove the unsaved changes for good"))
        super().__init__("restore", "banner-info", label("↺", "accent"), take, leave)
        self._session, self._jobs, self._project = session, jobs, project
        self._found: Unsaved | None = None
        take.clicked.connect(self._ask_and_take)
        leave.clicked.connect(self._discard)

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
            self._say(
                tr(
                    "The last window ended unexpectedly: changes to {title} of {when} were kept.",
                    title=found.title,
                    when=when,
                )
            )

    def _report_charges(self, sentences: list[str]) -> None:
        if sentences:
            stated = "; ".join(map(tr_sentence, sentences))
            self._session.notify("warning", as_sentence(stated))

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


class MissingPanel(_Offer):
    """One sentence, two buttons that choose a file or a folder, and one that leaves it; hidden while nothing lacks."""

    def __init__(self, session: Session, project: Project) -> None:
        file = button(tr("Choose the file…"), "missing_file", "link", tip=tr("Point to where it is now"))
        folder = button(tr("Choose the folder…"), "missing_folder", "link", tip=tr("Point to where it is now"))
        leave = button(tr("Leave it"), "missing_leave", "link", tip=tr("Open nothing; what is open stays"))
        super().__init__("missing", "banner-warning", label("⚠", "warn"), file, folder, leave)
        self._project, self._folder = project, folder
        self._gone: SourceMissingError | None = None
        self._path: Path | None = None
        file.clicked.connect(self._ask_for_file)
        folder.clicked.connect(self._ask_for_folder)
        leave.clicked.connect(self.hide)
        project.missing.connect(self._offer)
        session.table_changed.connect(self.hide)

    def _offer(self, gone: SourceMissingError, path: Path | None) -> None:
        self._gone, self._path = gone, path
        images = gone.project.declared is not None
        name = tr("The unsaved work") if path is None else capital(path.name)
        source = gone.project.source
        self._say(
            tr("{name}: its images are not there any more: {source}", name=name, source=source)
            if images
            else tr("{name}: its table is not there any more: {source}", name=name, source=source)
        )
        self._folder.setVisible(images)

    def _ask_for_file(self) -> None:
        assert self._gone is not None
        images = self._gone.project.declared is not None
        title = tr("Where the images are now") if images else tr("Where the table is now")
        self._take(ask_for_file(self, "images", title) if images else ask_for_file(self, "table", title))

    def _ask_for_folder(self) -> None:
        self._take(ask_for_folder(self, tr("Where the images are now")))

    def _take(self, chosen: str) -> None:
        if chosen and self._gone is not None:
            self._project.find(self._gone, self._path, chosen)
