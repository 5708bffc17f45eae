"""Classes of rows, their sensitive values, and distances to those of the whole table (t-closeness).

How far is the earth mover's distance, by one of three ground distances between values (Li, Li and Venkatasubramanian
2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from workbench.data.columns.missing import uncoded
from workbench.data.columns.values import doubles
from workbench.data.table import Table

Codes = np.ndarray  # one column as whole numbers from 0, equal where the values are equal; shape (rows,), int64


def coded(table: Table, name: str) -> tuple[Codes, list[str | None]]:
    """Return a column's values as codes, in the order of the text, and the value of each code.

    ``None`` is missing, as is what the table declares to mean that.

    Raises:
        InputError: the table has no such column.
    """
    text = uncoded(table, name).cast(pl.String)
    values = text.unique().sort(nulls_last=True)
    places = pl.DataFrame({"value": values, "code": np.arange(values.len())})
    found = pl.DataFrame({"value": text}).join(places, on="value", how="left", nulls_equal=True, maintain_order="left")
    return found["code"].to_numpy(), values.to_list()


def coded_by_size(table: Table, name: str) -> tuple[Codes, list[str | None], bool]:
    """Return what :func:`coded` does, and whether all values are numbers: those are in the order of their size."""
    codes, values = coded(table, name)
    said = pl.Series([v for v in values if v is not None], dtype=pl.String)
    numbers = doubles(said, table.decimal)
    if not said.len() or not (numbers.is_not_null() & numbers.is_finite()).all():
        return codes, values, False
    order = np.argsort(numbers.to_numpy(), kind="stable")
    order = np.concatenate([order, np.arange(order.size, len(values))])
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return place[codes], [values[i] for i in order], True


_SPREAD = 16  # codes are counted in place up to so many times the rows; above, they are sorted


@dataclass(frozen=True)
class Classes:
    """Which rows are alike: the class of each row, from 0, and the rows of each class."""

    of: np.ndarray
    sizes: np.ndarray

    @property
    def of_rows(self) -> np.ndarray:
        """How many rows are like each row, itself among them; shape (rows,)."""
        alike: np.ndarray = self.sizes[self.of]
        return alike


def classes(columns: Iterable[Codes], rows: int) -> Classes:
    """Return the equivalence classes of ``rows`` rows over columns of codes; one class where there is no column."""
    of = np.zeros(rows, dtype=np.int64)
    for column in columns:
        # Counted again after each column, so that the product never leaves 64 bits.
        joint = of * (int(column.max(initial=0)) + 1) + column
        of, _ = dense(joint)
    return Classes(of, np.bincount(of) if rows else np.zeros(0, dtype=np.int64))


def dense(joint: Codes) -> tuple[Codes, np.ndarray]:
    """Return codes from 0 without gaps, in the same order, and how often each occurs."""
    most = int(joint.max(initial=-1)) + 1
    if most > _SPREAD * joint.size + 1024:
        _, of, sizes = np.unique(joint, return_inverse=True, return_counts=True)
        return of, sizes
    counts = np.bincount(joint, minlength=most)
    place = np.cumsum(counts > 0) - 1
    return place[joint], counts[counts > 0]


@dataclass(frozen=True)
class SensitiveCounts:
    """How often each class has each value; only what occurs, in the order of classes, then of values."""

    of: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    first: np.ndarray  # where each class begins
    sizes: np.ndarray  # the rows of each class

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


EQUAL, ORDERED, HIERARCHICAL = DISTANCES = "equal", "ordered", "hierarchical"
AUTO = "auto"  # the ground distance that fits each column: `fitting`
DISTANCE_CHOICES, DISTANCE_HELP = (
    (AUTO, *DISTANCES),
    "ground distance of t-closeness between sensitive values; auto: hierarchical if the column has a "
    "hierarchy, else ordered for numbers and equal for others",
)
_CELLS_AT_ONCE = 4_000_000


def fitting(*, grouped: bool, numbers: bool) -> str:
    """Return the ground distance of a column: ``grouped`` says whether it has a hierarchy."""
    return HIERARCHICAL if grouped else ORDERED if numbers else EQUAL


def equal(found: SensitiveCounts, whole: np.ndarray) -> np.ndarray:
    """Return the distance of each class where any two values are equally far from each other: ½ Σ|pᵢ − qᵢ|."""
    return found.per_class(np.maximum(found.shares - whole[found.values], 0.0))


def ordered(found: SensitiveCounts, whole: np.ndarray) -> np.ndarray:
    """Return the distance of each class where values are steps of one scale: Σᵢ |Σⱼ≤ᵢ (pⱼ − qⱼ)| / (m − 1).

    Between two values that occur in a class its cumulative share p is constant and that of the table, Q, rises; so each
    stretch is summed with running sums of Q, split where Q passes p.
    """
    m = whole.size
    if m == 1:
        return np.zeros(found.sizes.size)
    below = np.cumsum(whole)
    running = np.concatenate([[0.0], np.cumsum(below)])
    shares = found.shares
    total = np.cumsum(shares)
    level = total - (total - shares)[found.first][found.of]
    ends = np.full(found.of.size, m)
    same = found.of[1:] == found.of[:-1]
    ends[:-1][same] = found.values[1:][same]
    starts = found.values
    turn = np.clip(np.searchsorted(below, level), starts, ends)
    lower = level * (turn - starts) - (running[turn] - running[starts])
    upper = running[ends] - running[turn] - level * (ends - turn)
    leading = running[starts[found.first]]
    distance: np.ndarray = (found.per_class(lower + upper) + leading) / (m - 1)
    return distance


def hierarchical(found: SensitiveCounts, whole: np.ndarray, levels: Sequence[np.ndarray]) -> np.ndarray:
    """Return the distance of each class where the distance of two values is the height of their lowest common group.

    Each inner group N of height h moves h/H · min(Σ⁺, Σ⁻) of the surplus of its parts, for a tree of height H.

    Args:
        found: the classes.
        whole: the share of each value in the table.
        levels: the group of each value, from the lowest level above the values to the highest.
    """
    tree = list(levels)
    if not tree or int(tree[-1].max()) > 0:
        tree.append(np.zeros(whole.size, dtype=np.int64))
    distance = np.zeros(found.sizes.size)
    step = max(1, _CELLS_AT_ONCE // whole.size)
    for start in range(0, found.sizes.size, step):
        stop = min(start + step, found.sizes.size)
        inside = slice(*np.searchsorted(found.of, [start, stop]))
        surplus = np.zeros((stop - start, whole.size))
        surplus[found.of[inside] - start, found.values[inside]] = found.shares[inside]
        surplus -= whole
        former = np.arange(whole.size)
        for height, level in enumerate(tree, 1):
            parent = np.zeros(int(former.max()) + 1, dtype=np.int64)
            parent[former] = level
            more, less = (_summed(np.maximum(side, 0.0), parent) for side in (surplus, -surplus))
            distance[start:stop] += height / len(tree) * np.minimum(more, less).sum(axis=1)
            surplus, former = _summed(surplus, parent), level
    return distance


def _summed(figures: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """Return the columns of ``figures`` summed by ``parent``."""
    summed = np.zeros((int(parent.max()) + 1, len(figures)))
    np.add.at(summed, parent, figures.T)
    return summed.T


def farness(distance: str, found: SensitiveCounts, whole: np.ndarray, levels: Sequence[np.ndarray] = ()) -> np.ndarray:
    """Return the distance of each class by the ground distance of this name; arguments as :func:`hierarchical`."""
    if distance == HIERARCHICAL:
        return hierarchical(found, whole, levels)
    return ordered(found, whole) if distance == ORDERED else equal(found, whole)
