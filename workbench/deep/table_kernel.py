"""The fast engine for tables: chains of linear layers, forward and backward written out, no autograd.

On networks this small the time goes into starting operations. So there are few, they write into memory that is reused,
and each is started where that costs least: products of matrices by PyTorch, everything else by NumPy, on the same
memory. The rows' gradients are products of two vectors, whose norms need no gradient: ‖x‖·‖g‖ (Goodfellow 2015).

Of two classes the gradients of the logits are c and −c with c = m/(1 + exp(m·d)), d the difference of the logits, and
m = −1 for class 0 and 1 for class 1: the last layer is a vector, ‖g‖² = 2c², and m = 0 makes an empty row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from workbench.deep.clipping import nothing
from workbench.deep.factors import lost_squares
from workbench.deep.flat_parameters import Places
from workbench.deep.table_engine import SIGNS, Block, Difference, Floats, TableEngine, measured, measured_of_two

ACTIVATIONS = (nn.Tanh, nn.ReLU)

# Looked up once: to find it at every call costs more than it does.
_RELU_BACKWARD = torch.ops.aten.threshold_backward.grad_input


def fits(network: nn.Module) -> bool:
    """Return whether ``network`` is linear layers with bias, with one activation between each two."""
    if type(network) is not nn.Sequential or len(network) % 2 == 0:
        return False
    return all(
        (type(layer) is nn.Linear and layer.bias is not None) if i % 2 == 0 else type(layer) in ACTIVATIONS
        for i, layer in enumerate(network)
    )


class Layer:
    """A linear layer: its parameters, and where its sums go.

    Attributes:
        weight: (out, in), without gradients.
        turned: the same (in, out).
        bias: (out,).
        of_weight: the part of the total that is the weight's.
        sum_of_weight: the same for NumPy.
        of_bias: that of the bias, for NumPy.
        relu: whether its activation is ReLU; tanh otherwise. The last layer's is not used.
        by_rows: whether what enters is scaled by the rows' factors, and not the slopes: whichever is narrower.
    """

    def __init__(self, layer: nn.Linear, places: Places, *, relu: bool) -> None:
        self._layer, self.relu = layer, relu
        self.of_weight, self.of_bias = places.of(layer.weight), places.of(layer.bias).numpy()
        self.sum_of_weight = self.of_weight.numpy()
        self.by_rows = layer.in_features <= layer.out_features

    def find(self) -> None:
        """Take note of where the parameters lie."""
        self.weight, self.bias = self._layer.weight.detach(), self._layer.bias.detach()
        self.turned = self.weight.t()


class Room:
    """Working memory for a number of rows.

    Attributes:
        entering: what enters the layers, and last the logits.
        leaving: gradients of what leaves them.
        classes: the classes (b,).
        squares: squared norms of the rows' gradients in each layer (K, b).
        slopes: squared norms of what leaves each layer (K, b).
        signs, slope, ones: m, c and ones (b,).
        spare: memory of the shape of what enters each layer, the same for all.
    """

    def __init__(
        self, rows: int, entering: list[Floats], leaving: list[Floats], vectors: Floats, spare: Floats
    ) -> None:
        """Take the first ``rows`` rows of the memory."""
        self.entering = [Block(whole[:rows]) for whole in entering]
        self.leaving = [Block(whole[:rows]) for whole in leaving]
        self.classes = np.empty(rows, dtype=np.int64)
        layers = len(leaving)
        self.squares, self.slopes = vectors[:layers, :rows], vectors[layers:-3, :rows]
        self.signs, self.slope, self.ones = vectors[-3:, :rows]
        self.spare = [spare[: rows * whole.shape[1]].reshape(rows, -1) for whole in entering]
        self.column = self.slope[:, np.newaxis]


class TableClippedSum(TableEngine):
    """Clipped sums of a network for which :func:`fits` holds, on the processor, in single precision."""

    def __init__(
        self,
        network: nn.Module,
        clip: float,
        physical_batch: int,
        watch: Callable[[], None] = nothing,
        rule: str = "flat",
    ) -> None:
        """Bind the engine to a network; the arguments are those of the other engines."""
        super().__init__(network, clip, physical_batch, watch, rule)
        assert isinstance(network, nn.Sequential)
        relu = [isinstance(layer, nn.ReLU) for layer in network if not isinstance(layer, nn.Linear)]
        self._layers = [
            Layer(layer, self._places, relu=one) for layer, one in zip(self._linear, [*relu, False], strict=True)
        ]
        self._two = Difference(self._linear[-1], self._places) if self._widths[-1] == 2 else None
        self._minus = torch.full((self._rows, 1), -1.0)
        self._lost = np.array([[lost_squares(width + 1)] for width in self._widths[1:]], dtype=np.float32)
        self._held: tuple[list[Floats], list[Floats], Floats, Floats] | None = None
        self._rooms: dict[int, Room] = {}

    def _find(self) -> None:
        for layer in self._layers:
            layer.find()
        if self._two is not None:
            self._two.find()

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
                vectors = np.ones((3 + 2 * len(self._layers), rows), dtype=np.float32)
                self._held = (entering, leaving, vectors, np.empty(rows * max(self._widths), dtype=np.float32))
            room = self._rooms[rows] = Room(rows, *self._held)
        return room

    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> tuple[int, float, int]:
        """Write Σ fᵢgᵢ of some rows into the flat total; return rows, loss and rows classified right."""
        room = self._room(len(rows))
        self._x.take(rows, 0, out=room.entering[0].array, mode="clip")
        self._y.take(rows, out=room.classes, mode="clip")
        self._forward(room)
        told = self._backward(room, measure=measure)
        self._watch()
        self._squares(room)
        factors = self.clipping.of(len(rows)).row_factors(room.squares)
        self._scale(room, factors)
        self._products(room, factors)
        if not self._finite():
            # 0·∞ is not a number: rows with the factor 0, which they have in every layer, are set to zero.
            left = factors[0] == 0
            for part in [*room.entering[:-1], *room.leaving[: -1 if self._two else None]]:
                part.array[left] = 0
            room.slope[left] = 0
            self._products(room, factors)
        return told

    def _forward(self, room: Room) -> None:
        """Make what enters each layer, and more than two logits."""
        h = room.entering
        *hidden, last = self._layers
        for i, layer in enumerate(hidden):
            to = h[i + 1].tensor
            torch.addmm(layer.bias, h[i].tensor, layer.turned, out=to)
            if layer.relu:
                torch.relu_(to)
            else:  # tanh(x) = 2σ(2x) − 1, to within 1.2e-7, in a third of the time
                values = h[i + 1].array
                values += values
                torch.sigmoid_(to)
                values += values
                values -= 1
        if self._two is None:
            torch.addmm(last.bias, h[-2].tensor, last.turned, out=h[-1].tensor)

    def _backward(self, room: Room, *, measure: bool) -> tuple[int, float, int]:
        """Make the gradients of what leaves each layer; return rows, loss and rows classified right."""
        g, h, layers = room.leaving, room.entering, self._layers
        told = self._slopes(room, measure) if self._two is None else self._slope(room, self._two, measure)
        for i in range(len(layers) - 1, 0, -1):
            to = g[i - 1].tensor
            if self._two is None or i < len(layers) - 1:
                torch.mm(g[i].tensor, layers[i].weight, out=to)
            if layers[i - 1].relu:
                _RELU_BACKWARD(to, h[i].tensor, 0, grad_input=to)
            else:
                active, spare = h[i].array, room.spare[i]
                np.multiply(active, active, out=spare)
                np.subtract(1, spare, out=spare)
                g[i - 1].array *= spare
        return told

    def _slope(self, room: Room, layer: Difference, measure: bool) -> tuple[int, float, int]:
        """Make c, and the gradient of what enters the last layer, if anything made it."""
        slope = room.slope
        SIGNS.take(room.classes, out=room.signs, mode="wrap")
        layer.look()
        room.entering[-2].times(layer.across, slope)
        slope += layer.shift
        slope *= room.signs
        told = measured_of_two(slope, room.signs) if measure else (0, 0.0, 0)
        np.exp(slope, out=slope)
        slope += 1
        np.divide(room.signs, slope, out=slope)
        if len(self._layers) > 1:
            np.negative(layer.across, out=layer.across)
            np.multiply(room.column, layer.across, out=room.leaving[-2].array)
        return told

    def _slopes(self, room: Room, measure: bool) -> tuple[int, float, int]:
        """Make the gradients of the logits."""
        classes, logits, end = torch.from_numpy(room.classes), room.entering[-1].tensor, room.leaving[-1].tensor
        empty = int(np.minimum.reduce(room.classes)) < 0
        places = (classes.clamp_min(0) if empty else classes).unsqueeze(1)
        told = measured(logits, places, classes >= 0) if measure else (0, 0.0, 0)
        torch.softmax(logits, 1, out=end)
        end.scatter_add_(1, places, self._minus[: len(end)])
        if empty:
            end[classes < 0] = 0
        return told

    def _squares(self, room: Room) -> None:
        """Make the squared norms of the rows' gradients."""
        squares, slopes = room.squares, room.slopes
        for i, (h, g) in enumerate(zip(room.entering, room.leaving, strict=False)):
            np.vecdot(h.array, h.array, out=squares[i])
            if self._two is None or i < len(squares) - 1:
                np.vecdot(g.array, g.array, out=slopes[i])
            else:
                np.multiply(room.slope, room.slope, out=slopes[i])
                slopes[i] *= 2
        squares += 1  # for the bias, whose gradient is the slope itself
        slopes += self._lost
        squares *= slopes

    def _scale(self, room: Room, factors: Floats) -> None:
        """Scale one side of each layer by the rows' factors (1, b) or (K, b)."""
        for i, layer in enumerate(self._layers):
            factor = factors[i % len(factors)]
            if self._two is not None and layer is self._layers[-1]:
                room.slope *= factor
            else:
                side = room.entering[i] if layer.by_rows else room.leaving[i]
                side.array *= factor[:, np.newaxis]

    def _products(self, room: Room, factors: Floats) -> None:
        """Write the sums of products of what enters and the slopes, one of which is scaled."""
        for i, (layer, h, g) in enumerate(zip(self._layers, room.entering, room.leaving, strict=False)):
            if self._two is not None and layer is self._layers[-1]:
                self._two.sum_up(h, room.slope, room.ones)
            else:
                g.by(h, layer.of_weight, layer.sum_of_weight)
                g.weighted(factors[i % len(factors)] if layer.by_rows else room.ones, layer.of_bias)
