"""Rounds along the noisy gradient: from the linear discriminant to the ordinary logistic regression.

Böhning (1992): the curvature of the multinomial loss is at most half of Σ z·zᵀ, z = (1, x), for each class, so that
steps with half of that matrix, asked for once with the sums, never overshoot. A round asks for Σ (p − e_y)·z over the
rows, p being the probabilities so far; steps gain speed after Nesterov and start anew where they would turn back.

What is counted of a row must not depend on the rows beside it, not even in the last bit: heights are sums by column,
and the exponential is read from a table, as a processor may compute it differently at the end of an array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workbench.learners.sums import l1_norms, within_limit

Doubles = NDArray[np.float64]
Whole = NDArray[np.int64]

_FINE = 1 << 14
_FAR = 30
_BLOCK = 1 << 20  # numbers held at a time


@lru_cache(maxsize=1)
def _exponentials() -> Doubles:
    """Return e^(−i/2^14) for i up to 30·2^14."""
    return np.exp(-np.arange(_FAR * _FINE + 1) / _FINE)


def heights(places: Doubles, weights: Doubles) -> Doubles:
    """Return the height of each class (n, k) for z·w, ``weights`` (m + 1, k) having the offsets first."""
    out = np.repeat(weights[:1], len(places), axis=0)
    for j in range(places.shape[1]):
        out += places[:, j, None] * weights[j + 1]
    return out


def probabilities(heights_: Doubles) -> Doubles:
    """Return the probabilities of the classes (n, k); each row the same whatever stands beside it."""
    below = heights_.max(axis=1, keepdims=True) - heights_
    odds = _exponentials()[np.rint(np.minimum(below, _FAR) * _FINE).astype(np.int64)]
    total = np.zeros(len(odds))
    for c in range(odds.shape[1]):
        total += odds[:, c]
    return np.asarray(odds / total[:, None])


def gradient_sum(places: Doubles, classes: Whole, weights: Doubles, size: int, limit: int) -> list[int]:
    """Return the sum of :func:`gradients` over the rows, a block of them at a time."""
    total = np.zeros(weights.size, dtype=np.int64)
    block = max(1, _BLOCK // weights.size)
    for first in range(0, len(places), block):
        here = slice(first, first + block)
        total += gradients(places[here], classes[here], weights, size, limit).sum(axis=0)
    return [int(v) for v in total]


def gradients(places: Doubles, classes: Whole, weights: Doubles, size: int, limit: int) -> Whole:
    """Return each row's part of the gradient (n, k·(m + 1)) in whole numbers of 1/K, its L1 norm within ``limit``."""
    rest = probabilities(heights(places, weights))
    rest[np.arange(len(classes)), classes] -= 1
    z = np.column_stack([np.ones(len(places)), places])
    parts = np.rint(rest[:, :, None] * z[:, None, :] * size).astype(np.int64).reshape(len(places), -1)
    return within_limit(parts, l1_norms, limit)


def improved(
    start: Doubles,
    curvature: Doubles,
    ridge: float,
    rounds: int,
    gradient: Callable[[int, Doubles], Doubles],
    *,
    tolerance: float = 0.0,
) -> Doubles:
    """Return the weights (m + 1, k) after some rounds.

    Args:
        start: weights to begin with, offsets first.
        curvature: Σ z·zᵀ (m + 1, m + 1), positive.
        ridge: factor of half the squared weights in the loss; offsets have none.
        rounds: how many.
        gradient: gives the gradient (m + 1, k) of the sum of the losses for a round and weights.
        tolerance: no more rounds follow a step with no part larger than this, in parts of the largest weight.
    """
    if not rounds:
        return start
    drawn = np.full((len(start), 1), ridge)
    drawn[0] = 0.0
    step = np.linalg.inv(curvature / 2 + np.diag(drawn[:, 0]))
    found = start - start.mean(axis=1, keepdims=True)
    ahead, pace = found, 1.0
    for number in range(rounds):
        moved = step @ (gradient(number, ahead) + drawn * ahead)
        new = ahead - moved
        if (moved * (new - found)).sum() > 0:
            ahead, pace = new, 1.0
        else:
            faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
            ahead, pace = new + (pace - 1) / faster * (new - found), faster
        found = new
        if np.abs(moved).max() < tolerance * max(1.0, float(np.abs(new).max())):
            break
    return np.asarray(found)
