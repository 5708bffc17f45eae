"""t-closeness: how far a class's sensitive values are from those of the whole table.

The distance is the earth mover's, for three ground distances between values (Li, Li and Venkatasubramanian 2007).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.params import ParameterError
from workbench.risk.hierarchies.hierarchy import file_name
from workbench.risk.measures.base import Line, Measure, Subject
from workbench.risk.measures.sensitive_counts import SensitiveCounts, sensitive_counts

_CELLS_AT_ONCE = 4_000_000


def equal(found: SensitiveCounts, whole: np.ndarray) -> np.ndarray:
    """Return the distance of each class where all values are equally far apart: ½ Σ|pᵢ − qᵢ|."""
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
    """Return the distance of each class where values are as far apart as the height of their lowest common group.

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


def closeness(subject: Subject) -> dict[str, Any]:
    """Return t of each sensitive column, the largest distance of a class, and the largest of them."""
    columns: list[dict[str, Any]] = []
    for name in subject.options.sensitive:
        codes, values, numbers = subject.sensitive(name)
        found = sensitive_counts(subject.classes.of, subject.classes.sizes, codes)
        whole = np.bincount(codes, minlength=len(values)) / subject.rows
        distance = subject.options.distance
        if distance == "auto":
            distance = "hierarchical" if name in subject.hierarchies else "ordered" if numbers else "equal"
        if distance == "hierarchical":
            far = hierarchical(found, whole, _levels(subject, name, values))
        else:
            far = ordered(found, whole) if distance == "ordered" else equal(found, whole)
        columns.append({"name": name, "t": float(far.max()), "average": float(far.mean()), "distance": distance})
    return {"t": max(column["t"] for column in columns), "closeness": columns}


def _levels(subject: Subject, name: str, values: Sequence[str | None]) -> list[np.ndarray]:
    tree = subject.hierarchies.get(name)
    if tree is None:
        hint = f"give a folder of hierarchies with {file_name(name)}, or another distance"
        raise ParameterError(f"the sensitive column {name} has no hierarchy", "--distance", hint)
    return list(tree.of(values, name).codes[1:])


_FAR = {
    "equal": "how far sensitive values of a class are from those of the table, 0 to 1: any two differ equally",
    "ordered": "how far sensitive values of a class are from those of the table, 0 to 1: values are steps of a scale",
    "hierarchical": "how far sensitive values of a class are from those of the table, 0 to 1: values are in groups",
}


def _lines(found: Mapping[str, Any]) -> list[Line]:
    lines = []
    for column in found["closeness"]:
        far = _FAR[column["distance"]]
        lines.append(Line(f"t of {column['name']}", f"{column['t']:.4g}", far))
        lines.append(Line(f"average distance of {column['name']}", f"{column['average']:.4g}", far))
    return lines


CLOSENESS = Measure("closeness", "t-closeness", "closeness", closeness, _lines, anonymity=True, sensitive=True)
