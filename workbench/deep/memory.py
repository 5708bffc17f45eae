"""The memory of training: worked out by phase from a network's shapes, predicted for a run, and measured.

The phases of a step: the *model* is there throughout; a *batch* is read; *backward* holds what the layers give and its
gradients until the gradient is made; the *step* makes noise and moves the model. The figures are the tensors that are
alive. What a GPU's allocator takes for them is more: it asks the driver for whole segments and rounds blocks, so that
its curve has steps where a tensor crosses the size of a segment.
"""

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
from workbench.deep.networks.network import Network
from workbench.deep.plan import DpSgdPlan
from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import accountant_named
from workbench.privacy.accounting.compose import last_that

PHASES = ("model", "batch", "backward", "step")

_FLOAT, _DOUBLE, _INDEX = 4, 8, 8
_MOST_ROWS = 10**8

_BLOCK = 512
_SMALL, _SMALL_SEGMENT = 2**20, 2 * 2**20
_MIDDLE, _MIDDLE_SEGMENT = 10 * 2**20, 20 * 2**20
_ROUND = 2 * 2**20
"""Of PyTorch's allocator on a GPU: tensors up to 1 MiB share segments of 2, those up to 10 MiB segments of 20, and
larger ones take whole multiples of 2 MiB."""

_OUTGROWN = (
    (_MIDDLE, "10 MiB and takes memory of its own"),
    (_SMALL, "1 MiB and takes a segment of 20 MiB in place of one of 2"),
)
"""What a tensor outgrows at a size, the largest first."""


@dataclass(frozen=True)
class Setting:
    """What is trained, and how."""

    network: Network  # the architecture
    inputs: int  # numbers of a row
    classes: int  # classes to distinguish
    batch: int  # rows in memory at once
    private: bool = True  # whether each row is clipped and noise is added
    slots: int = 0  # numbers that the optimiser keeps for each parameter

    def __post_init__(self) -> None:
        """Refuse impossible sizes."""
        if min(self.inputs, self.classes - 1, self.batch) < 1:
            raise ParameterError(
                f"{self.inputs} inputs, {self.classes} classes and {self.batch} rows are not a valid set-up",
                hint="give at least 1 input, 2 classes and 1 row",
            )


def tensors(setting: Setting, device: str = "cpu") -> dict[str, list[int]]:
    """Return the bytes of the tensors that each phase adds; those of ``backward`` are gone when ``step`` begins.

    On the processor the private engines hold few rows at once, whatever the batch.
    """
    network, rows = setting.network, setting.batch
    parameters = network.parameters(setting.inputs, setting.classes)
    width = network.prepared_width(setting.inputs)
    model = [_FLOAT * parameters] * (1 + setting.slots)
    batch = [_FLOAT * rows * width, _INDEX * rows]
    outputs = network.widths(setting.inputs, setting.classes)[1:]
    # What a layer gives before and after its activation, and the gradients of both.
    held = min(rows, network.rows_at_once()) if setting.private and device == "cpu" else rows
    backward = [_FLOAT * held * out for out in outputs for _ in range(4)]
    if not setting.private:
        return {"model": model, "batch": batch, "backward": [*backward, _FLOAT * parameters], "step": []}
    # The rest of what a row holds: patches, squares, gradients of single rows.
    rest = max(0, _FLOAT * held * network.held_by_row(setting.inputs, setting.classes) - sum(backward))
    noise = [_DOUBLE * parameters] * 2
    return {
        "model": model,
        "batch": batch,
        "backward": [*backward, rest, _FLOAT * parameters],
        "step": [_FLOAT * parameters, *noise],
    }


def phases(setting: Setting, device: str = "cpu") -> dict[str, int]:
    """Return the bytes in use in each phase, those of the earlier ones that are still there included.

    On ``cuda`` they are what the allocator has reserved, which never shrinks.
    """
    parts = tensors(setting, device)
    if device == "cuda":
        return _reserved(parts)
    model = sum(parts["model"])
    batch = model + sum(parts["batch"])
    return {
        "model": model,
        "batch": batch,
        "backward": batch + sum(parts["backward"]),
        "step": batch + sum(parts["step"]),
    }


def peak(setting: Setting, device: str = "cpu") -> int:
    """Return the most bytes in use at once."""
    return max(phases(setting, device).values())


def largest_batch(setting: Setting, fit: int, device: str = "cpu") -> int:
    """Return the most rows whose peak is within ``fit`` bytes; 0 where not one row fits.

    On ``cuda`` more rows can need less, at the ends of segments: there the number fits and one more does not.
    """

    def fits(rows: int) -> bool:
        return peak(replace(setting, batch=rows), device) <= fit

    if not fits(1):
        return 0
    high = 2
    while high <= _MOST_ROWS and fits(high):
        high *= 2
    return last_that(fits, high // 2, high)


def memory_pool_outgrown(fewer: Setting, more: Setting) -> str | None:
    """Return, in words, what the largest tensor outgrows on a GPU from one batch to another; ``None`` for nothing."""
    found: tuple[int, str] | None = None
    before, after = tensors(fewer, "cuda"), tensors(more, "cuda")
    for name in PHASES:
        for small, large in zip(before[name], after[name], strict=True):
            stated = next((words for size, words in _OUTGROWN if small <= size < large), None)
            if stated is not None and (found is None or large > found[0]):
                found = large, f"a tensor of the phase {name} outgrows {stated}"
    return None if found is None else found[1]


class _Segments:
    """A model of PyTorch's caching allocator: what is freed stays reserved and serves tensors of its pool."""

    def __init__(self) -> None:
        self.reserved = 0
        self._free = {"small": 0, "middle": 0}
        self._whole: list[int] = []

    def take(self, size: int) -> int:
        """Take a tensor; return a ticket for :meth:`give_back`."""
        size = -(-size // _BLOCK) * _BLOCK
        if size > _MIDDLE:
            fitting = [s for s in self._whole if s >= size]
            if fitting:
                self._whole.remove(min(fitting))
                return size
            self.reserved += -(-size // _ROUND) * _ROUND
            return size
        pool, segment = ("small", _SMALL_SEGMENT) if size <= _SMALL else ("middle", _MIDDLE_SEGMENT)
        if self._free[pool] < size:
            self._free[pool] += segment
            self.reserved += segment
        self._free[pool] -= size
        return size

    def give_back(self, size: int) -> None:
        """Free a tensor: its memory stays reserved."""
        if size > _MIDDLE:
            self._whole.append(-(-size // _ROUND) * _ROUND)
        else:
            self._free["small" if size <= _SMALL else "middle"] += size


def _reserved(parts: dict[str, list[int]]) -> dict[str, int]:
    allocator, found = _Segments(), {}
    taken: list[int] = []
    for name in PHASES:
        if name == "step":
            for size in taken:
                allocator.give_back(size)
        taken = [allocator.take(size) for size in parts[name] if size]
        found[name] = allocator.reserved
    return found


_SLOTS = {"sgd": 0, "adam": 2, "adamw": 2}
_NOISE_ARRAYS = 6  # arrays of the parameters' length, in doubles, that live at once while a noisy gradient is made

_KEPT = 0.2  # what a step takes beside the memory that the engine keeps for it, in its size: temporaries and views

_UNRETURNED = 0.5
"""How much of the memory that reading the rows has freed stays with the process (measured: 0 to 0.6 for one run)."""

_BESIDE = 21_000_000  # bytes of threads, of the allocator's own, and of the reader of tables

LIBRARIES = 490_000_000
"""Bytes that PyTorch and the compiler of loops take when they are first used, for as long as the program runs."""

PROCESS = 80_000_000
"""Bytes of a new process before it has used PyTorch: Python and the reader of tables (measured, Linux, CPU)."""


@dataclass(frozen=True, slots=True)
class MemoryForecast:
    """Bytes by phase. A run holds ``beside``, ``model`` and, once read, ``data``; the other phases take turns on top.

    The constants were measured (``tests/benchmarks/bench_memory_prediction.py``): the C library, torch and the
    accountant decide them, not arithmetic.
    """

    beside: int  # threads, the allocator, the curve of ε
    # Parameters, the gradient that the optimiser reads, the optimiser's slots, noise that steps share; frozen weights
    # and their copy.
    model: int
    reading: int  # the table as a matrix of doubles, and what reading a column takes; freed once `data` is complete
    data: int  # inputs and classes of all rows
    batch: int  # one physical batch and the coins that drew it
    backward: int  # its activations, what convolutions keep for each row, and the sum
    step: int  # the sum, its noise and the noisy gradient
    libraries: int = 0  # what PyTorch adds if it was not used before
    preparing: int = 0  # the rows as they were read, and what the frozen part of the network takes to prepare them

    @property
    def peak(self) -> int:
        """The most bytes of the run in use at once, the libraries not counted."""
        kept = int(_UNRETURNED * max(0, min(self.reading, self.in_a_step)))
        return self.between_steps + max(self.reading, self.preparing, self.in_a_step + kept)

    def of_others(self, processes: int) -> int:
        """Return the bytes of all processes but the first, each with its part of the rows, without libraries."""
        each = self.beside + self.model + self.data // processes + self.in_a_step
        return (processes - 1) * each

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
    return accountant_named(accountant).curve_bytes if device == "cpu" else 0


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
        model=_FLOAT * ((2 + slots) * parameters + (1 + here) * architecture.frozen_weights(inputs, classes))
        + _DOUBLE * (plan.bands - 1) * parameters,
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

    def read_peak(self) -> None:
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

    def look_sometimes(self) -> None:
        """Look, unless it was done just now: what is in use changes little from one step to the next."""
        now = time.monotonic()
        self._glances += 1
        if self._glances <= _FIRST_LOOKS or now - self._looked >= _APART:
            self._looked = now
            self.look()

    def reset(self) -> None:
        """Forget what the phases took, though not the whole: what was measured was no step of the run."""
        if self.device == "cpu":
            _give_back()
        self.look()
        self.phase, self.peaks, self._kept = PHASES[0], dict.fromkeys(PHASES, 0), False

    def enter(self, phase: str, *, look: bool = True) -> None:
        """Begin ``phase``; unless ``look`` is false, the former one ends with a look.

        The allocator of a GPU keeps the most that was in use since it was reset; a phase that nobody looked
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
    """Return the most resident memory that this process ever had; 0 where the system does not say."""
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
