"""The smooth sensitivity of the median.

Nissim, Raskhodnikova & Smith 2007, "Smooth sensitivity and sampling in private data analysis", STOC, section 3.1.

x₁ ≤ … ≤ x_n lie in public bounds, and one of them may change to anything within these. With sentinels x_i = lower for
i < 1 and x_i = upper for i > n, and the median at place m, the local sensitivity at distance k is the largest
x_{m+t} − x_{m+t−k−1}, 0 ≤ t ≤ k + 1. So

    S = max over i ≤ m ≤ j, i < j of (x_j − x_i) · e^(−β(j−i−1)),

the least upper bound of the local sensitivity whose logarithm moves by at most β from one table to its neighbour. The
exponent is j − i − 1: with j − i, as the
O(n log n) rewriting is sometimes printed, S falls below the local sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def median_place(count: int) -> int:
    """Return m, the place of the median from 1: the lower one of an even number of values."""
    return (count + 1) // 2


def median_sensitivity(values: Sequence[float], beta: float, lower: float, upper: float) -> float:
    """Return S, in the unit of the values, in O(n log n).

    For i the best j does not fall as i rises: where x_i grows, what is lost of the gain is e^(−βj) times a constant,
    less for a larger j. So the best j of the middle i halves the range of both sides.

    Args:
        values: sorted, within the bounds; at least one.
        beta: β, above 0; how fast S may change.
        lower: public lower bound.
        upper: public upper bound.
    """
    x = [lower, *values, upper]
    place, last = median_place(len(values)), len(values) + 1
    best = 0.0
    waiting = [(0, place, place, last)]
    while waiting:
        first_i, last_i, first_j, last_j = waiting.pop()
        if first_i > last_i:
            continue
        i = (first_i + last_i) // 2
        # The scale e^(−β·first_j) is taken out, so that no factor of the comparison is lost to underflow early.
        gains = [(x[j] - x[i]) * math.exp(-beta * (j - first_j)) for j in range(first_j, last_j + 1)]
        j = first_j + max(range(len(gains)), key=gains.__getitem__)
        if j > i:
            best = max(best, (x[j] - x[i]) * math.exp(-beta * (j - i - 1)))
        waiting.append((first_i, i - 1, first_j, j))
        waiting.append((i + 1, last_i, j, last_j))
    return best
