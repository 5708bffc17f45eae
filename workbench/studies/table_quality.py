"""How far a synthetic table is from the original: the mean distance of its 1- and 2-way tables of counts.

Everything here is computed from the rows as given: it is private if they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.signals.cancel import CancelToken
from workbench.studies.marginals import Codes, way_distances


@dataclass(frozen=True)
class TableQuality:
    """Distances between 0 (alike) and 1 (nothing in common). Private.

    Attributes:
        one_way: mean over the columns.
        two_way: mean over the pairs that were compared; NaN where there is none.
        worst: place of the column that is farthest off.
        worst_distance: its distance.
        columns: number of columns.
        pairs: pairs that were compared.
        of_pairs: pairs there are.
    """

    one_way: float
    two_way: float
    worst: int
    worst_distance: float
    columns: int
    pairs: int
    of_pairs: int

    @property
    def mean(self) -> float:
        """Mean over all 1- and 2-way marginals, the pairs that were compared standing for all of them."""
        if not self.of_pairs:
            return self.one_way
        return (self.columns * self.one_way + self.of_pairs * self.two_way) / (self.columns + self.of_pairs)


def table_quality(
    original: Codes,
    drawn: Codes,
    sizes: Sequence[int],
    cancel: CancelToken | None = None,
    on_pair: Callable[[int, int], None] = lambda done, of: None,
) -> TableQuality:
    """Compare two tables of the same columns.

    Args:
        original: (n, d) coarse cells, n at least 1.
        drawn: (m, d) coarse cells, m at least 1.
        sizes: number of cells of each column.
        cancel: looked at between tables.
        on_pair: is called with how many pairs of how many are done.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    cancel = cancel or CancelToken()
    alone = [found for _, found in way_distances(original, drawn, sizes, 1, cancel)]
    together = [found for _, found in way_distances(original, drawn, sizes, 2, cancel, on_pair)]
    worst = int(np.argmax(alone))
    return TableQuality(
        one_way=float(np.mean(alone)),
        two_way=float(np.mean(together)) if together else math.nan,
        worst=worst,
        worst_distance=alone[worst],
        columns=len(sizes),
        pairs=len(together),
        of_pairs=math.comb(len(sizes), 2),
    )
