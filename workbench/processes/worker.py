"""The other end of the pipe: a process that does one task after another for :mod:`workbench.processes.executor`.

This module loads nothing but the standard library, because a worker sets the thread limits below before the
numeric libraries are loaded: they read them once, when they load.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from workbench.params import WorkbenchError
from workbench.params.errors import absent
from workbench.processes.redacted_traceback import trace_of

ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)

NICE = 10
"""Workers use every core, but yield to the window that a person waits for.

At 5 the window was seen to wait 28 ms for a processor while one page was painted. Not more than 10: beside another busy
program a process at 15 gets a thirtieth of a core, and a training that takes seconds seems to hang.
"""


class WorkerFaultError(RuntimeError):
    """A task failed in a worker process because of a bug."""

    def __init__(self, trace: str) -> None:
        super().__init__("a task failed in a worker process")
        self.trace = trace  # type, file, line and function of what happened there, without values


def serve(pipe: Connection) -> None:
    """Receive the work and the shared value once, then answer task after task until the pipe closes.

    An answer is ``(True, result)`` or ``(False, exception)``. The pipe also closes when the parent dies in whatever
    way, so no worker outlives it by more than its present task.
    """
    # Ctrl+C reaches the whole foreground group; stopping the workers is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        work: Callable[[Any, Any], Any]
        work, shared = pipe.recv()
        while True:
            pipe.send(answer_of(work, shared, pipe.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def answer_of(work: Callable[[Any, Any], Any], shared: Any, task: Any) -> tuple[bool, Any]:
    """Return ``(True, result)`` of a task, or ``(False, exception)`` without values in what a bug brings along."""
    try:
        return True, work(shared, task)
    except WorkbenchError as error:
        return False, error
    except MemoryError:
        return False, MemoryError()
    except ModuleNotFoundError as error:
        return False, absent(error) or WorkerFaultError(trace_of(error))
    except Exception as error:  # noqa: BLE001 - raised again in the parent, without the values in its text
        return False, WorkerFaultError(trace_of(error))
