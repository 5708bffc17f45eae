"""Unsaved work survives a crash: it is kept a moment after each edit, and gone after a save or a clean end."""

from __future__ import annotations

import hashlib
import math
import os
import re
import secrets
import socket
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from workbench.gui.project.project import Project, Saved, SourceMissingError, open_as
from workbench.gui.project.project_file import SUFFIX, Planned, holds_values, project_of, project_raw
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, capital, day, tr, tr_sentence
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import button, label, look, row, stack
from workbench.gui.widgets.dialogs import ask_for_file, ask_for_folder
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError, WorkbenchError
from workbench.params.codec import read_toml, write_toml
from workbench.paths import user_data, user_state

KEY = "autosave"
_COMMENT = (
    "Unsaved work of a window of the privacy workbench, kept against a crash.\nIt holds no value "  # not translated
    "of the table and is removed when the window is closed."
)
_IMAGES = (
    "Unsaved work of a window of the privacy workbench, kept against a crash.\nIt holds no image "  # not translated
    "and no label, and is removed when the window is closed."
)
_FROM_DATA = (
    "Unsaved work of a window of the privacy workbench, kept against a crash.\nIt is removed when "  # not translated
    'the window is closed. PRIVATE: what has bounds_origin = "data" was read off the rows.'
)
_NAME = re.compile(r"[0-9a-f]{8}-(?P<pid>\d+)-(?P<started>\d+)-[0-9a-f]{8}" + re.escape(SUFFIX))


class Slot:
    """The one file into which a window keeps its unsaved plan.

    Its name says which process of which machine it belongs to, so that nobody takes the file of a window that is
    still open for one that was left.
    """

    def __init__(self) -> None:
        self._token = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._newest: float = 0
        self._path: Path | None = None

    def turn(self) -> float:
        """Return the place of a new request among all of them, in the GUI thread; an older one is not carried out."""
        self._newest += 1
        return self._newest

    def keep(self, turn: float, text: str) -> None:
        """Write ``text`` durably, in a worker; raise :class:`InputError` where it cannot be written."""
        from workbench.release.atomic import write_output

        with self._lock:
            if turn < self._newest:
                return
            path = self._path or _folder(make=True) / f"{_prefix()}-{self._token}{SUFFIX}"
            write_output(path, text.encode())
            self._path = path

    def clear(self, turn: float) -> None:
        with self._lock:
            if turn >= self._newest and self._path is not None:
                self._path.unlink(missing_ok=True)

    def close(self, seconds: float) -> None:
        """Remove the file for good, in the GUI thread; a disk that hangs is not waited for."""
        self._newest = math.inf
        if self._lock.acquire(timeout=seconds):
            try:
                if self._path is not None:
                    self._path.unlink(missing_ok=True)
            finally:
                self._lock.release()


@dataclass(frozen=True)
class Unsaved:
    """What a window that did not end well has left."""

    file: Path  # where it is now, under a name of this process
    raw: dict[str, Any]  # the project as the file says it
    project: Path | None  # the file it was to be saved into, `None` where it had none
    digest: str  # that file's digest when it was last read or written
    title: str  # what a person calls the table or the images
    time: datetime  # when it was last changed, in local time


def claim() -> Unsaved | None:
    """Take over the newest unsaved work whose process is gone; an older one waits for the next start.

    Raises:
        InputError: it is damaged; it then keeps its text under another name and is not offered again.
    """
    from workbench.release.ledger.location import still_runs

    for file in sorted(_folder().glob(f"{_host()}-*{SUFFIX}"), key=_changed, reverse=True):
        found = _NAME.fullmatch(file.name)
        if found is None:
            continue
        process = {"pid": int(found["pid"]), "started": int(found["started"]) / 1000, "host": socket.gethostname()}
        if still_runs(process):
            continue
        mine = file.with_name(f"{_prefix()}-{secrets.token_hex(4)}{SUFFIX}")
        try:
            os.rename(file, mine)  # one of several windows that start at once succeeds
        except OSError:
            continue
        try:
            raw = read_toml(mine, "unsaved work")  # not translated
            title = Path(str(raw.get("images") or raw["table"])).name.removeprefix("sample:")
        except (InputError, KeyError) as error:
            mine = mine.replace(mine.with_suffix(".damaged"))
            raise InputError(
                tr("the unsaved work of an earlier window is damaged"), str(mine), tr("plan anew")
            ) from error
        saved_as, digest = raw.pop("saved_as", ""), str(raw.pop("saved_digest", ""))
        time = datetime.fromtimestamp(mine.stat().st_mtime, UTC).astimezone()
        return Unsaved(mine, raw, Path(str(saved_as)) if saved_as else None, digest, title, time)
    return None


def recovered(emit: Emit, cancel: CancelToken) -> list[str]:
    """Settle what killed runs left reserved, in a worker; return a sentence for each, to be shown this once."""
    if not (user_data() / "ledger.sqlite").exists():
        return []
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.recover import recover

    with Ledger.open() as book:
        return recover(book)


def _folder(*, make: bool = False) -> Path:
    folder = user_state() / "unsaved"
    if make:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(tr("the folder cannot be made: {reason}", reason=reason), str(folder)) from None
    return folder


def _host() -> str:
    """Return a name of this machine that fits into a file's name: homes are shared between machines."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _prefix() -> str:
    from workbench.release.ledger.location import this_process

    process = this_process()
    return f"{_host()}-{process['pid']}-{round(process['started'] * 1000)}"


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # another window has just taken it
        return 0.0


REST_MS = 800  # how long the plan must rest: a slider that is dragged is not written at every step

END_SECONDS = 1.0  # how long a write that is going on may hold up the end of the window


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
        self._kept = self._project.unsaved
        turn = self._slot.turn()
        if self._kept:
            planned, saved_as, digest = Planned.of(self._session), self._project.path, self._project.digest

            def work(emit: Emit, cancel: CancelToken) -> None:
                kept = replace(planned, plan=planned.plan.writable())
                saved: dict[str, Any] = {}
                if saved_as is not None:
                    saved = {"saved_as": str(saved_as), "saved_digest": digest}
                comment = _IMAGES if kept.declared is not None else _FROM_DATA if holds_values(kept.plan) else _COMMENT
                self._slot.keep(turn, write_toml(saved | project_raw(kept, _folder()), comment))

            job, then = Job(tr("Keeping unsaved work"), work), self._succeeded
            self._handle = self._jobs.start(job, key=KEY, stoppable=False, on_result=then, on_failure=self._failed)
        else:
            job = Job(tr("Keeping nothing"), lambda emit, cancel: self._slot.clear(turn))
            self._handle = self._jobs.start(job, key=KEY, stoppable=False)
        self._handle.ended.connect(self._ended)

    def _ended(self) -> None:
        # A newer write may have begun; only one that has ended is let go.
        if self._handle is not None and not self._handle.running:
            self._handle = None

    def _succeeded(self, _: None) -> None:
        self._stated = False

    def _failed(self, error: BaseException) -> None:
        """Say once, not at every edit, that a crash would take the changes with it."""
        if self._stated:
            return
        self._stated = True
        why = sentence(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}."
        self._session.notify(
            "warning", tr("Unsaved changes are not kept against a crash; save the project. {why}", why=why)
        )


# -- what was not saved -----------------------------------------------------------------------------------------------


class _Offer(QWidget):
    """A framed line above the page: a sign, one sentence and what can be done; hidden while there is nothing to say."""

    def __init__(self, name: str, kind: str, sign: QLabel, *actions: QPushButton) -> None:
        super().__init__()
        self.setObjectName(f"{name}_panel")
        self._text = label("", wrap=True, name=f"{name}_text")
        frame = look(QFrame(), kind)
        frame.setLayout(row(sign, (self._text, 1), *actions, spacing=10, margins=(12, 6, 12, 6)))
        self.setLayout(stack(frame, margins=(MARGIN, 16, MARGIN, 0)))
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
        job = Job(tr("Looking for unsaved work"), lambda emit, cancel: claim())
        self._jobs.start(job, stoppable=False, on_result=self._offer)
        after = Job(tr("Looking after the ledger"), recovered)
        self._jobs.start(after, stoppable=False, on_result=self._report_charges)

    def forget(self) -> None:
        """Remove what was offered and not taken, as the window ends well: an offer is made once."""
        if self._found is not None:
            self._found.file.unlink(missing_ok=True)
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
            open_as(
                self._session,
                self._jobs,
                found.title,
                lambda: (project_of(dict(found.raw), found.file), found.digest),
                lambda saved: self._taken(found, saved),
                lambda gone: self._project.missing.emit(gone, found.project),
            )

    def _taken(self, found: Unsaved, saved: Saved) -> None:
        self.hide()
        self._found = None
        self._project.restored(found.project, saved.digest)
        # Kept until here: from now on the window's own file holds it.
        found.file.unlink(missing_ok=True)

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
            tr("{name}: its images are no longer there: {source}", name=name, source=source)
            if images
            else tr("{name}: its table is no longer there: {source}", name=name, source=source)
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
