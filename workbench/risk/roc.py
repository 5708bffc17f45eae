"""How well a score separates two groups of rows: the area under its ROC curve, and its rates at a threshold."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
"""A number for each row, shape (n,): the higher, the surer that it is of the first group."""

_ROUNDS = 60


def area(wanted: NDArray[np.bool_], score: Scores) -> float | None:
    """Return the probability that a wanted row has the higher score of two, ties counting one half.

    That is the area under the ROC curve (Mann & Whitney 1947). ``None`` where all rows are of one group.
    """
    of_class = int(wanted.sum())
    others = len(wanted) - of_class
    if not of_class or not others:
        return None
    _, place, ties = np.unique(score, return_inverse=True, return_counts=True)
    middle_ranks = np.cumsum(ties) - (ties - 1) / 2  # rows with one score share the mean of their ranks
    above = float(middle_ranks[place][wanted].sum()) - of_class * (of_class + 1) / 2
    return above / (of_class * others)


def area_interval(found: float, wanted: int, others: int, alpha: float) -> tuple[float, float]:
    """Return the confidence interval of an area from the sizes of both groups (Newcombe 2006, method 5).

    It holds each area θ whose standard error, by Hanley & McNeil's formula at θ, does not rule ``found`` out: so it
    has a width where ``found`` is 0 or 1, too.
    """
    z = NormalDist().inv_cdf(1 - alpha / 2)
    more = (wanted + others) / 2 - 1

    def rules_out(theta: float) -> bool:
        spread = 1 + more * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return abs(theta - found) > z * math.sqrt(theta * (1 - theta) * spread / (wanted * others))

    ends = []
    for end in (0.0, 1.0):
        outside, inside = end, found
        for _ in range(_ROUNDS):
            middle = (outside + inside) / 2
            outside, inside = (middle, inside) if rules_out(middle) else (outside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def caught_at(members: Scores, others: Scores, false_share: float) -> tuple[int, int]:
    """Return the members and the others above the lowest threshold that at most this share of the others is above."""
    most = math.floor(false_share * len(others) + 1e-9)
    threshold = np.sort(others)[::-1][most] if most < len(others) else -np.inf
    return int(np.sum(members > threshold)), int(np.sum(others > threshold))


def best_threshold(members: Scores, others: Scores) -> float:
    """Return the threshold above which the share of members exceeds that of the others the most: between two scores."""
    values = np.unique(np.concatenate([members, others]))
    above = [1 - np.searchsorted(np.sort(side), values) / len(side) for side in (members, others)]
    best = int(np.argmax(above[0] - above[1]))
    return float(values[best] if best == 0 else (values[best - 1] + values[best]) / 2)
