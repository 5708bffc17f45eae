"""Open a set of images in place of the table that is open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.project.source_stamp import require_unchanged, stamp_of
from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.open_images import OpenImages
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.data.images.read import ImageOptions

KEY = "open"


def open_images(session: Session, jobs: JobCenter, source: str, options: ImageOptions | None) -> JobHandle:
    """Read the images of ``source`` by what is declared of them; nothing changes where they cannot be read."""

    def work(emit: Emit, cancel: CancelToken) -> OpenImages:
        return load_images(source, options, emit, cancel)

    job = Job(tr("Opening"), work, about=Path(source).name)
    return jobs.start(job, key=KEY, on_result=lambda opened: take_images(session, jobs, opened))


def load_images(source: str, options: ImageOptions | None, emit: Emit, cancel: CancelToken) -> OpenImages:
    """Return the images; runs in a worker."""
    from workbench.data.images.image_set import overview
    from workbench.data.images.read import ImageOptions, of_class_folders, read_images

    declared, stamp = options or ImageOptions(), stamp_of(source)
    images = read_images(source, declared, emit=emit, cancel=cancel)
    require_unchanged(source, stamp)
    seen = overview(images, cancel.check)
    return OpenImages(images, source, declared, Path(source).is_dir(), of_class_folders(source), stamp, seen)


def take_images(session: Session, jobs: JobCenter, opened: OpenImages) -> None:
    """Show the images that were read; what was planned stays where the same ones were read again."""
    same = session.images is not None and session.images.source == opened.source
    session.open(opened, session.plan if same else DraftPlan(), session.network.plan if same else None)
    session.notify("info", tr("Opened {title}: {size}.", title=opened.title, size=opened.stated))
    read_account(session, jobs)


def look_for_changes(jobs: JobCenter, opened: OpenImages, show: Callable[[bool], None]) -> None:
    """Find out whether the files of ``opened`` are still as they were read; ``show`` gets whether they differ."""

    def work(emit: Emit, cancel: CancelToken) -> bool:
        return opened.stamp is not None and stamp_of(opened.source) != opened.stamp

    jobs.start(Job(tr("Looking for changes"), work), key="image changes", shown=False, on_result=show)
