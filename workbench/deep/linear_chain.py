"""Chains of linear layers, forward and backward written out, no autograd: what the fast engines have in common.

Each engine is on the processor and in single precision. It writes sums into one flat vector and works in memory that
every chunk reuses: products of matrices by PyTorch, and between two of them one compiled loop over the rows of the
chunk. A table is a chain; of an image convolutions make what enters one. The rows' gradients of a linear layer are
products of two vectors, whose norms need no gradient: ‖x‖·‖g‖ (Goodfellow 2015).

In the loops: b rows, d what enters a layer, k what leaves it. All numbers are in single precision. ``squares`` (b,)
begin as 1 + ‖h‖² of what enters a layer, the 1 for the bias, and are multiplied by ‖g‖² of what leaves it: the squared
norm of a row's gradient in that layer. Of two classes the gradients of the logits are c and −c with
c = m/(1 + exp(m·D)), D the difference of the logits, and m = −1 for class 0, 1 for class 1, 0 for an empty row.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep.clipping import BoundEngine, StepSums
from workbench.deep.clipping_factors import SinglePrecision, lost_squares
from workbench.deep.compiled import exp, loops
from workbench.deep.private_step import Places

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]
Stated = tuple[int, float, int]
"""Rows that are not empty, their summed loss, and how many were classified right."""

ACTIVATIONS = (nn.Tanh, nn.ReLU)

_ZERO, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)


@loops
def begin_squares(h: Floats, squares: Floats) -> None:
    """Write 1 + ‖h‖² of what enters a layer (b, d)."""
    for i in range(len(h)):
        row, square = h[i], np.float32(1)
        for j in range(len(row)):
            square += row[j] * row[j]
        squares[i] = square


@loops
def activate(h: Floats, relu: bool, squares: Floats) -> None:
    """Apply an activation to h (b, d) in place, and write 1 + ‖h‖² of each row for the layer that h enters."""
    for i in range(len(h)):
        row = h[i]
        if relu:
            for j in range(len(row)):
                row[j] = max(row[j], _ZERO)
        else:
            for j in range(len(row)):
                row[j] = _ONE - _TWO / (exp(_TWO * row[j]) + _ONE)
        square = _ONE
        for j in range(len(row)):
            square += row[j] * row[j]
        squares[i] = square


@loops
def slopes_of_two(
    h: Floats, classes: Whole, weight: Floats, bias: Floats, odds: Floats, slopes: Floats, lost: float, squares: Floats
) -> None:
    """Make m·D and c of the last layer, (2, d) and (2,), for two classes, and finish its squares.

    Raises:
        IndexError: a class is neither of the two.
    """
    shift, missing = bias[1] - bias[0], np.float32(lost)
    low, high = weight[0], weight[1]
    for i in range(len(h)):
        row = h[i]
        if classes[i] > 1:
            raise IndexError("a class that the network does not have")
        gap = shift
        for j in range(len(row)):
            gap += row[j] * (high[j] - low[j])
        sign = np.float32(2 * classes[i] - 1) if classes[i] >= 0 else _ZERO
        odds[i] = gap * sign
        slope = sign / (exp(odds[i]) + _ONE)
        slopes[i] = slope
        squares[i] *= _TWO * slope * slope + missing


@loops
def below_two(
    slopes: Floats, weight: Floats, h: Floats, relu: bool, below: Floats, lost: float, squares: Floats
) -> None:
    """Make the gradient below the last layer of two classes, through the activation that gave h (b, d)."""
    missing = np.float32(lost)
    low, high = weight[0], weight[1]
    for i in range(len(h)):
        row, to, slope = h[i], below[i], slopes[i]
        square = missing
        for j in range(len(row)):
            through = (_ONE if row[j] > _ZERO else _ZERO) if relu else _ONE - row[j] * row[j]
            value = slope * (low[j] - high[j]) * through
            to[j] = value
            square += value * value
        squares[i] *= square


@loops
def below(g: Floats, h: Floats, relu: bool, lost: float, squares: Floats) -> None:
    """Take g (b, d), the gradient of h, through the activation that gave h, and finish the squares of its layer."""
    missing = np.float32(lost)
    for i in range(len(h)):
        row, to = h[i], g[i]
        square = missing
        if relu:
            for j in range(len(row)):
                value = to[j] if row[j] > _ZERO else _ZERO
                to[j] = value
                square += value * value
        else:
            for j in range(len(row)):
                value = to[j] * (_ONE - row[j] * row[j])
                to[j] = value
                square += value * value
        squares[i] *= square


@loops
def slopes_of_many(logits: Floats, classes: Whole, slopes: Floats, lost: float, squares: Floats) -> None:
    """Make the gradients of logits (b, k), and finish the squares of the last layer; an empty row has none.

    Raises:
        IndexError: a class is not one of the k.
    """
    missing = np.float32(lost)
    for i in range(len(logits)):
        row, to, which = logits[i], slopes[i], classes[i]
        if which >= len(row):
            raise IndexError("a class that the network does not have")
        if which < 0:
            to[:] = _ZERO
            squares[i] *= missing
            continue
        most = row[0]
        for j in range(1, len(row)):
            most = max(most, row[j])
        whole = _ZERO
        for j in range(len(row)):
            to[j] = exp(row[j] - most)
            whole += to[j]
        part = _ONE / whole
        for j in range(len(row)):
            to[j] *= part
        to[which] -= _ONE
        square = missing
        for j in range(len(row)):
            square += to[j] * to[j]
        squares[i] *= square


@loops
def scale(h: Floats, g: Floats, factors: Floats, by_rows: bool, of_bias: Floats) -> None:
    """Scale the rows of h (b, d), or else of g (b, k), by their factors, and write the sums of the bias (k,).

    Rows with the factor 0 are set to 0 on both sides: they may hold ∞, and 0·∞ is not a number.
    """
    of_bias[:] = _ZERO
    for i in range(len(h)):
        factor, entering, leaving = factors[i], h[i], g[i]
        if factor == _ZERO:
            entering[:] = _ZERO
            leaving[:] = _ZERO
        elif by_rows:
            for j in range(len(entering)):
                entering[j] *= factor
            for j in range(len(leaving)):
                of_bias[j] += factor * leaving[j]
        else:
            for j in range(len(leaving)):
                leaving[j] *= factor
                of_bias[j] += leaving[j]


@loops
def sum_of_two(h: Floats, slopes: Floats, factors: Floats, of_weight: Floats, of_bias: Floats) -> None:
    """Write the sums of the last layer of two classes, (2, d) and (2,), from h (b, d), c and the factors (b,)."""
    zero, one = of_weight[0], of_weight[1]
    zero[:] = _ZERO
    bias = _ZERO
    for i in range(len(h)):
        if factors[i] == _ZERO:
            continue
        part, row = slopes[i] * factors[i], h[i]
        bias += part
        for j in range(len(row)):
            zero[j] += part * row[j]
    for j in range(len(zero)):
        one[j] = -zero[j]
    of_bias[0], of_bias[1] = bias, -bias


class Memory:
    """Hands out the same blocks of memory in the same order, for any number of rows.

    Memory that is given back and asked for at each step would have to be cleared by the system at each step.

    Attributes:
        rows: rows of what is handed out.
    """

    def __init__(self, rows: int, most: int, held: list[Tensor]) -> None:
        """Hand out ``held``, blocks of ``most`` rows, and put new blocks into it."""
        self.rows, self._most, self._held, self._next = rows, most, held, 0

    def take(self, *shape: int) -> Tensor:
        """Return a block (rows, *shape); zero when it is handed out for the first time."""
        return self.fixed(self._most, *shape)[: self.rows]

    def fixed(self, *shape: int) -> Tensor:
        """Return a block of ``shape``, whatever the number of rows."""
        if self._next == len(self._held):
            self._held.append(torch.zeros(shape))
        self._next += 1
        return self._held[self._next - 1]


def chain_of(layers: Sequence[nn.Module]) -> tuple[list[nn.Linear], list[bool]] | None:
    """Return linear layers with bias, and which activations between each two are ReLU; ``None`` of any other layers."""
    linear = [layer for layer in layers[::2] if type(layer) is nn.Linear and layer.bias is not None]
    between = layers[1::2]
    if len(linear) != len(between) + 1 or not all(type(layer) in ACTIVATIONS for layer in between):
        return None
    return linear, [isinstance(layer, nn.ReLU) for layer in between]


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


class ChainRoom:
    """Working memory of a chain for a number of rows.

    Attributes:
        h: what enters the layers, and last the logits, but of two classes (b, d).
        g: gradients of what leaves them, for the last of two classes (b,).
        entering: ``h`` for NumPy.
        leaving: ``g`` for NumPy.
        turned: ``g`` as (d, b).
        classes: the classes (b,).
        odds: m·D of two classes (b,).
        squares: squared norms of the rows' gradients in each layer (K, b).
        each: the same, layer by layer.
    """

    def __init__(self, chain: Chain, memory: Memory) -> None:
        """Take the memory."""
        widths = chain.widths
        self.h = [memory.take(width) for width in (widths[:-1] if chain.two else widths)]
        self.g = [memory.take(width) for width in widths[1:-1]]
        self.g.append(memory.take() if chain.two else memory.take(widths[-1]))
        self.entering, self.leaving = ([part.numpy() for part in held] for held in (self.h, self.g))
        self.turned = [part.t() for part in self.g]
        self.classes = np.empty(memory.rows, dtype=np.int64)
        self.odds = np.empty(memory.rows, dtype=np.float32)
        self.squares = np.empty((len(widths) - 1, memory.rows), dtype=np.float32)
        self.each = list(self.squares)


class Chain:
    """Linear layers with an activation between each two.

    Attributes:
        layers: the layers.
        widths: of each layer, the input first.
        two: whether the difference of two logits is computed in place of both.
        terms: squares in the norm of a row's gradient in one layer, at most.
    """

    def __init__(self, linear: Sequence[nn.Linear], relu: Sequence[bool], places: Places, *, two: bool) -> None:
        """Make what does not depend on the rows; ``relu``: which activations are ReLU, tanh otherwise."""
        self.layers = [Layer(layer, places, relu=one) for layer, one in zip(linear, [*relu, False], strict=True)]
        self.widths, self.two = [layer.in_features for layer in linear] + [linear[-1].out_features], two
        self.terms = max(layer.in_features + layer.out_features for layer in linear)

    def find(self) -> None:
        """Take note of where the parameters lie."""
        for layer in self.layers:
            layer.find()

    def forward(self, room: ChainRoom) -> None:
        """From what enters the first layer, and its squares, make what enters each, and the gradient of the logits."""
        *hidden, last = self.layers
        for i, layer in enumerate(hidden):
            torch.addmm(layer.bias, room.h[i], layer.turned, out=room.h[i + 1])
            activate(room.entering[i + 1], layer.relu, room.each[i + 1])
        if self.two:
            slopes_of_two(
                room.entering[-1], room.classes, *last.numbers, room.odds, room.leaving[-1], last.lost, room.each[-1]
            )
        else:
            torch.addmm(last.bias, room.h[-2], last.turned, out=room.h[-1])
            slopes_of_many(room.entering[-1], room.classes, room.leaving[-1], last.lost, room.each[-1])

    def measured(self, room: ChainRoom) -> Stated:
        """Return what the logits say of the rows."""
        if self.two:
            return measured_of_two(room.odds, room.classes)
        logits, classes = room.h[-1], torch.from_numpy(room.classes)
        present, classes = classes >= 0, classes.clamp_min(0)
        losses = torch.logsumexp(logits, 1) - logits.gather(1, classes.unsqueeze(1)).squeeze(1)
        right = (logits.argmax(1) == classes) & present
        return int(present.sum()), float((losses * present).sum(dtype=torch.float64)), int(right.sum())

    def backward(self, room: ChainRoom) -> None:
        """Make the gradients of what leaves each layer, and finish the squares."""
        for i in range(len(self.layers) - 1, 0, -1):
            layer, lower = self.layers[i], self.layers[i - 1]
            rest = (room.entering[i], lower.relu)
            if self.two and i == len(self.layers) - 1:
                below_two(room.leaving[i], layer.numbers[0], *rest, room.leaving[i - 1], lower.lost, room.each[i - 1])
            else:
                torch.mm(room.g[i], layer.weight, out=room.g[i - 1])
                below(room.leaving[i - 1], *rest, lower.lost, room.each[i - 1])

    def sum(self, room: ChainRoom, factors: Floats) -> None:
        """Write the sums of the rows' gradients times their factors (1, b) or (K, b); what enters may be scaled."""
        for i, layer in enumerate(self.layers):
            factor = factors[i % len(factors)]
            if self.two and i == len(self.layers) - 1:
                sum_of_two(room.entering[i], room.leaving[i], factor, *layer.sums)
            else:
                scale(room.entering[i], room.leaving[i], factor, layer.by_rows, layer.sums[1])
                torch.mm(room.turned[i], room.h[i], out=layer.of_weight)


@np.errstate(all="ignore")
def measured_of_two(odds: Floats, classes: NDArray[np.int64]) -> Stated:
    """Return rows, summed loss and rows classified right of two classes, of m·D (b,) and the classes (b,)."""
    present = classes >= 0
    losses = np.logaddexp(np.float32(0), -odds)
    right = (odds > 0) | ((odds == 0) & (classes == 0))  # of equal logits the first is the larger one
    rows, correct = np.count_nonzero(present), np.count_nonzero(right & present)
    return int(rows), float(np.add.reduce(losses[present], dtype=np.float64)), int(correct)


class WrittenOutEngine(BoundEngine):
    """An engine whose passes are written out: it keeps its memory, and writes into one flat total."""

    most_rows: ClassVar[int]  # rows of a chunk, at most, whatever the physical batch

    def _bind(self, network: nn.Sequential, clip: float, rule: str) -> None:
        self._rows = min(self._rows, self.most_rows)
        self._places = Places(network)
        self._unmeasured = StepSums(self._places.total)
        self._parameters = list(network.parameters())
        self._at: list[int] = []
        self._held: list[Tensor] = []
        self._chain, terms = self._begin(network)
        self.clipping = SinglePrecision(rule, clip, terms)

    @abstractmethod
    def _begin(self, network: nn.Sequential) -> tuple[Chain, int]:
        """Make what does not depend on the rows: the chain, and the most squares in a norm with its layers added."""

    def _find(self) -> None:
        """Take note of where the parameters lie: they were moved in memory, or it is the first call."""
        at = [parameter.data_ptr() for parameter in self._parameters]
        if at != self._at:
            self._at = at
            self._chain.find()

    def _stated(self, stated: Stated | None) -> StepSums:
        """Return the sums of what was written into the total, which is overwritten by the next chunk."""
        return self._unmeasured if stated is None else StepSums(self._places.total, *stated)
