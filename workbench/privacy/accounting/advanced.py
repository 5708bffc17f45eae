"""Composition of releases of which only (ε, δ) is known: Dwork & Roth's bound, and the optimal one.

Each (εᵢ, δᵢ) release is worth no more than: with probability δᵢ everything is revealed, else a coin that is right with
probability e^εᵢ/(1 + e^εᵢ) (Kairouz, Oh & Viswanath 2015). So with D the sum of the coins' losses ±εᵢ, the whole is
(ε, δ)-private if and only if  1 − Π(1 − δᵢ)·(1 − E[(1 − e^(ε−D))₊]) ≤ δ. Here D's distribution is enumerated exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.accounting.compose import advanced_epsilon

MOST_OUTCOMES = 1 << 20
"""Most values of the sum of losses that are enumerated."""

_MOST_COUNT = 10**5
_ROUNDING = 1e-15
"""Taken off δ: above the rounding of the sums of probabilities."""
_MARGIN = 1e-12
"""Added to ε, relative to the sum: above the rounding of its terms."""


def dwork_roth(pure: Mapping[Decimal, int], slack: float) -> float:
    """Return ε by Dwork & Roth 2014, Theorem 3.20, at a further δ of ``slack``; it is for releases of one ε.

    Smaller releases are counted as the largest one.
    """
    largest, count = max(pure), sum(pure.values())
    return advanced_epsilon(float(largest), count, slack) * (1 + _MARGIN)


def optimal(pure: Mapping[Decimal, int], slack: float) -> float | None:
    """Return the least ε at a further δ of ``slack``; ``None`` where D has too many values to enumerate.

    Args:
        pure: how many releases have each ε.
        slack: δ beyond that of the releases, above 0.
    """
    outcomes = 1
    for count in pure.values():
        outcomes *= count + 1
        if outcomes > MOST_OUTCOMES or count > _MOST_COUNT:
            return None
    losses, logs, error = _distribution(pure)
    order = np.argsort(-losses, kind="stable")
    losses, masses = losses[order], np.exp(logs[order])
    top = float(losses[0]) * (1 + _MARGIN)  # the plain sum
    slack = slack / (1 + error) - _ROUNDING
    if slack <= 0:
        return top
    # δ(ε) = Σ over D > ε of p·(1 − e^(ε−D)) is linear in e^ε between two values of D.
    upper = np.cumsum(masses)
    tilted = np.cumsum(masses * np.exp(losses[0] - losses))
    deltas = upper - np.exp(losses - losses[0]) * tilted
    within = max(1, int(np.searchsorted(deltas, slack, side="right")))
    rest = float(upper[within - 1]) - slack
    epsilon = float(losses[0]) + math.log(rest / float(tilted[within - 1])) if rest > 0 else 0.0
    return min(top, max(epsilon, 0.0) + _MARGIN * top)


def _distribution(pure: Mapping[Decimal, int]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return (values of D, logarithms of their probabilities, largest relative error of a probability)."""
    from scipy.special import gammaln

    losses, logs, error = np.zeros(1), np.zeros(1), 1e-14
    for epsilon, count in pure.items():
        loss = float(epsilon)
        wrong = np.arange(count + 1, dtype=np.float64)
        ways = gammaln(count + 1) - gammaln(wrong + 1) - gammaln(count - wrong + 1)
        one = ways - wrong * loss - count * math.log1p(math.exp(-loss))
        error += 1e-15 * (3 * float(gammaln(count + 1)) + count * (loss + 1))
        losses = (losses[:, None] + (count - 2 * wrong) * loss).ravel()
        logs = (logs[:, None] + one).ravel()
    return losses, logs, error
