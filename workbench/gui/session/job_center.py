"""Jobs and the window: started here, polled by one timer, reported by signals on the GUI thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from workbench.gui.style.language import again, capital, tr, tr_sentence
from workbench.jobs import Job, Run, start
from workbench.jobs.log import log_trace
from workbench.jobs.runner import MemorySampler
from workbench.signals.events import AtStake, Cancelled, Event, Failed, Finished, Progress

POLL_MS = 40  # 25 looks a second, more than an eye follows

QUICK_MS = 8  # while a job is young: most end in a fraction of a second, and a look too late would be half of that

YOUNG = 0.5  # seconds that a job is young

MEMORY_MS = 1000


class JobHandle(QObject):
    """One job as the window sees it.

    Attributes:
        title: what a person sees.
        kind: the title without the name of the file or table that it is about.
        stoppable: whether a person can stop it in the panel of jobs, which lists every job once it takes a while.
        begun: when it was started, on the monotonic clock.
        latest: the newest progress, or ``None``.
        end: the terminal event once it has come, else ``None``.
        paused: whether the stop that was asked for is a pause.
        on_pause: says that the stop which follows is a pause; ``None`` of a job that cannot go on after one.
        of_table: whether it ends where another table is opened.
        at_stake: ε that a stop would lose now, by what the job has said of itself; 0 where it loses none.

    Signals:
        progress, metric, spread, budget, memory, notice: the event of that name.
        finished: (result). failed: (the Failed event). cancelled: (). ended: () after any of the three.
    """

    progress = Signal(object)
    metric = Signal(object)
    spread = Signal(object)
    budget = Signal(object)
    memory = Signal(object)
    notice = Signal(object)
    finished = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    cancelling = Signal()
    ended = Signal()

    def __init__(self, run: Run[Any], kind: str, key: str, stoppable: bool, parent: QObject) -> None:
        super().__init__(parent)
        self.title = run.title
        self.kind = kind
        self.key = key
        self.stoppable = stoppable
        self.begun = self._heard = time.monotonic()
        self.latest: Progress | None = None
        self.end: Finished | Cancelled | Failed | None = None
        self.at_stake = Decimal(0)
        self.paused = False
        self.of_table = False
        self.on_pause: Callable[[], None] | None = None
        self._asked = False
        self._run = run

    @property
    def running(self) -> bool:
        """Whether the terminal event has not come yet."""
        return self.end is None

    @property
    def stopping(self) -> bool:
        """Whether a stop was asked for and the job has not ended yet."""
        return self.running and self._asked

    @property
    def elapsed(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.begun

    @property
    def seconds_left(self) -> float | None:
        """Seconds that are left by its newest progress; ``None`` where that did not say it, or they have passed."""
        stated = self.latest.seconds_left if self.latest is not None else None
        left = None if stated is None else stated - (time.monotonic() - self._heard)
        return None if left is None or left < 0 else left

    @property
    def superseded(self) -> bool:
        """Whether another job has taken its place, so that nobody waits for it."""
        return self.signalsBlocked()

    @property
    def too_late(self) -> bool:
        """Whether a stop was asked for and the job has finished all the same."""
        return self._asked and isinstance(self.end, Finished)

    def cancel(self) -> None:
        if self.running and not self._asked:
            self._asked = True
            self._run.cancel()
            self.cancelling.emit()

    def pause(self) -> None:
        """Ask the job to stop at its next step so that it can go on later."""
        if self.on_pause is not None and self.running and not self._asked:
            self.paused = True
            self.on_pause()
            self.cancel()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the work itself, for closing down; return whether it has come."""
        return self._run.wait(seconds)

    def pump(self) -> None:
        for event in self._run.poll():
            self._send(event)

    def _send(self, event: Event) -> None:
        match event:
            case AtStake(epsilon):
                self.at_stake = epsilon
            case Finished(result):
                self.end = event
                self.finished.emit(result)
            case Failed():
                self.end = event
                self.failed.emit(event)
            case Cancelled():
                self.end = event
                self.cancelled.emit()
            case _:  # what it says meanwhile has a signal of its own name
                if isinstance(event, Progress):
                    self.latest, self._heard = event, time.monotonic()
                getattr(self, type(event).__name__.lower()).emit(event)


class JobCenter(QObject):
    """Starts jobs and polls all of them with one timer, which rests while nothing runs."""

    started = Signal(object)  # (JobHandle)
    ended = Signal(object)  # (JobHandle)
    idle = Signal()  # the last job has ended
    memory = Signal(object)  # (Memory) of the process or of a job
    noticed = Signal(str, str)  # (level, sentence)
    failed = Signal(object)  # (exception) of a job whose starter did not ask for its failures

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._handles: list[JobHandle] = []
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self._poll)
        self._gauge: MemorySampler | None = None
        self._memory_timer = QTimer(self, interval=MEMORY_MS)
        self._memory_timer.timeout.connect(self._sample)

    @property
    def running(self) -> tuple[JobHandle, ...]:
        """The jobs that have not ended, oldest first."""
        return tuple(self._handles)

    def start(
        self,
        job: Job[Any],
        *,
        key: str = "",
        stoppable: bool = True,
        on_result: Callable[[Any], object] | None = None,
        on_failure: Callable[[BaseException], None] | None = None,
    ) -> JobHandle:
        """Start ``job``; its results come back on the GUI thread.

        Args:
            job: what to do.
            key: a job with the same non-empty key that is still running is cancelled, and its result is not applied.
            stoppable: whether a person can stop it, and reads that she did. What follows from an edit, or is read
                anew, is not: the next one takes its place.
            on_result: called with the result.
            on_failure: called with the exception; without it the window reports the failure.
        """
        if key:
            for former in self._handles:
                if former.key == key:
                    former.key = ""
                    former.blockSignals(True)  # what it still says is out of date
                    former.cancel()
        handle = JobHandle(start(job), job.title, key, stoppable, self)
        handle.memory.connect(self.memory)
        # The command line says it behind "warning: "; in the window it begins a line.
        handle.notice.connect(lambda n: self.noticed.emit(n.level, capital(tr_sentence(n.text))))
        if on_result is not None:
            handle.finished.connect(on_result)
        handle.failed.connect(lambda event: self._failure_text(event, job.title, on_failure))
        if stoppable:
            handle.cancelled.connect(lambda: self._cancel_text(handle))
        self._handles.append(handle)
        self._timer.start(QUICK_MS)
        self.started.emit(handle)
        return handle

    def cancel_all(self) -> None:
        for handle in self._handles:
            handle.cancel()

    def finish(self, handle: JobHandle, seconds: float) -> None:
        """Wait a moment for one short job and report its end."""
        handle.wait(seconds)
        self._poll()

    def watch_memory(self) -> None:
        """Begin to sample the memory of the process once a second."""
        self._gauge = MemorySampler()
        self._memory_timer.start()
        self._sample()

    def shut_down(self, seconds: float = 10.0) -> bool:
        """Cancel what runs and wait for it; return whether everything has ended.

        A job that has not keeps its thread, which is no daemon: the process ends only after it, so that a charge is
        settled and a file is whole or absent. Nobody listens to it any more.
        """
        self._memory_timer.stop()
        self.cancel_all()
        deadline = time.monotonic() + seconds
        for handle in self._handles:
            handle.wait(max(0.0, deadline - time.monotonic()))
        self._poll()
        self._timer.stop()
        return not self._handles

    def _cancel_text(self, handle: JobHandle) -> None:
        what = tr_sentence(handle.end.what) if isinstance(handle.end, Cancelled) else ""
        how = tr("Paused") if handle.paused else tr("Cancelled")
        self.noticed.emit("info", f"{how}: {again(handle.title)}." + (f" {what}" if what else ""))

    def _failure_text(self, event: Failed, title: str, on_failure: Callable[[BaseException], None] | None) -> None:
        if event.bug:
            log_trace(title, event.trace)
        if on_failure is not None:
            on_failure(event.error)
        else:
            self.failed.emit(event.error)

    def _poll(self) -> None:
        for handle in tuple(self._handles):
            handle.pump()
            # What it said may have led here again, by closing the window.
            if not handle.running and handle in self._handles:
                self._handles.remove(handle)
                handle.ended.emit()
                self.ended.emit(handle)
                handle.deleteLater()
        if not self._handles:
            self._timer.stop()
            self.idle.emit()
        elif time.monotonic() - max(handle.begun for handle in self._handles) > YOUNG:
            self._timer.setInterval(POLL_MS)

    def _sample(self) -> None:
        sample = self._gauge.sample() if self._gauge is not None else None
        if sample is not None:
            self.memory.emit(sample)
