"""Predict the memory of a run before it starts, and measure what it took."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from workbench.deep.features import Features
from workbench.deep.plan import DpSgdPlan

_FLOAT, _DOUBLE, _INDEX = 4, 8, 8
_SLOTS = {"sgd": 0, "adam": 2, "adamw": 2}
_NOISE_ARRAYS = 6
"""Arrays of the parameters' length, in doubles, that live at once while a noisy gradient is made."""

_KEPT = 0.2
"""What a step takes beside the memory that the engine keeps for it, in its size: temporaries and views."""

_ACCOUNTING = {"pld": 9_000_000, "rdp": 1_000_000, "rdp-classic": 1_000_000}
"""Bytes of the curve of ε that is computed beside a run; by privacy loss distributions it is their grids."""

_BESIDE = 16_000_000
"""Bytes of threads, of the allocator's own, and of the reader of tables."""

LIBRARIES = 370_000_000
"""Bytes that PyTorch takes when it is first used, for as long as the program runs."""

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
        return (
            self.beside
            + self.model
            + self.data
            + max(self.reading, self.preparing, self.batch + self.backward, self.step)
        )


def predict(plan: DpSgdPlan, features: Features, rows: int) -> MemoryForecast:
    """Return the bytes of a run of ``plan`` over ``rows`` rows.

    A Poisson batch exceeds its mean by more than 6 standard deviations once in 10⁹ steps: that many rows are counted.
    """
    architecture = plan.architecture
    inputs, classes = features.width, len(features.classes)
    parameters = architecture.parameters(inputs, classes)
    drawn = min(rows, plan.batch + 6 * int(plan.batch**0.5) + 1)
    chunk = min(plan.physical_batch, drawn, architecture.rows_at_once())
    slots = 1 if plan.momentum else _SLOTS[plan.optimizer]
    row = _FLOAT * architecture.prepared_width(inputs) + _INDEX
    held = _FLOAT * chunk * architecture.held_by_row(inputs, classes)
    return MemoryForecast(
        beside=_BESIDE + _ACCOUNTING[plan.accountant],
        model=(2 + slots) * _FLOAT * parameters,
        reading=features.reading_bytes(rows),
        data=rows * row,
        preparing=architecture.preparing() + _FLOAT * rows * inputs if architecture.preparing() else 0,
        batch=drawn * row + rows,
        backward=int((1 + _KEPT) * held) + _FLOAT * parameters,
        step=_NOISE_ARRAYS * _DOUBLE * parameters,
        libraries=0 if "torch" in sys.modules else LIBRARIES,
    )


class MemoryWatch:
    """Measures what a run takes above what the process had before: resident memory, or the GPU's allocator.

    Attributes:
        device: ``cpu`` or ``cuda``.
        before: bytes in use when it was made.
        peak: the most bytes seen so far, above ``before``.
        now: the bytes at the last look, above ``before``.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.now = self.peak = 0
        self._read: Callable[[], int] = _resident() if device == "cpu" else _allocated()
        self.before = self._read()

    def look(self) -> None:
        """Read the present figure; cheap enough for every step."""
        self.now = max(0, self._read() - self.before)
        self.peak = max(self.peak, self.now)


def _resident() -> Callable[[], int]:
    import psutil

    process = psutil.Process()
    return lambda: int(process.memory_info().rss)


def _allocated() -> Callable[[], int]:
    import torch

    torch.cuda.reset_peak_memory_stats()
    # The allocator keeps the peak itself, between two looks as well.
    return lambda: int(torch.cuda.max_memory_allocated())


def out_of_memory(error: BaseException) -> bool:
    """Return whether ``error`` says that the system or the GPU gave no more memory; torch raises RuntimeError."""
    told = str(error).lower()
    words = ("can't allocate memory", "not enough memory", "out of memory")
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(w in told for w in words))
