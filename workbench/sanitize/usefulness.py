"""When a protected column is mostly noise."""

from __future__ import annotations

NORMAL_95 = 1.959964
"""Standard errors to either side of a mean within which it lies in 95 of 100 releases."""

HARDLY = 0.98
"""Share of a constant answer's error above which a released value is hardly more accurate."""


def hardly_survives(error: float, constant_error: float) -> bool:
    """Return whether a released value with this expected error is hardly more accurate than a constant."""
    return not error < HARDLY * constant_error


def statistic_is_noise(standard_error: float | None, constant_error: float) -> bool:
    """Return whether the 95 % interval of a mean or a share says hardly more than a constant does.

    Args:
        standard_error: of the mean or the share; ``None`` without an unbiased estimator.
        constant_error: of always giving the same answer.
    """
    return standard_error is None or hardly_survives(NORMAL_95 * standard_error, constant_error)
