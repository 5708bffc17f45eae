"""Composition by zero-concentrated and Rényi differential privacy.

What is known of each kind of event at a Rényi order α: pure ε, the divergence of a coin that is right with probability
e^ε/(1 + e^ε), which no ε-private release exceeds; Gaussian α/(2σ²); ρ-zCDP αρ; a Poisson-subsampled step by Mironov,
Talwar & Zhang 2019. The δ of an (ε, δ) release is added to that of the conversion.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.accounting.accountant import classic_at, converted, renyi_of_one
from workbench.privacy.accounting.event import ApproximateDp, GaussianNoise, PureDp, ZeroConcentrated
from workbench.privacy.accounting.event_alternatives import EventCounts, PoissonStep, SimpleEvent

_UP = 1 + 1e-12  # above the rounding of the sums below

_ORDERS = np.unique(np.concatenate([1 + np.geomspace(1e-5, 1e4, 2001)]))
"""Orders α at which a zCDP bound is minimised; every one gives a valid ε."""


def rho_of(leaf: SimpleEvent) -> float | None:
    """Return ρ of a release that is ρ-zCDP; ``None`` for a subsampled step, which is not for every order.

    Pure ε has ½ε² (Bun & Steinke 2016, Proposition 1.4), the Gaussian mechanism 1/(2σ²).
    """
    match leaf:
        case PureDp() | ApproximateDp():
            return 0.5 * float(leaf.epsilon) ** 2
        case GaussianNoise():
            return 0.5 / leaf.noise_multiplier**2
        case ZeroConcentrated():
            return float(leaf.rho)
        case PoissonStep():
            return None


def zcdp_epsilon(rho: float, delta: float) -> tuple[float, float]:
    """Return (ε, order α) of ρ-zCDP at ``delta``, by Canonne, Kamath & Steinke 2020, Proposition 12."""
    best = np.argmin(epsilons := converted(_ORDERS, _ORDERS * rho, delta))
    return max(0.0, float(epsilons[best])) * _UP, float(_ORDERS[best])


def zcdp_total(leaves: EventCounts, slack: float) -> tuple[float, float] | None:
    """Return (ε, order) of all ``leaves`` at a further δ of ``slack``; ``None`` where one has no ρ."""
    parts = [(rho_of(leaf), count) for leaf, count in leaves.items()]
    if any(rho is None for rho, _ in parts):
        return None
    return zcdp_epsilon(sum(rho * count for rho, count in parts if rho is not None) * _UP, slack)


def pure_renyi(epsilon: float, orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest Rényi divergence of an ε-private release at each order, that of randomised response."""
    # ln(p^α·q^(1−α) + q^α·p^(1−α))/(α−1) with p = e^ε/(1+e^ε), q = 1/(1+e^ε)
    log_q = -(epsilon + math.log1p(math.exp(-epsilon)))
    log_p = log_q + epsilon
    moments = np.logaddexp(orders * log_p + (1 - orders) * log_q, orders * log_q + (1 - orders) * log_p)
    exact: NDArray[np.float64] = np.maximum(moments, 0.0) / (orders - 1)
    # The logarithm of a number next to 1 loses digits: ½αε² is above it by theory, and exact for a small ε.
    return np.minimum(exact + 1e-14 / (orders - 1), np.minimum(0.5 * orders * epsilon**2, epsilon))


def renyi_at(leaf: SimpleEvent, orders: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return a bound on the Rényi divergence of ``leaf`` at each order; ``None`` where none is known."""
    match leaf:
        case PureDp() | ApproximateDp():
            return pure_renyi(float(leaf.epsilon), orders)
        case GaussianNoise():
            return orders * (0.5 / leaf.noise_multiplier**2)
        case ZeroConcentrated():
            return orders * float(leaf.rho)
        case PoissonStep():
            if leaf.rows != 1:
                return None
            known, one = renyi_of_one(leaf.sample_rate, leaf.noise_multiplier)
            return one if np.array_equal(known, orders) else None


def default_orders() -> NDArray[np.float64]:
    """Return the orders of every Rényi account, those of the library."""
    return renyi_of_one(0.5, 100.0)[0]


def renyi_total(leaves: EventCounts, slack: float, *, classic: bool) -> tuple[float, float] | None:
    """Return (ε, order) of all ``leaves`` at a further δ of ``slack``; ``None`` where one has no known divergence.

    Args:
        leaves: the events and how often each happens.
        slack: δ of the conversion.
        classic: ε_rdp + ln(1/δ)/(α−1) (Mironov 2017), else that of Canonne, Kamath & Steinke 2020.
    """
    orders = default_orders()
    total = np.zeros_like(orders)
    for leaf, count in leaves.items():
        one = renyi_at(leaf, orders)
        if one is None:
            return None
        total = total + count * one
    total = total * _UP
    found = (classic_at if classic else converted)(orders, total, slack)
    best = int(np.argmin(found))
    return max(0.0, float(found[best])) * _UP, float(orders[best])
