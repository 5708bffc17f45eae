"""How far the sensitive values of a class are from those of the whole table: the earth mover's distance.

There are three ground distances between values (Li, Li and Venkatasubramanian 2007).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.risk.sensitive_counts import SensitiveCounts

EQUAL, ORDERED, HIERARCHICAL = DISTANCES = "equal", "ordered", "hierarchical"
AUTO = "auto"
"""The ground distance that fits each column: :func:`fitting`."""
DISTANCE_CHOICES, DISTANCE_HELP = (
    (AUTO, *DISTANCES),
    "ground distance of t-closeness between sensitive values; auto is hierarchical where the column has a hierarchy, "
    "ordered for numbers, equal for others",
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
