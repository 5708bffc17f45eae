"""Run work in a process of its own, connected by a pipe.

A thread is enough for work that spends its time in libraries. A training run does not: thousands of short steps of
Python keep the interpreter from the window. A process of its own also returns all of its memory, and if the system runs
out of memory, that process ends and not the window.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar, cast

from workbench.params import WorkbenchError
from workbench.processes.executor import workers
from workbench.processes.worker import NICE, answer_of
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Event, Memory

A = TypeVar("A")
R = TypeVar("R")
Work = Callable[[A, Emit, CancelToken], R]

LOOK = 0.05  # seconds between two checks of the cancel token

PATIENCE = 10.0
"""Seconds that the process has to end once it has answered, or was asked to stop because of an error here."""

STOP = "stop"


def run_in_process(work: Work[A, R], argument: A, emit: Emit, cancel: CancelToken) -> R:
    """Return ``work(argument, emit, cancel)``, done in a process that is started for it and ends with it.

    A stop that is requested here is passed on, and ``work`` ends as it would have ended here. If this process dies, for
    whatever reason, ``work`` is asked to stop as well. Argument, events and result pass between processes of one
    run and are never stored.

    Args:
        work: a function of a module that imports no Qt (the new process imports it by name).
        argument: what it is given; it must pickle, and so must what it emits and returns.
        emit: receives its events; memory events count both processes.
        cancel: asks it to stop.

    Raises:
        WorkbenchError: ``work`` raised it, or its process died.
        MemoryError: the process had not enough memory.
        WorkerFaultError: ``work`` raised anything else.
    """
    cancel.check()
    with workers(1, _serve, last_word=PATIENCE, daemon=False) as (worker,):
        try:
            worker.pipe.send((work, argument))
            return cast("R", _listen(worker.pipe, emit, cancel))
        except (BrokenPipeError, ConnectionResetError, EOFError):
            raise _died(worker.process) from None


def _listen(pipe: Connection, emit: Emit, cancel: CancelToken) -> Any:
    own = _resident()
    stated = False
    while True:
        if cancel.cancelled and not stated:
            pipe.send(STOP)
            stated = True
        if not pipe.poll(LOOK):
            continue
        done, value = pipe.recv()
        if done is None:
            emit(_with_ours(value, own()))
        elif done:
            return value
        else:
            raise value


def _with_ours(event: Event, ours: int) -> Event:
    if not isinstance(event, Memory) or event.device != "cpu":
        return event
    predicted = None if event.predicted is None else event.predicted + ours
    return dataclasses.replace(
        event, now=event.now + ours, peak=event.peak + ours, before=event.before + ours, predicted=predicted
    )


def _resident() -> Callable[[], int]:
    import psutil

    process = psutil.Process()
    return lambda: int(process.memory_info().rss)


def _died(process: BaseProcess) -> WorkbenchError:
    process.join(PATIENCE)
    return WorkbenchError(
        f"the worker process has ended (exit code {process.exitcode})",
        hint="the system may be short of memory: close other programs and run again",
    )


def _serve(pipe: Connection) -> None:
    """Do the one piece of work that comes over ``pipe``; runs in the new process."""
    # Ctrl+C reaches the whole foreground group; stopping is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(NICE)
    # If the pipe is gone nobody listens; charges are settled by then.
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        work, argument = pipe.recv()
        cancel = CancelToken()
        threading.Thread(target=_on_stop, args=(pipe, cancel), daemon=True).start()
        given = _Emitter(pipe, cancel), cancel
        pipe.send(answer_of(lambda argument, given: work(argument, *given), argument, given))


class _Emitter:
    """Sends events; if nobody listens any more, asks the work to stop in the usual way."""

    def __init__(self, pipe: Connection, cancel: CancelToken) -> None:
        self._pipe, self._cancel = pipe, cancel

    def __call__(self, event: Event) -> None:
        try:
            self._pipe.send((None, event))
        except (BrokenPipeError, ConnectionResetError):
            self._cancel.cancel()


def _on_stop(pipe: Connection, cancel: CancelToken) -> None:
    """Wait for the request to stop, or for the end of the parent, which means the same."""
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()
    cancel.cancel()
