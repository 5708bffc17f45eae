"""What two protected columns of a release say together: a correlation, a two-way table, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.sanitize.calibrated import ProtectedColumn
from workbench.sanitize.estimates.pairs import Correlation, NoisyColumn, can_correlate, estimate_correlation
from workbench.sanitize.estimates.two_way import MOST_PAIRS, NamesColumn, TwoWay, estimate_two_way, fits_two_way
from workbench.signals.cancel import CancelToken


@dataclass(frozen=True)
class PairEstimate:
    """The estimates for two columns.

    Attributes:
        columns: the two.
        correlation: of numbers and of columns with two values (the first as 0, the second as 1).
        two_way: shares by the values of both, for names.
    """

    columns: tuple[str, str]
    correlation: Correlation | None = None
    two_way: TwoWay | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return the estimates as JSON holds them."""
        parts = [part.to_plain() for part in (self.two_way, self.correlation) if part is not None]
        return {key: value for part in parts for key, value in part.items()}


def pair_refusal(first: ProtectedColumn, second: ProtectedColumn) -> str:
    """Return why nothing is estimated for two columns together; empty where something is."""
    a, b = first.grid.cells, second.grid.cells
    if first.column.name == second.column.name:
        return "a pair needs two different columns"
    if (can_correlate(a) and can_correlate(b)) or fits_two_way(a, b):
        return ""
    if not a.numeric and not b.numeric:
        return f"the two columns have {a.total * b.total:,} pairs of values, more than the {MOST_PAIRS} of a table"
    names = first if not a.numeric else second
    return f"column {names.column.name} has more than two values without an order: it has no correlation with numbers"


def estimate_pair(
    first: ProtectedColumn,
    second: ProtectedColumn,
    answers: tuple[NDArray[np.int64], NDArray[np.int64]],
    confidence: float,
    cancel: CancelToken | None = None,
) -> PairEstimate:
    """Return what fits the two columns: a correlation, a two-way table, or both.

    Args:
        first: one column with the mechanism that ran.
        second: the other.
        answers: (n,) released cells of each, in the same order.
        confidence: of each interval.
        cancel: checked between steps.

    Raises:
        ParameterError: nothing fits the two.
    """
    refusal = pair_refusal(first, second)
    columns = (first.column.name, second.column.name)
    if refusal:
        hint = "choose two numbers, columns with two values, or two columns of names with few values"
        raise ParameterError(refusal, f"pair {columns[0]}, {columns[1]}", hint)
    a, b = first.grid.cells, second.grid.cells
    sides = tuple(zip((first, second), (np.asarray(part, dtype=np.int64) for part in answers), strict=True))
    correlation = two_way = None
    if can_correlate(a) and can_correlate(b):
        noisy = [NoisyColumn(c.column.name, c.grid.cells, c.randomiser, held) for c, held in sides]
        correlation = estimate_correlation(noisy[0], noisy[1], confidence, cancel)
    if fits_two_way(a, b):
        names = [NamesColumn(c.column.name, c.grid.labels, c.grid.cells, c.randomiser, held) for c, held in sides]
        two_way = estimate_two_way(names[0], names[1], confidence, cancel)
    return PairEstimate(columns, correlation, two_way)
