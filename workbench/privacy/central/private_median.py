"""A private median of values on a public grid, any one of which may change to any other.

Both ways turn the values into one whole number for each cell of the grid, its weight, and draw a cell with exactly
that weight over their sum (:meth:`CentralNoise.below`): no noise is added to a number.

*Exponential* (McSherry & Talwar 2007): the loss of a cell is by how many values it misses being a median, max(#{v < c},
#{v > c}) − ⌊n/2⌋, at least 0. One changed value moves every loss by at most 1, so the weight e^(−ε·loss/2) costs ε.
Losses beyond :data:`_FARTHEST`/ε count as that much, which keeps them as stable and the weights short.

*Smooth* (Nissim, Raskhodnikova & Smith 2007): median + s·Cauchy, s = S/α, S the β-smooth sensitivity, rounded to the
nearest cell and to the ends of the grid, which is post-processing: a cell's probability is a difference of the
distribution function. The logarithm of the Cauchy density h has slopes within ±1, both along z, as |h'/h| =
2|z|/(1+z²) ≤ 1, and along the logarithm of its scale, |1 − 2z²/(1+z²)| ≤ 1. A neighbour's median is shifted by at most
α scales, which costs α, and its scale differs by e^(±β), which costs β: ε = α + β, here one half each. (The paper's
general lemma has α = β = ε/6 for the same noise: three times the scale at a slower S.)

*Rounding.* A weight is a double of at most 2⁻⁴⁸ relative error, or a decimal of 50 digits, rounded to a whole number of
at least 2⁵⁰; S is off by at most 2⁻⁴⁷ of itself. All of it together changes ε by less than :data:`SLACK`, which is
taken off beforehand. The tests compute the exact ratios of the whole numbers.

Neighbours: one *value* is any other. Where a row of a table is in one value only, that is one row emptied (zero-out)
and one row replaced alike.

The smooth sensitivity of the median.

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

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np

from workbench.params import ParameterError
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.exponential import drawn_by


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


EXPONENTIAL, SMOOTH = "exponential", "smooth"

EPSILON_LEAST = 1e-6
EPSILON_CAP = {EXPONENTIAL: 50.0, SMOOTH: 1000.0}
"""A larger ε uses the weights of this one, at which the median is nearly certain."""

SLACK = 2.0**-36  # what is taken off ε for the rounding of the weights

MOST_CELLS = 4096

_FARTHEST = 200.0  # twice the exponent of the least weight: e^-100
_LEAST_BITS = 64  # of the least weight of a loss
_LEAST_SPREAD = 2.0**-10  # of a cell: S is at least this, so that no weight of a cell vanishes
_CAUCHY_BITS = 96  # of all weights: a cell has at least 2^-46 of them


def _used(aggregate: str, epsilon: float) -> float:
    if not EPSILON_LEAST <= epsilon < math.inf:
        raise ParameterError(f"epsilon = {epsilon:g} of a median is below {EPSILON_LEAST:g}", hint="give a larger one")
    return min(epsilon, EPSILON_CAP[aggregate]) - SLACK


@lru_cache(maxsize=64)
def _loss_weights(most: int, epsilon: float) -> tuple[int, ...]:
    """Return the whole-number weight of each loss 0 … most; beyond the farthest loss all are alike."""
    used = _used(EXPONENTIAL, epsilon)
    farthest = max(1, math.floor(_FARTHEST / used))
    with localcontext() as context:
        context.prec = 50
        unit = Decimal(2) ** _LEAST_BITS * (Decimal(used) / 2 * min(most, farthest)).exp()
        found = [int(unit * (-Decimal(used) / 2 * loss).exp()) for loss in range(min(most, farthest) + 1)]
    return (*found, *[found[-1]] * (most + 1 - len(found)))


def exponential_weights(cells: Sequence[int], size: int, epsilon: float) -> list[int]:
    """Return the weight of each cell of the grid (size,) by the exponential mechanism.

    Args:
        cells: the values as sorted cells 0 … size − 1; at least one.
        size: number of cells of the grid.
        epsilon: ε of one median.
    """
    count, grid = len(cells), np.arange(size)
    below = np.searchsorted(cells, grid, side="left")
    above = count - np.searchsorted(cells, grid, side="right")
    losses = np.maximum(np.maximum(below, above) - count // 2, 0)
    weights = _loss_weights(count - count // 2, epsilon)
    return [weights[loss] for loss in losses]


def smooth_weights(cells: Sequence[int], size: int, epsilon: float) -> list[int]:
    """Return the weight of each cell of the grid (size,) by Cauchy noise of the scale of the smooth sensitivity.

    Args:
        cells: the values as sorted cells 0 … size − 1; at least one.
        size: number of cells of the grid.
        epsilon: ε of one median.
    """
    alpha = beta = _used(SMOOTH, epsilon) / 2
    scale = max(median_sensitivity(cells, beta, 0, size - 1), _LEAST_SPREAD) / alpha
    median = cells[median_place(len(cells)) - 1]
    borders = [(cell - 0.5 - median) / scale for cell in range(1, size)]
    # arctan b − arctan a at once, with b − a = 1/scale: a difference of two angles would lose its digits.
    angles = [math.atan2(1 / scale, 1 + a * b) for a, b in itertools.pairwise(borders)]
    angles = [math.atan2(1, -borders[0]), *angles, math.atan2(1, borders[-1])]
    return [int(math.ldexp(angle / math.pi, _CAUCHY_BITS)) for angle in angles]


_WAYS: dict[str, Callable[[Sequence[int], int, float], list[int]]] = {
    EXPONENTIAL: exponential_weights,
    SMOOTH: smooth_weights,
}
AGGREGATES = tuple(_WAYS)


def median_weights(aggregate: str, cells: Sequence[int], size: int, epsilon: float) -> list[int]:
    """Return the whole-number weight of each cell of the grid (size,); the arguments are :func:`private_median`'s.

    Raises:
        ParameterError: ε is too small, or the values are not sorted cells of a grid.
    """
    if not 2 <= size <= MOST_CELLS or not cells or not 0 <= cells[0] <= cells[-1] < size:
        raise ParameterError("the values of a median are not sorted cells of its grid")
    return _WAYS[aggregate](cells, size, epsilon)


def private_median(aggregate: str, cells: Sequence[int], size: int, epsilon: float, noise: CentralNoise) -> int:
    """Return one drawn cell; it costs ε.

    Args:
        aggregate: one of :data:`AGGREGATES`.
        cells: the values as sorted cells 0 … size − 1; at least one.
        size: number of cells of the grid, 2 to :data:`MOST_CELLS`.
        epsilon: ε of this median.
        noise: where the randomness comes from.
    """
    return drawn_by(median_weights(aggregate, cells, size, epsilon), noise)


def median(cells: Sequence[int]) -> int:
    """Return the median of sorted cells without noise; the lower one of an even number."""
    return cells[median_place(len(cells)) - 1]
