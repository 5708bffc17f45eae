"""Means and standard deviations from noisy sums: post-processing, which is exact where there is no noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.learners.denoise import class_means, positive_mean
from workbench.learners.standardize.setting import Setting

Doubles = NDArray[np.float64]

LEAST_DEVIATION = 0.01
"""Smallest standard deviation of a column, in half-ranges: a column of one value is not divided by 0."""

_USUAL_VARIANCE = 0.1
_SPREAD = 0.35  # prior deviation of a column's mean about the common one, in half-ranges


def figures(setting: Setting, answers: Sequence[Sequence[int]]) -> tuple[Doubles, Doubles]:
    """Return mean and standard deviation of each column of numbers (m,), (m,), in half-ranges.

    The variance is E[z²] − mean², with Σz² = n − 2Σt (:mod:`workbench.learners.sums`). With noise, means are drawn to
    their common mean (after Lindley & Smith 1972), and a variance is the positive posterior mean whose prior is the
    variance that the columns have in common, which is seen with less noise. What noise leaves of a mean's variance is
    added to it, so that most values stay within a few standard deviations.

    Args:
        setting: the public facts.
        answers: released numbers in the order of the queries.
    """
    rows: list[float] = []
    sums, noise = np.zeros((2, len(setting.numeric))), np.zeros(len(setting.numeric))
    present = float(setting.rows)
    for query, released in zip(setting.queries, answers, strict=True):
        if query.form == "histogram":
            # Fewer rows than the noise of their number would make a mean of noise alone.
            present = float(np.clip(released[0], max(1.0, np.sqrt(query.variance)), setting.rows))
            continue
        at = len(rows)
        sums[:, at] = np.array(released, dtype=np.float64) / query.sensitivity
        noise[at] = query.variance
        rows.append(present)
        present = float(setting.rows)
    n = np.array(rows)
    of_mean = noise / n**2
    means, left, _ = class_means(sums[0] / n, of_mean, _SPREAD)
    own = 1 - 2 * sums[1] / n - means**2
    deviation = np.sqrt((4 + 4 * means**2) * of_mean)
    common = positive_mean(own.mean(), np.sqrt((deviation**2).sum()) / len(n), _USUAL_VARIANCE)
    variances = positive_mean(own, deviation, np.maximum(common, LEAST_DEVIATION**2)) + left
    return means, np.sqrt(np.clip(variances, LEAST_DEVIATION**2, 1.0))
