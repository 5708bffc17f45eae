"""A lower bound on ε from one run, by guessing which of many canaries were in it (Steinke, Nasr & Jagielski 2023).

m canaries are each put in or left out by a fair coin. Who sees the output guesses for r of them. If the run is
(ε, δ)-private, at most about a share 1/(1 + e^−ε) of the guesses can be right: their number V obeys

    P(V ≥ v) ≤ P(B ≥ v) + 2mδ·maxᵢ P(v > B ≥ v − i)/i,   B binomial with r trials at 1/(1 + e^−ε)

(their Theorem 5.2). The coins are independent of one another, so one run stands for many; canaries of several runs,
each of which sees its own alone, count together.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError

_FARTHEST = 50.0
_ROUNDS = 40


def chance_of_guesses(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Return the most that P(V ≥ right) can be where the run is (ε, δ)-private."""
    from scipy.stats import binom

    share = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, share))
    if delta == 0 or right == 0:
        return min(1.0, tail)
    below = np.cumsum(binom.pmf(right - np.arange(1, right + 1), guesses, share))
    extra = float(np.max(below / np.arange(1, right + 1)))
    return min(1.0, tail + 2 * canaries * delta * extra)


def epsilon_of_guesses(canaries: int, guesses: int, right: int, *, alpha: float, delta: float) -> float:
    """Return a lower bound on ε that is above the true one with probability at most ``alpha``.

    Args:
        canaries: m, put in or left out by fair coins.
        guesses: r, fixed before the run.
        right: how many of them were right.
        alpha: 1 − confidence.
        delta: δ of the claim; with mδ near α nothing can be proved.

    Raises:
        ParameterError: the counts do not fit together.
    """
    if not 0 <= right <= guesses <= canaries or guesses < 1:
        raise ParameterError(f"{right} right guesses of {guesses} on {canaries} canaries are not possible")
    low, high = 0.0, _FARTHEST
    if chance_of_guesses(canaries, guesses, right, low, delta) > alpha:
        return 0.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        fits = chance_of_guesses(canaries, guesses, right, middle, delta) <= alpha
        low, high = (middle, high) if fits else (low, middle)
    return low


def right_guesses(evidence: NDArray[np.float64], present: NDArray[np.bool_], guesses: int) -> int:
    """Return how many guesses are right: in where the evidence is above 0, for those where it is farthest from it.

    Args:
        evidence: log-likelihood ratios of "in" to "out", one for each canary.
        present: which canaries were in.
        guesses: for how many to guess.
    """
    chosen = np.argsort(-np.abs(evidence), kind="stable")[:guesses]
    return int(np.sum((evidence[chosen] > 0) == present[chosen]))


def scale_bounds(squares: float, count: int, *, alpha: float) -> tuple[float, float]:
    """Return the confidence interval of a standard deviation from the sum of ``count`` squares of centred normals."""
    from scipy.stats import chi2

    low, high = (squares / chi2.ppf(1 - alpha / 2, count), squares / chi2.ppf(alpha / 2, count))
    return math.sqrt(low), math.sqrt(high)
