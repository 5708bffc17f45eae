"""Gaussian noise: the textbook's σ, the least σ, and whole-number noise.

Classic: Δ·√(2 ln(1.25/δ))/ε (Dwork & Roth 2014, Theorem 3.22). Analytic: Balle & Wang 2018. Discrete: probability
proportional to e^(−k²/2σ²), which is Δ²/(2σ²)-zCDP (Canonne, Kamath & Steinke 2020); its δ is summed exactly.
"""

from __future__ import annotations

import math
from decimal import Decimal

from workbench.params import ParameterError
from workbench.privacy.accounting.gaussian import analytic_sigma, classic_sigma, gaussian_delta
from workbench.privacy.accounting.zcdp import rho_of
from workbench.privacy.central.mechanisms.base import TAIL_CHANCES, Asked, Card, CentralMechanism, largest_loss

_POINTS = 81


def _card(name: str, asked: Asked, sigma: float) -> Card:
    from scipy.special import ndtri

    reach = 4 * sigma + asked.sensitivity
    outputs = tuple(reach * (2 * k / (_POINTS - 1) - 1) for k in range(_POINTS))

    def density(x: float) -> float:
        return math.exp(-((x / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi))

    return Card(
        name,
        asked.epsilon,
        gaussian_delta(asked.epsilon, sigma, asked.sensitivity),
        math.inf,  # grows without end in the tails: what δ is for
        sigma,
        sigma * math.sqrt(2 / math.pi),
        sigma**2,
        tuple((float(-sigma * ndtri(chance / 2)), chance) for chance in TAIL_CHANCES),
        outputs,
        tuple(density(x) for x in outputs),
        tuple(density(x - asked.sensitivity) for x in outputs),
    )


def _classic(asked: Asked) -> Card:
    asked.checked(delta=True)
    card = _card("gaussian-classic", asked, classic_sigma(asked.epsilon, asked.delta, asked.sensitivity))
    if card.delta > asked.delta:
        raise ParameterError(
            f"the classical sigma has a delta of {card.delta:.3g} at epsilon = {asked.epsilon:g}, above "
            f"{asked.delta:g}",
            hint="use gaussian",
        )
    return card


def _analytic(asked: Asked) -> Card:
    asked.checked(delta=True)
    return _card("gaussian", asked, analytic_sigma(asked.epsilon, asked.delta, asked.sensitivity))


def _discrete(asked: Asked) -> Card:
    asked.checked(delta=True, whole=True)
    rho = rho_of(Decimal(repr(asked.epsilon)), Decimal(repr(asked.delta)))
    return _of_discrete(asked, asked.sensitivity / math.sqrt(2 * float(rho)))


def _of_discrete(asked: Asked, sigma: float) -> Card:
    shift = round(asked.sensitivity)
    reach = math.ceil(12 * sigma) + 2 * shift
    if reach > 200_000:
        raise ParameterError("the noise is too wide for exact figures", hint="use a coarser grid or a larger ε")
    whole = range(-reach, reach + 1)
    masses = [math.exp(-(k * k) / (2 * sigma**2)) for k in whole]
    total = math.fsum(masses)
    p = {k: m / total for k, m in zip(whole, masses, strict=True)}
    delta = math.fsum(max(p[k] - math.exp(asked.epsilon) * p.get(k + shift, 0.0), 0.0) for k in whole)
    tails, above, t = [], 1.0, 0
    for chance in TAIL_CHANCES:
        while above > chance:  # P(|X| > t)
            above -= p[0] if t == 0 else 2 * p[t]
            t += 1
        tails.append((float(max(t - 1, 0)), max(above, 0.0)))
    step = max(1, math.ceil(8 * sigma) // 400)
    shown = range(-math.ceil(4 * sigma) - shift, math.ceil(4 * sigma) + shift + 1, step)
    outputs = tuple(float(k) for k in shown)
    densities, neighbours = tuple(p[k] for k in shown), tuple(p[k - shift] for k in shown)
    absolute = math.fsum(abs(k) * m for k, m in p.items())
    variance = math.fsum(k * k * m for k, m in p.items())
    loss = max(largest_loss(densities, neighbours), math.inf)
    return Card(
        "discrete-gaussian",
        asked.epsilon,
        delta,
        loss,
        sigma,
        absolute,
        variance,
        tuple(tails),
        outputs,
        densities,
        neighbours,
        "OpenDP, in exact arithmetic; statistics and synthetic rows with a δ use it",
    )


GAUSSIAN_CLASSIC = CentralMechanism(
    name="gaussian-classic",
    title="Gaussian, classical σ",
    summary="More noise than needed, and not private for a large ε; shown for comparison with the analytic one.",
    recipe=_classic,
)
GAUSSIAN = CentralMechanism(
    name="gaussian",
    title="Gaussian, analytic σ",
    summary="Normal noise with the smallest σ for (ε, δ); suits long vectors of small L2 sensitivity.",
    recipe=_analytic,
)
DISCRETE_GAUSSIAN = CentralMechanism(
    name="discrete-gaussian",
    title="Discrete Gaussian",
    summary="Whole-number noise with zCDP; used for the counts of statistics and synthetic rows with a δ.",
    recipe=_discrete,
)
