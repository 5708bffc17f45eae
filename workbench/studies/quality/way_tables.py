"""Two- and three-way tables of counts: the share of rows that need not move for both tables to agree.

Numbers are cut into ranges of equal counts of the original, names are its most frequent ones, "any other of it" and
"none of it"; a missing cell is a value. Pair trends can agree where the tables of three columns do not: rows that were
drawn pair by pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import CancelToken
from workbench.studies.association import Variable, way_distances
from workbench.studies.quality.score import Detail, Found, Score, mean_of
from workbench.studies.quality.tables import Compared, Rows

CUTS = {2: 12, 3: 6}  # cells of a column, by the number of columns of a table: about as many rows in a cell of either

_METRIC = "1 − total variation"


def cut(one: Variable, other: Variable, cells: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return a column of two tables in at most ``cells`` cells that the first one's rows define, and how many."""
    if one.numeric:
        present = one.values[one.present]
        inner = np.unique(np.quantile(present, np.linspace(0, 1, cells)[1:-1])) if len(present) else np.zeros(0)
        size = len(inner) + 1
        a, b = (
            np.where(np.isnan(c.values), size, np.searchsorted(inner, c.values, side="right")) for c in (one, other)
        )
    else:
        counts = np.bincount(one.values[one.present], minlength=1 + int(max(one.values.max(), other.values.max())))
        common = np.argsort(-counts, kind="stable")[: cells - 1]
        size = len(common) + 2
        place = np.where(np.append(counts, 0) > 0, size - 2, size - 1)  # any other name, and names of no first row
        place[common] = np.where(counts[common] > 0, np.arange(len(common)), size - 1)
        place[-1] = size  # −1, a missing value
        a, b = (place[c.values] for c in (one, other))
    return a.astype(np.int64), b.astype(np.int64), size + 1


PICTURE = 16  # cells of a column in the picture of a pair


def pair_shares(one: Rows, other: Rows, first: int, second: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of rows in each cell of two columns, (a, b) of either table, on the first table's cells."""
    parts = [cut(one.columns[place], other.columns[place], PICTURE) for place in (first, second)]
    sizes = parts[0][2], parts[1][2]
    made = [
        np.bincount(parts[0][k] * sizes[1] + parts[1][k], minlength=sizes[0] * sizes[1]).reshape(sizes) / side.count
        for k, side in enumerate((one, other))
    ]
    used = made[0] + made[1]
    rows, columns = used.any(axis=1), used.any(axis=0)  # no cell for missing values where there are none
    return made[0][rows][:, columns], made[1][rows][:, columns]


def _distances(one: Rows, other: Rows, order: int, cancel: CancelToken) -> list[tuple[tuple[int, ...], float]]:
    parts = [cut(a, b, CUTS[order]) for a, b in zip(one.columns, other.columns, strict=True)]
    first, second = (np.column_stack([part[k] for part in parts]) for k in (0, 1))
    return way_distances(first, second, [part[2] for part in parts], order, cancel)


def _found(order: int, compared: Compared, cancel: CancelToken) -> Found | None:
    columns = compared.original.columns
    if len(columns) < order:
        return None
    found = _distances(compared.original, compared.released, order, cancel)

    def score(one: Rows, other: Rows) -> float:
        known = found if compared.is_release(one, other) else _distances(one, other, order, cancel)
        return mean_of([1 - far for _, far in known])

    names = [tuple(columns[j].name for j in chosen) for chosen, _ in found]
    details = tuple(Detail(names[k], _METRIC, 1 - far) for k, (_, far) in enumerate(found))
    return Found(*compared.each(score), details=details)


TWO = Score(
    name="two_way",
    title="Two-way tables",
    help="1 − total variation distance of the two-way tables, mean over the pairs",
    found=lambda compared, cancel: _found(2, compared, cancel),
)
THREE = Score(
    name="three_way",
    title="Three-way tables",
    help="the same for three-way tables",
    found=lambda compared, cancel: _found(3, compared, cancel),
)
