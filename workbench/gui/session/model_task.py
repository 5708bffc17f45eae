"""Read the models that were ever released, in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter
from workbench.gui.style.language import tr
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.release.model.released_models import ReleasedModel


def read_models(
    jobs: JobCenter,
    key: str,
    show: Callable[[tuple[ReleasedModel, ...]], None],
    on_failure: Callable[[BaseException], None],
) -> None:
    """Read every model of the ledger, the newest first; ``key`` names who asks."""

    def work(emit: Emit, cancel: CancelToken) -> tuple[ReleasedModel, ...]:
        from workbench.release.model.released_models import released_models

        return released_models(cancel)

    job = Job(tr("Reading the released models"), work)
    jobs.start(job, key=f"models {key}", shown=False, on_result=show, on_failure=on_failure)
