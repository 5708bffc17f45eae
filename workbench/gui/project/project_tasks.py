"""Open a project, in a worker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.data.databases.address import address_of
from workbench.gui.project.join_tables import load_joined, read_second
from workbench.gui.project.open_table import KEY, load, load_images
from workbench.gui.project.project_file import Planned, read_project
from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.open_images import OpenImages
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.formatting import count
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError


@dataclass(frozen=True)
class Saved:
    """What was read from or written into a project's file.

    Attributes:
        opened: the table or the images.
        planned: what was planned of them.
        digest: SHA-256 of the file, by which a change that another program makes is noticed.
    """

    opened: OpenTable | OpenImages
    planned: Planned
    digest: str


class SourceMissingError(InputError):
    """The table or the images of a project are not where it says.

    Attributes:
        project: what the project's file says.
        digest: that file's digest.
    """

    def __init__(self, project: Planned, digest: str) -> None:
        what = (
            tr("the project’s table is not there any more")
            if project.declared is None
            else tr("the project’s images are not there any more")
        )
        super().__init__(what, project.source, tr("choose where to find it now"))
        self.project, self.digest = project, digest


Missing = Callable[[SourceMissingError], None]


def open_project(
    session: Session, jobs: JobCenter, path: Path, done: Callable[[Saved], None], missing: Missing
) -> None:
    """Open a project and its table or images; ``done`` is called with them once both are there."""

    def read() -> tuple[Planned, str]:
        digest = digest_of(path)  # first: a change between the two is noticed at the next save
        return read_project(path), digest

    open_as(session, jobs, path.name, read, done, missing)


def open_as(
    session: Session,
    jobs: JobCenter,
    name: str,
    read: Callable[[], tuple[Planned, str]],
    done: Callable[[Saved], None],
    missing: Missing,
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
        done(Saved(opened, replace(project, plan=plan), digest))
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
        out.append(tr("The table no longer has {columns}: what the plan said of it is gone.", columns=", ".join(gone)))
    if new:
        out.append(
            tr(
                "The table has {columns}, which the project does not know: declare it in Data, Columns.",
                columns=", ".join(new),
            )
        )
    return out
