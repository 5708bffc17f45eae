"""Sums of products of the columns of a table in whole numbers, for learners that work on such a matrix.

A row is z = (z₁ … z_p), each part a whole number. Its part in (Σ z_i·z_j, i ≤ j) has the L1 norm (‖z‖₁² + ‖z‖₂²)/2,
which is what removing it changes (zero-out neighbours).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def product_norms(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the L1 norm of each row's products (n,), for rows (n, p)."""
    total = np.abs(rows).sum(axis=1)
    norm: NDArray[np.int64] = (total * total + (rows * rows).sum(axis=1)) // 2
    return norm


def product_sums(rows: NDArray[np.int64]) -> list[int]:
    """Return Σ z_i·z_j for i ≤ j, row by row of the upper triangle; exact while every sum is below 2^53."""
    # Whole numbers as doubles: their products and sums are exact in any order, so that BLAS may add them as it likes.
    z = rows.astype(np.float64)
    return [int(v) for v in (z.T @ z)[np.triu_indices(rows.shape[1])]]


def symmetric(sums: ArrayLike, parts: int) -> NDArray[np.float64]:
    """Return the symmetric matrix (p, p) whose upper triangle is ``sums``, row by row."""
    matrix = np.zeros((parts, parts))
    first, second = np.triu_indices(parts)
    matrix[first, second] = sums
    matrix[second, first] = sums
    return matrix
