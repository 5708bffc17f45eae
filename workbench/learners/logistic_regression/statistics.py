"""Sums of the rows of each class and of products, and the linear discriminant that is made of them.

A row is (1, x₁ … x_m) in whole numbers in [−K, K], with 1 as K. Asked for are, as one vector: K² and K·x_j of the rows
of each class, (K² − x_j²)/2 and x_i·x_j (i < j) of all rows. Squares enter as in :mod:`workbench.learners.sums`, where
they cost nothing beside x_j: K·|x_j| + (K² − x_j²)/2 ≤ K². A row whose L1 norm is above a public limit is multiplied as
a whole by the number below 1 that brings it there, the 1 included: it only counts for less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.learners.denoise import class_means, class_sizes
from workbench.learners.sums import within_limit

Doubles = NDArray[np.float64]
Whole = NDArray[np.int64]

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
    """What noisy sums say of the rows, in units of one row and of the encoded scale.

    Attributes:
        weight: of all rows.
        shares: of the classes (k,).
        means: of the classes (k, m).
        moments: mean products of (1, x) (m + 1, m + 1).
        by_row: deviation of the noise of each sum, for each unit of weight.
        error: variance that the noise left in a class mean, the mean over rows and columns.
    """

    weight: float
    shares: Doubles
    means: Doubles
    moments: Doubles
    by_row: float
    error: float

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
