"""The nearest rows of a release, by a distance of numbers and words (Gower 1971)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workbench.risk.attacks.common_columns import CommonColumns, Matrix
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore

_CELLS_AT_ONCE = 4_000_000


def nearest(
    columns: CommonColumns,
    names: list[int],
    people: Matrix,
    released: Matrix,
    k: int,
    cancel: CancelToken,
    emit: Emit = ignore,
) -> NDArray[np.int64]:
    """Return the ``k`` rows of ``released`` that are nearest to each row of ``people``, the nearest first; (people, k).

    A number counts by its difference over the range of the column in all tables, a word by 0 or 1; a value that only
    one of two rows has by 1. Of rows at one distance the first in the release is taken.

    Args:
        columns: the columns of all tables.
        names: the places of those that count.
        people: values of all columns, shape (people, columns).
        released: likewise.
        k: at most the number of released rows.
        cancel: looked at between parts of the work.
        emit: receives progress.
    """
    k = min(k, len(released))
    out = np.zeros((len(people), k), dtype=np.int64)
    for some, distance in _distances(columns, names, people, released, cancel, emit):
        if k == 1:
            out[some, 0] = distance.argmin(axis=1)
        else:
            out[some] = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return out


def distance_to_nearest(
    columns: CommonColumns, people: Matrix, released: Matrix, cancel: CancelToken, emit: Emit = ignore
) -> Matrix:
    """Return the distance of each row of ``people`` to the nearest of ``released`` over all columns, (people,)."""
    everything = list(range(len(columns.names)))
    found = [part.min(axis=1) for _, part in _distances(columns, everything, people, released, cancel, emit)]
    return np.concatenate([np.zeros(0), *found])


def _distances(
    columns: CommonColumns, names: list[int], people: Matrix, released: Matrix, cancel: CancelToken, emit: Emit
) -> Iterator[tuple[slice, Matrix]]:
    """Yield the distances of some people to all of ``released``, until all people had their turn."""
    parts = max(1, _CELLS_AT_ONCE // max(len(released), 1))
    ranges = _ranges(columns)
    for start in range(0, len(people), parts):
        cancel.check()
        emit(Progress(start, len(people), "people"))
        chunk = people[start : start + parts]
        distance = np.zeros((len(chunk), len(released)))
        for j in names:
            distance += _differences(chunk[:, j], released[:, j], ranges[j], number=bool(columns.numeric[j]))
        yield slice(start, start + parts), distance


def _ranges(columns: CommonColumns) -> Matrix:
    lows, highs = zip(*(_ends(values) for values in columns.tables), strict=True)
    return np.maximum(np.max(highs, axis=0) - np.min(lows, axis=0), 0.0)


def _ends(values: Matrix) -> tuple[Matrix, Matrix]:
    known = ~np.isnan(values)
    low = np.min(values, axis=0, where=known, initial=np.inf)
    return low, np.max(values, axis=0, where=known, initial=-np.inf)


def _differences(one: Matrix, other: Matrix, span: float, *, number: bool) -> Matrix:
    """Return the difference of each pair of cells, shape (len(one), len(other))."""
    if number:
        apart: Matrix = np.abs(one[:, None] - other[None, :]) / (span if 0 < span < np.inf else 1.0)
    else:
        apart = (one[:, None] != other[None, :]).astype(np.float64)
    lacks, lacking = np.isnan(one), np.isnan(other)
    if lacks.any() or lacking.any():
        apart = np.where(
            lacks[:, None] & lacking[None, :], 0.0, np.where(lacks[:, None] | lacking[None, :], 1.0, apart)
        )
    return apart
