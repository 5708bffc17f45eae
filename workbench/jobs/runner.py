"""A job: work that reports progress and can be cancelled, in a thread of its own, with exactly one terminal event."""

from __future__ import annotations

import dataclasses
import itertools
import math
import signal
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Generic, TypeVar

from workbench.params import CancelledError, WorkbenchError
from workbench.params.errors import absent
from workbench.processes.executor import worker_processes
from workbench.processes.redacted_traceback import chain, trace_of
from workbench.signals.cancel import CancelToken
from workbench.signals.events import (
    AtStake,
    Budget,
    Cancelled,
    Emit,
    Event,
    Failed,
    Finished,
    Memory,
    Metric,
    Notice,
    Progress,
    Spread,
    Terminal,
    ignore,
)

R = TypeVar("R")

POLL = 0.04  # seconds between two polls of the mailbox: 25 a second, more than an eye follows

INTERVAL = 0.5  # seconds between two samples of memory: asking the system is not free

HORIZON = 10.0  # seconds after which a pace counts 1/e: short enough to follow a change, long enough to smooth bursts

FIRST_WORD = 1.0  # seconds of work before an estimate is worth saying


@dataclass(frozen=True)
class Job(Generic[R]):
    """One long piece of work, not yet started."""

    title: str  # the kind of work; also the name of the thread and of log entries
    # Called once, in the job's own thread, with a function that reports progress and a token to poll between its steps
    # (`cancel.check()` raises if a stop was requested). It returns its result or raises; the runner emits the terminal
    # event.
    work: Callable[[Emit, CancelToken], R]
    about: str = ""  # the file or table it is about. Shown after the title, but never logged: a name can reveal much.

    @property
    def words(self) -> str:
        """What a person sees beside the progress bar."""
        return f"{self.title} {self.about}".rstrip()


class Mailbox:
    """Events on their way from a working thread to the one timer that polls them at 20–30 Hz.

    A trainer may report thousands of steps a second; the reader needs the newest of each gauge. So Progress,
    Budget, AtStake, Memory (by device) and Metric (by name) replace their predecessor, Notices are all kept, and one
    terminal event closes the box: later events are refused.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, Event] = {}
        self._serial = itertools.count()
        self._closed = threading.Event()

    def put(self, event: Event) -> bool:
        """Add ``event`` from any thread; return whether it was accepted (nothing is after the terminal event)."""
        with self._lock:
            if self._closed.is_set():
                return False
            slot = self._slot(event)
            # Removed first: an event keeps the place of its newest value, so that readers see the true order.
            self._waiting.pop(slot, None)
            self._waiting[slot] = event
            if isinstance(event, Terminal):
                self._closed.set()
            return True

    def drain(self) -> list[Event]:
        """Return the waiting events in order of arrival, the terminal event last, and empty the box."""
        with self._lock:
            events = list(self._waiting.values())
            self._waiting.clear()
            return events

    @property
    def closed(self) -> bool:
        """Whether the terminal event has arrived (it may still wait to be drained)."""
        return self._closed.is_set()

    def wait_closed(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the terminal event; return whether it is there."""
        return self._closed.wait(seconds)

    def _slot(self, event: Event) -> Hashable:
        match event:
            case Progress() | Budget() | AtStake():
                return (type(event).__name__,)
            case Memory(device=device):
                return ("Memory", device)
            case Metric(name=name) | Spread(name=name):
                return (type(event).__name__, name)
            case Notice():
                return ("Notice", next(self._serial))
            case _:
                return ("Terminal",)


class TimeLeft:
    """Fills in ``seconds_left`` of Progress events.

    The pace is the ratio of two sums that forget at the same rate, units done and seconds passed. Unlike a mean of
    paces it is not upset by results that arrive in bursts. A new label or total begins a new estimate.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: Progress | None = None
        self._last_time = 0.0
        self._begun = 0.0
        self._units = 0.0
        self._seconds = 0.0

    def fill(self, progress: Progress) -> Progress:
        """Return ``progress`` with its time left; ``None`` stays until the pace is known."""
        now, last = self._clock(), self._last
        if last is None or (last.label, last.total) != (progress.label, progress.total) or progress.done < last.done:
            self._begun, self._units, self._seconds = now, 0.0, 0.0
        else:
            passed = now - self._last_time
            kept = math.exp(-passed / HORIZON)
            self._units = self._units * kept + (progress.done - last.done)
            self._seconds = self._seconds * kept + passed
        self._last, self._last_time = progress, now
        if progress.seconds_left is not None or self._units <= 0 or now - self._begun < FIRST_WORD:
            return progress
        left = max(progress.total - progress.done, 0.0) * self._seconds / self._units
        return dataclasses.replace(progress, seconds_left=left)


class MemorySampler:
    """Samples resident memory when polled, at most every :data:`INTERVAL` seconds; it has no thread of its own."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        import psutil

        self._at = psutil.Process
        self._process = psutil.Process()
        self._gone = (psutil.NoSuchProcess, psutil.AccessDenied)
        self._limit = int(psutil.virtual_memory().total)
        self._clock = clock
        self._due = -float("inf")
        self._peak = 0

    def sample(self) -> Memory | None:
        """Return bytes now and at most so far, or ``None`` where the last sample is still fresh."""
        if self._clock() < self._due:
            return None
        self._due = self._clock() + INTERVAL
        now = int(self._process.memory_info().rss)
        for worker in worker_processes():
            try:
                now += int(self._at(worker).memory_info().rss)
            except self._gone:
                continue  # a worker that has just ended uses nothing
        self._peak = max(self._peak, now)
        return Memory(now=now, peak=self._peak, limit=self._limit)


class Run(Generic[R]):
    """A job that was started. Made by :func:`start`."""

    def __init__(self, job: Job[R]) -> None:
        self.title = job.words  # what a person sees: the job's title, and what it is about
        self.terminal: Terminal | None = None  # the terminal event once `poll` has returned it, else `None`
        self._job: Job[R] | None = job
        self._cancel = CancelToken()
        self._mailbox = Mailbox()
        self._time_left = TimeLeft()
        # Not a daemon: the interpreter waits for it, so that work is never cut off between two writes.
        self._thread = threading.Thread(target=self._work, name=f"job: {job.title}", daemon=False)

    def cancel(self) -> None:
        """Ask the job to stop at its next step; it ends with Cancelled unless it has finished by then."""
        self._cancel.cancel()

    def poll(self) -> list[Event]:
        """Return the events since the last poll, in order; the terminal event comes once, last."""
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
            error = WorkbenchError("the system cannot start another thread", hint="close other programs and try again")
            self._mailbox.put(Failed(error))

    def _work(self) -> None:
        job, self._job = self._job, None  # what it works on is not kept by who keeps this
        assert job is not None
        self._mailbox.put(perform(job, self._emit, self._cancel))

    def _emit(self, event: Event) -> None:
        if isinstance(event, Terminal):
            raise TypeError("work returns or raises; the terminal event is the runner's to send")
        self._mailbox.put(self._time_left.fill(event) if isinstance(event, Progress) else event)


def start(job: Job[R]) -> Run[R]:
    """Start ``job`` in a thread of its own."""
    run = Run(job)
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


def run_to_end(job: Job[R], on_event: Callable[[Event], None] = ignore) -> Terminal:
    """Run ``job`` and wait for its end, as the command line does; Ctrl+C and SIGTERM ask it to stop.

    Args:
        job: what to do, in a thread of its own.
        on_event: called in this thread for each event, the terminal one included.
    """
    run = Run(job)
    with _stopping_on_signals(run):  # before the start: a signal in the first instant counts too
        run._start()
        try:
            while run.terminal is None:
                run.wait(POLL)
                for event in run.poll():
                    on_event(event)
        finally:
            # Also where a listener raised (a closed terminal): no thread stays behind.
            run.cancel()
            while not run.wait(POLL):
                pass
            run.poll()
    assert run.terminal is not None
    return run.terminal


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
            # None means a handler that was not installed from Python; the default takes its place.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
