"""Save and open a project: where the table is, how it is read, and the plan.

No value of the table is in it, but for facts that the person took from the rows; then the file says so.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.gui.project.open_images import KEY
from workbench.gui.project.open_table import load
from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import FACTS, DraftPlan
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenTable, Session
from workbench.jobs import Job
from workbench.params import InputError, ParameterError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.data.csv.options import ReadOptions

SUFFIX = ".workbench.toml"
VERSION = 1
_KEYS = ("project", "table", "reading")
_COMMENT = """A project of the privacy workbench: where the table is, how it is read, and the plan.
It holds no value of the table; what is declared below is public. "?" is not declared yet."""
_FROM_DATA = """A project of the privacy workbench: where the table is, how it is read, and the plan.
PRIVATE: the facts of a column with bounds_origin = "data" were read off the rows, so values of the table stand here.
What is declared of the other columns is public. "?" is not declared yet."""


@dataclass(frozen=True)
class ProjectFile:
    """What a project file says.

    Attributes:
        source: the table's path, absolute, or ``sample:NAME``.
        options: what the person stated about the file over the guess, ``None`` where nothing.
        plan: the plan as it was drafted.
    """

    source: str
    options: ReadOptions | None
    plan: DraftPlan


def project_text(opened: OpenTable, plan: DraftPlan, folder: Path) -> str:
    """Return the project as TOML."""
    from workbench.params.codec import write_toml

    return write_toml(project_raw(opened, plan, folder), _FROM_DATA if holds_values(plan) else _COMMENT)


def holds_values(plan: DraftPlan) -> bool:
    """Return whether facts of the plan were read off the rows, so that its file is as private as they are."""
    return any(c.bounds_origin == "data" and any(getattr(c, f) is not None for f in FACTS) for c in plan.columns)


def project_raw(opened: OpenTable, plan: DraftPlan, folder: Path) -> dict[str, Any]:
    """Return what the project says; a table beside it is named by its relative path, so that both can move."""
    source = opened.source
    if not opened.is_sample:
        absolute = Path(source).absolute()
        inside = absolute.is_relative_to(folder.absolute())
        source = (absolute.relative_to(folder.absolute()) if inside else absolute).as_posix()
    reading = {} if opened.options is None else opened.options.to_plain()
    raw: dict[str, Any] = {"project": VERSION, "table": source}
    raw |= {"reading": [reading]} if reading else {}
    return raw | {k: v for k, v in plan.to_raw().items() if k != "version"}


def read_project(path: Path) -> ProjectFile:
    """Return the project in the file at ``path``.

    Raises:
        InputError: it cannot be read, or is no project.
        ParameterError: a key or value is refused.
    """
    from workbench.params.codec import read_toml

    return project_of(read_toml(path, "project"), path)


def project_of(raw: dict[str, Any], path: Path) -> ProjectFile:
    """Return the project that stands in ``path`` as ``raw``; raise as :func:`read_project` does."""
    from workbench.data.csv.options import ReadOptions
    from workbench.params.codec import require_table

    if raw.get("project") != VERSION:
        raise InputError(f"this is no project of version {VERSION}", str(path), "open a file that the window saved")
    source = raw.get("table")
    if not isinstance(source, str) or not source:
        raise ParameterError("the project does not name its table", str(path), 'write table = "FILE"')
    reading = raw.get("reading", [])
    if not isinstance(reading, list) or len(reading) > 1:
        raise ParameterError("reading is given more than once", str(path), "keep one [[reading]]")
    columns = raw.get("column", [])
    if not isinstance(columns, list):
        raise ParameterError("column is not a list of columns", str(path), "write each column as [[column]]")
    for column in columns:
        require_table(column, "a column", str(path))
    unknown = set(raw) - {
        *_KEYS,
        "epsilon",
        "keep_order",
        "rows_per_person",
        "invalid",
        "account",
        "impossible",
        "column",
    }
    if unknown:
        raise ParameterError(f"the key {min(unknown)!r} is not known", str(path), "remove it")
    options = ReadOptions.from_plain(require_table(reading[0], "reading", str(path))) if reading else None
    try:
        plan = DraftPlan.from_raw({k: v for k, v in raw.items() if k not in _KEYS})
    except (ValueError, TypeError, ArithmeticError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"a value is not a number: {error}", str(path), "mend the line") from None
    if not source.startswith("sample:"):
        source = os.path.normpath(path.absolute().parent / source)
    return ProjectFile(source, options, plan)


@dataclass(frozen=True)
class Saved:
    """What was read from or written into a project's file.

    Attributes:
        opened: the table.
        plan: the plan.
        digest: SHA-256 of the file, by which a change that another program makes is noticed.
    """

    opened: OpenTable
    plan: DraftPlan
    digest: str


def save_project(
    session: Session,
    jobs: JobCenter,
    path: Path,
    done: Callable[[Saved], None],
    *,
    expected: str = "",
    changed: Callable[[], None] = lambda: None,
) -> None:
    """Write the project, so that it appears whole; ``done`` gets what was saved.

    Args:
        session: what is saved.
        jobs: where it is written.
        path: the file.
        done: called with what was saved.
        expected: the digest the file had when this window last read or wrote it; empty to replace whatever is there.
        changed: called, with nothing written, where the file has another digest by now.
    """
    opened, plan = session.opened, session.plan
    assert opened is not None

    def work(emit: Emit, cancel: CancelToken) -> str:
        from workbench.release.atomic import write_output

        if path.exists() and not opened.is_sample and path.samefile(opened.source):
            raise ParameterError("the project would replace the table", str(path), "name another file")
        if expected and _digest(path) not in ("", expected):
            return ""
        data = project_text(opened, plan, path.parent).encode()
        write_output(path, data)
        return hashlib.sha256(data).hexdigest()

    def apply(digest: str) -> None:
        if digest:
            done(Saved(opened, plan, digest))
            session.tell("info", f"Saved {path}.")
        else:
            changed()

    jobs.start(Job("Saving", work, about=path.name), key="save", on_result=apply)


def open_project(session: Session, jobs: JobCenter, path: Path, done: Callable[[Saved], None]) -> None:
    """Open a project and its table; ``done`` is called with them once both are there."""

    def read() -> tuple[ProjectFile, str]:
        digest = _digest(path)  # first: a change between the two is noticed at the next save
        return read_project(path), digest

    open_as(session, jobs, path.name, read, done)


def open_as(
    session: Session,
    jobs: JobCenter,
    name: str,
    read: Callable[[], tuple[ProjectFile, str]],
    done: Callable[[Saved], None],
) -> None:
    """Open what ``read`` gives, a project and the digest of its file; ``read`` runs in a worker."""

    def work(emit: Emit, cancel: CancelToken) -> tuple[OpenTable, DraftPlan, list[str], str]:
        project, digest = read()
        opened, plan = load(project.source, project.options, project.plan, emit, cancel)
        return opened, plan, _differences(project.plan, plan), digest

    def apply(result: tuple[OpenTable, DraftPlan, list[str], str]) -> None:
        opened, plan, differences, digest = result
        session.open(opened, plan)
        done(Saved(opened, plan, digest))
        if differences:
            session.tell("warning", " ".join(differences))
        else:
            session.tell("info", f"Opened the project {name}: {opened.title}, {opened.table.rows:,} rows.")
        read_account(session, jobs)

    jobs.start(Job("Opening", work, about=name), key=KEY, on_result=apply)


def _digest(path: Path) -> str:
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
        out.append(f"The table no longer has {', '.join(gone)}: what the plan said of it is gone.")
    if new:
        out.append(f"The table has {', '.join(new)}, which the project does not know: declare it on the Data page.")
    return out
