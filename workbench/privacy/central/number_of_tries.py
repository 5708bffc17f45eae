"""The random number of tries of private selection: secret, with a public mean.

The logarithmic distribution P(K = k) ∝ (1 − γ)^k / k of Papernot & Steinke 2022, "Hyperparameter Tuning with Rényi
Differential Privacy", Definition 1 with η = 0. It is drawn exactly for a γ that is a multiple of 2^−32: a geometric
number is accepted with the chance 1/k.
"""

from __future__ import annotations

import math
from collections.abc import Callable

MOST_TRIES = 1000.0
_UNITS = 1 << 32


def log_inverse_gamma(tries: float) -> float:
    """Return x = ln(1/γ) with (eˣ − 1)/x = ``tries``, the expected number of tries, rounded up."""
    low, high = 0.0, 1.0
    while math.expm1(high) / high < tries:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle > 0 and math.expm1(middle) / middle < tries:
            low = middle
        else:
            high = middle
    return high


def gamma(tries: float) -> int:
    """Return γ in units of 2^−32 for about so many tries on average, 1 to :data:`MOST_TRIES`."""
    return max(1, min(_UNITS, round(math.exp(-log_inverse_gamma(tries)) * _UNITS)))


def number_of_tries(tries: float, below: Callable[[int], int]) -> int:
    """Return a random number of tries, 1 or more; ``below(n)`` draws a whole number from 0 to n − 1."""
    stop = gamma(tries)
    while True:
        count = 1
        while below(_UNITS) >= stop:
            count += 1
        if below(count) == 0:
            return count
