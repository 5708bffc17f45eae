"""Jobs of the Memory page: the study, and the shape of the rows that are open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.jobs import Job
from workbench.params import WorkbenchError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress

if TYPE_CHECKING:  # they load more than the first paint waits for
    from workbench.deep.memory_study import MemoryStudy, StudyResult
    from workbench.deep.networks import Network

STUDY, SHAPE = "memory_study", "memory_shape"
EVERY = 50
"""Settings between two reports of the progress."""


def run_study(
    jobs: JobCenter,
    study: MemoryStudy,
    networks: Sequence[Network],
    show: Callable[[StudyResult], None],
    refuse: Callable[[BaseException], None],
) -> JobHandle:
    """Work out the memory of every setting; reads no data."""

    def work(emit: Emit, cancel: CancelToken) -> StudyResult:
        from workbench.deep.memory import LIBRARIES, PROCESS, available
        from workbench.deep.memory_study import CPU, MB, compare

        def progress(done: int, total: int) -> None:
            if done % EVERY == 0:
                emit(Progress(done, total, tr_later("settings")))

        fit = None if study.fit is None else int(study.fit * MB)
        if fit is None and study.device == CPU:
            fit = max(1, available(CPU) - PROCESS - LIBRARIES)  # it trains in a process of its own
        return compare(study, networks, fit, progress, cancel)

    return jobs.start(Job(tr("Memory study"), work), key=STUDY, on_result=show, on_failure=refuse)


def find_shape(session: Session, jobs: JobCenter, show: Callable[[str, int], None]) -> JobHandle | None:
    """Find what a network would read of the table or images that are open, as the form says it, and the classes."""
    images, opened, target, draft = session.images, session.opened, session.target, session.plan
    if images is not None:
        shape = images.table.shape
        show(f"{shape.channels},{shape.height},{shape.width}", len(images.table.classes))
        return None
    if opened is None or target is None or draft.problems():
        return None

    def work(emit: Emit, cancel: CancelToken) -> tuple[str, int] | None:
        from workbench.release.model.preflight import network_features

        try:
            features = network_features(draft.plan(), target)
        except WorkbenchError:
            return None  # a target that no network predicts: the form stays as it is
        return str(int(features.width)), len(features.classes)

    def apply(found: tuple[str, int] | None) -> None:
        if found is not None:
            show(*found)

    return jobs.start(Job(tr("Memory study"), work), key=SHAPE, shown=False, on_result=apply)
