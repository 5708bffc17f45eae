"""The fast engines for tables: chains of linear layers, forward and backward written out, no autograd.

On networks this small the time goes into starting operations. So there are few, and they write into memory that is
reused: products of matrices by PyTorch, and between two of them one compiled loop over the rows of the batch. The rows'
gradients are products of two vectors, whose norms need no gradient: ‖x‖·‖g‖ (Goodfellow 2015).

In the loops: b rows, d what enters a layer, k what leaves it. All numbers are in single precision. ``squares`` (b,)
begin as 1 + ‖h‖² of what enters a layer, the 1 for the bias, and are multiplied by ‖g‖² of what leaves it: the squared
norm of a row's gradient in that layer. Of two classes the gradients of the logits are c and −c with
c = m/(1 + exp(m·D)), D the difference of the logits, and m = −1 for class 0, 1 for class 1, 0 for an empty row.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep.clipping import BoundEngine, StepSums, in_chunks
from workbench.deep.compiled import exp, loops
from workbench.deep.factors import AUTOMATIC, STABILITY, SinglePrecision, lost_squares, norms_listener
from workbench.deep.networks.network import TABLE_ROWS
from workbench.deep.private_step import Places

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]

_ZERO, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)


@loops
def take(x: Floats, y: Whole, rows: Whole, entering: Floats, classes: Whole, squares: Floats) -> None:
    """Copy ``rows`` (r,) of a table x (n, d), y (n,), and begin their squares; what is left of b rows is made empty.

    Raises:
        IndexError: a row is not in the table.
    """
    for i in range(len(rows)):
        row = rows[i]
        if row < 0 or row >= len(x):
            raise IndexError("a row that the table does not have")
        given, to = x[row], entering[i]
        square = _ONE
        for j in range(len(given)):
            to[j] = given[j]
            square += given[j] * given[j]
        squares[i] = square
        classes[i] = y[row]
    for i in range(len(rows), len(entering)):
        entering[i, :] = _ZERO
        squares[i] = _ONE
        classes[i] = -1


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


@loops
def logistic(
    x: Floats, y: Whole, rows: Whole, weight: Floats, bias: Floats, automatic: bool, bound: float, stability: float,
    odds: Floats, squares: Floats, of_weight: Floats, of_bias: Floats,
) -> None:  # fmt: skip
    """Write the clipped sums of one layer for two classes, (2, d) and (2,), from ``rows`` (b,) of a table.

    The norm of a row's gradient is |c|·r with r² = 2(‖x‖² + 1), so the clipped one has c = m/max(1 + e, r/C), with
    e = exp(m·D), and that of the automatic rule m·C/(r + stability·(1 + e)). A row without a finite r or c is left out.
    m·D and the squared norms (b,) are kept for whoever reports on the batch.

    Raises:
        IndexError: a row is not in the table, or a class is neither of the two.
    """
    zero, one = of_weight[0], of_weight[1]
    low, high = weight[0], weight[1]
    shift = bias[1] - bias[0]
    limit, little = np.float32(bound), np.float32(stability)
    inverse = _ONE / limit
    zero[:] = _ZERO
    whole = _ZERO
    for i in range(len(rows)):
        row = rows[i]
        if row < 0 or row >= len(x):
            raise IndexError("a row that the table does not have")
        given, class_ = x[row], y[row]
        if class_ > 1:
            raise IndexError("a class that the network does not have")
        gap, square = shift, _ONE
        for j in range(len(given)):
            gap += given[j] * (high[j] - low[j])
            square += given[j] * given[j]
        sign = np.float32(2 * class_ - 1) if class_ >= 0 else _ZERO
        odds[i] = gap * sign
        size = exp(odds[i]) + _ONE
        slope = sign / size
        square *= _TWO
        squares[i] = square * slope * slope
        norm = np.sqrt(square)
        part = sign * limit / (norm + little * size) if automatic else sign / max(size, norm * inverse)
        if square < np.inf and odds[i] == odds[i]:  # else the row is left out
            whole += part
            for j in range(len(given)):
                zero[j] += part * given[j]
    for j in range(len(zero)):
        one[j] = -zero[j]
    of_bias[0], of_bias[1] = whole, -whole


class TableEngine(BoundEngine):
    """Clipped sums of chains of linear layers, on the processor, in single precision."""

    def _bind(self, network: nn.Sequential, clip: float, rule: str) -> None:
        self._linear = [layer for layer in network if isinstance(layer, nn.Linear)]
        self._parameters = list(network.parameters())
        self._rows = min(self._rows, TABLE_ROWS)
        self._widths = [layer.in_features for layer in self._linear] + [self._linear[-1].out_features]
        terms = max(layer.in_features + layer.out_features for layer in self._linear) + len(self._linear)
        self.clipping = SinglePrecision(rule, clip, terms)
        self._places = Places(network)
        self._unmeasured = StepSums(self._places.total)
        self._given: tuple[Tensor, Tensor] | None = None
        self._at: list[int] = []
        self._begin(network, rule)

    @abstractmethod
    def _begin(self, network: nn.Sequential, rule: str) -> None:
        """Make what does not depend on the rows."""

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

        def chunk(part: slice) -> StepSums:
            return StepSums(total, *self._chunk(rows[part], measure=measure))

        return in_chunks(len(rows), self._rows, len(total), chunk)

    def _take(self, inputs: Tensor, targets: Tensor) -> None:
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


def is_logistic(network: nn.Module) -> bool:
    """Return whether ``network`` is one linear layer with bias for two classes."""
    if type(network) is not nn.Sequential or len(network) != 1:
        return False
    layer = network[0]
    return type(layer) is nn.Linear and layer.bias is not None and layer.out_features == 2


class LogisticClippedSum(TableEngine):
    """Clipped sums of a network for which :func:`is_logistic` holds, on the processor, in single precision."""

    def _begin(self, network: nn.Sequential, rule: str) -> None:
        self._automatic = rule == AUTOMATIC
        layer = self._linear[0]
        self._of_weight, self._of_bias = self._places.of(layer.weight).numpy(), self._places.of(layer.bias).numpy()
        self._room: tuple[Floats, Floats] = (np.empty(0, np.float32), np.empty(0, np.float32))

    def _find(self) -> None:
        layer = self._linear[0]
        self._weight, self._bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()

    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> tuple[int, float, int]:
        odds, squares = self._room
        if len(odds) < len(rows):
            odds, squares = self._room = (np.empty(len(rows), np.float32), np.empty(len(rows), np.float32))
        bound = self.clipping.of(len(rows)).bound
        logistic(
            self._x, self._y, rows, self._weight, self._bias, self._automatic, bound, STABILITY,
            odds, squares, self._of_weight, self._of_bias,
        )  # fmt: skip
        self._watch()
        on_norms = norms_listener()
        if on_norms is not None:
            on_norms(torch.from_numpy(squares[: len(rows), np.newaxis]))
        return measured_of_two(odds[: len(rows)], self._y.take(rows)) if measure else (0, 0.0, 0)


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

    def _begin(self, network: nn.Sequential, rule: str) -> None:
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
