"""Events of a job that are still to be read: gauges keep their newest value, sentences are queued."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Hashable

from workbench.signals.events import AtStake, Budget, Event, Memory, Metric, Notice, Progress, Spread, Terminal


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
