"""The offer to bring back what a window that did not end well had not saved: once, above the page, in no hurry."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from workbench.gui.project.autosave_tasks import Unsaved, drop, look_for_unsaved, recover_ledger, restore
from workbench.gui.project.project import Project
from workbench.gui.project.project_tasks import Saved
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import day, tr, tr_sentence
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import button, label, look


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
