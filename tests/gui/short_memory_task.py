"""Trainings in a process of their own: one lacks memory for many rows at once, one needs more for every step."""

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from workbench.jobs.network import NetworkOutcome, pausable, release_here
from workbench.processes.isolated_process import run_in_process
from workbench.release.model.network_task import NetworkTask
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

ROWS = 20
HUNGER = 60_000_000
"""Bytes; more than the allocator of the C library ever keeps for the next time."""

ROOM = 8_000_000
"""Bytes left to the process that trains, beyond what it holds between two steps.

The product's engines keep their memory from the step on made-up rows on, so that a lack of it does not end them; those
of :func:`train_hungrily` ask for :data:`HUNGER` bytes anew at every step, however few its rows.
"""

FREE_STEPS = 60
"""Steps that a hungry training takes at most before it waits for the sign to limit its memory."""


def sign_to_limit(folder: Path) -> Path:
    """Return the file that limits the memory of a hungry training into ``folder``, once it exists."""
    return folder.with_name("limit")


def train_short_of_memory(
    task: NetworkTask, emit: Emit, cancel: CancelToken, pausing: Callable[[], bool] | None = None
) -> NetworkOutcome:
    """Do what ``train_network`` does, where memory is short."""
    return run_in_process(release_short_of_memory, task, *pausable(task, emit, cancel, pausing))


def release_short_of_memory(task: NetworkTask, emit: Emit, cancel: CancelToken) -> NetworkOutcome:
    """Do ``task`` in this process, whose engines have room for :data:`ROWS` rows."""

    def require(rows: int) -> None:
        if rows > ROWS:
            raise MemoryError

    return _release(task, emit, cancel, require)


def train_hungrily(
    task: NetworkTask, emit: Emit, cancel: CancelToken, pausing: Callable[[], bool] | None = None
) -> NetworkOutcome:
    """Do what ``train_network`` does, where every step asks the system for memory that it gives back."""
    return run_in_process(release_hungrily, task, *pausable(task, emit, cancel, pausing))


def release_hungrily(task: NetworkTask, emit: Emit, cancel: CancelToken) -> NetworkOutcome:
    """Do ``task`` in this process, whose engines take :data:`HUNGER` bytes for any number of rows.

    Its memory is limited between two steps, so that it does not depend on the speed of the machine when that is.
    """
    import resource  # Windows has none

    import torch

    sign = sign_to_limit(task.folder)
    steps = itertools.count(1)
    limited = False

    def require(rows: int) -> None:
        nonlocal limited
        if next(steps) >= FREE_STEPS:
            while not sign.exists():
                time.sleep(0.01)
        if not limited and sign.exists():
            most = psutil.Process().memory_info().vms + ROOM
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            limited = True
        torch.empty(HUNGER, dtype=torch.uint8)

    return _release(task, emit, cancel, require)


def _release(task: NetworkTask, emit: Emit, cancel: CancelToken, require: Callable[[int], None]) -> NetworkOutcome:
    """Do ``task`` with engines that first call ``require`` with the rows that they compute at once."""
    from workbench.deep import trainer

    make: Callable[..., Any] = trainer.engine_for

    def engine_for(module: Any, clip: float, rows: int, *more: Any, **named: Any) -> Callable[..., Any]:
        engine = make(module, clip, rows, *more, **named)

        def sums(inputs: Any, targets: Any, **wanted: Any) -> Any:
            require(min(rows, len(targets)))
            return engine(inputs, targets, **wanted)

        return sums

    trainer.engine_for = engine_for
    return release_here(task, emit, cancel)
