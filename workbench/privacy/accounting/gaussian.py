"""The Gaussian mechanism on a vector of L2 sensitivity Δ: its exact δ(ε), and the least σ that gives (ε, δ).

The standard normal distribution function in decimal arithmetic, for differences in which doubles lose all digits.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

from workbench.params import ParameterError

DIGITS = 60  # digits of every step; the smallest differences lose some forty of them

_FRACTION_FROM = 3.0
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def normal_cdf(x: Decimal) -> Decimal:
    """Return Φ(x), to about fifty digits of its own for x < 0 and of one for x > 0.

    Near 0 by the series Φ(x) = ½ + φ(x)·(x + x³/3 + x⁵/(3·5) + …), all of whose terms have one sign; in the tails by
    Laplace's continued fraction Φ(−t) = φ(t)/(t + 1/(t + 2/(t + 3/(t + …)))).
    """
    with localcontext() as context:
        context.prec = DIGITS
        context.Emin, context.Emax = -(10**15), 10**15
        if abs(x) > _FRACTION_FROM:
            tail = _density(x) / _fraction(abs(x))
            return 1 - tail if x > 0 else tail
        term = total = abs(x)
        odd = 1
        while term > total * Decimal(10) ** -DIGITS:
            odd += 2
            term = term * x * x / odd
            total += term
        half = _density(x) * total
        return Decimal("0.5") + (half if x > 0 else -half)


def _density(x: Decimal) -> Decimal:
    return (-x * x / 2).exp() / (2 * _PI).sqrt()


def _fraction(t: Decimal) -> Decimal:
    # Its n-th convergent is right to about a factor e^(−2t√(2n)).
    terms = math.ceil((DIGITS * math.log(10) / (2 * float(min(t, Decimal(10**6))))) ** 2 / 2) + 20
    value = t
    for n in range(terms, 0, -1):
        value = t + n / value
    return value


_LARGEST = 1e9  # largest ε, sensitivity and σ: the arithmetic below is for realistic budgets

_CLOSE = 1e-12  # largest relative distance of the returned σ above the least one


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
