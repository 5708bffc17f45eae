"""The one neighbouring relation, and its equivalents in others.

Zero-out: one row becomes an empty row that contributes nothing; the number of rows is public.
"""

from __future__ import annotations

import math

RELATION = "zero-out"


def replace_one(epsilon: float, delta: float) -> tuple[float, float]:
    """Return what a zero-out (ε, δ) gives for replace-one neighbours: (2ε, (1+e^ε)δ), two zero-out steps."""
    return 2 * epsilon, min(1.0, (1 + math.exp(min(epsilon, 700.0))) * delta)


def group(epsilon: float, delta: float, rows: int) -> tuple[float, float]:
    """Return the guarantee of a person with ``rows`` rows: (kε, k·e^((k−1)ε)·δ) (Dwork & Roth 2014, Thm 2.2)."""
    return rows * epsilon, min(1.0, rows * math.exp(min((rows - 1) * epsilon, 700.0)) * delta)
