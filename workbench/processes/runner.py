"""What runs the tasks of a study: processes of this computer, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from workbench.processes.executor import run_tasks
from workbench.signals import Notice
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit


def runner(jobs: int, scheduler: str | None, cancel: CancelToken, emit: Emit) -> Callable[..., Any]:
    """Return what runs tasks: processes of this computer, or the workers of a Dask scheduler.

    Args:
        jobs: how many processes, where there is no scheduler.
        scheduler: its address.
        cancel: stops at once.
        emit: receives a warning before what is shared leaves this computer unencrypted.
    """
    if scheduler is None:
        return partial(run_tasks, jobs=jobs, cancel=cancel)
    from workbench.processes.dask_executor import run_tasks_on

    return partial(run_tasks_on, scheduler, cancel=cancel, warn=lambda text: emit(Notice("warning", text)))
