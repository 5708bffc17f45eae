"""The sensitive values of each equivalence class, and how many they leave open (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.risk.classes import Codes


@dataclass(frozen=True)
class SensitiveCounts:
    """How often each class has each value; only what occurs, in the order of classes, then of values.

    Attributes:
        values: its value.
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

    @property
    def distinct(self) -> np.ndarray:
        """How many different values each class has."""
        return np.bincount(self.of, minlength=self.sizes.size)

    @property
    def entropy(self) -> np.ndarray:
        """The entropy of each class, in nats."""
        return self.per_class(-self.shares * np.log(self.shares))

    def recursive(self, c: float) -> np.ndarray:
        """Return for each class the largest ℓ with r₁ < c·(r_ℓ + … + r_m), for counts r₁ ≥ r₂ ≥ …; 0 for none."""
        order = np.lexsort((-self.counts, self.of))
        counts, of = self.counts[order], self.of[order]
        before = np.cumsum(counts) - counts
        tail = self.sizes[of] - (before - before[self.first][of])
        return self.per_class((counts[self.first][of] < c * tail).astype(np.int64))


def counts_of(table: np.ndarray) -> SensitiveCounts:
    """Return the counts of a table (classes, values), each of whose classes has rows."""
    of, values = np.nonzero(table)
    return SensitiveCounts(of, values, table[of, values], np.searchsorted(of, np.arange(len(table))), table.sum(axis=1))


def sensitive_counts(of_rows: np.ndarray, sizes: np.ndarray, codes: Codes) -> SensitiveCounts:
    """Return the counts of ``codes`` in the classes ``of_rows``."""
    different = int(codes.max()) + 1
    pairs, counts = np.unique(of_rows * different + codes, return_counts=True)
    of, values = pairs // different, pairs % different
    return SensitiveCounts(of, values, counts, np.searchsorted(of, np.arange(sizes.size)), sizes)
