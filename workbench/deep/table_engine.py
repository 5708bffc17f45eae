"""What the engines for tables share: a batch is taken out of the table in parts of a bounded number of rows."""

from __future__ import annotations

import math
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

FEW = 8192
"""Numbers of a matrix up to which NumPy multiplies it with a vector in one thread, and sooner than PyTorch does."""

PIECES = 4
"""Pieces of so many numbers in which a larger matrix is still multiplied sooner."""

FEW_PRODUCTS, NARROW = 2**18, 32
"""The same of two matrices: their products, and columns of the second, of which PyTorch needs many to be fast."""

SIGNS = np.array([-1, 1, 0], dtype=np.float32)
"""m of two classes by the class, which is one of −1 … 1: the last one is also that of −1, an empty row."""


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
        self._weights = [layer.weight for layer in self._linear]
        self._rows = min(physical_batch, TABLE_ROWS)
        self._watch = watch
        self._widths = [layer.in_features for layer in self._linear] + [self._linear[-1].out_features]
        terms = max(layer.in_features + layer.out_features for layer in self._linear) + len(self._linear)
        self.clipping = SinglePrecision(rule, clip, terms)
        self._places = Places(network)
        self._sum: Floats = self._places.total.numpy()
        self._unmeasured = StepSums(self._places.total, measured=False)
        self._given: tuple[Tensor, Tensor] | None = None
        self._at: list[int] = []

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call."""
        return self.drawn(inputs, targets, np.arange(len(targets)), measure=measure)

    @np.errstate(all="ignore")
    def drawn(self, inputs: Tensor, targets: Tensor, rows: NDArray[np.int64], *, measure: bool = True) -> StepSums:
        """Return the sums of the batch of ``rows`` of a table; ``total`` is overwritten by the next call."""
        if self._given is None or self._given[0] is not inputs or self._given[1] is not targets:
            if inputs.ndim != 2 or inputs.shape[1] != self._widths[0]:
                raise RuntimeError(f"rows of {self._widths[0]} numbers are wanted, not of shape {inputs.shape[1:]}")
            least, most = (targets.min(), targets.max()) if len(targets) else (-1, -1)
            if least < -1 or most >= self._widths[-1]:
                raise RuntimeError(f"classes 0 to {self._widths[-1] - 1} are wanted, and −1 for an empty row")
            self._given = (inputs, targets)
            self._x, self._y = inputs.detach().float().numpy(), targets.numpy()
        at = [weight.data_ptr() for weight in self._weights]
        if at != self._at:
            self._at = at
            self._find()
        total = self._places.total
        if 0 < len(rows) <= self._rows:
            told = self._chunk(rows, measure=measure)
            return StepSums(total, *told) if measure else self._unmeasured
        whole = total.new_zeros(len(total), dtype=torch.float64)
        count, loss, correct = 0, 0.0, 0
        for part in chunks(len(rows), self._rows):
            told = self._chunk(rows[part], measure=measure)
            count, loss, correct = count + told[0], loss + told[1], correct + told[2]
            whole += total
        return StepSums(whole, count, loss, correct, measured=measure)

    @abstractmethod
    def _find(self) -> None:
        """Take note of where the parameters lie: they were moved in memory, or it is the first call."""

    @abstractmethod
    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> tuple[int, float, int]:
        """Write Σ fᵢgᵢ of some rows into the flat total; return rows, loss and rows classified right."""

    def _finite(self) -> bool:
        """Return whether the total is a number everywhere."""
        return math.isfinite(self._sum.dot(self._sum) if self._sum.size <= FEW else self._sum.sum())


def measured(logits: Tensor, classes: Tensor, present: Tensor) -> tuple[int, float, int]:
    """Return rows, summed loss and rows classified right, of logits (b, k) and classes (b, 1)."""
    losses = torch.logsumexp(logits, 1) - logits.gather(1, classes).squeeze(1)
    right = (logits.argmax(1) == classes.squeeze(1)) & present
    return int(present.sum()), float((losses * present).sum(dtype=torch.float64)), int(right.sum())


def measured_of_two(odds: Floats, signs: Floats) -> tuple[int, float, int]:
    """Return rows, summed loss and rows classified right of two classes, of m·d (b,) and m (b,)."""
    present = signs != 0
    losses = np.logaddexp(np.float32(0), -odds)
    right = (odds > 0) | ((odds == 0) & (signs < 0))  # of equal logits the first is the larger one
    rows, correct = np.count_nonzero(present), np.count_nonzero(right & present)
    return int(rows), float(np.add.reduce(losses[present], dtype=np.float64)), int(correct)


class Block:
    """A matrix in working memory (b, width), as both libraries see it.

    Attributes:
        array: for NumPy.
        tensor: for PyTorch.
        turned: the tensor (width, b).
    """

    def __init__(self, array: Floats) -> None:
        self.array, self.tensor = array, torch.from_numpy(array)
        self.turned = self.tensor.t()
        rows = max(1, FEW // array.shape[1])
        pieces = range(0, len(array), rows)
        self._pieces = [slice(start, start + rows) for start in pieces] if len(pieces) <= PIECES else []
        self._few = array.size <= FEW

    def times(self, vector: Floats, out: Floats) -> None:
        """Write the product with ``vector`` (width,) into ``out`` (b,)."""
        if self._few:
            np.dot(self.array, vector, out=out)
        elif self._pieces:
            for piece in self._pieces:
                np.dot(self.array[piece], vector, out=out[piece])
        else:
            torch.mv(self.tensor, torch.from_numpy(vector), out=torch.from_numpy(out))

    def weighted(self, weights: Floats, out: Floats) -> None:
        """Write the sum of the rows, each times its weight (b,), into ``out`` (width,)."""
        if self._few:
            np.dot(weights, self.array, out=out)
        elif self._pieces:
            first, *others = self._pieces
            np.dot(weights[first], self.array[first], out=out)
            for piece in others:
                out += np.dot(weights[piece], self.array[piece])
        else:
            torch.mv(self.turned, torch.from_numpy(weights), out=torch.from_numpy(out))

    def by(self, other: Block, out: Tensor, array: Floats) -> None:
        """Write the transpose's product with ``other`` (b, w) into ``out`` (width, w), which ``array`` is for NumPy."""
        if other.array.shape[1] < NARROW and self.array.size * other.array.shape[1] < FEW_PRODUCTS:
            np.dot(self.array.T, other.array, out=array)
        else:
            torch.mm(self.turned, other.tensor, out=out)


class Difference:
    """A linear layer for two classes as one vector: the gradients of its two rows are opposite.

    Attributes:
        across: what the weight of class 1 has more than that of class 0 (d,).
        shift: the same of the bias (1,).
    """

    def __init__(self, layer: nn.Linear, places: Places) -> None:
        self._layer = layer
        self.across, self.shift = np.empty(layer.in_features, dtype=np.float32), np.empty(1, dtype=np.float32)
        self._sums, self._ends = places.of(layer.weight).numpy(), places.of(layer.bias).numpy()

    def find(self) -> None:
        """Take note of where the parameters lie."""
        (self._zero, self._one), bias = self._layer.weight.detach().numpy(), self._layer.bias.detach().numpy()
        self._low, self._high = bias[:1], bias[1:]

    def look(self) -> None:
        """Read the parameters."""
        np.subtract(self._one, self._zero, out=self.across)
        np.subtract(self._high, self._low, out=self.shift)

    def sum_up(self, entering: Block, slopes: Floats, ones: Floats) -> None:
        """Write the sums for ``slopes`` (b,) of the logit of class 0."""
        entering.weighted(slopes, self._sums[0])
        np.negative(self._sums[0], out=self._sums[1])
        bias = slopes.dot(ones)
        self._ends[0], self._ends[1] = bias, -bias
