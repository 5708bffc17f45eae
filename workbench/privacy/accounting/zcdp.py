"""Zero-concentrated differential privacy: ρ of discrete Gaussian noise, and its (ε, δ).

The conversion is that of Canonne, Kamath & Steinke 2020, "The Discrete Gaussian for Differential Privacy",
Proposition 12: ρ-zCDP implies (ε, δ) for every α > 1 with

    δ = e^((α−1)(αρ−ε)) · (1 − 1/α)^α / (α − 1).

The least over α is taken by a search; whatever α it ends at, the δ is valid. Rounding errors are added.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache

from workbench.params import ParameterError

_ROUNDING = 1e-10
_DIGITS = 10


def delta_of(rho: Decimal | float, epsilon: Decimal | float) -> float:
    """Return a δ with which ρ-zCDP implies (ε, δ): the least by the formula, rounded up.

    Args:
        rho: ρ, not negative.
        epsilon: ε, not negative.

    Raises:
        ParameterError: a number is negative or not finite.
    """
    r, e = float(rho), float(epsilon)
    if not (0 <= r < math.inf and 0 <= e < math.inf):
        raise ParameterError(f"rho = {r} and epsilon = {e} are not finite numbers of at least 0")
    if r == 0:
        return 0.0
    # Its logarithm is convex in α: a golden section over ln(α − 1), between orders beyond which it only rises.
    low, high = math.log(1e-9), math.log((e + 1) / (2 * r) + 2)
    golden = (math.sqrt(5) - 1) / 2

    def at(x: float) -> float:
        alpha = 1 + math.exp(x)
        return (alpha - 1) * (alpha * r - e) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)

    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = at(a), at(b)
    for _ in range(80):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = at(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = at(b)
    least = min(at_a, at_b)
    return min(1.0, math.exp(min(least + _ROUNDING * (1 + abs(least)), 0.0)))


@lru_cache(maxsize=256)
def rho_of(epsilon: Decimal, delta: Decimal) -> Decimal:
    """Return the largest ρ, to ten digits rounded down, that implies (ε, δ).

    Raises:
        ParameterError: ε is not above 0, or δ not within (0, 1).
    """
    if not 0 < epsilon < Decimal("Infinity"):
        raise ParameterError(f"epsilon = {epsilon} is not a number above 0")
    if not 0 < delta < 1:
        raise ParameterError(f"delta = {delta} is not between 0 and 1", hint="give a δ such as 1e-6")
    # Compared downwards: a double is not to be above the δ that was written.
    most = math.nextafter(float(delta), 0.0)
    low, high = 0.0, float(epsilon) + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):  # there is no double between them
            break
        if delta_of(middle, epsilon) <= most:
            low = middle
        else:
            high = middle
    found = _shortened(Decimal(low))
    if not found > 0:
        raise ParameterError(f"delta = {delta} is too small for epsilon = {epsilon}", hint="leave delta out")
    return found


@lru_cache(maxsize=256)
def epsilon_within(rho: Decimal, delta: Decimal) -> Decimal:
    """Return the ε, ten digits rounded down, whose ρ at this δ is at most ``rho`` and near it; 0 where none is."""
    low, high, most = 0.0, 4 * float(rho) + 100.0, float(delta)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(rho, middle) > most else (low, middle)
    return _shortened(Decimal(low))


def _shortened(value: Decimal) -> Decimal:
    """Return ``value`` with ten significant digits, rounded down and without an exponent."""
    if value == 0:
        return Decimal(0)
    return value.quantize(Decimal(1).scaleb(value.adjusted() - _DIGITS + 1), rounding=ROUND_FLOOR).normalize() + 0
