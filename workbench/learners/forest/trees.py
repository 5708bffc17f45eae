"""One tree: its splits chosen by report-noisy-max, and what its leaves say once the noise is weighed.

*The choice.* For each node and each way of splitting it, the loss is the sum of its children's least losses
(:mod:`workbench.learners.forest.goals`). One more row moves the losses of one node only, all of them upwards and by
one unit at most, so that noise of scale UNIT/ε on each and the least of each node cost ε for a whole level (Dwork &
Roth 2014, claim 3.9; it needs no more than that all scores move in one direction). The noisy losses are thrown away.

*The leaves.* A row lies in one leaf and adds its weights there. A node's figures are the sums of its leaves'; each
child is drawn towards its parent, and the root towards equal shares, the more the more noise there is in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.learners.forest.columns import Cells, Split
from workbench.learners.forest.goals import Goal
from workbench.privacy.central import CentralNoise

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
    size = split.sizes[column]
    places = (nodes * size + cells[:, column]) * goal.kinds + kinds
    counted = np.bincount(places, minlength=count * size * goal.kinds).reshape(count, size, goal.kinds)
    sent = split.children(counted.astype(np.float64), column)
    # Whole numbers below 2^53: the product is exact in whatever order it is summed.
    least: Doubles = (sent @ goal.losses).min(axis=-1).sum(axis=-1)
    return least


def choose_splits(
    losses: Sequence[Doubles],
    columns: Sequence[int],
    split: Split,
    noise: CentralNoise,
    sensitivity: int,
    epsilon: float,
) -> list[int]:
    """Return the way with the least noisy loss for each node, by its number among the ways of all columns.

    Args:
        losses: of the ways of each column (nodes, ways).
        columns: the columns.
        split: how the nodes are split.
        noise: where the noise comes from.
        sensitivity: of one node's losses.
        epsilon: share of the whole level; infinite where there is no noise.
    """
    together = np.concatenate(losses, axis=1)
    released = noise.integers([int(v) for v in together.ravel()], sensitivity, epsilon)
    best = np.array(released, dtype=np.int64).reshape(together.shape).argmin(axis=1)
    ways = np.concatenate([split.starts[column] + np.arange(split.options(column)) for column in columns])
    return [int(ways[b]) for b in best]


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
        # A node smaller than the noise in its size tells nothing reliable of its size.
        size = np.maximum(total, max(math.sqrt(sums.shape[1] * noise), 1e-9))
        kept = np.where(total > 0, spread / (spread + noise / size**2 + sampling / size), 0.0)
        shares = parents + kept * (np.clip(found / size, 0.0, 1.0) - parents)
        shares = np.maximum(shares, _LEAST_SHARE)
        shares /= shares.sum(axis=1, keepdims=True)
    return shares
