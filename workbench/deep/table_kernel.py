"""The fast engine for tables: chains of linear layers, forward and backward written out, no autograd.

On networks this small the time goes into starting operations. So there are few, and they write into memory that is
reused: products of matrices by PyTorch, and between two of them one compiled loop. The rows' gradients are products of
two vectors, whose norms need no gradient: ‖x‖·‖g‖ (Goodfellow 2015).
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
from workbench.deep.table_engine import Floats, TableEngine, measured, measured_of_two
from workbench.deep.table_loops import (
    activate,
    below,
    below_two,
    scale,
    slopes_of_many,
    slopes_of_two,
    sum_of_two,
    take,
)

ACTIVATIONS = (nn.Tanh, nn.ReLU)

_LEVEL = 8
"""Empty rows fill a batch up to a multiple of this, so that a few sizes of memory serve all and stay in the cache."""


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
        numbers: weight and bias for NumPy.
        of_weight: the part of the total that is the weight's.
        sums: the parts of weight and bias for NumPy.
        relu: whether its activation is ReLU; tanh otherwise. The last layer's is not used.
        by_rows: whether what enters is scaled by the rows' factors, and not the slopes: whichever is narrower.
        lost: what is added to the squares of what leaves it, which may be lost to underflow.
    """

    def __init__(self, layer: nn.Linear, places: Places, *, relu: bool) -> None:
        self._layer, self.relu = layer, relu
        self.of_weight = places.of(layer.weight)
        self.sums = (self.of_weight.numpy(), places.of(layer.bias).numpy())
        self.by_rows = layer.in_features <= layer.out_features
        self.lost = lost_squares(layer.out_features + 1)

    def find(self) -> None:
        """Take note of where the parameters lie."""
        self.weight, self.bias = self._layer.weight.detach(), self._layer.bias.detach()
        self.turned = self.weight.t()
        self.numbers = (self.weight.numpy(), self.bias.numpy())


class Room:
    """Working memory for a number of rows.

    Attributes:
        entering: what enters the layers, and last the logits, but of two classes (b, d).
        leaving: gradients of what leaves them, for the last of two classes (b,).
        h: ``entering`` for PyTorch.
        g: ``leaving`` for PyTorch.
        turned: the same (d, b).
        classes: the classes (b,).
        odds: m·D of two classes (b,).
        squares: squared norms of the rows' gradients in each layer (K, b).
    """

    def __init__(self, rows: int, entering: list[Floats], leaving: list[Floats], squares: Floats) -> None:
        """Take the first ``rows`` rows of the memory."""
        self.entering, self.leaving = ([whole[:rows] for whole in held] for held in (entering, leaving))
        self.h, self.g = ([torch.from_numpy(part) for part in held] for held in (self.entering, self.leaving))
        self.turned = [part.t() for part in self.g]
        self.classes = np.empty(rows, dtype=np.int64)
        self.odds = np.empty(rows, dtype=np.float32)
        self.squares = squares.ravel()[: len(squares) * rows].reshape(len(squares), rows)
        self.each = list(self.squares)


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
        self._two = self._widths[-1] == 2
        self._held: tuple[list[Floats], list[Floats], Floats] | None = None
        self._rooms: dict[int, Room] = {}

    def _find(self) -> None:
        for layer in self._layers:
            layer.find()

    def _room(self, rows: int) -> Room:
        """Return the working memory, which is one for all numbers of rows."""
        room = self._rooms.get(rows)
        if room is None:
            if self._held is None or len(self._held[0][0]) < rows:
                self._rooms.clear()
                entering = [np.empty((rows, width), np.float32) for width in self._widths[: -1 if self._two else None]]
                leaving = [np.empty((rows, width), np.float32) for width in self._widths[1:-1]]
                leaving.append(np.empty(rows if self._two else (rows, self._widths[-1]), np.float32))
                self._held = (entering, leaving, np.empty((len(self._layers), rows), np.float32))
            room = self._rooms[rows] = Room(rows, *self._held)
        return room

    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> tuple[int, float, int]:
        """Write Σ fᵢgᵢ of some rows into the flat total; return rows, loss and rows classified right."""
        room = self._room(-(-len(rows) // _LEVEL) * _LEVEL)
        take(self._x, self._y, rows, room.entering[0], room.classes, room.each[0])
        self._forward(room)
        stated = (0, 0.0, 0)
        if measure:
            stated = measured_of_two(room.odds, room.classes) if self._two else _measured(room)
        self._backward(room)
        self._watch()
        self._sum(room, self.clipping.of(len(rows)).row_factors(room.squares, len(rows)))
        return stated

    def _forward(self, room: Room) -> None:
        """Make what enters each layer, begin the squares, and make the gradient of the logits."""
        *hidden, last = self._layers
        for i, layer in enumerate(hidden):
            torch.addmm(layer.bias, room.h[i], layer.turned, out=room.h[i + 1])
            activate(room.entering[i + 1], layer.relu, room.each[i + 1])
        if self._two:
            slopes_of_two(
                room.entering[-1], room.classes, *last.numbers, room.odds, room.leaving[-1], last.lost, room.each[-1]
            )
        else:
            torch.addmm(last.bias, room.h[-2], last.turned, out=room.h[-1])
            slopes_of_many(room.entering[-1], room.classes, room.leaving[-1], last.lost, room.each[-1])

    def _backward(self, room: Room) -> None:
        """Make the gradients of what leaves each layer, and finish the squares."""
        for i in range(len(self._layers) - 1, 0, -1):
            layer, lower = self._layers[i], self._layers[i - 1]
            rest = (room.entering[i], lower.relu)
            if self._two and i == len(self._layers) - 1:
                below_two(room.leaving[i], layer.numbers[0], *rest, room.leaving[i - 1], lower.lost, room.each[i - 1])
            else:
                torch.mm(room.g[i], layer.weight, out=room.g[i - 1])
                below(room.leaving[i - 1], *rest, lower.lost, room.each[i - 1])

    def _sum(self, room: Room, factors: Floats) -> None:
        """Write the sums of the rows' gradients times their factors (1, b) or (K, b)."""
        for i, layer in enumerate(self._layers):
            factor = factors[i % len(factors)]
            if self._two and i == len(self._layers) - 1:
                sum_of_two(room.entering[i], room.leaving[i], factor, *layer.sums)
            else:
                scale(room.entering[i], room.leaving[i], factor, layer.by_rows, layer.sums[1])
                torch.mm(room.turned[i], room.h[i], out=layer.of_weight)


def _measured(room: Room) -> tuple[int, float, int]:
    """Return rows, summed loss and rows classified right, of more than two classes."""
    classes = torch.from_numpy(room.classes)
    return measured(room.h[-1], classes.clamp_min(0).unsqueeze(1), classes >= 0)
