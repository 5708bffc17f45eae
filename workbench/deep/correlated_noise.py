"""Noise that takes back in later steps a part of what it added in earlier ones: banded matrix factorisation.

What a model becomes depends on the sums x₁ … x_T by their prefix sums A·x; A is the lower triangle of ones. Released is
A·(x + C⁻¹·Z), of independent noise Z: the noise of step t is the t-th row of C⁻¹·Z. As a function of C·x + Z it costs
what that costs. C is the lower triangular Toeplitz matrix whose column is :func:`column`: A to the power a, cut to b
bands and divided by a number, a being :func:`power_for`'s. At a = ½ it is the banded square root of Kalinin & Lampert
2024; with the best a errors are within 1 % of those of the best b numbers, for b up to a fourth of the steps.

**What it costs.** A row takes part in every b-th step at most (:class:`.poisson.InTurn`). What it adds to C·x at one of
its turns is its clipped gradient times a column of C, which is no longer than 1 and ends before the row's next turn. So
a turn is one Gaussian mechanism with one coin (Choquette-Choo et al. 2023, arXiv 2306.08153, Theorem 4;
:meth:`~workbench.privacy.accounting.event.PoissonGaussian.independent`).

**Pauses.** A run that goes on begins with no former noise: C has its first column again from there on, and the columns
before it end at the pause. They are shorter, and overlap with no more, so that the guarantee is the same, also where
somebody pauses by what she saw: who is shown whole columns learns at least as much. So a checkpoint holds none of the
former noise, with which whoever has it would know the sums themselves.

**A clipping norm that moves** follows from what was released before. Then x holds each step's sum divided by the norm
of that step, and what is released is multiplied by it again.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_POWERS = tuple(k / 100 for k in range(50, 100))

_MOST_LOOKED_AT = 2**13
"""Most steps by which a power is chosen. More would hardly change it, and no guarantee depends on it."""


def column(power: float, bands: int) -> Floats:
    """Return the numbers (bands,) of a column of C, the first of them on its diagonal; their norm is 1 at most.

    They are those of (1 − x)^−power = Σ cₖxᵏ, all times one number: c₀ = 1, cₖ = cₖ₋₁·(power + k − 1)/k.
    """
    k = np.arange(1, bands)
    found: Floats = np.cumprod(np.concatenate([[1.0], (power + k - 1) / k]))
    found /= np.linalg.norm(found) * (1 + 2.0**-40)
    return found


def sum_error(steps: int, power: float, bands: int) -> float:
    """Return the root mean square error of all prefix sums of ``steps`` steps, of independent noise of 1 in C·x + Z.

    It is ‖A·C⁻¹‖/√steps in the Frobenius norm. Independent noise in each step has √((steps + 1)/2).
    """
    from scipy.signal import lfilter

    weights = lfilter([1.0], column(power, bands), np.ones(steps))  # Σᵢ≤ₖ of the first column of C⁻¹
    return float(np.sqrt(np.arange(steps, 0, -1) @ np.square(weights) / steps))


@lru_cache(maxsize=64)
def power_for(steps: int, bands: int) -> float:
    """Return the power, in hundredths from ½ to 1, with the least error of the prefix sums; public, as both numbers."""
    looked_at = min(steps, _MOST_LOOKED_AT)
    return min(_POWERS, key=lambda power: sum_error(looked_at, power, bands))


class CorrelatedNoise:
    """Rows of C⁻¹·Z, one after the other, from the rows of Z and the last ``bands`` − 1 rows that were made."""

    def __init__(self, steps: int, bands: int) -> None:
        """Begin a run of so many steps, or what is left of one."""
        self._column = column(power_for(steps, bands), bands).tolist()
        self._made: Floats | None = None
        self._place = 0

    def next(self, fresh: Floats) -> Floats:
        """Return the noise of the next step from independent noise (P,)."""
        first, *others = self._column
        if self._made is None:
            self._made = np.full((len(others), len(fresh)), 0.0)  # all at once: what they take is seen after a step
        noise: Floats = fresh / first
        for back, weight in enumerate(others, 1):
            noise -= (weight / first) * self._made[self._place - back]
        self._made[self._place] = noise
        self._place = (self._place + 1) % len(others)
        return noise

    def forget(self) -> None:
        """Go on as after a pause."""
        self._made, self._place = None, 0
