"""How fast a run goes, in words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from workbench.gui.widgets.formatting import plain, time_left
from workbench.signals.events import Progress

HORIZON = 5.0
"""Seconds after which an old speed weighs 1/e as much as the newest."""


class Pace:
    """Steps a second, smoothed, and the time left."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: tuple[float, float] | None = None
        self._steps = self._seconds = 0.0

    def words(self, progress: Progress) -> str:
        """Return step, speed and time left after another ``progress``."""
        now = self._clock()
        if self._last is not None and progress.done > self._last[0]:
            passed = now - self._last[1]
            kept = math.exp(-passed / HORIZON)
            self._steps = self._steps * kept + progress.done - self._last[0]
            self._seconds = self._seconds * kept + passed
        self._last = progress.done, now
        parts = [f"step {progress.done:,.0f} of {progress.total:,.0f}"]
        if self._seconds > 0:
            parts.append(f"{self._speed()} steps a second")
        if progress.seconds_left is not None:
            parts.append(time_left(progress.seconds_left))
        return " · ".join(parts)

    def over(self) -> str:
        """Return how fast a run was that is over; short, as a button stands beside it."""
        return f"{self._speed()} steps/s" if self._seconds > 0 else ""

    def _speed(self) -> str:
        speed = float(f"{self._steps / self._seconds:.2g}")
        return f"{speed:,.0f}" if speed >= 1000 else plain(speed)
