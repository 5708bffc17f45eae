"""Column shapes, as sdmetrics scores them: how alike each column is spread.

Numbers and dates: KSComplement, 1 − the Kolmogorov–Smirnov statistic. Names: TVComplement, 1 − the total-variation
distance. Missing cells are left out. The score is the mean over the columns.
"""

from __future__ import annotations

import math

import numpy as np

from workbench.signals.cancel import CancelToken
from workbench.studies.association import Variable, total_variation
from workbench.studies.quality.score import Detail, Found, Score, mean_of
from workbench.studies.quality.tables import Compared, Rows


def of_column(one: Variable, other: Variable) -> float:
    """Return how alike a column is spread in two tables, 1 at best; NaN where a table has no value."""
    x, y = one.values[one.present], other.values[other.present]
    if not len(x) or not len(y):
        return math.nan
    if one.numeric:
        x, y = np.sort(x), np.sort(y)
        at = np.concatenate([x, y])
        below = [np.searchsorted(side, at, side="right") / len(side) for side in (x, y)]
        return 1 - float(np.abs(below[0] - below[1]).max())
    size = int(max(x.max(), y.max())) + 1
    return max(1 - total_variation(np.bincount(x, minlength=size), np.bincount(y, minlength=size)), 0.0)


def _mean(one: Rows, other: Rows) -> float:
    return mean_of([of_column(a, b) for a, b in zip(one.columns, other.columns, strict=True)])


def _found(compared: Compared, cancel: CancelToken) -> Found:
    details = []
    for one, other in zip(compared.original.columns, compared.released.columns, strict=True):
        cancel.check()
        metric = "KSComplement" if one.numeric else "TVComplement"
        details.append(Detail((one.name,), metric, of_column(one, other)))
    return Found(*compared.each(_mean), details=tuple(details))


SCORE = Score(
    name="column_shapes",
    title="Column shapes",
    help="similarity of the distribution of each column, mean over the columns (sdmetrics: KSComplement, TVComplement)",
    found=_found,
)
