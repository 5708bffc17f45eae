"""Positions and labels of the ticks of an axis: plain numbers that never overlap."""

from __future__ import annotations

import math

Tick = tuple[float, str]

MANTISSAS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
"""Candidates for a logarithmic axis, densest first: three, two or one label per decade."""


def log_ticks(low: float, high: float, most: int = 9) -> list[Tick]:
    """Return (position, label) of the ticks of a logarithmic axis from ``low`` to ``high``.

    Two labels a decade (0.1 · 0.3 · 1 · 3 · 10) where they fit, three on a short axis, fewer on a long one.
    """
    decades = math.log10(high / low)
    candidates = MANTISSAS if decades < 1.5 else MANTISSAS[1:]
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    near = 1e-9
    for mantissas in candidates:
        # Through text, so that 0.3 is the double that prints as 0.3.
        values = [float(f"{m:g}e{e}") for e in exponents for m in mantissas]
        ticks = [(v, plain_number(v)) for v in values if low * (1 - near) <= v <= high * (1 + near)]
        if 2 <= len(ticks) <= most:
            return ticks
    if len(ticks) > most:
        return ticks[:: math.ceil(len(ticks) / most)]
    return [(v, plain_number(v)) for v in sorted({low, high})]


def linear_ticks(low: float, high: float, most: int = 10) -> list[Tick]:
    """Return (position, label) of at most ``most`` ticks in steps of 1, 2 or 5 times a power of ten."""
    step = nice_step((high - low) / max(most - 1, 1))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(round(i * step, 12), f"{i * step:.{decimals}f}") for i in range(first, last + 1)]


def nice_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 × 10^k that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1 - 1e-9))


def plain_number(value: float) -> str:
    """Return ``value`` to three figures, without an exponent where it can be read so (0.1, 3, 1000; 1e6)."""
    value = float(f"{value:.3g}")
    if 1e-4 <= abs(value) < 1e6:
        return f"{value:.7f}".rstrip("0").rstrip(".")
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
