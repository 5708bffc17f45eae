"""The fast engine for tables: chains of linear layers, forward and backward written out, no autograd.

On networks this small the time goes into starting operations, so there are few, and they write into memory that is
reused. The rows' gradients are products of two vectors, whose norms need no gradient: ‖x‖·‖g‖ (Goodfellow 2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.deep.clipping import StepSums, nothing
from workbench.deep.factors import SinglePrecision
from workbench.deep.flat_parameters import Places
from workbench.deep.row_chunks import TABLE_ROWS, chunks

ACTIVATIONS = (nn.Tanh, nn.ReLU)

# Looked up once: to find them at every call costs more than they do.
_RELU_BACKWARD = torch.ops.aten.threshold_backward.grad_input
_TANH_BACKWARD = torch.ops.aten.tanh_backward.grad_input


def fits(network: nn.Module) -> bool:
    """Return whether ``network`` is linear layers with bias, with one activation between each two."""
    if type(network) is not nn.Sequential or len(network) % 2 == 0:
        return False
    return all(
        (type(layer) is nn.Linear and layer.bias is not None) if i % 2 == 0 else type(layer) in ACTIVATIONS
        for i, layer in enumerate(network)
    )


@dataclass(frozen=True, eq=False)
class _Room:
    """Working memory for a number of rows: one block for all layers, and each layer's columns of it.

    Attributes:
        values: what enters the layers (b, Σ widths).
        slopes: gradients of what leaves them (b, Σ widths).
        entering: the columns of each layer, and last the logits, which have memory of their own.
        leaving: the columns of each layer.
    """

    values: Tensor
    slopes: Tensor
    entering: list[Tensor]
    leaving: list[Tensor]


class TableClippedSum:
    """Clipped sums of a network for which :func:`fits` holds, on the processor, in single precision.

    Attributes:
        clipping: how rows are clipped: at a norm a little below C.
    """

    def __init__(
        self,
        network: nn.Module,
        clip: float,
        physical_batch: int,
        watch: Callable[[], None] = nothing,
        rule: str = "flat",
    ) -> None:
        """Bind the engine to a network; the arguments are those of the other engines."""
        assert isinstance(network, nn.Sequential)
        self._linear = [layer for layer in network if isinstance(layer, nn.Linear)]
        self._relu = [isinstance(layer, nn.ReLU) for layer in network if not isinstance(layer, nn.Linear)]
        self._rows = min(physical_batch, TABLE_ROWS)
        self._watch = watch
        self._enter = [layer.in_features for layer in self._linear]
        self._leave = [layer.out_features for layer in self._linear]
        terms = max(a + b for a, b in zip(self._enter, self._leave, strict=True)) + len(self._linear)
        self.clipping = SinglePrecision(rule, clip, terms)
        self._of_entering, self._of_leaving = _membership(self._enter), _membership(self._leave)
        self._parameters = [(layer.weight, layer.bias) for layer in self._linear]
        self._places = Places(network)
        self._sums = [self._places.of(layer.weight) for layer in self._linear]
        self._biases = torch.cat([self._places.index(layer.bias) for layer in self._linear])
        self._minus = torch.full((self._rows, 1), -1.0)
        self._rooms: dict[int, _Room] = {}

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call."""
        total = self._places.total
        with torch.inference_mode():
            if 0 < len(targets) <= self._rows:
                return StepSums(total, *self._chunk(inputs, targets, measure=measure), measured=measure)
            whole = total.new_zeros(len(total), dtype=torch.float64)
            rows, loss, correct = 0, 0.0, 0
            for part in chunks(len(targets), self._rows):
                told = self._chunk(inputs[part], targets[part], measure=measure)
                rows, loss, correct = rows + told[0], loss + told[1], correct + told[2]
                whole += total
        return StepSums(whole, rows, loss, correct, measured=measure)

    def _room(self, rows: int) -> _Room:
        """Return the working memory, which is one for all numbers of rows."""
        room = self._rooms.get(rows)
        if room is None:
            largest = max([*self._rooms, rows])
            if largest == rows:
                self._rooms.clear()
                held = (torch.empty(rows, sum(self._enter)), torch.empty(rows, sum(self._leave)))
                logits = torch.empty(rows, self._leave[-1])
            else:
                base = self._rooms[largest]
                held, logits = (base.values[:rows], base.slopes[:rows]), base.entering[-1][:rows]
            room = _Room(
                *held, [*torch.split(held[0], self._enter, 1), logits], list(torch.split(held[1], self._leave, 1))
            )
            self._rooms[rows] = room
        return room

    def _chunk(self, x: Tensor, y: Tensor, *, measure: bool) -> tuple[int, float, int]:
        """Write Σ fᵢgᵢ of one chunk into the flat total; return rows, loss and rows classified right."""
        room, last = self._room(len(y)), len(self._linear) - 1
        h, g = room.entering, room.leaving
        h[0].copy_(x)
        for i, (weight, bias) in enumerate(self._parameters):
            torch.addmm(bias, h[i], weight.t(), out=h[i + 1])
            if i < last:
                torch.relu_(h[i + 1]) if self._relu[i] else torch.tanh_(h[i + 1])
        empty = y.min().item() < 0
        classes = (y.clamp_min(0) if empty else y).unsqueeze(1)
        told = measured(h[-1], classes, y >= 0) if measure else (0, 0.0, 0)
        torch.softmax(h[-1], 1, out=g[-1])
        g[-1].scatter_add_(1, classes, self._minus[: len(y)])
        for i in range(last, 0, -1):
            torch.mm(g[i], self._parameters[i][0], out=g[i - 1])
            if self._relu[i - 1]:
                _RELU_BACKWARD(g[i - 1], h[i], 0, grad_input=g[i - 1])
            else:
                _TANH_BACKWARD(g[i - 1], h[i], grad_input=g[i - 1])
        self._watch()
        # One for the bias, whose gradient is the slope itself.
        squares = torch.mm(self._of_entering, room.values.square().t()).add_(1)
        squares = squares.mul_(torch.mm(self._of_leaving, room.slopes.square().t())).t()
        factors = self.clipping.of(len(y)).factors(squares)
        if empty:
            factors *= (y >= 0).unsqueeze(1)
        self._sum(room, factors)
        if not math.isfinite(float(self._places.total.sum())):
            # 0·∞ is not a number: rows without a finite gradient are set to zero where there is one.
            left = ~(room.slopes.isfinite().all(1) & room.values.isfinite().all(1) & squares.isfinite().all(1))
            room.slopes[left], room.values[left] = 0, 0
            self._sum(room, torch.ones(1, 1))
        return told

    def _sum(self, room: _Room, factors: Tensor) -> None:
        """Scale the slopes by their rows' factors and write their products with what entered."""
        room.slopes.mul_(factors if factors.shape[1] == 1 else factors @ self._of_leaving)
        for place, h, g in zip(self._sums, room.entering, room.leaving, strict=False):
            torch.mm(g.t(), h, out=place)
        self._places.total.index_copy_(0, self._biases, room.slopes.sum(0))


def measured(logits: Tensor, classes: Tensor, present: Tensor) -> tuple[int, float, int]:
    """Return rows, summed loss and rows classified right, of logits (b, k) and classes (b, 1)."""
    losses = torch.logsumexp(logits, 1) - logits.gather(1, classes).squeeze(1)
    right = (logits.argmax(1) == classes.squeeze(1)) & present
    return int(present.sum()), float((losses * present).sum(dtype=torch.float64)), int(right.sum())


def _membership(widths: list[int]) -> Tensor:
    """Return which column belongs to which layer, (layers, Σ widths): a product with it sums over each layer."""
    columns = torch.zeros(len(widths), sum(widths))
    start = 0
    for layer, width in enumerate(widths):
        columns[layer, start : start + width] = 1
        start += width
    return columns
