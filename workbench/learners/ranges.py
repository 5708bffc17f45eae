"""Private range of most values in a column, chosen from the rows, so that wide bounds cost little.

Noise is measured by the bounds: a column of numbers whose declared bounds are far too wide says little. So a learner
that asks for it (``ranges_since`` of its setting) first chooses a window of each such column by report-noisy-max, and
reads the column as if the window were its bounds; values outside are clamped to it.

*The windows.* For each k up to a public depth, those of 2^−k of the bounds, at every quarter of their length. The depth
follows from ε and the number of rows, as the lead that the best one needs grows with the logarithm of their number.

*The score* of a window: the rows within it, and k times a small public part of n, which half the width is worth. One
more row raises each score by 0 or 1, all in one direction, so that the sensitivity of report-noisy-max is 1.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.encoding import blocks, bounds_of
from workbench.privacy.central.sums import parts_of

DEEPEST = 8
_QUARTERS = 4

# Chosen on diabetes with round and with wide bounds, of which `tests/benchmarks/results/wide_bounds.md` shows more.
_GAP, _SURE = 0.85, 3.0  # of n, by which the best window is ahead of an empty one; and of noises, in 1/ε
_WORTH_OF_NOISE = 2.5  # what half the width is worth at most, over n·ε of the choice


@dataclass(frozen=True)
class RangeRule:
    """What ranges cost, and how narrow they are."""

    most: float = 0.2  # of ε, for the ranges of all columns
    by_root: float = 2.8  # of ε: as much over the root of n·ε for each column
    narrow: float = 0.08  # of n, what half the width is worth

    def share(self, known: float) -> float:
        """Return the part of ε for the ranges of all columns, where n·ε is ``known`` for each of them."""
        return min(self.most, self.by_root / math.sqrt(known))

    def worth(self, known: float) -> float:
        """Return the part of n that half the width is worth, where n·ε is ``known`` for the choice of one range."""
        return min(self.narrow, _WORTH_OF_NOISE / known)

    def depth(self, known: float) -> int:
        """Return how often the bounds may be halved, where n·ε is ``known`` for the choice of one range; 0: not at all.

        So often that neither what narrowness is worth nor the largest noise takes an empty window for the best one.
        """

        def lead(depth: int) -> float:
            return depth * self.worth(known) + (math.log(len(windows(depth))) + _SURE) / known

        return max(depth for depth in range(DEEPEST + 1) if depth == 0 or lead(depth) <= _GAP)


RANGES = RangeRule()


@lru_cache(maxsize=DEEPEST + 1)
def windows(depth: int) -> NDArray[np.int64]:
    """Return (k, first cell, end) of each window (w, 3), in the cells of :func:`cell_count`; the end is excluded."""
    found, finest = [], cell_count(depth)
    for k in range(depth + 1):
        length = finest >> k
        found += [(k, at, at + length) for at in range(0, finest - length + 1, length // _QUARTERS)]
    return np.array(found, dtype=np.int64)


def cell_count(depth: int) -> int:
    """Return how many equal cells of the bounds the windows are made of."""
    return _QUARTERS << depth


def range_counts(attributes: Sequence[Attribute], X: NDArray[np.float64], depth: int) -> NDArray[np.int64]:
    """Return how many values of each column of X (n, c) lie in each cell (c, cells); a missing one in none.

    L1 sensitivity 1 for each column.
    """
    size = cell_count(depth)
    lower, upper = bounds_of(attributes)
    first = size * np.arange(len(attributes))
    found = np.zeros(size * len(attributes), dtype=np.int64)
    for block in blocks(len(X)):
        missing = np.isnan(X[block])
        cells = parts_of(np.where(missing, lower, X[block]), lower, upper, size) + first
        found += np.bincount(cells[~missing], minlength=len(found))
    return found.reshape(len(attributes), size)


def range_scores(counts: NDArray[np.int64], depth: int, rows: int, worth: float) -> NDArray[np.int64]:
    """Return the score of each window for each column (c, w).

    Args:
        counts: of :func:`range_counts` (c, cells).
        depth: of the windows.
        rows: public n.
        worth: what half the width is worth, of n.
    """
    k, first, end = windows(depth).T
    below = np.zeros((len(counts), counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=below[:, 1:])
    return np.asarray(np.take(below, end, axis=1) - np.take(below, first, axis=1) + k * int(rows * worth))


@lru_cache(maxsize=2048)  # a study chooses the same ones again and again
def within_window(attribute: Attribute, depth: int, chosen: int) -> Attribute:
    """Return the attribute with the window as its bounds, those of whole numbers and dates rounded outwards."""
    lower, upper = attribute.bounds()
    _, first, end = (int(v) for v in windows(depth)[chosen])
    cells = cell_count(depth)
    low, high = (lower * (1 - at / cells) + upper * (at / cells) for at in (first, end))
    if attribute.kind != "real":
        low, high = math.floor(low), math.ceil(high)
    low, high = max(lower, low), min(upper, high)
    if not high / 2 - low / 2 > 0:  # bounds that doubles hardly distinguish
        return attribute
    return dataclasses.replace(attribute, lower=float(low), upper=float(high), cells=None)


def narrowed(
    attributes: Sequence[Attribute], columns: Sequence[int], depth: int, chosen: Sequence[int]
) -> tuple[Attribute, ...]:
    """Return the attributes, those at ``columns`` with their chosen windows as bounds."""
    found = list(attributes)
    for column, window in zip(columns, chosen, strict=True):
        found[column] = within_window(found[column], depth, window)
    return tuple(found)
