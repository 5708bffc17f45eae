"""A request to stop, made in one thread and polled in another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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


_INTERRUPTED_BY: ContextVar[CancelToken | None] = ContextVar("interrupted_by", default=None)


@contextmanager
def interruptible(cancel: CancelToken) -> Iterator[None]:
    """Let :func:`check_here` end the work of this block and thread once ``cancel`` is set.

    Only for work that changes nothing, such as a forecast: it may end at any of its steps, deep inside a calculation.
    A release asks its token itself, at the places where it may stop.
    """
    before = _INTERRUPTED_BY.set(cancel)
    try:
        yield
    finally:
        _INTERRUPTED_BY.reset(before)


def check_here() -> None:
    """Raise :class:`CancelledError` inside an :func:`interruptible` block whose token is set; else do nothing."""
    cancel = _INTERRUPTED_BY.get()
    if cancel is not None:
        cancel.check()
