"""How well scores rank rows: the area under the ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def roc_auc(truth: NDArray[np.int64], scores: NDArray[np.float64]) -> float | None:
    """Return the area under the ROC curve, or ``None`` where it is not defined.

    Of two classes: the probability that a row of the second has a higher score for it than a row of the first, ties
    counting one half (Mann & Whitney 1947). Of more: the plain mean of the areas of each class against all others,
    over the classes that occur among the rows. It is not defined where all rows are of one class.

    Args:
        truth: class code of each row (n,), n ≥ 1.
        scores: the score of each class in each row (n, k), k ≥ 2.
    """
    codes = [1] if scores.shape[1] == 2 else range(scores.shape[1])
    areas = [area for code in codes if (area := _area(truth == code, scores[:, code])) is not None]
    return sum(areas) / len(areas) if areas else None


def _area(wanted: NDArray[np.bool_], score: NDArray[np.float64]) -> float | None:
    of_class = int(wanted.sum())
    others = len(wanted) - of_class
    if not of_class or not others:
        return None
    _, place, ties = np.unique(score, return_inverse=True, return_counts=True)
    middle_ranks = np.cumsum(ties) - (ties - 1) / 2  # rows with one score share the mean of their ranks
    above = float(middle_ranks[place][wanted].sum()) - of_class * (of_class + 1) / 2
    return above / (of_class * others)
