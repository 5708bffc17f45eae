"""Estimate how much time a job still needs from its pace so far."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable

from workbench.signals.events import Progress

HORIZON = 10.0
"""Seconds after which a pace counts 1/e: short enough to follow a change, long enough to smooth bursts."""

FIRST_WORD = 1.0
"""Seconds of work before an estimate is worth saying."""


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
