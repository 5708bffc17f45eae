"""One of several choices by a noisy score.

Exponential: weight e^(ε·s/(2Δ)) (McSherry & Talwar 2007). Report noisy max: the largest score after one-sided
exponential noise of scale 2Δ/ε, which is permute-and-flip (McKenna & Sheldon 2020; Ding et al. 2021): with
w = e^(ε·(s − max)/(2Δ)) choice i has probability wᵢ·∫₀¹ Π over j ≠ i of (1 − wⱼ·t) dt. It is never worse.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from workbench.privacy.central.mechanisms.base import TAIL_CHANCES, Asked, Card, CentralMechanism, largest_loss

Chances = Callable[[Sequence[float], float], tuple[float, ...]]


def exponential_chances(scores: Sequence[float], rate: float) -> tuple[float, ...]:
    """Return the probability of each choice, ``rate`` = ε/(2Δ)."""
    best = max(scores)
    weights = [math.exp(rate * (score - best)) for score in scores]
    return tuple(w / math.fsum(weights) for w in weights)


def noisy_max_chances(scores: Sequence[float], rate: float) -> tuple[float, ...]:
    """Return the probability of each choice, ``rate`` = ε/(2Δ)."""
    best = max(scores)
    weights = [math.exp(rate * (score - best)) for score in scores]
    found = []
    for i, own in enumerate(weights):
        product = np.polynomial.Polynomial([1.0])
        for j, other in enumerate(weights):
            if j != i:
                product *= np.polynomial.Polynomial([1.0, -other])
        found.append(own * float(product.integ()(1.0)))
    return tuple(found)


def _card(name: str, asked: Asked, chances: Chances, drawn_by: str) -> Card:
    asked.checked(scores=True)
    rate = asked.epsilon / (2 * asked.sensitivity)
    own = chances(asked.scores, rate)
    # One row may move every score by Δ, up or down: the worst neighbour is at a corner.
    corners = itertools.product((-asked.sensitivity, asked.sensitivity), repeat=len(asked.scores))
    worst, neighbours = -1.0, own
    for moves in corners:
        other = chances([s + m for s, m in zip(asked.scores, moves, strict=True)], rate)
        loss = largest_loss(own, other)
        if loss > worst:
            worst, neighbours = loss, other
    best, number = max(asked.scores), len(asked.scores)
    behind = math.fsum(p * (best - s) for p, s in zip(own, asked.scores, strict=True))
    tails = tuple((math.log(number / chance) / rate, chance) for chance in TAIL_CHANCES)
    outputs = tuple(float(k) for k in range(number))
    return Card(name, asked.epsilon, 0.0, worst, None, behind, None, tails, outputs, own, neighbours, drawn_by)


EXPONENTIAL = CentralMechanism(
    name="exponential",
    title="Exponential mechanism",
    summary="Chooses one of several options by score; used here to choose columns, medians and quantiles.",
    recipe=lambda asked: _card(
        "exponential", asked, exponential_chances, "exact whole-number weights, with the system's random bits"
    ),
)
REPORT_NOISY_MAX = CentralMechanism(
    name="report-noisy-max",
    title="Report noisy max (permute-and-flip)",
    summary="Chooses one of several options by score, closer to the best than the exponential mechanism; used "
    "for most frequent values. Counts are monotonic, so they need half of this noise.",
    recipe=lambda asked: _card(
        "report-noisy-max", asked, noisy_max_chances, "exact whole-number weights, with the system's random bits"
    ),
)
