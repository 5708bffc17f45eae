"""Column-pair trends as in sdmetrics 0.32: similarity of the association of pairs of columns.

Two columns of numbers: CorrelationSimilarity, 1 − |r − s|/2 of Pearson's correlations. Any other pair:
ContingencySimilarity, 1 − the total-variation distance of the two-way tables, numbers in ten equal ranges. As in its
quality report, each table's numbers are cut on that table's own range (a shift is not seen here; the two- and three-way
tables of this package are cut on the original's), missing cells are values, and the mean is over pairs that go together
in the original: |r| above 0.5, or Cramér's V above 0.3. The mean over all pairs is given beside it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import CancelToken
from workbench.studies.association import Variable, association, distance
from workbench.studies.quality.score import Detail, Found, Score, mean_of
from workbench.studies.quality.tables import Compared, Rows

RANGES = 10
CORRELATED, ASSOCIATED = 0.5, 0.3


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair: its score, and how strongly it goes together in the first table."""

    score: float
    strength: float
    numeric: bool

    @property
    def counts(self) -> bool:
        """Whether it goes together enough for the mean."""
        return self.strength > (CORRELATED if self.numeric else ASSOCIATED)


def pair_of(one: tuple[Variable, Variable], other: tuple[Variable, Variable]) -> Pair:
    """Return how similar the association of a pair of columns is in two tables."""
    if one[0].numeric and one[1].numeric:
        r, s = association(*one), association(*other)
        return Pair(1 - abs(r - s) / 2, abs(r), numeric=True)
    first, second = ([_names(column) for column in side] for side in (one, other))
    width = 1 + max(int(side[1].max()) for side in (first, second))
    a, b = (side[0] * width + side[1] for side in (first, second))
    return Pair(1 - distance(a, b, int(max(a.max(), b.max())) + 1), _cramer(a, width), numeric=False)


def _names(column: Variable) -> NDArray[np.int64]:
    """Return a column as codes from 0: numbers in ranges, what is missing a code of its own."""
    if not column.numeric:
        names: NDArray[np.int64] = column.values.astype(np.int64) + 1
        return names
    present = column.values[column.present]
    if not len(present):
        return np.zeros(len(column.values), dtype=np.int64)
    low, high = float(present.min()), float(present.max())
    # NumPy's own edges of a histogram are an error for numbers that are nearer than ten steps of a double.
    edges = np.linspace(*((low, high) if low < high else (low - 0.5, high + 0.5)), RANGES + 1)
    ranges: NDArray[np.int64] = np.digitize(column.values, edges).astype(np.int64)
    return ranges  # a missing value is in the last, beyond the others


def _cramer(joint: NDArray[np.int64], width: int) -> float:
    """Return Cramér's V of a two-way table, without the correction for chance; NaN where a side does not vary."""
    cells, counts = np.unique(joint, return_counts=True)
    rows, columns = (np.unique(side, return_inverse=True)[1] for side in (cells // width, cells % width))
    across, down = np.bincount(rows, counts), np.bincount(columns, counts)
    least = min(len(across), len(down)) - 1
    if least < 1:
        return math.nan
    phi2 = float((counts.astype(np.float64) ** 2 / (across[rows] * down[columns])).sum()) - 1
    return math.sqrt(max(phi2, 0.0) / least)


def _scored(one: Rows, other: Rows, cancel: CancelToken) -> list[tuple[tuple[str, str], Pair]]:
    made = []
    for i, j in itertools.combinations(range(len(one.columns)), 2):
        cancel.check()
        first, second = ((side.columns[i], side.columns[j]) for side in (one, other))
        made.append(((first[0].name, first[1].name), pair_of(first, second)))
    return made


def _mean(found: list[Any]) -> float:
    return mean_of([pair.score for _, pair in found if pair.counts])


def _found(compared: Compared, cancel: CancelToken) -> Found:
    found = _scored(compared.original, compared.released, cancel)
    value, like, reached = compared.each(
        lambda one, other: _mean(found if compared.is_release(one, other) else _scored(one, other, cancel))
    )
    kinds = {True: "CorrelationSimilarity", False: "ContingencySimilarity"}
    details = [Detail(names, kinds[pair.numeric], pair.score, pair.counts) for names, pair in found]
    every = [pair.score for _, pair in found]
    facts = {"all_pairs": mean_of(every), "pairs": float(len(every)), "strong": float(sum(d.counts for d in details))}
    return Found(value, like, reached, details=tuple(details), facts=facts)


SCORE = Score(
    name="pair_trends",
    title="Pair trends",
    help="similarity of the association of pairs of columns, mean over pairs associated in the original (sdmetrics: "
    "CorrelationSimilarity, ContingencySimilarity)",
    found=_found,
)
