"""A job in a thread of its own: events out, Cancel in, exactly one terminal event."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Generic, TypeVar

from workbench.jobs.job import Job
from workbench.jobs.mailbox import Mailbox
from workbench.jobs.memory import MemorySampler
from workbench.jobs.progress import TimeLeft
from workbench.params import CancelledError, WorkbenchError
from workbench.params.extras import absent
from workbench.processes.redacted_traceback import chain, trace_of
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Cancelled, Event, Failed, Finished, Progress, Terminal, ignore

R = TypeVar("R")

POLL = 0.04
"""Seconds between two polls of the mailbox: 25 a second, more than an eye follows."""


class Run(Generic[R]):
    """A job that was started. Made by :func:`start`.

    Attributes:
        title: what a person sees: the job's title, and what it is about.
        terminal: the terminal event once :meth:`poll` has returned it, else ``None``.
    """

    def __init__(self, job: Job[R], *, gauge_memory: bool = False) -> None:
        self.title = job.words
        self.terminal: Terminal | None = None
        self._job: Job[R] | None = job
        self._cancel = CancelToken()
        self._mailbox = Mailbox()
        self._time_left = TimeLeft()
        self._gauge = MemorySampler() if gauge_memory else None
        # Not a daemon: the interpreter waits for it, so that work is never cut off between two writes.
        self._thread = threading.Thread(target=self._work, name=f"job: {job.title}", daemon=False)

    def cancel(self) -> None:
        """Ask the job to stop at its next step; it ends with Cancelled unless it has finished by then."""
        self._cancel.cancel()

    @property
    def cancelling(self) -> bool:
        """Whether a stop was requested and the job has not ended yet."""
        return self._cancel.cancelled and not self._mailbox.closed

    def poll(self) -> list[Event]:
        """Return the events since the last poll, in order; the terminal event comes once, last."""
        sample = self._gauge.sample() if self._gauge is not None and not self._mailbox.closed else None
        if sample is not None:
            self._mailbox.put(sample)
        events = self._mailbox.drain()
        if events and isinstance(events[-1], Terminal):
            self.terminal = events[-1]
            if self._thread.ident is not None:
                self._thread.join()
        return events

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the end; return whether the job has ended."""
        return self._mailbox.wait_closed(seconds)

    def _start(self) -> None:
        try:
            self._thread.start()
        except RuntimeError:  # the system gives no more threads
            error = WorkbenchError("the system gives this program no more threads", hint="close other work, try again")
            self._mailbox.put(Failed(error))

    def _work(self) -> None:
        job, self._job = self._job, None  # what it works on is not kept by who keeps this
        assert job is not None
        self._mailbox.put(perform(job, self._emit, self._cancel))

    def _emit(self, event: Event) -> None:
        if isinstance(event, Terminal):
            raise TypeError("work returns or raises; the terminal event is the runner's to send")
        self._mailbox.put(self._time_left.fill(event) if isinstance(event, Progress) else event)


def start(job: Job[R], *, gauge_memory: bool = False) -> Run[R]:
    """Start ``job`` in a thread of its own."""
    run = Run(job, gauge_memory=gauge_memory)
    run._start()
    return run


def perform(job: Job[R], emit: Callable[[Event], None], cancel: CancelToken) -> Terminal:
    """Do ``job`` in this thread and return how it ended, whatever it raised."""
    try:
        return Finished(job.work(emit, cancel))
    except CancelledError as error:
        return Cancelled("" if error.what == CancelledError().what else error.what)
    except WorkbenchError as error:
        return Failed(_without_values(error))
    except MemoryError as error:
        _without_values(error)
        return Failed(
            WorkbenchError("there is not enough memory for this", hint="close other programs or use fewer rows")
        )
    except ModuleNotFoundError as error:
        missing = absent(error)
        _without_values(error)
        return Failed(missing) if missing else Failed(error, bug=True, trace=trace_of(error))
    except BaseException as error:  # noqa: BLE001 - the worker's edge: also SystemExit ends in one terminal event
        return Failed(_without_values(error), bug=True, trace=trace_of(error))


def _without_values(error: BaseException) -> BaseException:
    """Empty the local variables of the frames that ``error`` holds: they would keep whole tables alive."""
    for link in chain(error):
        traceback.clear_frames(link.__traceback__)
    return error


def run_to_end(
    job: Job[R],
    on_event: Callable[[Event], None] = ignore,
    poll: float = POLL,
    *,
    gauge_memory: bool = False,
) -> Terminal:
    """Run ``job`` and wait for its end, as the command line does; Ctrl+C and SIGTERM ask it to stop."""
    run = Run(job, gauge_memory=gauge_memory)
    with _stopping_on_signals(run):  # before the start: a signal in the first instant counts too
        run._start()
        try:
            while run.terminal is None:
                run.wait(poll)
                for event in run.poll():
                    on_event(event)
        finally:
            # Also where a listener raised (a closed terminal): no thread stays behind.
            run.cancel()
            while not run.wait(poll):
                pass
            run.poll()
    assert run.terminal is not None
    return run.terminal


def outcome(terminal: Terminal) -> object:
    """Return the result of a finished job, or raise the error that ended it."""
    match terminal:
        case Finished(result):
            return result
        case Cancelled(what):
            raise CancelledError(what) if what else CancelledError
        case Failed(error):
            raise error


@contextmanager
def _stopping_on_signals(run: Run[R]) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a Cancel while the block runs (only the main thread may)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        run.cancel()

    former = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            # None stands for a handler that was not installed from Python; the default takes its place.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
