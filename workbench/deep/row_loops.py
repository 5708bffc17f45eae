"""Loops over rows' own gradients: a few at a time, so that they are still in the cache when their factors are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.deep.compiled import loops

Floats = NDArray[np.float32]

FEW = 16
"""Rows whose gradients are made at once."""

_ZERO = np.float32(0)


@loops
def squares_of(of_weight: Floats, of_bias: Floats, squares: Floats) -> None:
    """Write the squared norms (r,) of rows' gradients of a weight (r, n) and a bias (r, k)."""
    for i in range(len(squares)):
        square = _ZERO
        weight, bias = of_weight[i], of_bias[i]
        for j in range(len(weight)):
            square += weight[j] * weight[j]
        for j in range(len(bias)):
            square += bias[j] * bias[j]
        squares[i] = square


@loops
def add_weighted(of_weight: Floats, of_bias: Floats, factors: Floats, weight: Floats, bias: Floats) -> None:
    """Add rows' gradients, each times its factor (r,), to the sums of a weight (n,) and a bias (k,).

    Rows with the factor 0 are left out: they may hold ∞, and 0·∞ is not a number.
    """
    for i in range(len(factors)):
        factor, more, ends = factors[i], of_weight[i], of_bias[i]
        if factor == _ZERO:
            continue
        for j in range(len(weight)):
            weight[j] += factor * more[j]
        for j in range(len(bias)):
            bias[j] += factor * ends[j]


@loops
def begin_squares(h: Floats, squares: Floats) -> None:
    """Write 1 + ‖h‖² of what enters a layer (b, d)."""
    for i in range(len(h)):
        row, square = h[i], np.float32(1)
        for j in range(len(row)):
            square += row[j] * row[j]
        squares[i] = square
