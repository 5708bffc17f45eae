"""Sums over the rows of a table on a public integer grid, with L1 sensitivities that hold in integers.

Noise is added to integers only, so every record is rounded *before* it is summed: a numeric value x with public
bounds [L, U] becomes i = round(K·(x−c)/h), an integer in [−K, K], about the public centre c = (L+U)/2 with half-range
h = (U−L)/2. Its square enters as t = round((K² − i²)/2K), an integer in [0, K/2].

Why not i² itself: |i| + (K² − i²)/2K = K − (K−|i|)²/2K ≤ K, and the rounding keeps it so, because K − |i| is an
integer. A row's contribution to (Σi, Σt) therefore has an L1 norm of at most K: the sum of squares costs nothing
beside the sum of values, where two separate queries would have to halve ε between them. A row belongs to one class,
so the same holds for the vector of these sums over all classes, with one Σt or one for each class.

Under zero-out neighbours one row becomes empty and contributes nothing: the L1 distance of two neighbours is the norm
of one contribution.

Sums of products: a row is z = (z₁ … z_p), each part a whole number. Its part in
(Σ z_i·z_j, i ≤ j) has the L1 norm (‖z‖₁² + ‖z‖₂²)/2, which is what removing it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.params import ParameterError

_FINEST_BITS = 30
_SUM_BITS = 60
_NOISE_BITS = 54
_SAFETY, _UP = 1 - 2.0**-40, 1 + 2.0**-40


Bound = float | NDArray[np.float64]
Size = int | NDArray[np.int64]  # of one column; or one for each column of values (n, c)


def grid_size(rows: int, epsilon: float) -> int:
    """Return K, a power of two: as fine as 64-bit sums of ``rows`` rows with noise of scale K/ε allow.

    Args:
        rows: public number of rows.
        epsilon: share of the query; infinite where there is no noise.
    """
    bits = min(_FINEST_BITS, _SUM_BITS - max(rows - 1, 1).bit_length())
    if epsilon < 1:
        bits = min(bits, _NOISE_BITS + math.floor(math.log2(epsilon)))
    return 1 << max(bits, 1)


def on_grid(values: NDArray[np.float64], lower: Bound, upper: Bound, size: Size) -> NDArray[np.int64]:
    """Return round(K·(x−c)/h) for values clamped to the public bounds; NaN is not allowed here."""
    cells = np.rint(scaled(values, lower, upper) * size).astype(np.int64)
    # Again on the integers: the sensitivity must not hang on how a double was rounded.
    return np.clip(cells, -size, size)


def scaled(values: NDArray[np.float64], lower: Bound, upper: Bound) -> NDArray[np.float64]:
    """Return (x−c)/h ∈ [−1, 1] of values clamped to [lower, upper]: the unit of all means and variances here."""
    # Halved before they are added or subtracted: bounds near the largest double stay finite.
    centre, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    if not (half > 0 if isinstance(half, float) else (half > 0).all()):
        close = np.argmin(half)
        lower, upper = np.ravel(lower)[close], np.ravel(upper)[close]
        raise ParameterError(f"the bounds {lower:g} and {upper:g} are too close to divide by their distance")
    return np.clip((np.clip(values, lower, upper) - centre) / half, -1.0, 1.0)


def unscaled(heights: NDArray[np.float64], lower: float, upper: float) -> NDArray[np.float64]:
    """Return the numbers at heights in [−1, 1] between the public bounds, never outside them."""
    share = (heights + 1) / 2
    return np.asarray(np.clip(lower * (1 - share) + upper * share, lower, upper))


def heights(places: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return z·w (n, k) for rows z (n, m), ``weights`` (m + 1, k) having the offsets first; each row by itself."""
    out = np.repeat(weights[:1], len(places), axis=0)
    for j in range(places.shape[1]):
        out += places[:, j, None] * weights[j + 1]
    return out


def parts_of(values: NDArray[np.float64], lower: Bound, upper: Bound, parts: int) -> NDArray[np.int64]:
    """Return in which of so many equal parts of the public bounds each value lies, 0 … ``parts`` − 1; no NaN."""
    place = (scaled(values, lower, upper) + 1) / 2
    return np.minimum((place * parts).astype(np.int64), parts - 1)


def square_complement(cells: NDArray[np.int64], size: Size) -> NDArray[np.int64]:
    """Return round((K² − i²)/2K) in integer arithmetic (halves upwards)."""
    return np.asarray((size * size - cells * cells + size) // (2 * size), dtype=np.int64)


def moment_sums(
    cells: NDArray[np.int64],
    present: NDArray[np.bool_],
    classes: NDArray[np.int64],
    count: int,
    size: Size,
) -> NDArray[np.int64]:
    """Return Σi and Σt of each class and column (2, classes, c); L1 sensitivity ``size`` for each column.

    Args:
        cells: values on the grid (n, c).
        present: which of them are there (n, c); the others contribute nothing.
        classes: class codes (n,), each in 0 … count−1.
        count: number of declared classes.
        size: K, or that of each column (c,).
    """
    width = cells.shape[1]
    places = (classes[:, None] * width + np.arange(width)).ravel()
    found = np.zeros((2, count * width), dtype=np.int64)
    # Integer sums: numpy's bincount with weights would go through doubles.
    for out, values in zip(found, (cells, square_complement(cells, size)), strict=True):
        np.add.at(out, places, np.where(present, values, 0).ravel())
    return found.reshape(2, count, width)


def within_limit(
    rows: NDArray[np.int64],
    norms: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    limit: int,
    *,
    squared: bool = False,
) -> NDArray[np.int64]:
    """Return the rows; one whose norm is above ``limit`` is multiplied by the number below 1 that brings it there.

    Parts are cut towards 0, so that rounding never adds to a norm.

    Args:
        rows: whole numbers (n, m).
        norms: gives the norm of each row (n,): what it adds to the query at most, in L1.
        limit: the public limit, which is the query's sensitivity.
        squared: whether the norm grows with the square of a row's factor, as it does for sums of products.
    """
    found = norms(rows)
    large = found > limit
    out = rows.copy()
    factor = limit / found[large]
    # Not a power: a root is rounded alike at every place of an array, so that a row hangs on itself alone.
    factor = (np.sqrt(factor) if squared else factor) * _SAFETY
    out[large] = np.trunc(rows[large] * factor[:, None]).astype(np.int64)
    # The margin makes this impossible; the sensitivity does not rest on how a double was rounded.
    out[norms(out) > limit] = 0
    return out


def l1_norms(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of the absolute parts of each row (n,)."""
    total: NDArray[np.int64] = np.abs(rows).sum(axis=1)
    return total


def l2_norms(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the root of the sum of squares of each row (n,), rounded up beyond any error of doubles."""
    squares = (rows.astype(np.float64) ** 2).sum(axis=1)
    return np.asarray(np.ceil(np.sqrt(squares) * _UP), dtype=np.int64)


def histogram(codes: NDArray[np.int64], classes: NDArray[np.int64], count: int, cells: int) -> list[int]:
    """Return the number of rows of each class (slowest) and code (fastest); L1 sensitivity 1."""
    return [int(v) for v in np.bincount(classes * cells + codes, minlength=count * cells)]


def product_norms(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the L1 norm of each row's products (n,), for rows (n, p)."""
    total = np.abs(rows).sum(axis=1)
    norm: NDArray[np.int64] = (total * total + (rows * rows).sum(axis=1)) // 2
    return norm


def product_l2_norms(rows: NDArray[np.int64], less: ArrayLike = 0.0) -> NDArray[np.int64]:
    """Return the L2 norm of each row's products (n,), but for those whose squares are ``less``; rounded up."""
    squares = rows.astype(np.float64) ** 2
    total = (squares.sum(axis=1) ** 2 + (squares**2).sum(axis=1)) / 2 - less
    return np.asarray(np.ceil(np.sqrt(total) * _UP), dtype=np.int64)


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
