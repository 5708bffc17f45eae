"""Noisy class sums and products, and the linear discriminant computed from them.

A row is (1, x₁ … x_m) in whole numbers in [−K, K], with 1 as K. Asked for are, as one vector: K² and K·x_j of the rows
of each class, (K² − x_j²)/2 and x_i·x_j (i < j) of all rows. Squares enter as in :mod:`.central.sums`, where
they cost nothing beside x_j: K·|x_j| + (K² − x_j²)/2 ≤ K². A row whose L1 norm is above a public limit is multiplied as
a whole by the number below 1 that brings it there, the 1 included: it only counts for less.

Rounds along the noisy gradient: from the linear discriminant to the ordinary logistic regression.

Böhning (1992): the curvature of the multinomial loss is at most half of Σ z·zᵀ, z = (1, x), for each class, so that
steps with half of that matrix, asked for once with the sums, never overshoot. A round asks for Σ (p − e_y)·z over the
rows, p being the probabilities so far; steps gain speed after Nesterov and start anew where they would turn back.

What is counted of a row must not depend on the rows beside it, not even in the last bit: heights are sums by column,
and the exponential is read from a table, as a processor may compute it differently at the end of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workbench.learners.denoise import class_means, class_sizes
from workbench.privacy.central.sums import heights, l1_norms, within_limit
from workbench.signals.cancel import check_here

Doubles = NDArray[np.float64]
Whole = NDArray[np.int64]
Norms = Callable[[Whole], Whole]

_FINE = 1 << 14
_FAR = 30
_BLOCK = 1 << 18  # numbers held at a time: with more, a round takes up to three times as long


@lru_cache(maxsize=1)
def _exponentials() -> Doubles:
    """Return e^(−i/2^14) for i up to 30·2^14."""
    return np.exp(-np.arange(_FAR * _FINE + 1) / _FINE)


def probabilities(heights_: Doubles) -> Doubles:
    """Return the probabilities of the classes (n, k); each row the same whatever is beside it."""
    below = heights_.max(axis=1, keepdims=True) - heights_
    odds = _exponentials()[np.rint(np.minimum(below, _FAR) * _FINE).astype(np.int64)]
    total = np.zeros(len(odds))
    for c in range(odds.shape[1]):
        total += odds[:, c]
    return np.asarray(odds / total[:, None])


def gradient_sum(
    places: Doubles,
    classes: Whole,
    weights: Doubles,
    size: int,
    limit: int,
    norms: Norms = l1_norms,
    seen: Callable[[Doubles], Doubles] = np.asarray,
) -> list[int]:
    """Return the sum of :func:`gradients` over the rows, a block of them at a time; ``seen`` makes their columns."""
    total = np.zeros(weights.size, dtype=np.int64)
    block = max(1, _BLOCK // weights.size)
    for first in range(0, len(places), block):
        check_here()
        here = slice(first, first + block)
        total += gradients(seen(places[here]), classes[here], weights, size, limit, norms).sum(axis=0)
    return [int(v) for v in total]


def gradients(
    places: Doubles, classes: Whole, weights: Doubles, size: int, limit: int, norms: Norms = l1_norms
) -> Whole:
    """Return each row's part of the gradient (n, k·(m + 1)) in whole numbers of 1/K, its norm within ``limit``."""
    rest = probabilities(heights(places, weights))
    rest[np.arange(len(classes)), classes] -= 1
    z = np.column_stack([np.ones(len(places)), places])
    parts = np.rint(rest[:, :, None] * z[:, None, :] * size).astype(np.int64).reshape(len(places), -1)
    return within_limit(parts, norms, limit)


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


_SPREAD = 0.4  # prior deviation of class means about the common mean, in half-ranges
_FLAT = 1e-4
_TINY = 1e-9
_LEAST_WEIGHT = 0.3


def norms(rows: Whole) -> Whole:
    """Return the L1 norm of each row's part in the sums (n,), for rows (n, m + 1) with the 1 first."""
    one, x = rows[:, :1], rows[:, 1:]
    total, squares = np.abs(x).sum(axis=1), (x * x).sum(axis=1)
    own = one[:, 0] * (one[:, 0] + total) + _complements(rows).sum(axis=1)
    return np.asarray(own + (total * total - squares) // 2)


def _complements(rows: Whole) -> Whole:
    one, x = rows[:, :1], rows[:, 1:]
    return np.asarray((one * one - x * x) // 2)


def weighted(rows: Whole, limit: int) -> Whole:
    """Return the rows (n, m + 1), those with a norm above ``limit`` brought down to it by one factor for the row."""
    return within_limit(rows, norms, limit, squared=True)


def class_sums(rows: Whole, classes: Whole, count: int) -> list[int]:
    """Return the sums: (1, x) of each class, then squares and products of all rows; exact, as n·K² ≤ 2^52."""
    own = np.zeros((count, rows.shape[1]), dtype=np.int64)
    np.add.at(own, classes, rows[:, :1] * rows)
    x = rows[:, 1:].astype(np.float64)
    crossed = (x.T @ x)[np.triu_indices(x.shape[1], 1)]
    return [int(v) for part in (own.ravel(), _complements(rows).sum(axis=0), crossed) for v in part]


@dataclass(frozen=True)
class Sums:
    """What noisy sums say of the rows, in units of one row and of the encoded scale."""

    weight: float  # of all rows
    shares: Doubles  # of the classes (k,)
    means: Doubles  # of the classes (k, m)
    moments: Doubles  # mean products of (1, x) (m + 1, m + 1)
    by_row: float  # deviation of the noise of each sum, for each unit of weight
    error: float  # variance that the noise left in a class mean, the mean over rows and columns

    def positive_moments(self) -> Doubles:
        """Return the moments with eigenvalues that are at least what noise alone would give them."""
        values, vectors = np.linalg.eigh(self.moments)
        least = 2 * self.by_row * np.sqrt(len(values)) + _TINY
        return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def read_sums(answer: Sequence[int], shape: tuple[int, int], size: int, rows: int, deviation: float) -> Sums:
    """Return what the released sums say, means and sizes drawn to public facts by what the noise is.

    Args:
        answer: released whole numbers.
        shape: number of classes and of columns (k, m).
        size: K.
        rows: public n.
        deviation: of the noise of each sum, in units of one row.
    """
    values = np.array(answer, dtype=np.float64) / float(size) ** 2
    count, m = shape
    own = values[: count * (m + 1)].reshape(count, m + 1)
    squares, crossed = values[count * (m + 1) :][:m], values[count * (m + 1) + m :]
    counts, variance = own[:, 0], deviation**2
    if deviation:
        weight = float(np.clip(counts.sum(), _LEAST_WEIGHT * rows, rows))
        if counts.sum() < _LEAST_WEIGHT * rows - 6 * deviation * np.sqrt(count):  # most rows are empty
            weight = max(float(counts.sum()), 1.0)
    else:
        weight = max(float(counts.sum()), 1.0)
    sizes, remaining = class_sizes(counts, round(weight), variance)
    sizes = np.maximum(sizes, 1e-9)
    raw = np.clip(own[:, 1:] / sizes[:, None], -1, 1)
    noise = (variance + raw**2 * remaining[:, None]) / sizes[:, None] ** 2
    means, believed = np.zeros((count, m)), np.zeros((count, m))
    for j in range(m):
        means[:, j], _, believed[:, j] = class_means(raw[:, j], noise[:, j], _SPREAD)
    moments = np.eye(m + 1)
    first, second = np.triu_indices(m, 1)
    moments[1:, 1:][first, second] = moments[1:, 1:][second, first] = crossed / weight
    diagonal = np.arange(1, m + 1)
    moments[diagonal, diagonal] = np.clip(1 - 2 * squares / weight, 0, 1)
    shares = sizes / sizes.sum()
    moments[0, 1:] = moments[1:, 0] = shares @ means
    # What is in the means that were drawn together: of a rare class they are mostly the common one.
    error = float((shares * (believed**2 * noise).mean(axis=1)).sum())
    return Sums(weight, shares, means, moments, deviation / weight, error)


def discriminant(found: Sums) -> tuple[Doubles, Doubles]:
    """Return weights (m, k) and offsets (k,) of the linear discriminant: the start of all rounds.

    Eigenvalues of the pooled covariance below 0 can only be noise and are set to 0; a ridge follows from the size of
    the noise. Weights are multiplied by the part of the distance of the class means that is more than their noise.
    """
    m = found.means.shape[1]
    centre = found.shares @ found.means
    pooled = found.moments[1:, 1:] - (found.means * found.shares[:, None]).T @ found.means
    values, vectors = np.linalg.eigh(pooled)
    values = np.clip(values, 0, None) + 2 * found.by_row * np.sqrt(m) + 3 * found.by_row**2 * m + _FLAT
    inverse = (vectors / values) @ vectors.T
    away = found.means - centre
    signal = float((found.shares[:, None] * away * (away @ inverse)).sum())
    by_noise = float(np.trace(inverse)) * found.error
    kept = signal / (signal + by_noise) if signal > 0 else 0.0
    weights = inverse @ away.T * kept
    offsets = np.log(found.shares) - kept * (0.5 * (away * (away @ inverse)).sum(axis=1) + away @ inverse @ centre)
    return weights, offsets
