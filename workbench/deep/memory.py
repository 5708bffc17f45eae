"""Predict the memory of a run before it starts, and measure what it took."""

from __future__ import annotations

import ctypes
import os
import sys
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.deep.features import Features
from workbench.deep.memory_phases import PHASES
from workbench.deep.plan import DpSgdPlan

_FLOAT, _DOUBLE, _INDEX = 4, 8, 8
_SLOTS = {"sgd": 0, "adam": 2, "adamw": 2}
_NOISE_ARRAYS = 6
"""Arrays of the parameters' length, in doubles, that live at once while a noisy gradient is made."""

_KEPT = 0.2
"""What a step takes beside the memory that the engine keeps for it, in its size: temporaries and views."""

_UNRETURNED = 0.5
"""How much of the memory that reading the rows has freed stays with the process (measured: 0 to 0.6 for one run)."""

_ACCOUNTING = {"pld": 9_000_000, "rdp": 1_000_000, "rdp-classic": 1_000_000}
"""Bytes of the curve of ε that is computed beside a run; by privacy loss distributions it is their grids."""

_BESIDE = 21_000_000
"""Bytes of threads, of the allocator's own, and of the reader of tables."""

LIBRARIES = 490_000_000
"""Bytes that PyTorch and the compiler of loops take when they are first used, for as long as the program runs."""

PROCESS = 80_000_000
"""Bytes of a new process before it has used PyTorch: Python and the reader of tables (measured, Linux, CPU)."""


@dataclass(frozen=True, slots=True)
class MemoryForecast:
    """Bytes by phase. A run holds ``beside``, ``model`` and, once read, ``data``; the other phases take turns on top.

    The constants were measured (``tests/benchmarks/bench_memory_prediction.py``): the C library, torch and the
    accountant decide them, not arithmetic.

    Attributes:
        beside: threads, the allocator, the curve of ε.
        model: parameters, the gradient that the optimiser reads, the optimiser's slots.
        reading: the table as a matrix of doubles, and what reading a column takes; freed once ``data`` is complete.
        data: inputs and classes of all rows.
        batch: one physical batch and the coins that drew it.
        backward: its activations, what convolutions keep for each row, and the sum.
        step: the sum, its noise and the noisy gradient.
        libraries: what PyTorch adds if it was not used before.
        preparing: the rows as they were read, and what the frozen part of the network takes to prepare them.
    """

    beside: int
    model: int
    reading: int
    data: int
    batch: int
    backward: int
    step: int
    libraries: int = 0
    preparing: int = 0

    @property
    def peak(self) -> int:
        """The most bytes of the run in use at once, the libraries not counted."""
        kept = int(_UNRETURNED * max(0, min(self.reading, self.in_a_step)))
        return self.between_steps + max(self.reading, self.preparing, self.in_a_step + kept)

    @property
    def between_steps(self) -> int:
        """The bytes that are there throughout, once the rows were read."""
        return self.beside + self.model + self.data

    @property
    def in_a_step(self) -> int:
        """The most bytes that a step takes on top of what is there between two steps."""
        return max(self.batch + self.backward, self.step)

    def phases(self) -> dict[str, int]:
        """Return the bytes in use in each phase of a run; reading the rows counts to the first one.

        What the layers held is kept for the next step, so that the resident memory does not shrink after ``backward``.
        """
        held = self.between_steps
        return {
            "model": held + max(self.reading, self.preparing),
            "batch": held + self.batch,
            "backward": held + self.batch + self.backward,
            "step": held + self.in_a_step,
        }

    def with_step(self, batch: int, backward: int, step: int) -> MemoryForecast:
        """Return the forecast with what the phases of a step were measured to add to what is there between steps."""
        return replace(self, batch=batch, backward=max(0, backward - batch), step=step)

    def after_first_step(self, now: int, to_come: int) -> MemoryForecast:
        """Return the forecast once a step was taken; of the first phase, which is over, it says what it said.

        Args:
            now: the bytes that are in use then.
            to_come: bytes that are taken later, of the curve of ε.
        """
        # What other work of the process gave back meanwhile is not the run's: a phase takes no less than its arrays.
        more = max(now + to_come - self.between_steps - self.in_a_step, -self.beside)
        reading, preparing = self.reading - more, self.preparing - more
        return replace(self, beside=self.beside + more, reading=reading, preparing=preparing)


def curve_bytes(accountant: str, device: str) -> int:
    """Return the bytes that the curve of ε takes in the memory of ``device``: it is computed by the processor."""
    return _ACCOUNTING[accountant] if device == "cpu" else 0


def predict(plan: DpSgdPlan, features: Features, rows: int, device: str = "cpu") -> MemoryForecast:
    """Return the bytes of a run of ``plan`` over ``rows`` rows, with the largest batch that is to be expected.

    On ``cuda`` they are those of the GPU, where neither the reader nor the curve of ε is.
    """
    architecture = plan.architecture
    inputs, classes = features.width, len(features.classes)
    parameters = architecture.parameters(inputs, classes)
    drawn = most_drawn(rows, plan.batch)
    here = device == "cpu"
    chunk = min(plan.physical_batch, drawn, architecture.rows_at_once() if here else drawn)
    slots = 1 if plan.momentum else _SLOTS[plan.optimizer]
    row = _FLOAT * architecture.prepared_width(inputs) + _INDEX
    held = _FLOAT * chunk * architecture.held_by_row(inputs, classes)
    return MemoryForecast(
        beside=_BESIDE + curve_bytes(plan.accountant, device) if here else 0,
        model=(2 + slots) * _FLOAT * parameters,
        reading=features.reading_bytes(rows) if here else 0,
        data=rows * row,
        preparing=architecture.preparing() + _FLOAT * rows * inputs if architecture.preparing() else 0,
        batch=drawn * row + rows,
        backward=int((1 + _KEPT) * held) + _FLOAT * parameters,
        step=_NOISE_ARRAYS * _DOUBLE * parameters,
        libraries=0 if "torch" in sys.modules or not here else LIBRARIES,
    )


def most_drawn(rows: int, batch: int) -> int:
    """Return the rows of the largest batch that is to be expected.

    A Poisson batch exceeds its mean by more than 6 standard deviations once in 10⁹ steps.
    """
    return min(rows, batch + 6 * int(batch**0.5) + 1)


_FIRST_LOOKS, _APART = 200, 0.005
"""So many glances are looks, and later ones at this distance in seconds: a look takes as long as a step of a table."""


class MemoryWatch:
    """Measures what a run takes above what the process had before: resident memory, or the GPU's allocator.

    Attributes:
        device: ``cpu`` or ``cuda``.
        before: bytes in use when it was made.
        peak: the most bytes seen so far, above ``before``.
        now: the bytes at the last look, above ``before``.
        phase: the phase of the run that goes on.
        peaks: the most bytes seen in each phase, above ``before``. On the processor what a step took stays with the
            process, so that of a batch the first one counts.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.now = self.peak = 0
        self.phase = PHASES[0]
        self.peaks = dict.fromkeys(PHASES, 0)
        self._kept = False
        self._glances, self._looked = 0, 0.0
        self._forget: Callable[[], None] | None = None
        if device == "cpu":
            self._read = _resident()
        else:
            self._read, self._forget = _allocated()
        self.before = self._read()
        self._highest = _highest() if device == "cpu" else 0

    def look_back(self) -> None:
        """Count what was in use between two looks to this phase, where the system knows: the process's own record."""
        self.look()
        highest = _highest() if self.device == "cpu" else 0
        if highest > self._highest:  # else the record is older than this run, or nobody keeps one
            self._highest = highest
            self.peak = max(self.peak, highest - self.before)
            self.peaks[self.phase] = max(self.peaks[self.phase], highest - self.before)

    def look(self) -> None:
        """Read the present figure; cheap enough for every step."""
        self.now = max(0, self._read() - self.before)
        self.peak = max(self.peak, self.now)
        if not (self._kept and self.phase == "batch"):
            self.peaks[self.phase] = max(self.peaks[self.phase], self.now)

    def glance(self) -> None:
        """Look, unless it was done just now: what is in use changes little from one step to the next."""
        now = time.monotonic()
        self._glances += 1
        if self._glances <= _FIRST_LOOKS or now - self._looked >= _APART:
            self._looked = now
            self.look()

    def begin_anew(self) -> None:
        """Forget what the phases took, though not the whole: what was measured was no step of the run."""
        if self.device == "cpu":
            _give_back()
        self.look()
        self.phase, self.peaks, self._kept = PHASES[0], dict.fromkeys(PHASES, 0), False

    def enter(self, phase: str, *, look: bool = True) -> None:
        """Begin ``phase``; unless ``look`` is false, the former one ends with a look.

        The allocator of a GPU keeps the most that was in use since it was told to forget; a phase that nobody looked
        at is counted with the next one that is.
        """
        if look:
            self.look()
            if self._forget is not None:
                self._forget()
        self.phase = phase
        self._kept = self._kept or (phase == "backward" and self.device == "cpu")


def _resident() -> Callable[[], int]:
    """Return what reads the resident memory: a file that stays open, as a look at every step must cost nothing."""
    if not sys.platform.startswith("linux"):
        import psutil

        process = psutil.Process()
        return lambda: int(process.memory_info().rss)
    held, page = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC), os.sysconf("SC_PAGE_SIZE")

    def read() -> int:
        return int(os.pread(held, 128, 0).split()[1]) * page

    weakref.finalize(read, os.close, held)
    return read


def _give_back() -> None:
    """Give the system back what was freed, where the C library can."""
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _highest() -> int:
    """Return the most resident memory that this process ever had; 0 where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return 0
    words = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").split()
    return 1024 * int(words[words.index("VmHWM:") + 1]) if "VmHWM:" in words else 0


def _allocated() -> tuple[Callable[[], int], Callable[[], None]]:
    import torch

    torch.cuda.reset_peak_memory_stats()
    # The allocator keeps the peak itself, between two looks as well.
    return lambda: int(torch.cuda.max_memory_allocated()), torch.cuda.reset_peak_memory_stats


def available(device: str) -> int:
    """Return the bytes that the system, or the GPU, can still give."""
    if device == "cpu":
        import psutil

        return int(psutil.virtual_memory().available)
    import torch

    free, _ = torch.cuda.mem_get_info()
    return int(free) + int(torch.cuda.memory_reserved() - torch.cuda.memory_allocated())


def out_of_memory(error: BaseException) -> bool:
    """Return whether ``error`` says that the system or the GPU gave no more memory; torch raises RuntimeError."""
    stated = str(error).lower()
    words = ("can't allocate memory", "not enough memory", "out of memory")
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(w in stated for w in words))
