"""When a protected column is worth no more than a constant."""

from __future__ import annotations

HARDLY = 0.98
"""Part of a constant answer's error from which a mechanism says hardly more than it."""


def hardly_survives(error: float, constant_error: float) -> bool:
    """Return whether a released value with this expected error says hardly more than a constant answer."""
    return not error < HARDLY * constant_error
