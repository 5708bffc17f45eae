"""Estimates from noisy counts and sums: post-processing with known noise.

Every function here tends to the plain estimate as the variance of the noise tends to 0, and equals it at 0. With
noise, an estimate is shrunk towards public facts, the more so the larger the noise is. Constants were chosen by
simulation on scikit-learn's tables and generated ones (see ``tests/benchmarks/bench_naive_bayes.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Doubles = NDArray[np.float64]

_TINY = 1e-9
_FAR = -20.0
_RARE = 0.5
_EMPTY_ROWS = 4.0


def positive_mean(estimate: ArrayLike, deviation: ArrayLike, prior: ArrayLike) -> Doubles:
    """Return the posterior mean of a positive quantity from a noisy unbiased estimate of it.

    Prior: exponential with the public mean ``prior``; noise: normal with standard deviation s. The posterior is a
    normal distribution with mean m = estimate − s²/prior cut off below 0, whose mean is m + s·φ(m/s)/Φ(m/s): always
    positive, the estimate itself at s = 0, and near ``prior`` for s → ∞.
    """
    from scipy.special import erfcx

    estimate, deviation, prior = np.broadcast_arrays(
        np.asarray(estimate, float), np.asarray(deviation, float), np.asarray(prior, float)
    )
    # Beyond a hundred prior means the posterior is the prior to 1 %, and m + s·φ/Φ would lose its digits: there the
    # estimate is taken at its distance in deviations.
    s = np.clip(deviation, _TINY * prior, 100 * prior)
    near = np.where(deviation > s, estimate * (s / np.maximum(deviation, s)), estimate)
    shifted = np.maximum(near, -10 * s) - s * s / prior
    position = -shifted / s
    hazard = np.sqrt(2 / np.pi) / erfcx(np.maximum(position, _FAR) / np.sqrt(2))
    posterior = np.where(position < _FAR, shifted, shifted + s * hazard)
    return np.maximum(np.where(deviation > 0, posterior, estimate), 0.0)


def near_mean(estimate: Doubles, deviation: Doubles, prior: Doubles, spread: float) -> Doubles:
    """Return the posterior mean of a positive quantity that is probably near ``prior``, from a noisy estimate of it.

    Prior: normal with standard deviation ``spread``·prior, cut off below 0; noise: normal. Where the noise is as large
    as the prior's deviation, the estimate counts half; :func:`positive_mean`, whose prior allows any size below a few
    times ``prior``, would follow the noise nearly all the way.
    """
    from scipy.special import erfcx

    known = (spread * prior) ** 2
    weight = known / (known + deviation**2)
    # Written from ``estimate``: without noise it comes back untouched.
    middle = estimate + (1 - weight) * (prior - estimate)
    s = np.maximum(np.sqrt(weight) * deviation, _TINY * prior)
    position = -middle / s
    hazard = np.sqrt(2 / np.pi) / erfcx(np.maximum(position, _FAR) / np.sqrt(2))
    return np.maximum(np.where(position < _FAR, middle, middle + s * hazard), 0.0)


def class_sizes(noisy: Doubles, rows: int, variance: float) -> tuple[Doubles, Doubles]:
    """Return the sizes of the classes (k,) and the variance of each from its noise.

    The sizes sum to the public number of rows, unless the noise cannot explain that the noisy counts do not: then
    there are empty rows. They are drawn towards equal classes by variance_prior/(variance_prior + variance), the prior
    being uniform over all compositions (Dirichlet(1, …, 1)), and kept above half of an equal share or the noise's
    deviation, whichever is less.

    Args:
        noisy: released counts (k,).
        rows: public n.
        variance: of the noise of each count.
    """
    k = len(noisy)
    if variance <= 0:
        return np.maximum(noisy, _TINY), np.zeros(k)
    total = max(float(rows), _TINY)  # of no rows every class has as good as none
    if abs(noisy.sum() - rows) > _EMPTY_ROWS * np.sqrt(k * variance):
        total = max(float(noisy.sum()), 1.0)
    equal = total / k
    known = noisy + (total - noisy.sum()) / k
    prior = total**2 * (k - 1) / (k**2 * (k + 1))
    weight = prior / (prior + variance)
    sizes = np.maximum(equal + weight * (known - equal), min(_RARE * equal, np.sqrt(variance)))
    return sizes * (total / sizes.sum()), np.full(k, weight * variance * (1 - 1 / k))


def class_means(noisy: Doubles, variance: Doubles, spread: float) -> tuple[Doubles, Doubles, Doubles]:
    """Return the mean of each class (…, k), its remaining variance, and the weight of the noisy mean in it.

    Model: the class means scatter with standard deviation ``spread`` about a common mean, itself spread over the
    range [−1, 1] (variance 1/3); each is seen with normal noise. Posterior means of both levels (Lindley & Smith 1972).

    Args:
        noisy: means from the noisy sums (…, k), in half-ranges.
        variance: of the noise of each (…, k).
        spread: public prior standard deviation of a class mean about the common one, in half-ranges.
    """
    seen = np.clip(noisy, -1.0, 1.0)
    precision = 1 / (variance + spread**2)
    common = (seen * precision).sum(axis=-1, keepdims=True) / (precision.sum(axis=-1, keepdims=True) + 3)
    weight = spread**2 * precision
    # Written from ``seen``: without noise the weight is 1 and the plain mean comes back untouched.
    return seen + (1 - weight) * (common - seen), (1 - weight) * spread**2, weight


def cell_probabilities(noisy: Doubles, sizes: Doubles, size_variance: Doubles, variance: float) -> Doubles:
    """Return P(cell | class) (k, v), each row summing to 1, without smoothing.

    With noise each probability is the positive posterior mean whose prior is the same cell's share over all classes,
    which is seen with less noise and is itself drawn towards 1/v.

    Args:
        noisy: released counts (k, v).
        sizes: of the classes (k,).
        size_variance: of the classes' sizes (k,).
        variance: of the noise of each count.
    """
    k, v = noisy.shape
    if variance <= 0:
        found = noisy.sum(axis=1, keepdims=True)
        return np.asarray(np.where(found > 0, noisy / np.maximum(found, 1), 1 / v))
    total = sizes.sum()
    overall = positive_mean(noisy.sum(axis=0) / total, np.sqrt(k * variance) / total, 1 / v)
    overall = np.maximum(overall / overall.sum(), _TINY)
    seen = noisy / sizes[:, None]
    deviation = np.sqrt(variance + np.clip(seen, 0, 1) ** 2 * size_variance[:, None]) / sizes[:, None]
    cells = np.maximum(positive_mean(seen, deviation, overall), _TINY)
    return np.asarray(cells / cells.sum(axis=1, keepdims=True))
