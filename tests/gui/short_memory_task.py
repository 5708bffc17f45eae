"""A training in a process of its own whose memory is short for more than so many rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.jobs.network import NetworkOutcome, NetworkTask, release_here
from workbench.processes.isolated_process import apart
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

ROWS = 20


def train_short_of_memory(task: NetworkTask, emit: Emit, cancel: CancelToken) -> NetworkOutcome:
    """Do what ``train_network`` does, where memory is short."""
    return apart(release_short_of_memory, task, emit, cancel)


def release_short_of_memory(task: NetworkTask, emit: Emit, cancel: CancelToken) -> NetworkOutcome:
    """Do ``task`` in this process, whose engines have room for :data:`ROWS` rows."""
    from workbench.deep import trainer

    make: Callable[..., Any] = trainer.engine_for

    def engine_for(module: Any, clip: float, rows: int, *more: Any, **named: Any) -> Callable[..., Any]:
        engine = make(module, clip, rows, *more, **named)

        def sums(inputs: Any, targets: Any, **wanted: Any) -> Any:
            if min(rows, len(targets)) > ROWS:
                raise MemoryError
            return engine(inputs, targets, **wanted)

        return sums

    trainer.engine_for = engine_for
    return release_here(task, emit, cancel)
