"""When a protected column is mostly noise."""

from __future__ import annotations

HARDLY = 0.98
"""Share of a constant answer's error above which a released value is hardly more accurate."""


def hardly_survives(error: float, constant_error: float) -> bool:
    """Return whether a released value with this expected error is hardly more accurate than a constant."""
    return not error < HARDLY * constant_error
