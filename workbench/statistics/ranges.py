"""Range counts of a column: a noisy tree of counts, made consistent by least squares.

The leaves are bins; each level above sums up to b neighbours (Hay, Rastogi, Miklau & Suciu 2010, "Boosting the
accuracy of differentially private histograms through consistency"). A row is in one range of each level, so that each
of h levels is one query with 1/h of the share: of ε with discrete Laplace noise, of ρ with discrete Gaussian noise. The
top, all rows, is not asked: it is public, or the sum of what is below.

A range is a sum of few counts instead of one for each of its bins. What the levels say twice is combined by least
squares, upwards and then downwards (their Theorem 3, here for any number of children), which also makes every range the
sum of its parts. b is the one with the least mean variance over all ranges, known beforehand; with one level it is the
plain histogram, which wins for few bins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.statistics.figure import Figure, Source, clipped_figure
from workbench.statistics.interval_widths import Widths
from workbench.statistics.request import Statistic

if TYPE_CHECKING:
    from workbench.work.ask import Ask

Floats = NDArray[np.float64]

MOST_LEAVES = 1024  # bins of ranges at most

ROWS_UP_TO = "rows up to"
_BRANCHINGS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
_SINGLE = 0.05


@dataclass(frozen=True)
class Ranges:
    """A tree of counts."""

    leaves: int  # how many bins
    branching: int  # b; as many as there are leaves where there is one level
    known: bool  # whether the number of all rows in the tree is public

    @classmethod
    def of(cls, leaves: int, *, gaussian: bool, known: bool) -> Ranges:
        """Return the tree with the least mean variance over all ranges."""
        return _best(leaves, gaussian, known)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many counts each level has, leaves first."""
        found = [self.leaves]
        while found[-1] > self.branching:
            found.append(-(-found[-1] // self.branching))
        return tuple(found)

    @property
    def length(self) -> int:
        """How many numbers a group has."""
        return sum(self.sizes)

    def _up(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sums over the children of each node of the level above, along the last axis."""
        return np.asarray(np.add.reduceat(values, np.arange(0, values.shape[-1], self.branching), axis=-1))

    def noisy(self, query: Source, ask: Ask, exact: list[int]) -> list[int]:
        """Return the noisy counts: those of the leaves of all groups, then those of the level above, and so on."""
        levels = len(self.sizes)
        ask = ask.divided(query.label, {f"level {i}": (1, levels) for i in range(levels)})
        counts: NDArray[Any] = np.array(exact, dtype=np.int64).reshape(-1, self.leaves)
        found: list[int] = []
        for level in range(levels):
            found += ask(f"level {level}", counts.ravel().tolist(), 1)
            counts = self._up(counts)
        return found

    def consistent(self, levels: list[Floats], total: Floats | None) -> Floats:
        """Return the least-squares counts of the leaves, (groups, leaves).

        The noisy counts, (groups, size) of each level, leaves first, are of equal variance; the ``total`` of each
        group is there where it is public, (groups, 1).
        """
        up, spread = [levels[0]], self._spreads()
        for level, noisy in enumerate(levels[1:], start=1):
            own = spread[level]  # the inverse of 1 + 1/(the variance of the sum below)
            up.append(own * noisy + (1 - own) * self._up(up[-1]))
        above = up[-1].sum(axis=-1, keepdims=True) if total is None else total
        for estimate, own in zip(reversed(up), reversed(spread), strict=True):
            step = self.branching if above.shape[-1] > 1 else estimate.shape[-1]
            at = np.arange(0, estimate.shape[-1], step)
            left = (above - np.add.reduceat(estimate, at, axis=-1)) / np.add.reduceat(own, at)
            above = estimate + own * np.repeat(left, step, axis=-1)[..., : estimate.shape[-1]]
        return above

    def _spreads(self) -> list[Floats]:
        """Return the variance of each node as its own count and those below give it, in units of one count's."""
        found = [np.ones(self.leaves)]
        for _ in self.sizes[1:]:
            found.append(1 / (1 + 1 / self._up(found[-1])))
        return found

    def variances(self, weights: Floats) -> Floats:
        """Return the variances of weighted sums of the consistent counts, in units of one count's.

        Given its node above, the counts below are their own estimates moved so that they sum up to it: with variances
        V their covariance is diag(V) − V·Vᵀ/ΣV, and a weighted sum moves with the node above by ΣgV/ΣV. The weights of
        the leaves are (sums, leaves).
        """
        slope, own = weights, np.zeros_like(weights)
        for level, spread in enumerate(self._spreads()):
            last = level == len(self.sizes) - 1
            at = np.arange(0, spread.size, spread.size if last else self.branching)
            whole = np.add.reduceat(spread, at)
            moved = np.add.reduceat(slope * spread, at, axis=-1)
            own = np.add.reduceat(own + slope * slope * spread, at, axis=-1) - moved * moved / whole
            slope = moved / whole
        top = np.zeros(1) if self.known else slope[:, 0] ** 2 * whole[0]
        return np.asarray(np.maximum(own[:, 0] + top, 0.0))

    def mean_variance(self) -> float:
        """Return the mean variance over all ranges of neighbouring leaves, in units of one count's.

        A range is the difference of two prefixes P₀ = 0 … P_k: Σ Var(P_j − P_i) = (k+1)·Σ Var(P_j) − Var(Σ P_j).
        """
        k = self.leaves
        prefixes = self.variances(np.tril(np.ones((k, k))))
        summed = self.variances(np.arange(k, 0, -1.0)[None])[0]
        return float(((k + 1) * prefixes.sum() - summed) / (k * (k + 1) / 2))

    def figures(self, query: Source, answer: Floats) -> Iterator[Figure]:
        """Yield how many rows there are up to the end of each bin; a range is the difference of two of them."""
        assert query.bins is not None
        groups, labels = query.groups.count, query.bins.labels()
        ends = np.cumsum([groups * size for size in self.sizes])[:-1]
        levels = [level.reshape(groups, -1) for level in np.split(answer, ends)]
        total = np.full((groups, 1), float(query.rows)) if self.known else None
        upto = np.cumsum(self.consistent(levels, total), axis=1)
        widths = self._widths(query)
        for group, counts in zip(query.groups.labels(), upto, strict=True):
            for label, value, width in zip(labels, counts.tolist(), widths, strict=True):
                limits = (0, query.rows)
                yield clipped_figure(query, ROWS_UP_TO, group, label, value, width, limits, sparse=value <= width)

    def _widths(self, query: Source) -> list[float]:
        """Return the half-widths of the counts up to each bin's end; half a row is added for the noise being whole."""
        paid = Widths(query.paid.part(1, len(self.sizes)))
        norms = np.sqrt(self.variances(np.tril(np.ones((self.leaves, self.leaves)))))
        found: list[float] = np.where(norms > 1e-9, paid.joint(norms, _SINGLE) + 0.5, 0.0).tolist()
        return found

    def expected(self, query: Source, _ask: Statistic, _rows: float) -> tuple[float, str]:
        """Return the half-width of a range of middling error, of whatever rows, and its unit."""
        paid = Widths(query.paid.part(1, len(self.sizes)))
        return float(paid.joint(math.sqrt(self.mean_variance()), _SINGLE)) + 0.5, "rows"


@lru_cache(maxsize=256)
def _best(leaves: int, gaussian: bool, known: bool) -> Ranges:
    trees = (Ranges(leaves, b, known) for b in (*(b for b in _BRANCHINGS if b < leaves), leaves))

    def variance(tree: Ranges) -> float:
        levels = len(tree.sizes)
        return tree.mean_variance() * (levels if gaussian else levels**2)

    return min(trees, key=variance)
