"""What the engines for tables share: a batch is taken out of the table in parts of a bounded number of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep.clipping import StepSums
from workbench.deep.factors import SinglePrecision
from workbench.deep.flat_parameters import Places
from workbench.deep.row_chunks import TABLE_ROWS, chunks

Floats = NDArray[np.float32]


class TableEngine(ABC):
    """Clipped sums of chains of linear layers, on the processor, in single precision.

    Attributes:
        clipping: how rows are clipped: at a norm a little below C.
    """

    def __init__(
        self, network: nn.Module, clip: float, physical_batch: int, watch: Callable[[], None], rule: str
    ) -> None:
        """Bind the engine to a network; the arguments are those of the other engines."""
        assert isinstance(network, nn.Sequential)
        self._linear = [layer for layer in network if isinstance(layer, nn.Linear)]
        self._parameters = list(network.parameters())
        self._rows = min(physical_batch, TABLE_ROWS)
        self._watch = watch
        self._widths = [layer.in_features for layer in self._linear] + [self._linear[-1].out_features]
        terms = max(layer.in_features + layer.out_features for layer in self._linear) + len(self._linear)
        self.clipping = SinglePrecision(rule, clip, terms)
        self._places = Places(network)
        self._unmeasured = StepSums(self._places.total, measured=False)
        self._given: tuple[Tensor, Tensor] | None = None
        self._at: list[int] = []

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call."""
        return self.drawn(inputs, targets, np.arange(len(targets)), measure=measure)

    def drawn(self, inputs: Tensor, targets: Tensor, rows: NDArray[np.int64], *, measure: bool = True) -> StepSums:
        """Return the sums of the batch of ``rows`` of a table; ``total`` is overwritten by the next call."""
        if self._given is None or self._given[0] is not inputs or self._given[1] is not targets:
            self._take(inputs, targets)
        at = [parameter.data_ptr() for parameter in self._parameters]
        if at != self._at:
            self._at = at
            self._find()
        total = self._places.total
        if 0 < len(rows) <= self._rows:
            stated = self._chunk(rows, measure=measure)
            return StepSums(total, *stated) if measure else self._unmeasured
        whole = total.new_zeros(len(total), dtype=torch.float64)
        count, loss, correct = 0, 0.0, 0
        for part in chunks(len(rows), self._rows):
            stated = self._chunk(rows[part], measure=measure)
            count, loss, correct = count + stated[0], loss + stated[1], correct + stated[2]
            whole += total
        return StepSums(whole, count, loss, correct, measured=measure)

    def _take(self, inputs: Tensor, targets: Tensor) -> None:
        """Make a table the one that rows are taken from."""
        if inputs.ndim != 2 or inputs.shape[1] != self._widths[0]:
            raise RuntimeError(f"rows of {self._widths[0]} numbers are wanted, not of shape {inputs.shape[1:]}")
        if len(inputs) != len(targets):
            raise RuntimeError(f"{len(inputs)} rows have {len(targets)} classes")
        least, most = (targets.min(), targets.max()) if len(targets) else (-1, -1)
        if least < -1 or most >= self._widths[-1]:
            raise RuntimeError(f"classes 0 to {self._widths[-1] - 1} are wanted, and −1 for an empty row")
        self._given = (inputs, targets)
        self._x = inputs.detach().float().contiguous().numpy()
        self._y = targets.long().contiguous().numpy()

    @abstractmethod
    def _find(self) -> None:
        """Take note of where the parameters lie: they were moved in memory, or it is the first call."""

    @abstractmethod
    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> tuple[int, float, int]:
        """Write Σ fᵢgᵢ of some rows into the flat total; return rows, loss and rows classified right."""


def measured(logits: Tensor, classes: Tensor, present: Tensor) -> tuple[int, float, int]:
    """Return rows, summed loss and rows classified right, of logits (b, k) and classes (b, 1)."""
    losses = torch.logsumexp(logits, 1) - logits.gather(1, classes).squeeze(1)
    right = (logits.argmax(1) == classes.squeeze(1)) & present
    return int(present.sum()), float((losses * present).sum(dtype=torch.float64)), int(right.sum())


@np.errstate(all="ignore")
def measured_of_two(odds: Floats, classes: NDArray[np.int64]) -> tuple[int, float, int]:
    """Return rows, summed loss and rows classified right of two classes, of m·D (b,) and the classes (b,)."""
    present = classes >= 0
    losses = np.logaddexp(np.float32(0), -odds)
    right = (odds > 0) | ((odds == 0) & (classes == 0))  # of equal logits the first is the larger one
    rows, correct = np.count_nonzero(present), np.count_nonzero(right & present)
    return int(rows), float(np.add.reduce(losses[present], dtype=np.float64)), int(correct)
