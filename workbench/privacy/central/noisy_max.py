"""Report noisy max over counts, drawn exactly: the place of a count that is the largest, or nearly so.

Report noisy max with one-sided exponential noise is permute-and-flip (McKenna & Sheldon 2020; Ding et al. 2021): each
choice is accepted with the chance e^(ε·(s − max)/Δ), and one of the accepted is drawn evenly. All scores move in one
direction under zero-out neighbours (an empty row lowers one count by 1 and raises none), so that noise of scale Δ/ε,
half of what scores in general need, costs ε: with the others' noise given, choice i wins if its own is above t, one
row moves t by at most Δ, and the chance to be above it changes by a factor of at most e^ε.

The same proof holds for any scores ln w that one row moves in one direction by at most ε. The chances are therefore
ratios of the whole-number weights of :mod:`workbench.privacy.central.exponential`, whose rounding is taken off ε.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from workbench.privacy.accounting.compose import last_that
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.exponential import SLACK, exponential_weights

_RISK = 0.05


def noisy_max_weights(scores: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
    """Return whole numbers w: choice i is accepted with the chance wᵢ/max w.

    Args:
        scores: whole numbers; one row moves all of them in one direction, by at most ``sensitivity``.
        sensitivity: Δ.
        epsilon: ε of the choice.

    Raises:
        ParameterError: there is no score, or ε or a score is out of range.
    """
    return exponential_weights(scores, sensitivity, 2 * epsilon)


def noisy_max(scores: Sequence[int], sensitivity: int, epsilon: float, noise: CentralNoise) -> int:
    """Return the place of one score; it costs ε. Every choice is drawn for, however early one is accepted.

    Args:
        scores: as for :func:`noisy_max_weights`.
        sensitivity: Δ.
        epsilon: ε of the choice.
        noise: where the randomness comes from.
    """
    weights = noisy_max_weights(scores, sensitivity, epsilon)
    top = max(weights)
    accepted = [place for place, weight in enumerate(weights) if noise.below(top) < weight]
    return accepted[noise.below(len(accepted))]


@lru_cache(maxsize=4096)
def clear_lead(choices: int, epsilon: float) -> int:
    """Return the least lead t, in units of Δ, at which 95 % of draws are right, whatever the scores.

    A choice at least t behind the best one is drawn most often where all others are exactly t behind: with p = e^(−εt)
    the chance is 1 − (1 − (1 − p)^K)/(K·p). So with 95 % the choice is also fewer than t behind the best.

    Args:
        choices: K.
        epsilon: ε of the choice.
    """

    def wrong(lead: int) -> float:
        p = math.exp(-(epsilon - SLACK) * lead)
        if p in (0.0, 1.0):
            return 0.0 if p == 0 else 1 - 1 / choices
        return 1 + math.expm1(choices * math.log1p(-p)) / (choices * p)

    high = 1
    while wrong(high) > _RISK:
        high *= 2
    return 1 + last_that(lambda lead: lead < 0 or wrong(lead) > _RISK, -1 if high == 1 else high // 2, high)
