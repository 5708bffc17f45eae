"""A job: a callable that reports progress and can be cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

R = TypeVar("R")


@dataclass(frozen=True)
class Job(Generic[R]):
    """One long piece of work, not yet started.

    Attributes:
        title: the kind of work; also the name of the thread and of log entries.
        work: called once, in the job's own thread, with a function that reports progress and a token to poll between
            its steps (``cancel.check()`` raises if a stop was requested). It returns its result or raises; the runner
            emits the terminal event.
        about: the file or table it is about. Shown after the title, but never logged: a name can reveal much.
    """

    title: str
    work: Callable[[Emit, CancelToken], R]
    about: str = ""

    @property
    def words(self) -> str:
        """What a person sees beside the progress bar."""
        return f"{self.title} {self.about}".rstrip()
