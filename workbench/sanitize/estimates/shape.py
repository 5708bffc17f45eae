"""How a numeric column is likely spread: shares in a few groups of neighbouring cells, for a picture.

The frequencies of greatest likelihood are a few spikes, which is how little noisy cells tell about the shape. For a
picture the search is stopped early (``learners.public_tables``), which keeps it smooth. It has no intervals: the
quantiles have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.learners.public_tables import Lens, frequencies
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms.base import Randomiser

MOST_GROUPS = 16


@dataclass(frozen=True, eq=False)
class Shape:
    """Shares of the rows with a value.

    Attributes:
        edges: (g+1,) the first cell of each group, and the number of cells.
        likely: (g,) the likely share of each group; the sum is 1.
        released: (g,) its share in the released cells, ``None`` where answers are not cells.
    """

    edges: NDArray[np.int64]
    likely: NDArray[np.float64]
    released: NDArray[np.float64] | None


def likely_shape(cells: Cells, randomiser: Randomiser, counts: NDArray[np.int64]) -> Shape:
    """Return the likely shares of a column of numbers.

    Args:
        cells: its grid.
        randomiser: the mechanism that ran.
        counts: (k,) counts of the released cells, at least one row.
    """
    lens = Lens.of(randomiser, cells, np.zeros(cells.size))
    fine = np.linspace(0, cells.size, len(lens.chances) - int(cells.missing) + 1).round().astype(np.int64)
    found = frequencies(lens, counts.astype(np.float64))[: len(fine) - 1]
    step = -(-len(found) // MOST_GROUPS)
    starts = np.arange(0, len(found), step)
    edges = np.append(fine[starts], cells.size)
    likely = np.add.reduceat(found, starts)
    released = None
    if randomiser.outputs == cells.total:
        released = np.add.reduceat(counts[: cells.size], edges[:-1]) / max(int(counts[: cells.size].sum()), 1)
    return Shape(edges, likely / max(float(likely.sum()), 1e-300), released)
