"""When a protected column is mostly noise, and what is left of its relations with other columns.

All of it follows from the mechanism and the declared bounds or values: nothing is read from the rows.
"""

from __future__ import annotations

NORMAL_95 = 1.959964
"""Standard errors to either side of a mean within which it lies in 95 of 100 releases."""

HARDLY = 0.98
"""Share of a constant answer's error above which a released value is hardly more accurate."""

FADED = 0.5
"""Part of a correlation below which a column released for its single values is warned of."""

EVENLY = "This is for values spread evenly over what is declared; values that lie close together lose more."
"""What the part of a correlation that is left rests on, in a sentence."""


def relations_fade(kept: float, purpose: str) -> bool:
    """Return whether a column released for single values loses most of its relations with other columns.

    Means and counts do not rest on relations: a column that is for these is not warned of.

    Args:
        kept: the part of a correlation that is left.
        purpose: what the column is for, ``values`` or ``statistics``.
    """
    return purpose == "values" and kept < FADED


def kept_words(kept: float) -> str:
    """Return the part of a correlation that is left, as a person reads it."""
    percent = 100 * kept
    return "less than 1 %" if percent < 1 else f"about {percent:.0f} %"


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
