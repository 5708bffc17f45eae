"""The rows of a training where a step finds them: all of them on the device, or sent chunk by chunk."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

RESIDENT = 0.5
"""The largest part of a device's free memory that rows may take to stay on it."""


class ChunkRows(Protocol):
    """Fills the tensors of a chunk."""

    def fill(self, inputs: Tensor, targets: Tensor, places: Tensor, here: Tensor) -> None:
        """Write the rows of a chunk; a place without a row becomes zeros of class −1.

        Args:
            inputs: is filled, (b, …).
            targets: is filled, (b,).
            places: numbers of the rows (b,), −1 where there is none, on the device.
            here: the same in the memory of the host.
        """
        ...


class ResidentRows:
    """All rows are on the device; nothing is read back from it."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        """Take rows (n, …) and classes (n,) of one device."""
        self._inputs, self._targets = inputs, targets

    def fill(self, inputs: Tensor, targets: Tensor, places: Tensor, here: Tensor) -> None:
        """Write the rows of a chunk."""
        rows, missing = places.clamp_min(0), places < 0
        torch.index_select(self._targets, 0, rows, out=targets)
        targets.masked_fill_(missing, -1)
        torch.index_select(self._inputs, 0, rows, out=inputs)
        inputs.masked_fill_((targets < 0).view(-1, *(1,) * (inputs.dim() - 1)), 0.0)


class SentRows:
    """The rows stay in the memory of the host, because they would not fit; each chunk is sent when it is needed."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        """Take rows (n, …) and classes (n,) in the memory of the host."""
        self._inputs, self._targets = inputs, targets

    def fill(self, inputs: Tensor, targets: Tensor, places: Tensor, here: Tensor) -> None:
        """Write the rows of a chunk; the host need not wait until they have arrived."""
        rows = here.clamp_min(0)
        classes = self._targets.index_select(0, rows).masked_fill_(here < 0, -1)
        chunk = self._inputs.index_select(0, rows)
        chunk.masked_fill_((classes < 0).view(-1, *(1,) * (chunk.dim() - 1)), 0.0)
        targets.copy_(sendable(classes, targets.device), non_blocking=True)
        inputs.copy_(sendable(chunk, inputs.device), non_blocking=True)


def sendable(tensor: Tensor, device: torch.device) -> Tensor:
    """Return ``tensor`` in memory from which a GPU can fetch it by itself; the library frees it after that."""
    return tensor.pin_memory() if device.type == "cuda" else tensor


def stay_on(device: torch.device, size: int) -> bool:
    """Return whether rows of ``size`` bytes are kept on ``device``."""
    if device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    return size <= RESIDENT * free


def rows_on(device: torch.device, inputs: Tensor, targets: Tensor) -> ChunkRows:
    """Return the rows for chunks on ``device``, wherever ``inputs`` (n, …) and ``targets`` (n,) are."""
    if inputs.device == device and targets.device == device:
        return ResidentRows(inputs, targets)
    return SentRows(inputs.cpu(), targets.cpu())
