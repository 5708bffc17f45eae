"""The fast engine for tables: chains of linear layers, forward and backward written out, no autograd.

On networks this small the time goes into starting operations. So there are few, they write into memory that is reused,
and each is started where that costs least: products of matrices by PyTorch, everything else by NumPy, on the same
memory. The rows' gradients are products of two vectors, whose norms need no gradient: ‖x‖·‖g‖ (Goodfellow 2015).

Of two classes the slopes are −c and c, with c = s·σ(s·d), d the difference of the logits, s = 1 for class 0 and −1 for
class 1: the last layer is a vector, ‖g‖² = 2c², and s = 0 makes an empty row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep.clipping import StepSums, nothing
from workbench.deep.factors import SinglePrecision
from workbench.deep.flat_parameters import Places
from workbench.deep.row_chunks import TABLE_ROWS, chunks

ACTIVATIONS = (nn.Tanh, nn.ReLU)

Floats = NDArray[np.float32]

# Looked up once: to find them at every call costs more than they do.
_RELU_BACKWARD = torch.ops.aten.threshold_backward.grad_input
_TANH_BACKWARD = torch.ops.aten.tanh_backward.grad_input

_SIGNS = np.array([1, -1, 0], dtype=np.float32)
"""s by the class: the last one is also that of −1, an empty row."""

_FEW = 8192
"""Numbers of a matrix up to which NumPy multiplies it with a vector in one thread, and sooner than PyTorch does."""


def fits(network: nn.Module) -> bool:
    """Return whether ``network`` is linear layers with bias, with one activation between any two."""
    if type(network) is not nn.Sequential or len(network) % 2 == 0:
        return False
    return all(
        (type(layer) is nn.Linear and layer.bias is not None) if i % 2 == 0 else type(layer) in ACTIVATIONS
        for i, layer in enumerate(network)
    )


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
        self._few = array.size <= _FEW

    def times(self, vector: Floats, out: Floats) -> None:
        """Write the product with ``vector`` (width,) into ``out`` (b,)."""
        if self._few:
            np.dot(self.array, vector, out=out)
        else:
            torch.mv(self.tensor, torch.from_numpy(vector), out=torch.from_numpy(out))

    def weighted(self, weights: Floats, out: Floats) -> None:
        """Write the sum of the rows, each times its weight (b,), into ``out`` (width,)."""
        if self._few:
            np.dot(weights, self.array, out=out)
        else:
            torch.mv(self.turned, torch.from_numpy(weights), out=torch.from_numpy(out))


class Layer:
    """A linear layer: its parameters, and where its sums go.

    The two parameters of the last layer of a network for two classes are one vector, the difference of their rows.

    Attributes:
        weight: (out, in), without gradients.
        turned: the same (in, out).
        bias: (out,).
        of_weight: the part of the total that is the weight's.
        of_bias: that of the bias.
        relu: whether its activation is ReLU; tanh otherwise. The last layer's is not used.
        by_rows: whether what enters is scaled by the rows' factors, and not the slopes: whichever is narrower.
    """

    def __init__(self, layer: nn.Linear, places: Places, *, relu: bool) -> None:
        self._layer, self.relu = layer, relu
        self.of_weight, self.of_bias = places.of(layer.weight), places.of(layer.bias)
        self.sum_of_weight, self.sum_of_bias = self.of_weight.numpy(), self.of_bias.numpy()
        self.by_rows = layer.in_features <= layer.out_features
        self._at = (-1, -1)
        self.look()

    def look(self) -> None:
        """Find the parameters again if they have moved in memory."""
        weight, bias = self._layer.weight, self._layer.bias
        at = (weight.data_ptr(), bias.data_ptr())
        if at != self._at:
            self._at = at
            self.weight, self.bias = weight.detach(), bias.detach()
            self.turned = self.weight.t()
            self.rows, self.ends = self.weight.numpy(), self.bias.numpy()


class Room:
    """Working memory for a number of rows.

    Attributes:
        entering: what enters the layers, and last the logits.
        leaving: gradients of what leaves them.
        squares: squared norms of the rows' gradients in each layer (K, b).
        signs, slope, ones, spare: vectors (b,).
        classes: the classes (b,).
    """

    def __init__(self, rows: int, entering: list[Floats], leaving: list[Floats], vectors: Floats) -> None:
        """Take the first ``rows`` rows of the memory."""
        self.entering = [Block(whole[:rows]) for whole in entering]
        self.leaving = [Block(whole[:rows]) for whole in leaving]
        self.signs, self.slope, self.ones, self.spare, *_ = vectors[:, :rows]
        self.squares = vectors[4:, :rows]
        self.slope_tensor = torch.from_numpy(self.slope)
        self.column = self.slope[:, np.newaxis]
        self.classes = np.empty(rows, dtype=np.int64)


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
        linear = [layer for layer in network if isinstance(layer, nn.Linear)]
        relu = [isinstance(layer, nn.ReLU) for layer in network if not isinstance(layer, nn.Linear)]
        self._rows = min(physical_batch, TABLE_ROWS)
        self._watch = watch
        self._widths = [layer.in_features for layer in linear] + [linear[-1].out_features]
        self._two = self._widths[-1] == 2
        terms = max(layer.in_features + layer.out_features for layer in linear) + len(linear)
        self.clipping = SinglePrecision(rule, clip, terms)
        self._places = Places(network)
        self._sum = self._places.total.numpy()
        self._layers = [
            Layer(layer, self._places, relu=one) for layer, one in zip(linear, [*relu, False], strict=True)
        ]
        self._across = np.empty(self._widths[-2], dtype=np.float32)
        self._minus = torch.full((self._rows, 1), -1.0)
        self._held: tuple[list[Floats], list[Floats], Floats] | None = None
        self._rooms: dict[int, Room] = {}
        self._given: tuple[Tensor, Tensor] | None = None

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call."""
        return self.drawn(inputs, targets, np.arange(len(targets)), measure=measure)

    @np.errstate(all="ignore")
    def drawn(self, inputs: Tensor, targets: Tensor, rows: NDArray[np.int64], *, measure: bool = True) -> StepSums:
        """Return the sums of the batch of ``rows`` of a table; ``total`` is overwritten by the next call."""
        if self._given is None or self._given[0] is not inputs or self._given[1] is not targets:
            if inputs.ndim != 2 or inputs.shape[1] != self._widths[0]:
                raise RuntimeError(f"rows of {self._widths[0]} numbers are wanted, not of shape {inputs.shape[1:]}")
            self._given = (inputs, targets)
            self._x, self._y = inputs.detach().float().numpy(), targets.numpy()
        for layer in self._layers:
            layer.look()
        total = self._places.total
        if 0 < len(rows) <= self._rows:
            return StepSums(total, *self._chunk(rows, measure=measure), measured=measure)
        whole = total.new_zeros(len(total), dtype=torch.float64)
        count, loss, correct = 0, 0.0, 0
        for part in chunks(len(rows), self._rows):
            told = self._chunk(rows[part], measure=measure)
            count, loss, correct = count + told[0], loss + told[1], correct + told[2]
            whole += total
        return StepSums(whole, count, loss, correct, measured=measure)

    def _room(self, rows: int) -> Room:
        """Return the working memory, which is one for all numbers of rows."""
        room = self._rooms.get(rows)
        if room is None:
            if self._held is None or len(self._held[0][0]) < rows:
                self._rooms.clear()
                entering, leaving = (
                    [np.empty((rows, width), dtype=np.float32) for width in widths]
                    for widths in (self._widths, self._widths[1:])
                )
                self._held = (entering, leaving, np.ones((4 + len(self._layers), rows), dtype=np.float32))
            room = self._rooms[rows] = Room(rows, *self._held)
        return room

    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> tuple[int, float, int]:
        """Write Σ fᵢgᵢ of some rows into the flat total; return rows, loss and rows classified right."""
        room = self._room(len(rows))
        self._x.take(rows, 0, out=room.entering[0].array, mode="clip")
        self._y.take(rows, out=room.classes, mode="clip")
        told = self._forward(room, measure=measure)
        self._backward(room)
        self._watch()
        self._squares(room)
        factors = self.clipping.of(len(rows)).row_factors(room.squares)
        self._scale(room, factors)
        self._products(room, factors)
        if not math.isfinite(self._sum.dot(self._sum) if self._sum.size <= _FEW else self._sum.sum()):
            # 0·∞ is not a number: rows without a finite gradient are set to zero where there is one.
            parts = [*room.entering[:-1], *(room.leaving[:-1] if self._two else room.leaving)]
            left = ~(np.isfinite(room.squares).all(0) & np.isfinite(room.slope))
            left |= ~np.all([np.isfinite(part.array).all(1) for part in parts], 0)
            for part in parts:
                part.array[left] = 0
            factors[:, left] = room.slope[left] = 0
            self._products(room, factors)
        return told

    def _forward(self, room: Room, *, measure: bool) -> tuple[int, float, int]:
        """Make what enters each layer, and of two classes d; return rows, loss and rows classified right."""
        h = room.entering
        *hidden, last = self._layers
        for i, layer in enumerate(hidden):
            to = h[i + 1].tensor
            torch.addmm(layer.bias, h[i].tensor, layer.turned, out=to)
            torch.relu_(to) if layer.relu else torch.tanh_(to)
        if measure or not self._two:
            torch.addmm(last.bias, h[-2].tensor, last.turned, out=h[-1].tensor)
        if not measure:
            return 0, 0.0, 0
        y = torch.from_numpy(room.classes)
        return measured(h[-1].tensor, y.clamp_min(0).unsqueeze(1), y >= 0)

    def _backward(self, room: Room) -> None:
        """Make the gradients of what leaves each layer, and of two classes c."""
        g, h, last = room.leaving, room.entering, self._layers[-1]
        if self._two:
            _SIGNS.take(room.classes, out=room.signs, mode="wrap")
            np.subtract(last.rows[1], last.rows[0], out=self._across)
            slope = room.slope
            h[-2].times(self._across, slope)
            slope += last.ends[1] - last.ends[0]
            slope *= room.signs
            torch.sigmoid(room.slope_tensor, out=room.slope_tensor)
            slope *= room.signs
        else:
            classes, end = torch.from_numpy(room.classes), g[-1].tensor
            torch.softmax(h[-1].tensor, 1, out=end)
            empty = int(np.minimum.reduce(room.classes)) < 0
            end.scatter_add_(1, (classes.clamp_min(0) if empty else classes).unsqueeze(1), self._minus[: len(end)])
            if empty:
                end[classes < 0] = 0
        for i in range(len(self._layers) - 1, 0, -1):
            to = g[i - 1].tensor
            if i == len(self._layers) - 1 and self._two:
                np.multiply(room.column, self._across, out=g[i - 1].array)
            else:
                torch.mm(g[i].tensor, self._layers[i].weight, out=to)
            if self._layers[i - 1].relu:
                _RELU_BACKWARD(to, h[i].tensor, 0, grad_input=to)
            else:
                _TANH_BACKWARD(to, h[i].tensor, grad_input=to)

    def _squares(self, room: Room) -> None:
        """Make the squared norms of the rows' gradients."""
        end = len(self._layers) - 1
        for i, squares in enumerate(room.squares):
            h, g = room.entering[i].array, room.leaving[i].array
            np.vecdot(h, h, out=squares)
            squares += 1  # for the bias, whose gradient is the slope itself
            if self._two and i == end:
                np.multiply(room.slope, room.slope, out=room.spare)
                room.spare += room.spare
            else:
                np.vecdot(g, g, out=room.spare)
            squares *= room.spare

    def _scale(self, room: Room, factors: Floats) -> None:
        """Scale one side of each layer by the rows' factors (1, b) or (K, b)."""
        for i, layer in enumerate(self._layers):
            factor = factors[i if len(factors) > 1 else 0]
            if self._two and layer is self._layers[-1]:
                room.slope *= factor
            else:
                side = room.entering[i] if layer.by_rows else room.leaving[i]
                side.array *= factor[:, np.newaxis]

    def _products(self, room: Room, factors: Floats) -> None:
        """Write the sums of products of what enters and the slopes, one of which is scaled."""
        for i, layer in enumerate(self._layers):
            h, g = room.entering[i], room.leaving[i]
            weight, bias = layer.sum_of_weight, layer.sum_of_bias
            if self._two and layer is self._layers[-1]:
                h.weighted(room.slope, weight[1])
                np.negative(weight[1], out=weight[0])
                bias[1] = np.dot(room.slope, room.ones)
                bias[0] = -bias[1]
                continue
            torch.mm(g.turned, h.tensor, out=layer.of_weight)
            g.weighted(factors[i if len(factors) > 1 else 0] if layer.by_rows else room.ones, bias)


def measured(logits: Tensor, classes: Tensor, present: Tensor) -> tuple[int, float, int]:
    """Return rows, summed loss and rows classified right, of logits (b, k) and classes (b, 1)."""
    losses = torch.logsumexp(logits, 1) - logits.gather(1, classes).squeeze(1)
    right = (logits.argmax(1) == classes.squeeze(1)) & present
    return int(present.sum()), float((losses * present).sum(dtype=torch.float64)), int(right.sum())
