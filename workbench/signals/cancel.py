"""A request to stop, made in one thread and polled in another."""

from __future__ import annotations

import threading

from workbench.params import CancelledError


class CancelToken:
    """Set once by whoever wants the work to stop; polled by the work between its steps."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Request a stop; a second request changes nothing."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether a stop was requested."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise :class:`CancelledError` if a stop was requested."""
        if self.cancelled:
            raise CancelledError

    def rest(self, seconds: float) -> None:
        """Wait, and raise :class:`CancelledError` as soon as a stop is requested."""
        if self._event.wait(seconds):
            raise CancelledError
