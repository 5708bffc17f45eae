"""The memory of training by phase, worked out from a network's shapes: no library, no data, no device is needed.

The phases of a step: the *model* is there throughout; a *batch* is read; *backward* holds what the layers give and its
gradients until the gradient is made; the *step* makes noise and moves the model. The figures are the tensors that are
alive. What a GPU's allocator takes for them is more: it asks the driver for whole segments and rounds blocks, so that
its curve has steps where a tensor crosses the size of a segment.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.deep.networks.network import Network
from workbench.params import ParameterError

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
    """What is trained, and how.

    Attributes:
        network: the architecture.
        inputs: numbers of a row.
        classes: number of classes.
        batch: rows in memory at once.
        private: whether each row is clipped and noise is added.
        slots: numbers that the optimiser keeps for each parameter.
    """

    network: Network
    inputs: int
    classes: int
    batch: int
    private: bool = True
    slots: int = 0

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
        return peak(_with_batch(setting, rows), device) <= fit

    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= _MOST_ROWS and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def crossed_pool(fewer: Setting, more: Setting) -> str | None:
    """Return, in words, what the largest tensor outgrows on a GPU from one batch to another; ``None`` for nothing."""
    found: tuple[int, str] | None = None
    before, after = tensors(fewer, "cuda"), tensors(more, "cuda")
    for name in PHASES:
        for small, large in zip(before[name], after[name], strict=True):
            stated = next((words for size, words in _OUTGROWN if small <= size < large), None)
            if stated is not None and (found is None or large > found[0]):
                found = large, f"a tensor of the phase {name} outgrows {stated}"
    return None if found is None else found[1]


def _with_batch(setting: Setting, rows: int) -> Setting:
    return Setting(setting.network, setting.inputs, setting.classes, rows, setting.private, setting.slots)


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
