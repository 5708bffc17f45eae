"""What two protected columns of a release say together: a correlation, a two-way table, or both.

The two-way table of two noisy columns of names: the share of rows with each pair of values, with intervals.

The columns of a row are randomised independently given the row, so both together went through one public table: the
Kronecker product P ⊗ Q, over pairs of values. As a :class:`PairChannel` it is a channel like any other, and the shares
are estimated as those of one column are: unbiased where both tables have an inverse, else by maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import Channel
from workbench.privacy.local.mechanisms.base import Randomiser
from workbench.sanitize.calibrated import ProtectedColumn
from workbench.sanitize.estimates.interval import Interval, Observed, possible
from workbench.sanitize.estimates.likelihood import maximum_likelihood
from workbench.sanitize.estimates.numbers import Functionals, linear_interval
from workbench.sanitize.estimates.pairs import Correlation, NoisyColumn, can_correlate, estimate_correlation
from workbench.signals.cancel import NEVER, CancelToken

Floats = NDArray[np.float64]

MOST_PAIRS = 256
"""Pairs of values up to which a two-way table is estimated: each has an interval of its own."""

MISSING = "missing"


class PairChannel:
    """The table P ⊗ Q over pairs (x, y), pair x·m_b + y; nothing of its size is ever in memory."""

    def __init__(self, first: Channel, second: Channel) -> None:
        self._first, self._second = first, second
        self.inputs, self.outputs = first.inputs * second.inputs, first.outputs * second.outputs
        self.decides = first.decides and second.decides

    def forward(self, values: Floats) -> Floats:
        """Return (P ⊗ Q)·values."""
        grid = values.reshape(self._first.outputs, self._second.outputs)
        half = np.stack([self._second.forward(row) for row in grid])
        return np.stack([self._first.forward(column) for column in half.T], axis=1).ravel()

    def backward(self, frequencies: Floats) -> Floats:
        """Return frequencies·(P ⊗ Q)."""
        grid = frequencies.reshape(self._first.inputs, self._second.inputs)
        half = np.stack([self._second.backward(row) for row in grid])
        return np.stack([self._first.backward(column) for column in half.T], axis=1).ravel()

    def rows(self, cells: NDArray[np.int64]) -> Floats:
        """Return the rows of some pairs."""
        one, other = np.divmod(cells, self._second.inputs)
        a, b = self._first.rows(one), self._second.rows(other)
        return (a[:, :, None] * b[:, None, :]).reshape(len(cells), self.outputs)

    def solved(self, wanted: Floats) -> Floats | None:
        """Return the solution along one table, then along the other."""
        half = [self._second.solved(row) for row in wanted.reshape(self._first.inputs, self._second.inputs)]
        found = [row for row in half if row is not None]
        if len(found) < len(half):
            return None
        whole = [self._first.solved(column) for column in np.stack(found).T]
        columns = [column for column in whole if column is not None]
        return None if len(columns) < len(whole) else np.stack(columns, axis=1).ravel()


@dataclass(frozen=True, eq=False)
class NamesColumn:
    """One of the two columns.

    Attributes:
        name: the column.
        labels: its values, without the missing cell.
        cells: its grid.
        randomiser: the mechanism that ran.
        answers: (n,) released cells.
    """

    name: str
    labels: tuple[str, ...]
    cells: Cells
    randomiser: Randomiser
    answers: NDArray[np.int64]

    @property
    def values(self) -> tuple[str, ...]:
        """Its values, the missing one last where there is one."""
        return (*self.labels, MISSING) if self.cells.missing else self.labels


@dataclass(frozen=True)
class TwoWay:
    """Shares of the rows by the values of two columns.

    Attributes:
        columns: the two.
        rows: the values of the first.
        across: the values of the second.
        shares: by (value of the first, value of the second).
        biased: whether the point estimates are those of the greatest likelihood.
    """

    columns: tuple[str, str]
    rows: tuple[str, ...]
    across: tuple[str, ...]
    shares: dict[tuple[str, str], Interval]
    biased: bool

    def to_plain(self) -> dict[str, Any]:
        """Return the figures as JSON holds them."""
        table = {a: {b: self.shares[a, b].to_plain() for b in self.across} for a in self.rows}
        return {"columns": list(self.columns), "table": table, "biased": self.biased}


def fits_two_way(first: Cells, second: Cells) -> bool:
    """Whether two columns have a two-way table: names, and not too many pairs."""
    return not first.numeric and not second.numeric and first.total * second.total <= MOST_PAIRS


def estimate_two_way(first: NamesColumn, second: NamesColumn, confidence: float, cancel: CancelToken = NEVER) -> TwoWay:
    """Return the share of the rows with each pair of values.

    Args:
        first: one column.
        second: the other, with as many rows in the same order.
        confidence: of each interval.
        cancel: checked between steps.

    Raises:
        ParameterError: there are too many pairs, or no rows.
    """
    if not fits_two_way(first.cells, second.cells):
        raise ParameterError(
            f"a two-way table needs two columns of names with at most {MOST_PAIRS} pairs of values",
            f"columns {first.name} and {second.name}",
        )
    if not len(first.answers):
        raise ParameterError("the table has no rows to estimate from")
    one, other = first.randomiser.channel(), second.randomiser.channel()
    channel = PairChannel(one, other)
    counts = np.bincount(first.answers * other.outputs + second.answers, minlength=channel.outputs)
    found = maximum_likelihood(channel, counts, cancel)
    functionals = Functionals(Observed(channel, counts, 1 - confidence, found.frequencies, found.gap), cancel)
    made = [
        linear_interval(functionals, own, float(own @ found.frequencies), 0.0, 1.0) for own in np.eye(channel.inputs)
    ]
    biased = any(bias for _, bias in made)
    intervals = [interval for interval, _ in made]
    if biased:  # one method for the whole table
        likely = zip(found.frequencies.tolist(), intervals, strict=True)
        intervals = [possible(Interval(c, i.low, i.high, c), 0.0, 1.0) for c, i in likely]
    pairs = [(a, b) for a in first.values for b in second.values]
    shares = dict(zip(pairs, intervals, strict=True))
    return TwoWay((first.name, second.name), first.values, second.values, shares, biased)


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
    cancel: CancelToken = NEVER,
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
