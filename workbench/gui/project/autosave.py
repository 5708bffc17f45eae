"""Unsaved work survives a crash: it is kept a moment after each edit, and gone after a save or a clean end."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from workbench.gui.project.autosave_tasks import Slot, clear_unsaved, keep_unsaved
from workbench.gui.project.project import Project
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.params import WorkbenchError

REST_MS = 800
"""How long the plan must rest: a slider that is dragged is not written at every step."""

END_SECONDS = 1.0
"""How long a write that is going on may hold up the end of the window."""


class Autosave(QObject):
    """Keeps what is not saved in a file of the state folder."""

    def __init__(self, session: Session, jobs: JobCenter, project: Project) -> None:
        super().__init__(project)
        self._session, self._jobs, self._project = session, jobs, project
        self._slot = Slot()
        self._handle: JobHandle | None = None
        self._kept = self._stated = False
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._keep)
        project.changed.connect(self._changed)

    def finish(self) -> None:
        """End the write that is going on, before the window waits for other jobs."""
        self._rest.stop()
        if self._handle is not None:
            self._jobs.finish(self._handle, END_SECONDS)

    def forget(self) -> None:
        """Remove what was kept, as the window ends well."""
        self._rest.stop()
        self._slot.close(END_SECONDS)

    def _changed(self) -> None:
        if self._project.unsaved or self._kept:
            self._rest.start()

    def _keep(self) -> None:
        if self._project.unsaved:
            self._kept = True
            self._handle = keep_unsaved(
                self._session,
                self._jobs,
                self._slot,
                self._project.path,
                self._project.digest,
                self._succeeded,
                self._failed,
            )
        else:
            self._kept = False
            self._handle = clear_unsaved(self._jobs, self._slot)
        self._handle.ended.connect(self._ended)

    def _ended(self) -> None:
        # A newer write may have begun; only one that has ended is let go.
        if self._handle is not None and not self._handle.running:
            self._handle = None

    def _succeeded(self) -> None:
        self._stated = False

    def _failed(self, error: BaseException) -> None:
        """Tell once, not at every edit, that a crash would take the changes with it."""
        if self._stated:
            return
        self._stated = True
        why = sentence(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}."
        self._session.notify(
            "warning", tr("Unsaved changes are not kept against a crash; save the project. {why}", why=why)
        )
