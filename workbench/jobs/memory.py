"""How much memory the program and its worker processes use."""

from __future__ import annotations

import time
from collections.abc import Callable

from workbench.processes.executor import worker_processes
from workbench.signals.events import Memory

INTERVAL = 0.5
"""Seconds between two samples: asking the system is not free."""


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
