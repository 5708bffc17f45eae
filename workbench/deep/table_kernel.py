"""The fast engines for tables, whose networks are chains of linear layers.

On networks this small the time goes into starting operations. So there are few, and they write into memory that is
reused. The loops are described in :mod:`workbench.deep.linear_chain`.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep.clipping import StepSums, in_chunks
from workbench.deep.clipping_factors import STABILITY, norms_listener
from workbench.deep.compiled import exp, loops
from workbench.deep.linear_chain import (
    Chain,
    ChainRoom,
    Floats,
    Memory,
    Whole,
    WrittenOutEngine,
    chain_of,
    measured_of_two,
)
from workbench.deep.networks.network import TABLE_ROWS
from workbench.deep.plan import AUTOMATIC

_ZERO, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)

_LEVEL = 8
"""Empty rows fill a batch up to a multiple of this, so that a few sizes of memory serve all and stay in the cache."""


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


def fits(network: nn.Module) -> bool:
    """Return whether ``network`` is linear layers with bias, with one activation between each two."""
    return type(network) is nn.Sequential and chain_of(list(network)) is not None


def is_logistic(network: nn.Module) -> bool:
    """Return whether ``network`` is one linear layer with bias for two classes."""
    return fits(network) and [layer.out_features for layer in network.modules() if isinstance(layer, nn.Linear)] == [2]


class TableClippedSum(WrittenOutEngine):
    """Clipped sums of a network for which :func:`fits` holds, on the processor, in single precision."""

    most_rows = TABLE_ROWS

    def _begin(self, network: nn.Sequential) -> tuple[Chain, int]:
        self._given: tuple[Tensor, Tensor] | None = None
        self._rooms: dict[int, ChainRoom] = {}
        found = chain_of(list(network))
        assert found is not None
        chain = Chain(*found, self._places, two=found[0][-1].out_features == 2)
        return chain, chain.terms + len(chain.layers)

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call."""
        return self.drawn(inputs, targets, np.arange(len(targets)), measure=measure)

    def drawn(self, inputs: Tensor, targets: Tensor, rows: NDArray[np.int64], *, measure: bool = True) -> StepSums:
        """Return the sums of the batch of ``rows`` of a table; ``total`` is overwritten by the next call."""
        if self._given is None or self._given[0] is not inputs or self._given[1] is not targets:
            self._take(inputs, targets)
        self._find()
        if 0 < len(rows) <= self._rows:
            return self._chunk(rows, measure=measure)
        total = len(self._places.total)
        return in_chunks(len(rows), self._rows, total, lambda part: self._chunk(rows[part], measure=measure))

    def _take(self, inputs: Tensor, targets: Tensor) -> None:
        widths = self._chain.widths
        if inputs.ndim != 2 or inputs.shape[1] != widths[0]:
            raise RuntimeError(f"rows of {widths[0]} numbers are wanted, not of shape {inputs.shape[1:]}")
        if len(inputs) != len(targets):
            raise RuntimeError(f"{len(inputs)} rows have {len(targets)} classes")
        least, most = (targets.min(), targets.max()) if len(targets) else (-1, -1)
        if least < -1 or most >= widths[-1]:
            raise RuntimeError(f"classes 0 to {widths[-1] - 1} are wanted, and −1 for an empty row")
        self._given = (inputs, targets)
        self._x = inputs.detach().float().contiguous().numpy()
        self._y = targets.long().contiguous().numpy()

    def _room(self, rows: int) -> ChainRoom:
        """Return the working memory, which is one for all numbers of rows."""
        room = self._rooms.get(rows)
        if room is None:
            room = self._rooms[rows] = ChainRoom(self._chain, Memory(rows, _filled(self._rows), self._held))
        return room

    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> StepSums:
        """Return the sums of some rows."""
        chain, room = self._chain, self._room(_filled(len(rows)))
        take(self._x, self._y, rows, room.entering[0], room.classes, room.each[0])
        chain.forward(room)
        stated = chain.measured(room) if measure else None
        chain.backward(room)
        self._watch()
        chain.sum(room, self.clipping.of(len(rows)).row_factors(room.squares, len(rows)))
        return self._stated(stated)


class LogisticClippedSum(TableClippedSum):
    """The same of a network for which :func:`is_logistic` holds, in one loop."""

    _kept: tuple[Floats, Floats] = (np.empty(0, np.float32), np.empty(0, np.float32))

    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> StepSums:
        odds, squares = self._kept
        if len(odds) < len(rows):
            odds, squares = self._kept = (np.empty(len(rows), np.float32), np.empty(len(rows), np.float32))
        layer, clipping = self._chain.layers[0], self.clipping.of(len(rows))
        logistic(
            self._x, self._y, rows, *layer.numbers, clipping.rule == AUTOMATIC, clipping.bound, STABILITY,
            odds, squares, *layer.sums,
        )  # fmt: skip
        self._watch()
        on_norms = norms_listener()
        if on_norms is not None:
            on_norms(torch.from_numpy(squares[: len(rows), np.newaxis]))
        return self._stated(measured_of_two(odds[: len(rows)], self._y.take(rows)) if measure else None)


def _filled(rows: int) -> int:
    return -(-rows // _LEVEL) * _LEVEL
