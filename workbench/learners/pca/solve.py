"""Directions from noisy sums: post-processing, which costs nothing and is exact where there is no noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.learners.pca.setting import LEAST_SCATTER, MEAN, MOST_SCATTER, PRODUCTS, SCATTER, UNIT, Setting
from workbench.learners.second_moments import symmetric

Doubles = NDArray[np.float64]
Whole = NDArray[np.int64]

Ask = Callable[[str, Whole, int], list[int]]
"""Gives the released numbers of a query: its name, the public centre on the grid, and its sensitivity."""

_USUAL_SCATTER = 0.3
# Prior variances, in half-ranges²: of a column's mean about the common one, of that, and of the scatter.
_MEANS, _COMMON, _SCATTERS = 0.1, 0.1, 0.05
# Prior variances as parts of (n·scatter²)²: of the sums of squares and of products about their common values.
_SQUARES, _CROSS = 0.2, 0.5


@dataclass(frozen=True)
class Moments:
    """What the released sums say about the rows, in half-ranges.

    Attributes:
        middle: the mean (D,), a point of the grid.
        covariance: of the columns (D, D), each entry shrunk by the size of its noise; symmetric, not always positive.
    """

    middle: Doubles
    covariance: Doubles


def moments(setting: Setting, ask: Ask) -> Moments:
    """Return mean and covariance, asking one query after the other; each depends on those before."""
    n, width, size = setting.rows, setting.width, setting.size
    noise = setting.deviation(MEAN, setting.mean_limit) / (n * size)
    seen = np.array(ask(MEAN, np.zeros(width, dtype=np.int64), setting.mean_limit), dtype=np.float64) / (n * size)
    centre = np.rint(_mean(np.clip(seen, -1, 1), noise) * size).astype(np.int64)
    noise = setting.deviation(SCATTER, UNIT) / (n * UNIT)
    spread = float(np.clip(ask(SCATTER, centre, UNIT)[0] / (n * UNIT), LEAST_SCATTER, MOST_SCATTER))
    spread = _USUAL_SCATTER + (spread - _USUAL_SCATTER) * _SCATTERS / (_SCATTERS + noise**2)
    limit = setting.product_limit(spread)
    noise = setting.deviation(PRODUCTS, limit) / size**2
    sums = symmetric(np.array(ask(PRODUCTS, centre, limit), dtype=np.float64) / size**2, width)
    return Moments(centre / size, shrunk(sums, noise, n * spread**2) / n)


def _mean(seen: Doubles, deviation: float) -> Doubles:
    """Return the columns' means, drawn to their common mean and this to 0, by the size of the noise of each."""
    common = seen.mean() * _COMMON / (_COMMON + deviation**2 / len(seen))
    # Written from ``seen``: without noise the plain mean comes back untouched.
    return np.asarray(seen + (common - seen) * deviation**2 / (_MEANS + deviation**2))


def shrunk(sums: Doubles, deviation: float, scale: float) -> Doubles:
    """Return noisy sums of products drawn to a matrix with one value on the diagonal and one beside it.

    Each entry keeps the part v/(v + deviation²), v being its prior variance: posterior means under normal priors about
    a common value, as a covariance matrix is drawn to one with a constant correlation (Ledoit & Wolf 2004).

    Args:
        sums: noisy sums (D, D).
        deviation: standard deviation of the noise of each entry on and above the diagonal.
        scale: what a sum of squares usually is.
    """
    width, noise = len(sums), deviation**2
    if not noise or width == 1:
        return sums
    beside = ~np.eye(width, dtype=bool)
    squares, cross = _SQUARES * scale**2, _CROSS * scale**2
    mean = np.diag(sums).mean()
    common = sums[beside].mean() * cross / (cross + noise / (width * (width - 1) / 2))
    near = np.where(beside, common, mean)
    kept = np.where(beside, cross / (cross + noise), squares / (squares + noise))
    return np.asarray(near + (sums - near) * kept)


def directions(covariance: Doubles, count: int) -> Doubles:
    """Return the ``count`` unit vectors (count, D) along which the columns vary most, the strongest first.

    The part of a vector that is largest in absolute value is positive, the first of them where several are.
    """
    _, vectors = np.linalg.eigh(covariance)
    found = vectors[:, ::-1][:, :count].T
    largest = np.abs(found).round(9).argmax(axis=1)
    signs = np.where(found[np.arange(count), largest] < 0, -1.0, 1.0)
    return np.asarray(found * signs[:, None])
