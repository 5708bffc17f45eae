"""Laplace noise, on real numbers and on a grid of whole ones.

Density ε/(2Δ)·e^(−ε|x|/Δ) (Dwork, McSherry, Nissim & Smith 2006); on whole numbers (1−b)/(1+b)·b^|k| with b = e^(−ε/Δ)
(Ghosh, Roughgarden & Sundararajan 2012). A shift by Δ changes either by a factor of at most e^ε.
"""

from __future__ import annotations

import math

from workbench.privacy.central.mechanisms.base import TAIL_CHANCES, Asked, Card, CentralMechanism, largest_loss

_POINTS = 81


def _laplace(asked: Asked) -> Card:
    asked.checked()
    scale = asked.sensitivity / asked.epsilon
    reach = 4 * scale + asked.sensitivity
    outputs = tuple(reach * (2 * k / (_POINTS - 1) - 1) for k in range(_POINTS))
    densities = tuple(math.exp(-abs(x) / scale) / (2 * scale) for x in outputs)
    neighbours = tuple(math.exp(-abs(x - asked.sensitivity) / scale) / (2 * scale) for x in outputs)
    tails = tuple((-scale * math.log(chance), chance) for chance in TAIL_CHANCES)
    loss = largest_loss(densities, neighbours)
    return Card("laplace", asked.epsilon, 0.0, loss, scale, scale, 2 * scale**2, tails, outputs, densities, neighbours)


def _discrete(asked: Asked) -> Card:
    asked.checked(whole=True)
    rate, shift = asked.epsilon / asked.sensitivity, round(asked.sensitivity)
    b, least = math.exp(-rate), -math.expm1(-rate)
    reach = min(2000, math.ceil(4 / rate) + 2 * shift)
    step = max(1, 2 * reach // 400)
    whole = range(-reach, reach + 1, step)

    def density(k: int) -> float:
        return least / (1 + b) * math.exp(-rate * abs(k))

    densities = tuple(density(k) for k in whole)
    neighbours = tuple(density(k - shift) for k in whole)
    # P(|X| ≥ t) = 2·b^t/(1 + b) for t ≥ 1: the least whole t at which it is not above the chance.
    tails = []
    for chance in TAIL_CHANCES:
        t = max(1, math.ceil(math.log(2 / ((1 + b) * chance)) / rate))
        tails.append((t - 1.0, 2 * math.exp(-rate * t) / (1 + b)))
    return Card(
        "discrete-laplace",
        asked.epsilon,
        0.0,
        largest_loss(densities, neighbours),
        1 / rate,
        2 * b / (least * (1 + b)),
        2 * b / least**2,
        tuple(tails),
        tuple(float(k) for k in whole),
        densities,
        neighbours,
        "OpenDP, in exact arithmetic; counts, sums and histograms here use it",
    )


LAPLACE = CentralMechanism(
    name="laplace",
    title="Laplace",
    summary="Noise on a real number; for study only, as rounding leaks information: releases use discrete-laplace.",
    recipe=_laplace,
)
DISCRETE_LAPLACE = CentralMechanism(
    name="discrete-laplace",
    title="Discrete Laplace",
    summary="Whole-number noise on counts and on sums over a public grid; pure ε.",
    recipe=_discrete,
)
