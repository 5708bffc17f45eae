"""Intervals of a linear functional Σ f·u of the frequencies f of n rows, from a linear estimator of it.

The rows are fixed and only the answers are random: n independent draws, row i from the table's line of its value. Of
the mean of g(answer) the table gives everything but f: for each true value its expectation (hence the largest bias b
for any f), its variance, third and fourth cumulants, and its whole generating function.

*Many rows.* The half-length is that of Armstrong & Kolesár (2018): the quantile of |N(b, se²)|, which is 1.96·se
without bias. se comes from an upper confidence limit (risk 0.001) of the noise alone: the least of the largest variance
over the true values, the sample variance (which holds the spread of the rows, too), and an estimate of Σ f·variance, a
functional of f like any other, with its bias. What the normal approximation leaves out to order 1/n (Edgeworth: the
fourth cumulant, and with bias the third) is subtracted from the risk.

*Few rows*, if that would be too much: Chernoff's bound with the largest generating function over the true values,
|estimate − truth| ≤ b + min over t of (ln(2/α)/n + max_x K_x(±t))/t: it holds for every n and f.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from workbench.privacy.local.channel import Channel
from workbench.privacy.local.unbiased import Linear

Floats = NDArray[np.float64]
_VARIANCE_RISK = 1e-3
_MOST_CORRECTION = 0.4  # largest part of the risk for the corrections of the normal approximation
_TILTS = 48


_NO_NOISE = 1e-20  # relative variance that is only rounding


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its confidence interval."""

    estimate: float  # the point estimate; unbiased if possible, so it may lie outside the possible range
    low: float  # lower end; never below the least possible figure
    high: float  # upper end; never above the largest possible one
    consistent: float  # the value at the frequencies of greatest likelihood, which are always possible

    def to_plain(self) -> dict[str, float]:
        """Return the figures as JSON holds them."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high, "consistent": self.consistent}


@dataclass(frozen=True, eq=False)
class Observed:
    """The released cells of a column."""

    channel: Channel
    counts: NDArray[np.int64]  # (k,) counts of the released cells
    alpha: float  # the risk of an interval
    fitted: Floats  # (m,) frequencies of greatest likelihood
    gap: float = 0.0  # no frequencies have a log-likelihood more than this above theirs

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def mean(self, values: Floats) -> float:
        """Return the mean of values(answer) over the rows."""
        return float(self.counts @ values) / self.rows


def half_length(observed: Observed, linear: Linear, noise: Linear) -> float:
    """Return the distance that the mean of ``linear`` is from Σ f·u with a chance of at most α.

    ``linear`` has the estimator and its largest bias, ``noise`` those of Σ f·variance, the noise of one row.
    """
    variances = linear.variance(observed.channel)
    largest = float(variances.max())
    spread = float(np.ptp(linear.values))
    if largest <= _NO_NOISE * max(spread, 1.0) ** 2:  # a constant, but for rounding
        return linear.bias + spread
    variance = min(largest, max(_variance_limit(observed, linear, noise), float(variances.min())))
    risk = observed.alpha - (_VARIANCE_RISK * observed.alpha / 0.05 if variance < largest else 0.0)
    # Without noise in the rows that were seen there is nothing to be normal: the exact bound will do.
    seen = variance > _NO_NOISE * largest
    corrected = _corrected_risk(observed, linear, variances, variance, risk) if seen else None
    if corrected is None:
        return linear.bias + chernoff(observed, linear)
    error = math.sqrt(variance / observed.rows)
    return error * folded_quantile(linear.bias / error, corrected)


def _variance_limit(observed: Observed, linear: Linear, noise: Linear) -> float:
    """Return an upper confidence limit of the noise of one row, Σ f·variance."""
    z = float(-ndtri(_VARIANCE_RISK * observed.alpha / 0.05 / 2))
    centre = observed.mean(linear.values)
    whole = _upper(observed, (linear.values - centre) ** 2, z)
    return min(whole, _upper(observed, noise.values, z) + noise.bias)


def _upper(observed: Observed, values: Floats, z: float) -> float:
    mean = observed.mean(values)
    return mean + z * math.sqrt(max(observed.mean((values - mean) ** 2), 0.0) / observed.rows)


def _corrected_risk(
    observed: Observed, linear: Linear, variances: Floats, variance: float, risk: float
) -> float | None:
    """Return the risk that is left for the normal distribution, or ``None`` if there are too few rows for it."""
    rows, g, e = observed.rows, linear.values, linear.expected
    forward = observed.channel.forward
    squares, cubes = variances + e**2, forward(g**3)
    third = cubes - 3 * e * squares + 2 * e**3
    fourth = forward(g**4) - 4 * e * cubes + 6 * e**2 * squares - 3 * e**4 - 3 * variances**2
    # Corrections of a small order: the fitted frequencies will do.
    skewness = float(observed.fitted @ np.abs(third)) / variance**1.5 / math.sqrt(rows)
    tails = float(observed.fitted @ np.abs(fourth)) / variance**2 / rows
    z = float(-ndtri(risk / 2))
    density = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    lost = 2 * density * tails * (z**3 - 3 * z) / 24 + 2 * density * skewness**2 * z / 4
    if linear.bias:
        one = float(-ndtri(risk))
        lost += skewness * abs(one**2 - 1) / 6 * math.exp(-(one**2) / 2) / math.sqrt(2 * math.pi)
    return None if lost > _MOST_CORRECTION * risk else risk - lost


def folded_quantile(bias: float, risk: float) -> float:
    """Return the (1 − risk) quantile of |N(bias, 1)|."""
    low, high = max(bias - 1, 0.0), bias + float(-ndtri(risk / 2))
    for _ in range(60):
        middle = (low + high) / 2
        outside = float(ndtr(bias - middle) + ndtr(-bias - middle))
        low, high = (middle, high) if outside > risk else (low, middle)
    return high


def chernoff(observed: Observed, linear: Linear) -> float:
    """Return a distance that the mean is from its expectation with a chance of at most α, for every n and f."""
    budget = math.log(2 / observed.alpha) / observed.rows
    reach = float(np.abs(linear.values).max() + np.abs(linear.expected).max())
    scale = math.sqrt(2 * budget / float(linear.variance(observed.channel).max()))
    best = math.inf
    most = min(scale * 30, 300 / reach)
    for tilt in np.geomspace(min(scale / 30, most / 900), most, _TILTS):
        worst = 0.0
        for t in (float(tilt), -float(tilt)):
            # expm1 and log1p: for small t the generating function is the square of a small number.
            grown = observed.channel.forward(np.expm1(t * linear.values))
            worst = max(worst, float((np.log1p(np.maximum(grown, -1 + 1e-15)) - t * linear.expected).max()))
        best = min(best, (budget + worst) / float(tilt))
    return min(best, float(np.ptp(linear.values)))


def possible(interval: Interval, least: float, most: float) -> Interval:
    """Return ``interval`` cut to what is possible; it holds its consistent figure, so that it is never empty.

    The estimate is left as it is: moved to the nearest possible value it would no longer be unbiased.
    """
    consistent = min(max(interval.consistent, least), most)
    low, high = (min(max(end, least), most) for end in (interval.low, interval.high))
    return Interval(interval.estimate, min(low, consistent), max(high, consistent), consistent)
