"""A table of counts by two or more columns whose margins are sums of its cells.

Every cell is a noisy count. Of these counts the nearest table (least squares) is taken that could be one: no cell below
0, and all cells sum to the number of rows where that is public, else to what the noisy counts sum to (projection onto
the simplex; Lee, Wang & Kifer 2015, "Maximum likelihood postprocessing for differential privacy under consistency
constraints"). The true table is one of these, so that the projection is never farther from it than the noisy counts.
Margins, of every set of the columns, are sums of its cells. Intervals are those of the noisy sums.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workbench.statistics.asked import TABLE
from workbench.statistics.figure import Figure, Source

MARGIN = "margin"

Floats = NDArray[np.float64]


def projected(noisy: Floats, total: float) -> Floats:
    """Return the nearest numbers, none below 0, that sum to ``total``: what is above a common threshold, less it."""
    falling = np.sort(noisy)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(noisy) + 1)
    last = np.flatnonzero(falling - over > 0)
    return np.maximum(noisy - over[last[-1]], 0.0) if len(last) else np.zeros(len(noisy))


def table_figures(query: Source, answer: Floats) -> Iterator[Figure]:
    """Yield the cells, then the margins of every smaller set of the columns."""
    by, cells = query.groups.by, len(answer)
    total = float(query.rows) if query.complete else float(np.clip(answer.sum(), 0, query.rows))
    table = projected(answer, total).reshape([b.count for b in by])
    raw = (answer + (total - answer.sum()) / cells if query.complete else answer).reshape(table.shape)
    names = [[f"{b.column.name}={label}" for label in b.labels()] for b in by]
    axes = range(len(by))
    for kept in (tuple(axes), *(k for size in reversed(axes[1:]) for k in itertools.combinations(axes, size))):
        others = tuple(a for a in axes if a not in kept)
        summed = cells // int(np.prod([by[a].count for a in kept]))
        weights = ((1.0, summed),)
        if query.complete:
            weights = ((1 - summed / cells, summed), (summed / cells, cells - summed))  # type: ignore[assignment]
        width = query.widths.sum(weights)
        labels = (", ".join(parts) for parts in itertools.product(*(names[a] for a in kept)))
        for label, value, middle in zip(
            labels, table.sum(axis=others).ravel().tolist(), raw.sum(axis=others).ravel().tolist(), strict=True
        ):
            low, high = (float(np.clip(v, 0, query.rows)) for v in (middle - width, middle + width))
            ends = min(low, value), max(high, value)
            yield Figure(TABLE if not others else MARGIN, "", label, "", value, *ends, value <= width, query.label)
