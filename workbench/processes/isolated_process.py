"""Run work in a process of its own, connected by a pipe.

A thread is enough for work that spends its time in libraries. A training run does not: thousands of short steps of
Python keep the interpreter from the window. A process of its own also returns all of its memory, and if the system runs
out of memory, that process ends and not the window.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar, cast

from workbench.params import WorkbenchError
from workbench.params.errors import absent
from workbench.processes.executor import begin, close, no_ctrl_c_at_birth
from workbench.processes.redacted_traceback import trace_of
from workbench.processes.worker import NICE, WorkerFaultError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Event, Memory

A = TypeVar("A")
R = TypeVar("R")
Work = Callable[[A, Emit, CancelToken], R]

LOOK = 0.05
"""Seconds between two checks of the cancel token."""

PATIENCE = 10.0
"""Seconds that the process has to end once it has answered, or was asked to stop because of an error here."""

STOP = "stop"
EVENT, RESULT, ERROR = "event", "result", "error"


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
    with _started() as (process, pipe):
        try:
            pipe.send((work, argument))
            return cast("R", _listen(process, pipe, emit, cancel))
        except (BrokenPipeError, ConnectionResetError, EOFError):
            raise _died(process) from None


def _listen(process: BaseProcess, pipe: Connection, emit: Emit, cancel: CancelToken) -> Any:
    own = _resident()
    stated = False
    while True:
        if cancel.cancelled and not stated:
            pipe.send(STOP)
            stated = True
        if not pipe.poll(LOOK):
            continue
        kind, value = pipe.recv()
        if kind == EVENT:
            emit(_with_ours(value, own()))
        elif kind == RESULT:
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
        f"the process that did the work has ended (exit code {process.exitcode})",
        hint="the system may be short of memory: close other programs and run again",
    )


@contextlib.contextmanager
def _started() -> Iterator[tuple[BaseProcess, Connection]]:
    """Start the process; whatever happens, it is not alive after the block."""
    # Spawned on every system: a fork copies locks that other threads hold at that instant.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), name="isolated work", daemon=False)
    try:
        with no_ctrl_c_at_birth():
            begin(process)
        theirs.close()  # only the child holds this end now, so that its death is an end of file here
        yield process, ours
    finally:
        ours.close()  # where it is still at work, that makes it stop
        if process.pid is not None:
            process.join(PATIENCE)
            if process.is_alive():
                process.terminate()
                process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()
            close(process)


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
        pipe.send(_answer(work, argument, _Emitter(pipe, cancel), cancel))


class _Emitter:
    """Sends events; if nobody listens any more, asks the work to stop in the usual way."""

    def __init__(self, pipe: Connection, cancel: CancelToken) -> None:
        self._pipe, self._cancel = pipe, cancel

    def __call__(self, event: Event) -> None:
        try:
            self._pipe.send((EVENT, event))
        except (BrokenPipeError, ConnectionResetError):
            self._cancel.cancel()


def _on_stop(pipe: Connection, cancel: CancelToken) -> None:
    """Wait for the request to stop, or for the end of the parent, which means the same."""
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()
    cancel.cancel()


def _answer(work: Work[Any, Any], argument: Any, emit: Emit, cancel: CancelToken) -> tuple[str, Any]:
    try:
        return RESULT, work(argument, emit, cancel)
    except WorkbenchError as error:
        return ERROR, error
    except MemoryError:
        return ERROR, MemoryError()
    except ModuleNotFoundError as error:
        return ERROR, absent(error) or WorkerFaultError(trace_of(error))
    except Exception as error:  # noqa: BLE001 - raised again in the parent, without the values in its text
        return ERROR, WorkerFaultError(trace_of(error))
