"""The sums that linear regression is made of, with L1 sensitivities that hold in whole numbers.

A row is z = (1, x₁ … x_m, y), each part a whole number in [−K, K] with 1 as K. Two sets of sums can be asked for:

*Adaptive* (after Wang 2018, AdaSSP, with pure ε and weights for rows): Σ z_i·z_j for i ≤ j, without Σ y². The L1 norm
of a row's part is (‖z‖₁² + ‖z‖₂²)/2 − y². A row whose norm is above a public limit is multiplied by the number below 1
that brings it there: as a whole, the 1 included, so that it keeps its place on the regression line and only counts for
less. The limit is the sensitivity.

*Functional* (Zhang et al. 2012): the coefficients of the loss Σ(y − w·z)² as a polynomial in w, that is Σ z_i², 2·Σ
z_i·z_j for i < j and −2·Σ y·z_i. With p parts beside y, the sensitivity is p² + 2p: all parts at ±1. The paper's
2(1+d)² is for x within a ball and is too small with an intercept (d = 1 under replace-one: 9, not 8).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.learners.second_moments import product_norms, product_sums, symmetric
from workbench.learners.sums import within_limit


def pairs(parts: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index pairs (i, j), i ≤ j, of z without (y, y), where z has ``parts`` parts beside y."""
    first, second = np.triu_indices(parts + 1)
    return first[:-1], second[:-1]


def largest_norm(parts: int) -> int:
    """Return the largest L1 norm of a row's products in units of K²: the number of pairs."""
    return (parts + 1) * (parts + 2) // 2 - 1


def functional_sensitivity(parts: int) -> int:
    """Return the L1 sensitivity of the coefficients of the loss, zero-out, in units of K²; Σ y² is not released."""
    return parts * parts + 2 * parts


def norms(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the L1 norm of each row's products (n,), for rows (n, p + 1) with y last; y² is not asked for."""
    return product_norms(rows) - rows[:, -1] ** 2


def weighted(rows: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the rows with each one's norm brought down to ``limit`` by one factor for the whole row.

    Products are cut towards 0, so that rounding never adds to a norm.
    """
    return within_limit(rows, norms, limit, squared=True)


def products(rows: NDArray[np.int64]) -> list[int]:
    """Return Σ z_i·z_j for the pairs of :func:`pairs`; exact, as n·K² ≤ 2^52."""
    return product_sums(rows)[:-1]


def coefficients(rows: NDArray[np.int64]) -> list[int]:
    """Return the coefficients of Σ(y − w·z)²: each w_i², then 2·w_i·w_j and −2·w_i in the order of :func:`pairs`."""
    first, second = pairs(rows.shape[1] - 1)
    last = rows.shape[1] - 1
    factor = np.where(second == last, -2, np.where(first == second, 1, 2))
    return [int(f) * v for f, v in zip(factor, products(rows), strict=True)]


def gram(answer: list[int], parts: int, size: int, *, functional: bool) -> NDArray[np.float64]:
    """Return the symmetric matrix of Σ z_i·z_j (p + 1, p + 1) in units of one, 0 for (y, y), from released numbers."""
    values = np.array(answer, dtype=np.float64) / float(size) ** 2
    if functional:
        first, second = pairs(parts)
        values = values / np.where(second == parts, -2.0, np.where(first == second, 1.0, 2.0))
    return symmetric([*values, 0.0], parts + 1)
