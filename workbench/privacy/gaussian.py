"""The Gaussian mechanism on a vector of L2 sensitivity Δ: its exact δ(ε), and the least σ that gives (ε, δ)."""

from __future__ import annotations

import math

from workbench.params import ParameterError

_LARGEST = 1e9
"""No ε, sensitivity or σ beyond this: the arithmetic below is for budgets, not for overflow."""


def _check(epsilon: float, sensitivity: float) -> None:
    if not 0 < epsilon <= _LARGEST:
        raise ParameterError(f"epsilon = {epsilon} is not a number above 0", mend=f"give 0 < epsilon ≤ {_LARGEST:g}")
    if not 0 < sensitivity <= _LARGEST:
        raise ParameterError(
            f"sensitivity = {sensitivity} is not a number above 0", mend=f"give 0 < sensitivity ≤ {_LARGEST:g}"
        )


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ParameterError(f"delta = {delta} is not between 0 and 1", mend="give a δ such as 1e-5")


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the smallest δ for which N(0, σ²) noise is (ε, δ)-private.

    δ = Φ(Δ/2σ − εσ/Δ) − e^ε·Φ(−Δ/2σ − εσ/Δ) (Balle & Wang 2018, Theorem 8), evaluated as
    Φ(a)·(1 − e^(ε + ln Φ(b) − ln Φ(a))), which keeps its digits where both terms are tiny.

    Raises:
        ParameterError: an argument is not a positive number.
    """
    from scipy.special import log_ndtr

    _check(epsilon, sensitivity)
    if not 0 < sigma < math.inf:
        raise ParameterError(f"sigma = {sigma} is not a number above 0", mend="give sigma > 0")
    half, tilt = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    log_a, log_b = float(log_ndtr(half - tilt)), float(log_ndtr(-half - tilt))
    return math.exp(log_a) * -math.expm1(min(0.0, epsilon + log_b - log_a))


def analytic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least σ that makes Gaussian noise (ε, δ)-private, never below it (Balle & Wang 2018, Algorithm 1).

    δ falls with σ, so the root is bracketed and halved until neighbouring doubles; the private end is returned.

    Raises:
        ParameterError: ε or the sensitivity is not positive, or δ not in (0, 1).
    """
    _check(epsilon, sensitivity)
    _check_delta(delta)
    low = high = 1.0  # in units of the sensitivity
    while gaussian_delta(epsilon, high) > delta:
        low, high = high, 2 * high
    while gaussian_delta(epsilon, low) <= delta and low > 1 / _LARGEST:
        low, high = low / 2, low
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if gaussian_delta(epsilon, middle) <= delta else (middle, high)
    # δ is a difference of near numbers, and where ε or δ is tiny its rounding counts. Against exact arithmetic all of
    # 1,500 random cases that a margin of 1e-12 left not private had ε < 0.01 or δ < 1e-15; 1e-7 mends every one.
    margin = 1e-7 if epsilon < 0.02 or delta < 1e-14 else 1e-12
    return high * sensitivity * (1 + margin)


def classic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the textbook σ = Δ·√(2 ln(1.25/δ))/ε, for comparison only.

    Its proof needs ε < 1, and at δ = 1e-5 it is no longer private above ε = 8.42; below it wastes noise.

    Raises:
        ParameterError: ε or the sensitivity is not positive, or δ not in (0, 1).
    """
    _check(epsilon, sensitivity)
    _check_delta(delta)
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
