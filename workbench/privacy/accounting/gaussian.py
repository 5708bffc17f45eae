"""The Gaussian mechanism on a vector of L2 sensitivity Δ: its exact δ(ε), and the least σ that gives (ε, δ)."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

from workbench.params import ParameterError
from workbench.privacy.accounting.normal_tail import DIGITS, normal_cdf

_LARGEST = 1e9
"""Largest ε, sensitivity and σ: the arithmetic below is for realistic budgets."""

_CLOSE = 1e-12
"""Largest relative distance of the returned σ above the least one."""


def _check(epsilon: float, sensitivity: float) -> None:
    if not 0 < epsilon <= _LARGEST:
        raise ParameterError(f"epsilon = {epsilon} is not a number above 0", hint=f"give 0 < epsilon ≤ {_LARGEST:g}")
    if not 0 < sensitivity <= _LARGEST:
        raise ParameterError(
            f"sensitivity = {sensitivity} is not a number above 0", hint=f"give 0 < sensitivity ≤ {_LARGEST:g}"
        )


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ParameterError(f"delta = {delta} is not between 0 and 1", hint="give a δ such as 1e-5")


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the smallest δ for which N(0, σ²) noise is (ε, δ)-private, rounded up to a double.

    δ = Φ(Δ/2σ − εσ/Δ) − e^ε·Φ(−Δ/2σ − εσ/Δ) (Balle & Wang 2018, Theorem 8), in decimal arithmetic: the two terms may
    agree in more digits than a double has.

    Raises:
        ParameterError: an argument is not a positive number.
    """
    _check(epsilon, sensitivity)
    if not 0 < sigma < math.inf:
        raise ParameterError(f"sigma = {sigma} is not a number above 0", hint="give sigma > 0")
    exact = _exact_delta(epsilon, sigma, sensitivity)
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def _exact_delta(epsilon: float, sigma: float, sensitivity: float) -> Decimal:
    """Return δ, to some twenty digits more than a double has."""
    with localcontext() as context:
        context.prec = DIGITS
        context.Emin, context.Emax = -(10**15), 10**15
        ratio, loss = Decimal(sigma) / Decimal(sensitivity), Decimal(epsilon)
        half, tilt = 1 / (2 * ratio), loss * ratio
        return max(normal_cdf(half - tilt) - loss.exp() * normal_cdf(-half - tilt), Decimal(0))


def _near_delta(epsilon: float, ratio: float) -> float:
    """Return δ in doubles, as Φ(a)·(1 − e^(ε + ln Φ(b) − ln Φ(a))): a guide, inaccurate if the difference is small."""
    from scipy.special import log_ndtr

    half, tilt = 1 / (2 * ratio), epsilon * ratio
    log_a, log_b = float(log_ndtr(half - tilt)), float(log_ndtr(-half - tilt))
    return math.exp(log_a) * -math.expm1(min(0.0, epsilon + log_b - log_a))


def analytic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least σ that makes Gaussian noise (ε, δ)-private, never below it (Balle & Wang 2018, Algorithm 1).

    δ falls with σ. The root is bracketed and halved in doubles; from there on it is decided in decimal arithmetic, and
    the private end of the bracket is returned, at most 1e-12 of itself above the least σ.

    Raises:
        ParameterError: ε or the sensitivity is not positive, or δ not in (0, 1).
    """
    _check(epsilon, sensitivity)
    _check_delta(delta)
    low = high = 1.0  # in units of the sensitivity
    while _near_delta(epsilon, high) > delta:
        low, high = high, 2 * high
    while _near_delta(epsilon, low) <= delta and low > 1 / _LARGEST:
        low, high = low / 2, low
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if _near_delta(epsilon, middle) <= delta else (middle, high)
    return _decided(epsilon, delta, sensitivity, high * sensitivity)


def _decided(epsilon: float, delta: float, sensitivity: float, near: float) -> float:
    """Return the least σ near ``near`` that is private by exact arithmetic, from above and to 1e-12 of itself."""
    target = Decimal(delta)

    def private(sigma: float) -> bool:
        return _exact_delta(epsilon, sigma, sensitivity) <= target

    low, high, width = near, near, _CLOSE / 2
    while not private(high):
        low, high, width = high, near * (1 + width), 8 * width
    while private(low):
        high, low, width = low, near * (1 - min(width, 0.5)), 8 * width
    while high > low * (1 + _CLOSE):
        middle = low + (high - low) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def classic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the textbook σ = Δ·√(2 ln(1.25/δ))/ε, for comparison only.

    Its proof needs ε < 1, and at δ = 1e-5 it is no longer private above ε = 8.42; below it wastes noise.

    Raises:
        ParameterError: ε or the sensitivity is not positive, or δ not in (0, 1).
    """
    _check(epsilon, sensitivity)
    _check_delta(delta)
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
