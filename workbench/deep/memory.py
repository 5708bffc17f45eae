"""How much memory a run will take, by arithmetic before it starts, and how much it took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.deep.networks import Network

_FLOAT, _DOUBLE, _INDEX = 4, 8, 8
_SLOTS = {"sgd": 0, "adam": 2}
_NOISE_ARRAYS = 6
"""Arrays of the parameters' length, in doubles, that live at once while a noisy gradient is made."""


@dataclass(frozen=True, slots=True)
class MemoryForecast:
    """Bytes by phase. A run holds ``model`` and ``data`` throughout; the other phases take turns on top.

    Attributes:
        model: parameters, the gradient that the optimiser reads, the optimiser's slots.
        data: inputs and classes of all rows.
        batch: one physical batch and the coins that drew it.
        backward: its activations and per-row gradients, with their copy in double precision.
        step: the sum, its noise and the noisy gradient.
    """

    model: int
    data: int
    batch: int
    backward: int
    step: int

    @property
    def peak(self) -> int:
        """The most bytes in use at once."""
        return self.model + self.data + max(self.batch + self.backward, self.step)


def predict(
    network: Network,
    rows: int,
    inputs: int,
    classes: int,
    *,
    batch: int,
    physical_batch: int,
    optimizer: str = "sgd",
    momentum: float = 0.0,
) -> MemoryForecast:
    """Return the bytes of a run of a fully connected network.

    A Poisson batch exceeds its mean by more than 6 standard deviations once in 10⁹ steps: that many rows are counted.
    """
    parameters = network.parameters(inputs, classes)
    drawn = min(rows, batch + 6 * int(batch**0.5) + 1)
    chunk = min(physical_batch, drawn)
    slots = 1 if momentum else _SLOTS[optimizer]
    row = _FLOAT * inputs + _INDEX
    widths = network.widths(inputs, classes)[1:]
    # Each layer keeps its output before and after the activation, and their gradients on the way back.
    activations = 4 * _FLOAT * sum(widths)
    return MemoryForecast(
        model=(2 + slots) * _FLOAT * parameters,
        data=rows * row,
        batch=drawn * row + rows,
        backward=chunk * (activations + (_FLOAT + _DOUBLE) * parameters),
        step=_NOISE_ARRAYS * _DOUBLE * parameters,
    )


class MemoryWatch:
    """Measures what a run takes above what the process had before: resident memory, or the GPU's allocator.

    Attributes:
        device: ``cpu`` or ``cuda``.
        peak: the most bytes seen so far, above the start.
        now: the bytes at the last look.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.now = self.peak = 0
        self._read: Callable[[], int] = _resident() if device == "cpu" else _allocated()
        self._base = self._read()

    def look(self) -> None:
        """Read the present figure; cheap enough for every step."""
        self.now = max(0, self._read() - self._base)
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
