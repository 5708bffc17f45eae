"""A request to stop, made in one thread and polled in another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from workbench.params import CancelledError

WHOLE = threading.RLock()
"""Held while files are given their names, or a checkpoint is written: a program that is ended waits for it."""


class CancelToken:
    """Set once by whoever wants the work to stop; polled by the work between its steps.

    Whatever is given one raises :class:`CancelledError` once it is set, unless it says something else.
    """

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


class _Never(CancelToken):
    def cancel(self) -> None:
        raise AssertionError("this is the token of work that nobody can stop")


NEVER = _Never()  # the token of work that nobody wants to stop


class PutOffCancel(CancelToken):
    """A request to stop that counts only once the work is ready for it."""

    def __init__(self, cancel: CancelToken, ready: Callable[[], bool]) -> None:
        """Make it of ``cancel``, which is what somebody sets; ``ready`` says whether it counts by now."""
        super().__init__()
        self._cancel, self._ready = cancel, ready

    def cancel(self) -> None:
        """Request a stop."""
        self._cancel.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether a stop was requested that counts."""
        return self._cancel.cancelled and self._ready()

    def rest(self, seconds: float) -> None:
        """Wait, and raise :class:`CancelledError` as soon as a stop counts."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, _LOOK))
        self.check()


_LOOK = 0.05
_INTERRUPTED_BY: ContextVar[CancelToken | None] = ContextVar("interrupted_by", default=None)


@contextmanager
def interruptible(cancel: CancelToken) -> Iterator[None]:
    """Let :func:`check_here` end the work of this block and thread once ``cancel`` is set.

    Only for work that changes nothing, such as a forecast or the training of a model in memory: it may end at any of
    its steps, deep inside a calculation. A release asks its token itself, at the places where it may stop.
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
