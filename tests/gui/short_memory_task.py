"""Trainings in a process of their own: one lacks memory for many rows at once, one needs more for every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.jobs.network import NetworkOutcome, pausable, release_here
from workbench.processes.isolated_process import run_in_process
from workbench.release.model.network_task import NetworkTask
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

ROWS = 20
HUNGER = 60_000_000
"""Bytes; more than the allocator of the C library ever keeps for the next time."""


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
    """Do ``task`` in this process, whose engines take :data:`HUNGER` bytes for any number of rows."""
    import torch

    def require(rows: int) -> None:
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
