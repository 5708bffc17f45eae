"""Amounts of privacy loss as decimals that add exactly, whatever their sizes."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal, Inexact, InvalidOperation

EXACT = Context(prec=2000, traps=[Inexact, InvalidOperation])
"""Holds sums of any doubles as written; the usual 28 digits would lose a delta of 1e-40 beside one of 1e-5."""

Amount = tuple[Decimal, Decimal]
"""(ε, δ)."""

ZERO: Amount = (Decimal(0), Decimal(0))


def plus(one: Amount, other: Amount) -> Amount:
    """Return the sum of two amounts, exactly."""
    return EXACT.add(one[0], other[0]), EXACT.add(one[1], other[1])


def total(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of any number of amounts, exactly."""
    found = ZERO
    for amount in amounts:
        found = plus(found, amount)
    return found


def minus(one: Decimal, other: Decimal) -> Decimal:
    """Return the difference, exactly."""
    return EXACT.subtract(one, other)


def loss(epsilon: Decimal, delta: Decimal) -> Amount:
    """Return (ε, δ) after checking that neither is negative (it would lower what was spent) or NaN."""
    if not (epsilon.is_finite() and delta.is_finite() and epsilon >= 0 and 0 <= delta <= 1):
        raise AssertionError(f"({epsilon}, {delta}) is not a privacy loss")
    return epsilon, delta


def decimal_text(value: Decimal) -> str:
    """Return ``value`` in plain digits, without an exponent."""
    return f"{EXACT.normalize(value):f}"
