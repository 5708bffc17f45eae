"""The standard normal distribution function in decimal arithmetic, for differences in which doubles lose all digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

DIGITS = 60
"""Digits of every step; the smallest differences lose some forty of them."""

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
