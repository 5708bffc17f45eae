"""What a recipient can learn from a release, which of its columns are mostly noise, and which relations fade.

Nothing here is read from the rows: every figure follows from the mechanisms and the public number of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.sanitize.forecast import ColumnForecast, Forecast

NORMAL_95 = 1.959964  # standard errors to either side of a mean within which it lies in 95 of 100 releases

HARDLY = 0.98  # share of a constant answer's error above which a released value is hardly more accurate

FADED = 0.5  # part of a correlation below which a column released for its single values is warned of

EVENLY = "This assumes values spread evenly over the declared range; values that are close together lose more."
"""What the part of a correlation that is left rests on, in a sentence."""


def loses_relations(kept: float, purpose: str) -> bool:
    """Return whether a column released for single values loses most of its relations with other columns.

    Means and counts do not rest on relations: a column that is for these is not warned of.
    """
    return purpose == "values" and kept < FADED


def kept_words(kept: float) -> str:
    """Return the part of a correlation that is left, as a person reads it."""
    percent = 100 * kept
    return "less than 1 %" if percent < 1 else f"about {percent:.0f} %"


def little_better_than_constant(error: float, constant_error: float) -> bool:
    """Return whether a released value with this expected error is hardly more accurate than a constant."""
    return not error < HARDLY * constant_error


def statistic_is_noise(standard_error: float | None, constant_error: float) -> bool:
    """Return whether the 95 % interval of a mean or a share says hardly more than a constant does.

    The standard error is ``None`` without an unbiased estimator.
    """
    return standard_error is None or little_better_than_constant(NORMAL_95 * standard_error, constant_error)


MOST_NAMED = 4  # columns that a sentence names one by one

RELATIONS_WAYS_OUT = (
    "Drop columns, so that the others get more of ε, or release synthetic rows or a private model instead."
)
"""What gives a column stronger relations, or needs none in the released table; true at every ε."""


@dataclass(frozen=True)
class UsefulFigure:
    """A statistic of one column that the released table gives away, with its error."""

    name: str
    numeric: bool  # whether it is the mean of numbers; else the shares of names
    # Of an interval that holds with a confidence of about 95 %, in the column's unit; a share as a part of 1.
    half_length: float


def half_length(column: ColumnForecast, rows: int) -> float | None:
    """Return the half-length of a 95 % interval of the mean, of names of a share; ``None`` without an estimator."""
    return None if column.statistic_sd is None else NORMAL_95 * column.statistic_sd / math.sqrt(max(rows, 1))


def mostly_noise(column: ColumnForecast, rows: int) -> bool:
    """Return whether the column is hardly more useful for its purpose than a constant answer, which is free."""
    if column.purpose == "values":
        return little_better_than_constant(column.expected_absolute_error, column.constant_error)
    standard_error = None if column.statistic_sd is None else column.statistic_sd / math.sqrt(max(rows, 1))
    return statistic_is_noise(standard_error, column.constant_error)


def noisy_columns(forecast: Forecast, rows: int) -> tuple[str, ...]:
    """Return the names of the columns that are mostly noise, in the plan's order."""
    return tuple(c.name for c in forecast.columns if mostly_noise(c, rows))


def is_mostly_noise(forecast: Forecast, rows: int) -> bool:
    """Return whether more than half of the released columns are mostly noise."""
    return 2 * len(noisy_columns(forecast, rows)) > len(forecast.columns)


def columns_losing_relations(forecast: Forecast) -> tuple[ColumnForecast, ...]:
    """Return the columns for single values that lose most of their relations with others, the weakest first.

    A column that is mostly noise is among them: that its values say little does not contradict that its relations do.
    """
    found = [c for c in forecast.columns if loses_relations(c.relations_kept, c.purpose)]
    return tuple(sorted(found, key=lambda c: c.relations_kept))


def relations_words(forecast: Forecast) -> str:
    """Return how far relations between columns fade, in words for the window and the command line.

    It is empty where none does, and where there is only one column, which has no relations.
    """
    found = columns_losing_relations(forecast) if len(forecast.columns) > 1 else ()
    if not found:
        return ""
    stated = ", ".join(f"{c.name} to {kept_words(c.relations_kept)}" for c in found[:MOST_NAMED])
    if len(found) > MOST_NAMED:
        stated += f" and {len(found) - MOST_NAMED} more to less than half"
    return f"Relations with other columns shrink: {stated}. {EVENLY}"


def useful_figures(forecast: Forecast, rows: int) -> tuple[UsefulFigure, ...]:
    """Return what a recipient can learn of each column with less error than without the table.

    A mean counts where its interval is shorter than the error of a constant answer, shares where it is shorter than
    one even share.
    """
    found = []
    for column in forecast.columns:
        half = half_length(column, rows)
        if half is None:
            continue
        even = 1 - column.constant_error  # of names: the share of each, were all alike
        if half < (column.constant_error if column.numeric else even):
            found.append(UsefulFigure(column.name, column.numeric, half))
    return tuple(found)
