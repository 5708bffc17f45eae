"""The sensitive values of each equivalence class, as a sparse table of counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.risk.classes import Codes


@dataclass(frozen=True)
class SensitiveCounts:
    """How often each class has each value; only what occurs, in the order of classes, then of values.

    Attributes:
        of: the class of each pair.
        values: its value.
        counts: how many rows have both.
        first: where each class begins.
        sizes: the rows of each class.
    """

    of: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    first: np.ndarray
    sizes: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """The share of each value in its class."""
        share: np.ndarray = self.counts / self.sizes[self.of]
        return share

    def per_class(self, figures: np.ndarray) -> np.ndarray:
        """Return the sum of ``figures`` of pairs in each class."""
        total: np.ndarray = np.add.reduceat(figures, self.first)
        return total


def sensitive_counts(of_rows: np.ndarray, sizes: np.ndarray, codes: Codes) -> SensitiveCounts:
    """Return the counts of ``codes`` in the classes ``of_rows``."""
    different = int(codes.max()) + 1
    pairs, counts = np.unique(of_rows * different + codes, return_counts=True)
    of, values = pairs // different, pairs % different
    return SensitiveCounts(of, values, counts, np.searchsorted(of, np.arange(sizes.size)), sizes)
