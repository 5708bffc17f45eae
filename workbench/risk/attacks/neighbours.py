"""Nearest rows of a release, by Gower's distance of numeric and categorical values (1971)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workbench.risk.attacks.common_columns import CommonColumns, Matrix
from workbench.signals.cancel import CancelToken

_CELLS_AT_ONCE = 2_000_000
_SAME = 1e-12


def distances(
    columns: CommonColumns, places: list[int], people: Matrix, released: Matrix, cancel: CancelToken
) -> Iterator[Matrix]:
    """Yield the distance of some people at a time to every released row, shape (some, released), in their order.

    A number counts by its difference over the range of the column in all tables, a word by 0 or 1; a value that only
    one of two rows has by 1.

    Args:
        columns: the columns of all tables.
        places: those that count.
        people: values of all columns, shape (people, columns).
        released: likewise.
        cancel: looked at between parts of the work.
    """
    some = max(1, _CELLS_AT_ONCE // max(len(released), 1))
    ranges = _ranges(columns)
    for start in range(0, len(people), some):
        cancel.check()
        chunk = people[start : start + some]
        distance = np.zeros((len(chunk), len(released)))
        for j in places:
            distance += _differences(chunk[:, j], released[:, j], ranges[j], number=bool(columns.numeric[j]))
        yield distance


def nearest(
    columns: CommonColumns, places: list[int], people: Matrix, released: Matrix, cancel: CancelToken
) -> NDArray[np.int64]:
    """Return the released row that is nearest to each person, the first of several; arguments as :func:`distances`."""
    found = [part.argmin(axis=1) for part in distances(columns, places, people, released, cancel)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def near(distance: Matrix, k: int) -> NDArray[np.bool_]:
    """Return which rows are among the ``k`` nearest of each person, with all that are as near as the k-th."""
    k = min(k, distance.shape[1])
    farthest = distance.min(axis=1) if k == 1 else np.partition(distance, k - 1, axis=1)[:, k - 1]
    found: NDArray[np.bool_] = distance <= farthest[:, None] + _SAME
    return found


def _ranges(columns: CommonColumns) -> Matrix:
    lows, highs = zip(*(_ends(values) for values in columns.tables), strict=True)
    ranges: Matrix = np.maximum(np.max(highs, axis=0) - np.min(lows, axis=0), 0.0)
    return ranges


def _ends(values: Matrix) -> tuple[Matrix, Matrix]:
    known = ~np.isnan(values)
    low = np.min(values, axis=0, where=known, initial=np.inf)
    return low, np.max(values, axis=0, where=known, initial=-np.inf)


def _differences(one: Matrix, other: Matrix, span: float, *, number: bool) -> Matrix:
    """Return the difference of each pair of cells, shape (len(one), len(other))."""
    if number:
        away: Matrix = np.abs(one[:, None] - other[None, :]) / (span if 0 < span < np.inf else 1.0)
    else:
        away = (one[:, None] != other[None, :]).astype(np.float64)
    lacks, lacking = np.isnan(one), np.isnan(other)
    if lacks.any() or lacking.any():
        away = np.where(lacks[:, None] & lacking[None, :], 0.0, np.where(lacks[:, None] | lacking[None, :], 1.0, away))
    return away
