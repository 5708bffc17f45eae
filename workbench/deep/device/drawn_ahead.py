"""Exact Poisson batches for many steps, drawn on the host and sent to the device at once."""

from __future__ import annotations

import math
import os
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.device.chunk_rows import sendable
from workbench.deep.poisson import PoissonSampler

_ROWS_AHEAD, _STEPS_AHEAD = 2**18, 256
"""Most rows, about, and steps that are drawn at once (2 MB)."""

_EIGHT = 8


def chunk_size(batch: int, most: int, rows: int) -> int:
    """Return the rows of a chunk for batches of ``batch`` rows on average: one chunk nearly always, if that fits.

    Args:
        batch: expected rows of a batch.
        most: the physical batch.
        rows: of the table.
    """
    usual = min(rows, math.ceil(batch + 3 * math.sqrt(batch)))
    pieces = math.ceil(usual / most)
    even = math.ceil(usual / pieces)
    return min(most, math.ceil(even / _EIGHT) * _EIGHT)


def steps_ahead(batch: int) -> int:
    """Return how many steps of ``batch`` rows on average are drawn at once."""
    return max(1, min(_STEPS_AHEAD, _ROWS_AHEAD // max(1, batch)))


@dataclass(frozen=True)
class Batch:
    """The rows of one step in chunks of one size; no chunk at all where no row was drawn.

    Attributes:
        places: numbers of the rows (chunks, b) on the device; the last chunk is filled up with −1.
        here: the same in the memory of the host.
    """

    places: Tensor
    here: Tensor


class DrawnAhead:
    """Draws the batches of many steps with :class:`~workbench.deep.poisson.PoissonSampler`, whose law they keep.

    A batch is never cut: one with more rows than usual has more chunks. What was drawn and not used when a run pauses
    is forgotten; batches of different steps are independent, so those drawn afresh have the same law. So it is in a
    forked process: it forgets what its parent has drawn ahead, which the parent is going to use.
    """

    def __init__(self, sampler: PoissonSampler, batch: int, chunk: int, device: torch.device) -> None:
        """Make it.

        Args:
            sampler: draws the rows of a step.
            batch: expected rows of a batch.
            chunk: rows of a chunk.
            device: where they are sent.
        """
        self._sampler, self._device, self._chunk = sampler, device, chunk
        self._steps = steps_ahead(batch)
        self._drawn: deque[NDArray[np.int64]] = deque()
        self._ready: deque[Batch] = deque()
        self._process = os.getpid()

    def __reduce__(self) -> str:
        """Refuse to be copied: the copy would deal out the batches that are drawn ahead a second time."""
        raise TypeError("batches that are drawn ahead cannot be copied; make another one")

    def next(self) -> Batch:
        """Return the rows of the next step, which no other process was given."""
        if os.getpid() != self._process:
            self._process = os.getpid()
            self._drawn, self._ready = deque(), deque()
        if not self._ready:
            self._drawn.extend(self._sampler.draw() for _ in range(self._steps))
            self._send()
        self._drawn.popleft()
        return self._ready.popleft()

    def cut(self, batch: Batch, chunk: int) -> Batch:
        """Return ``batch``, the newest one, in chunks of ``chunk`` rows, which all later ones have as well.

        Raises:
            RuntimeError: another process drew it, of which this one was forked.
        """
        if os.getpid() != self._process:
            raise RuntimeError("this batch was drawn by another process, whose step it belongs to")
        self._chunk = chunk
        rows = batch.here.flatten()
        current = rows[rows >= 0].numpy()
        self._drawn.appendleft(current)
        self._send()
        self._drawn.popleft()
        return self._ready.popleft()

    def _send(self) -> None:
        """Make the batches of what is drawn; one copy to the device for all of them."""
        chunks = [-(-len(rows) // self._chunk) for rows in self._drawn]
        laid = np.full((sum(chunks), self._chunk), -1, dtype=np.int64)
        start = 0
        for rows, count in zip(self._drawn, chunks, strict=True):
            laid[start : start + count].reshape(-1)[: len(rows)] = rows
            start += count
        here = torch.from_numpy(laid)
        there = sendable(here, self._device).to(self._device, non_blocking=True)
        parts = (torch.split(whole, chunks) for whole in (there, here))
        self._ready = deque(map(Batch, *parts))
