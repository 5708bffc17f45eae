"""The run-time event union. Events carry public facts and private gauges, never rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` units of ``label`` are finished; ``seconds_left`` is ``None`` until it is known."""

    done: float
    total: float
    label: str = ""
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a run at a step. Computed from private rows unless ``public``."""

    name: str
    step: int
    value: float
    public: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """A histogram of a run at a step, computed from private rows."""

    name: str  # of what
    step: int
    edges: tuple[float, ...]  # between the bins, ascending; the first bin is below all of them, the last above
    counts: tuple[int, ...]  # one more than there are edges


@dataclass(frozen=True, slots=True)
class Budget:
    """Privacy loss so far (zero-out neighbours), beside the cap it stops before."""

    epsilon: float
    delta: float
    cap: float | None
    step: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class AtStake:
    """What a stop would lose now: the ε that stays charged although nothing is released; 0 where there is none."""

    epsilon: Decimal


@dataclass(frozen=True, slots=True)
class PhaseMemory:
    """The memory of one phase of a training, in bytes of the training alone."""

    name: str  # of the phase
    predicted: int  # the most that it should have in use
    peak: int = 0  # the most that it had so far; 0 before it began


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes in use by the process or the GPU. ``predicted`` and ``limit`` are ``None`` where unknown.

    ``before`` is what was in use when the reporting job began; its own use is the difference.
    """

    now: int
    peak: int
    predicted: int | None = None
    limit: int | None = None
    device: str = "cpu"
    before: int = 0
    phases: tuple[PhaseMemory, ...] = ()  # of a training, in their order; bytes of the training alone
    phase: str = ""  # the one that goes on
    forecast: int | None = None  # of a training, what was predicted before it began, in bytes of the training alone
    first_step: int | None = None  # its measured peak when the first step was done, likewise; `None` before that


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the person at the screen (a fallback, an automatic choice)."""

    level: Literal["info", "warning"]
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Terminal: the job is done and this is its result."""

    result: Any


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Terminal: a person cancelled the job."""

    what: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Terminal: the job ended in an error."""

    error: BaseException  # the exception itself; its text may be shown on screen and is never logged
    bug: bool = False  # whether it is a bug in the program rather than a problem with the input
    trace: str = ""  # file, line and function of each frame, without values; empty if it is not a bug


Terminal = Finished | Cancelled | Failed
Event = Progress | Metric | Spread | Budget | AtStake | Memory | Notice | Terminal
Emit = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Ignore an event: the listener for work that nobody watches."""
