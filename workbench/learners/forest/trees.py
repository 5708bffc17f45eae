"""A single tree: splits chosen by report-noisy-max, and denoised leaf values.

*The choice.* For each node and each way of splitting it, the loss is the sum of its children's least losses. One more
row moves the losses of one node only, all of them upwards and by one unit at most, so that a place drawn for each node
(:func:`.noisy_max`) costs ε for a whole level.

*The leaves.* A row lies in one leaf and adds its weights there. A node's figures are the sums of its leaves'; each
child is drawn towards its parent, and the root towards equal shares, the more the more noise there is in it.

Rows as cells of public grids, and the splits that can be made between the cells.

A column of a table becomes one or more columns of cells by declared facts alone (:mod:`workbench.learners.encoding`): a
number lies in one of 16 equal parts of its bounds (an integer with fewer values in a part of its own), a category of
two values or one value of a larger domain in one of two cells. A missing number lies in the middle; where it is allowed
to be missing, a column of its own says so, and a split can be made there.

One more column is the mean of all numbers of a row, each scaled by its bounds, in 64 parts: columns of one table often
rise and fall together, and then one cut through their mean says more than a cut through any of them.

What the leaves of a tree say of the target: classes, or numbers as rows that are partly high and partly low.

Both are treated alike. A row's target is

* one *kind* of a short public list, by which the splits are judged: its class, or the part of the bounds in which its
  number lies;
* *weights*, whole numbers that a leaf adds up: 1 for its class, or K parted between "low" and "high" by where the
  number lies between the bounds. A leaf's counts of classes, or the count and sum of its numbers (low + high, and high
  − low), have the L1 sensitivity of one row's weights: 1 or K. Asked as a count and a sum about the centre, the same
  two figures would cost twice that.

*The loss* of a leaf is the least that one prediction for all its rows can lose: for classes the number of rows of other
classes, for numbers the sum of the distances, each counted up to a public part of the range, over the largest. A row
loses between 0 and UNIT whatever is predicted. One more row therefore never makes the least loss smaller, nor larger by
more than UNIT: exactly, because everything is a whole number. Squares would be less clear at the same noise: most of a
square's range is kept for errors that hardly occur.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.encoding import Encoding
from workbench.privacy.central.sums import on_grid

Cells = NDArray[np.int64]

_SIZE = 1 << 12  # K of the encoding; whole numbers of a mean of numbers stay exact
PARTS, _MEAN_PARTS = 16, 64


@dataclass(frozen=True)
class Columns:
    """The columns of cells of a table, all of them from declared facts."""

    attributes: tuple[Attribute, ...]  # the public facts about the columns of X, in order
    parts: int = PARTS  # into how many cells the bounds of a number are cut

    @cached_property
    def _encoding(self) -> Encoding:
        return Encoding(self.attributes)

    @cached_property
    def _in_mean(self) -> list[int]:
        """The encoded columns that enter the mean: those whose two ends are ends of a line; none where there is one."""
        sources = self._encoding.sources
        lines = [sources.index(j) for j, a in enumerate(self.attributes) if a.numeric or len(a.values()) == 2]
        return lines if len(lines) > 1 else []

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each column, (D,)."""
        own = self._encoding.cells(self.parts)
        return (*own, _MEAN_PARTS) if self._in_mean else own

    def cells(self, X: ArrayLike) -> Cells:
        """Return the cell of each row in each column (n, D), each computed from its own row in whole numbers.

        Raises:
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        encoded = self._encoding.encode(X, _SIZE)
        cells = (encoded + _SIZE) * np.array(self._encoding.cells(self.parts)) // (2 * _SIZE + 1)
        among = self._in_mean
        if among:
            width = len(among) * _SIZE
            mean = (encoded[:, among].sum(axis=1) + width) * _MEAN_PARTS // (2 * width + 1)
            cells = np.column_stack([cells, mean])
        return np.asarray(cells)


@dataclass(frozen=True)
class Split:
    """How the rows of a node are sent on: in two by a cut through a column, or in ``parts`` equal parts of it."""

    sizes: tuple[int, ...]  # the number of cells of each column
    parts: int  # into how many children; a power of two

    def options(self, column: int) -> int:
        """Return in how many ways a column can be split: at every border of its cells, or in equal parts."""
        return self.sizes[column] - 1 if self.parts == 2 else 1

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The number of the first way of each column (D,), and at the end how many ways there are."""
        return np.cumsum([0, *(self.options(column) for column in range(len(self.sizes)))])

    def child(self, cells: Cells, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the child of each row, (n,).

        Args:
            cells: of the rows (n, D).
            chosen: the number of the way in which each row's node is split, (n,).
        """
        column = np.searchsorted(self.starts, chosen, side="right") - 1
        cell = cells[np.arange(len(cells)), column]
        if self.parts == 2:
            return np.asarray(cell > chosen - self.starts[column], dtype=np.int64)
        return np.asarray(cell * self.parts // np.array(self.sizes)[column])

    def children(self, histogram: NDArray[np.float64], column: int) -> NDArray[np.float64]:
        """Return what each way of splitting a column sends to each child, (nodes, ways, children, kinds).

        Args:
            histogram: how many rows of each kind lie in each cell, (nodes, cells, kinds).
            column: the column.
        """
        nodes, size, kinds = histogram.shape
        if self.parts == 2:
            low = histogram.cumsum(axis=1)
            return np.stack([low[:, :-1], low[:, -1:] - low[:, :-1]], axis=2)
        out = np.zeros((nodes, 1, self.parts, kinds))
        for cell in range(size):
            out[:, 0, cell * self.parts // size] += histogram[:, cell]
        return out


UNIT = 1 << 8  # whole numbers of the loss of one row; sums are exact in doubles up to 2^45 rows

_HALF = 1 << 10
_KINDS = 32
FARTHEST, FARTHEST_IN_WINDOW = 0.3, 0.5
"""Up to which part of the range distances are counted: of declared bounds, and of a window that was chosen within them.
Rows fill a window, and a split between groups whose distance is larger gains little."""

_SPREAD_OF_CLASSES, _SPREAD_OF_NUMBERS = 0.05, 0.02
_SAMPLING_OF_CLASSES, _SAMPLING_OF_NUMBERS = 0.25, 0.05


class Goal:
    """The public facts about a target, and how it is read.

    Args:
        target: its facts.
        farthest: the part of its range up to which distances are counted.

    Attributes:
        parts: how many whole numbers a leaf holds: one a class, or low and high.
        weight: K, the sum of one row's weights.
        kinds: how many kinds of targets there are.
        losses: what a row of each kind loses by each prediction, (kinds, predictions), in [0, UNIT].
        spread: usual variance of a part's share between a node and its parent.
        sampling: usual variance of one row's weights about the shares of its node.
    """

    def __init__(self, target: Attribute, farthest: float = FARTHEST) -> None:
        self._target = target
        if target.numeric:
            self.parts, self.weight, self.kinds = 2, 2 * _HALF, _KINDS
            distance = np.abs(np.subtract.outer(np.arange(_KINDS), np.arange(_KINDS)))
            limit = farthest * (_KINDS - 1)
            self.losses = np.floor(UNIT * np.minimum(distance, limit) / limit)
            self.spread, self.sampling = _SPREAD_OF_NUMBERS, _SAMPLING_OF_NUMBERS
        else:
            self.parts = self.kinds = len(target.values())
            self.weight = 1
            self.losses = UNIT * (1.0 - np.eye(self.kinds))
            self.spread, self.sampling = _SPREAD_OF_CLASSES, _SAMPLING_OF_CLASSES

    def read(self, y: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the kinds (m,) and the weights (m, parts) of checked targets y (m,), none of which is empty."""
        if not self._target.numeric:
            return y, np.eye(self.parts, dtype=np.int64)[y]
        high = on_grid(y, *self._target.bounds(), _HALF) + _HALF
        return high * _KINDS // (self.weight + 1), np.column_stack([self.weight - high, high])


Doubles = NDArray[np.float64]

_LEAST_SHARE = 1e-6


def split_losses(
    cells: Cells, kinds: NDArray[np.int64], nodes: NDArray[np.int64], count: int, split: Split, column: int, goal: Goal
) -> Doubles:
    """Return the loss of each way of splitting a column at each node (nodes, ways), in whole numbers.

    Args:
        cells: of the rows (n, D).
        kinds: of the rows' targets (n,).
        nodes: the rows' nodes (n,).
        count: number of nodes.
        split: how the nodes are split.
        column: the column.
        goal: what is lost.
    """
    return losses_of(split_counts(cells, kinds, nodes, count, split.sizes[column], column, goal), split, column, goal)


def split_counts(
    cells: Cells, kinds: NDArray[np.int64], nodes: NDArray[np.int64], count: int, size: int, column: int, goal: Goal
) -> Cells:
    """Return how many rows of each kind lie in each of the ``size`` cells of a column at each node, node slowest."""
    places = (nodes * size + cells[:, column]) * goal.kinds + kinds
    return np.bincount(places, minlength=count * size * goal.kinds)


def losses_of(counts: Sequence[int] | Cells, split: Split, column: int, goal: Goal) -> Doubles:
    """Return :func:`split_losses` of what :func:`split_counts` counts."""
    counted = np.array(counts, dtype=np.float64).reshape(-1, split.sizes[column], goal.kinds)
    sent = split.children(counted, column)
    # Whole numbers below 2^53: the product is exact in whatever order it is summed. Numpy is slow along short axes.
    least = (goal.losses.T @ sent.reshape(-1, goal.kinds).T).min(axis=0).reshape(sent.shape[:-1])
    return np.asarray(sum(least[..., child] for child in range(least.shape[-1])))


def choose_splits(
    losses: Sequence[Doubles], columns: Sequence[int], split: Split, least: Callable[[list[list[int]]], list[int]]
) -> list[int]:
    """Return the way with the least noisy loss for each node, by its number among the ways of all columns.

    Args:
        losses: of the ways of each column (nodes, ways).
        columns: the columns.
        split: how the nodes are split.
        least: returns the place of a small loss for each node, as ``ask.least`` does.
    """
    together = np.concatenate(losses, axis=1).astype(np.int64)
    ways = np.concatenate([split.starts[column] + np.arange(split.options(column)) for column in columns])
    return [int(ways[best]) for best in least(together.tolist())]


def leaf_sums(leaves: NDArray[np.int64], weights: NDArray[np.int64], count: int) -> list[int]:
    """Return the sums of the rows' weights in each leaf (slowest) and part (fastest)."""
    sums = np.zeros((count, weights.shape[1]), dtype=np.int64)
    np.add.at(sums, leaves, weights)
    return [int(v) for v in sums.ravel()]


def leaf_shares(sums: Doubles, rows: int, variance: float, spread: float, sampling: float) -> Doubles:
    """Return what share of each leaf each part is estimated to have, (leaves, parts).

    Args:
        sums: noisy weights of the leaves in rows, (leaves, parts); their number is a power of two.
        rows: public n.
        variance: of the noise of each number.
        spread: usual variance of a share between a node and its parent.
        sampling: variance of what one row says of a share.
    """
    levels = [sums]
    while len(levels[0]) > 1:
        levels.insert(0, levels[0].reshape(-1, 2, sums.shape[1]).sum(axis=1))
    shares = np.full((1, sums.shape[1]), 1 / sums.shape[1])
    for depth, found in enumerate(levels):
        noise = variance * 2 ** (len(levels) - 1 - depth)  # of a sum over a node's leaves
        total = found.sum(axis=1, keepdims=True) if depth else np.full((1, 1), float(rows))
        parents = np.repeat(shares, 2, axis=0) if depth else shares
        # A node smaller than the noise in its size says nothing reliable about its size.
        size = np.maximum(total, max(math.sqrt(sums.shape[1] * noise), 1e-9))
        kept = np.where(total > 0, spread / (spread + noise / size**2 + sampling / size), 0.0)
        shares = parents + kept * (np.clip(found / size, 0.0, 1.0) - parents)
        shares = np.maximum(shares, _LEAST_SHARE)
        shares /= shares.sum(axis=1, keepdims=True)
    return shares
