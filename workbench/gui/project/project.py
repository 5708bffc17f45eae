"""The project that is open: how it is opened and saved, whether it differs, and the question before it goes."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from workbench.data.databases.address import address_of, title_of
from workbench.gui.project.open_table import KEY, load, load_images, load_joined, read_second
from workbench.gui.project.project_file import SUFFIX, Planned, project_text, read_project
from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenImages, OpenTable, Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.dialogs import PROJECTS, ask_for_file, ask_where_to_save, choose
from workbench.gui.widgets.formatting import count, together
from workbench.gui.widgets.stopping import Stop, ask_to_stop_all, is_costly
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError, ParameterError


@dataclass(frozen=True)
class Saved:
    """What was read from or written into a project's file."""

    planned: Planned  # what was planned of the table or the images
    digest: str  # SHA-256 of the file, by which a change that another program makes is noticed


class SourceMissingError(InputError):
    """The table or image set that a project names is no longer at its path.

    Attributes:
        project: what the project's file says.
        digest: that file's digest.
    """

    def __init__(self, project: Planned, digest: str) -> None:
        what = (
            tr("the project's table is no longer there")
            if project.declared is None
            else tr("the project's images are no longer there")
        )
        super().__init__(what, project.source, tr("choose where to find it now"))
        self.project, self.digest = project, digest


def open_as(
    session: Session,
    jobs: JobCenter,
    name: str,
    read: Callable[[], tuple[Planned, str]],
    done: Callable[[Saved], None],
    missing: Callable[[SourceMissingError], None],
) -> None:
    """Open what a project says; ``missing`` is called where its table or images are not there.

    ``read`` gives the project and the digest of its file; it runs in a worker.
    """

    def work(emit: Emit, cancel: CancelToken) -> tuple[OpenTable | OpenImages, DraftPlan, Planned, str]:
        project, digest = read()
        elsewhere = project.is_sample or address_of(project.source) is not None
        if not elsewhere and not Path(project.source).exists():
            raise SourceMissingError(project, digest)
        if project.declared is not None:
            return load_images(project.source, project.declared, emit, cancel), project.plan, project, digest
        opened, plan = load(project.source, project.options, project.plan, emit, cancel)
        if project.second and project.plan.join is not None:
            second = read_second(project.second, project.plan.join, cancel)
            persons = project.plan.unit, project.plan.join.on
            opened, plan = load_joined(opened, project.plan, second, persons, emit, cancel)
        return opened, plan, project, digest

    def apply(result: tuple[OpenTable | OpenImages, DraftPlan, Planned, str]) -> None:
        opened, plan, project, digest = result
        session.open(opened, plan, project.network, project.way, project.generalised, project.held_out)
        done(Saved(replace(project, plan=plan), digest))
        differences = _differences(project.plan, plan) if isinstance(opened, OpenTable) else []
        if differences:
            session.notify("warning", " ".join(differences))
        else:
            rows = opened.stated if isinstance(opened, OpenImages) else count(opened.table.rows, "row")
            session.notify(
                "info", tr("Opened the project {name}: {title}, {rows}.", name=name, title=opened.title, rows=rows)
            )
        read_account(session, jobs)

    def failed(error: BaseException) -> None:
        if isinstance(error, SourceMissingError):
            missing(error)
        else:
            session.report(error)

    jobs.start(Job(tr("Opening"), work, about=name), key=KEY, on_result=apply, on_failure=failed)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a small file; empty where it is not there or cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _differences(saved: DraftPlan, plan: DraftPlan) -> list[str]:
    """Return a sentence for each way in which the table's columns are no longer those of the project."""
    before, now = [c.name for c in saved.columns], [c.name for c in plan.columns]
    gone, new = [n for n in before if n not in now], [n for n in now if n not in before]
    out = []
    if gone:
        out.append(
            tr("The table no longer has {columns}: what the plan said about it is gone.", columns=together(gone))
        )
    if new:
        out.append(
            tr(
                "The table has {columns}, which the project does not know: declare it in Data, Columns.",
                columns=together(new),
            )
        )
    return out


# -- the open project -------------------------------------------------------------------------------------------------


class Project(QObject):
    """Save, Save as, Open, and the guard of unsaved work."""

    changed = Signal()  # the path or `unsaved` may differ
    kept = Signal(str)  # (path) the project was saved into or opened from that file
    # (SourceMissingError, path) what the project in that file was made of is not there any more.
    missing = Signal(object, object)

    def __init__(self, session: Session, jobs: JobCenter, window: QWidget) -> None:
        super().__init__(window)
        self.path: Path | None = None  # the file the project was saved into or opened from; `None` while it has none
        self._session, self._jobs, self._window = session, jobs, window
        self._source = ""
        self._saved: Planned | None = Planned.of(self._session)
        self.digest = ""  # SHA-256 of that file as this window last read or wrote it; empty while there is none
        self._next: Callable[[], object] | None = None
        self._agreed = Stop.NO
        session.table_changed.connect(self._table_changed)
        session.plan_changed.connect(self.changed)
        session.way_changed.connect(self.changed)
        session.generalise_changed.connect(self.changed)
        session.network.changed.connect(self.changed)
        session.may_leave = self.may_leave
        session.may_replace = self.may_replace

    @property
    def unsaved(self) -> bool:
        """Whether what is planned differs from the file, or from what opening the table or the images gave.

        Before there is a file, a way that was chosen is no work that could be lost.
        """
        planned = Planned.of(self._session)
        if self.path is None and self._saved is not None:
            planned = dataclasses.replace(planned, way=self._saved.way)
        return self._session.open_data is not None and planned != self._saved

    def save(self, then: Callable[[], object] | None = None) -> None:
        """Save into the project's file, asking for one where it has none; ``then`` follows a save that succeeded."""
        if self.path is None:
            self.save_as(then)
        else:
            self._save_into(self.path, then)

    def save_as(self, then: Callable[[], object] | None = None) -> None:
        opened = self._session.open_data
        if opened is None:
            self._session.notify("info", tr("There is nothing to save yet: open a table or images first."))
            return
        elsewhere = opened.is_sample or address_of(opened.source) is not None
        folder = Path.home() if elsewhere else Path(opened.source).absolute().parent
        suggested = self.path or folder / f"{Path(opened.title).stem}{SUFFIX}"
        chosen = ask_where_to_save(self._window, tr("Save the project"), str(suggested), tr(PROJECTS))
        if chosen and self._still(opened):
            self._save_into(Path(chosen if chosen.endswith(".toml") else chosen + SUFFIX), then)

    def ask_and_open(self) -> None:
        chosen = ask_for_file(self._window, "project")
        if chosen:
            self.open(Path(chosen))

    def open(self, path: Path) -> None:
        """Open the project in ``path``, unless the person wants to keep what is not saved."""

        def read() -> tuple[Planned, str]:
            digest = digest_of(path)  # first: a change between the two is noticed at the next save
            return read_project(path), digest

        if self.may_replace(lambda: self.open(path)):
            gone, done = partial(self._gone, path), partial(self._keep, path)
            open_as(self._session, self._jobs, path.name, read, done, gone)

    def find(self, gone: SourceMissingError, path: Path | None, source: str) -> None:
        """Open a project whose table or images are in ``source`` by now; its file is to be saved anew."""

        def done(saved: Saved) -> None:
            self.restored(path, saved.digest)
            if path is not None:
                self.kept.emit(str(path))

        project = dataclasses.replace(gone.project, source=source)
        name = title_of(source) if path is None else path.name
        if self.may_replace(lambda: self.find(gone, path, source)):
            again = partial(self._gone, path)
            open_as(self._session, self._jobs, name, lambda: (project, gone.digest), done, again)

    def _gone(self, path: Path | None, gone: SourceMissingError) -> None:
        self.missing.emit(gone, path)

    def may_replace(self, then: Callable[[], object], keeps_plan: bool = False) -> bool:
        """Ask about trainings that another table ends, then about unsaved work; return whether to go on at once.

        A training that is to be paused goes on until the other table is there.
        """
        agreed, self._agreed = self._agreed, Stop.NO
        ending = [handle for handle in self._jobs.running if handle.of_table and is_costly(handle)]
        if agreed is Stop.NO:
            agreed = ask_to_stop_all(
                self._window, ending, tr("open another table") if not keeps_plan else tr("read it again")
            )

        def again() -> None:
            self._agreed = agreed
            then()

        if agreed is Stop.NO or not (keeps_plan or self._session.may_leave(again)):
            return False
        if agreed is Stop.YES:
            for handle in ending:
                handle.cancel()
        return True

    def may_leave(self, then: Callable[[], object]) -> bool:
        """Ask about unsaved work, where there is any; return whether to go on at once.

        Where the person wants it saved, ``then`` is called once the file is written: a save that fails loses nothing.
        """
        self._next = then
        if not self.unsaved:
            return True
        opened = self._session.open_data
        assert opened is not None
        answer = choose(
            self._window,
            tr("Keep the changes?"),
            tr(
                "What you declared and planned for {title} is not saved. Releases and their charges are kept "
                "in any case.",
                title=opened.title,
            ),
            {"save": tr("Save…") if self.path is None else tr("Save"), "discard": tr("Discard")},
        )
        if answer == "save":
            self.save(lambda: then() if self._next is then else None)  # unless the person wanted another thing since
        return answer == "discard"

    def restored(self, path: Path | None, digest: str) -> None:
        """Take the present plan for unsaved work on ``path``, left by a window that did not end well."""
        self.path, self._saved, self.digest = path, None, digest
        self.changed.emit()

    def _save_into(self, path: Path, then: Callable[[], object] | None) -> None:
        """Write the file, so that it appears whole; of one that has by now another digest, ask what to do."""
        opened, planned = self._session.open_data, Planned.of(self._session)
        expected = self.digest if path == self.path else ""
        assert opened is not None

        def work(emit: Emit, cancel: CancelToken) -> str:
            from workbench.release.atomic import write_output

            if path.exists() and not opened.is_sample and Path(opened.source).exists() and path.samefile(opened.source):
                what = (
                    tr("the project would replace the images")
                    if isinstance(opened, OpenImages)
                    else tr("the project would replace the table")
                )
                raise ParameterError(what, str(path), tr("name another file"))
            if expected and digest_of(path) not in ("", expected):
                return ""
            data = project_text(planned, path.parent).encode()
            write_output(path, data)
            return hashlib.sha256(data).hexdigest()

        def apply(digest: str) -> None:
            if not digest:
                self._ask_to_replace(path, then)
                return
            if self._session.open_data is opened:
                self._keep(path, Saved(planned, digest))
            if then is not None:  # whatever was opened meanwhile: it asks again, where there is work to lose
                then()
            self._session.notify("info", tr("Saved {path}.", path=path))

        self._jobs.start(Job(tr("Saving"), work, about=path.name), key="save", on_result=apply)

    def _ask_to_replace(self, path: Path, then: Callable[[], object] | None) -> None:
        """Ask what to do about a file that somebody else has changed since it was read."""
        opened = self._session.open_data
        answer = choose(
            self._window,
            tr("Replace the changed file?"),
            tr(
                "{name} was changed by another program or person since it was opened here. To replace it "
                "loses those changes.",
                name=path.name,
            ),
            {"replace": tr("Replace it"), "as": tr("Save as…")},
        )
        if not answer or not self._still(opened):
            return
        if answer == "replace":
            self.digest = ""
            self._save_into(path, then)
        elif answer == "as":
            self.save_as(then)

    def _still(self, opened: OpenTable | OpenImages | None) -> bool:
        """Return whether ``opened``, which a question was about, is still open; say so where it is not."""
        if self._session.open_data is opened:
            return True
        self._session.notify("warning", tr("Another table was opened while the question was open: nothing was saved."))
        return False

    def _keep(self, path: Path, saved: Saved) -> None:
        self.path, self._saved, self.digest = path, saved.planned, saved.digest
        self.kept.emit(str(path))
        self.changed.emit()

    def _table_changed(self) -> None:
        """Begin anew with another table; the same one, read again in another way, stays in its project."""
        opened = self._session.open_data
        source = opened.source if opened is not None else ""
        if source != self._source or not source:
            self.path, self.digest = None, ""
            self._saved = Planned.of(self._session)
        self._source = source
        self.changed.emit()
