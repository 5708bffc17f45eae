"""A job: a callable that says how it goes and stops when asked."""

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
        title: which kind of work it is; the log of bugs and the thread are called so, too.
        work: called once, in the job's own thread, with a way to say how it goes and a token to poll between its
            steps (``cancel.check()`` raises where a stop was asked for). It returns its result or raises; it never
            emits a terminal event, which is the runner's.
        about: the file or table it is about. A person sees it after the title; no log does: a name may tell much.
    """

    title: str
    work: Callable[[Emit, CancelToken], R]
    about: str = ""

    @property
    def words(self) -> str:
        """What a person sees beside the progress bar."""
        return f"{self.title} {self.about}".rstrip()
