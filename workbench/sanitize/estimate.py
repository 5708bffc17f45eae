"""Statistics from a sanitised column and its certificate alone, debiased, with honest intervals.

Every figure is about the n rows of the table after clamping to the public bounds and rounding to the public grid.
Intervals cover the truth with at least the stated confidence, at every n and without a normal approximation.

Names: the number of rows that report a value is a sum of n independent coins, of which Clopper and Pearson's interval
holds for the mean of their chances (Hoeffding 1956: equal chances spread most), and the frequency is linear in it.

Numbers, bias included: for a linear functional u·f of the frequencies f of the cells, the estimator (1/n) Σ g(y_i)
has bias at most b = max_x |Σ_y P(y|x) g(y) − u(x)| whatever f is, and by Bernstein's inequality it is within
(RL/3 + √((RL/3)² + 2nvL))/n of its mean, v the largest variance of g over the inputs, R its range, L = ln(2/α). g is
the ridge solution that makes the half-length least (a simple form of Donoho 1994's minimax affine estimators).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.cells import Cells
from workbench.privacy.mechanisms.base import Randomiser
from workbench.privacy.mechanisms.grr import ClosedFormResponse

Floats = NDArray[np.float64]

_EXACT = 1e-7
"""Largest bias, as a part of the range, of an estimator that is called unbiased (rounding of the solver)."""

_USABLE = 3.0
"""An unbiased estimator is of use if its standard deviation per record is at most this many times Duchi's."""

_MOST_STEPS = 500


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its confidence interval."""

    estimate: float
    low: float
    high: float

    def to_plain(self) -> dict[str, float]:
        """Return the figures as JSON holds them."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class ColumnEstimate:
    """What a sanitised column says of the original one.

    Attributes:
        name: the column.
        biased: whether the point estimate is maximum likelihood because no usable unbiased estimator exists.
        frequencies: share of the rows by value, for names.
        mean: mean of the rows with a value, for numbers; in the attribute's unit (days for dates).
        missing: share of the rows without a value, where that is a cell of its own.
    """

    name: str
    biased: bool
    frequencies: dict[str, Interval] | None = None
    mean: Interval | None = None
    missing: Interval | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return the estimate as JSON holds it."""
        plain: dict[str, Any] = {"name": self.name, "biased": self.biased}
        if self.frequencies is not None:
            plain["frequencies"] = {value: i.to_plain() for value, i in self.frequencies.items()}
        if self.mean is not None:
            plain["mean"] = self.mean.to_plain()
        if self.missing is not None:
            plain["missing"] = self.missing.to_plain()
        return plain


def duchi_sd(epsilon: float) -> float:
    """Return the standard deviation of Duchi's mechanism at 0 on [−1, 1]: (e^ε + 1)/(e^ε − 1) (Duchi et al. 2018)."""
    return 1 / math.tanh(epsilon / 2)


def estimate_names(
    name: str,
    labels: tuple[str, ...],
    randomiser: Randomiser,
    counts: NDArray[np.int64],
    missing: bool,
    confidence: float,
) -> ColumnEstimate:
    """Return unbiased frequencies from randomised response (Kairouz et al. 2016; the variance is the multinomial one).

    Args:
        name: the column.
        labels: the k values (without the missing cell).
        randomiser: randomised response over the cells.
        counts: (k,) or with the missing cell (k+1,) counts of the released cells.
        missing: whether the last cell is the missing one.
        confidence: of each interval.

    Raises:
        ParameterError: the table has no rows.
    """
    rows = _rows(counts, name)
    if isinstance(randomiser, ClosedFormResponse):
        p, q = randomiser.keep_and_other()
    else:
        p, q = randomiser.probabilities()[0, 0], randomiser.probabilities()[0, 1]
    alpha = 1 - _checked(confidence)
    reported = [(c / rows, *clopper_pearson(int(c), rows, alpha)) for c in counts]
    intervals = [_share(*(float((share - q) / (p - q)) for share in shares)) for shares in reported]
    return ColumnEstimate(
        name,
        biased=False,
        frequencies=dict(zip(labels, intervals, strict=False)),
        missing=intervals[-1] if missing else None,
    )


def estimate_numbers(
    name: str, cells: Cells, randomiser: Randomiser, counts: NDArray[np.int64], confidence: float
) -> ColumnEstimate:
    """Return the mean of a numeric column.

    Args:
        name: the column.
        cells: its grid.
        randomiser: the mechanism that ran.
        counts: (t,) counts of the released cells, the missing one last where there is one.
        confidence: of the interval.

    Raises:
        ParameterError: the table has no rows.
    """
    rows = _rows(counts, name)
    if cells.values is None:
        raise ParameterError("the column holds names, not numbers", f"column {name}")
    chances = randomiser.probabilities()
    middle = (cells.values[0] + cells.values[-1]) / 2
    scale = (cells.values[-1] - cells.values[0]) / 2
    centred = np.zeros(cells.total)
    centred[: cells.size] = (cells.values - middle) / scale
    solver = _Ridge(chances)
    alpha = 1 - _checked(confidence)
    if not cells.missing:
        mean, exact = _functional(solver, counts, rows, centred, alpha, randomiser.exact_epsilon)
        if not exact:
            frequencies = maximum_likelihood(chances, counts)
            mean = _around(float(frequencies @ centred), mean)
        return ColumnEstimate(name, biased=not exact, mean=_scaled(mean, middle, scale))
    has_value = np.append(np.ones(cells.size), 0.0)
    # Two intervals at half the risk each: together they bound the ratio.
    top, exact_top = _functional(solver, counts, rows, centred, alpha / 2, randomiser.exact_epsilon)
    share, exact_share = _functional(solver, counts, rows, has_value, alpha / 2, randomiser.exact_epsilon)
    exact = exact_top and exact_share
    if not exact:
        frequencies = maximum_likelihood(chances, counts)
        top = _around(float(frequencies @ centred), top)
        share = _around(float(frequencies @ has_value), share)
    floor = max(share.low, 1.0 / rows)
    ends = [top.low / floor, top.high / floor, top.low / max(share.high, floor), top.high / max(share.high, floor)]
    ratio = top.estimate / max(share.estimate, floor)
    mean = Interval(float(np.clip(ratio, -1, 1)), max(min(ends), -1.0), min(max(ends), 1.0))
    missing = _share(1 - share.estimate, 1 - share.high, 1 - share.low)
    # A ratio of unbiased estimates is itself biased, by the order of 1/n.
    return ColumnEstimate(name, biased=True, mean=_scaled(mean, middle, scale), missing=missing)


def maximum_likelihood(chances: Floats, counts: NDArray[np.int64]) -> Floats:
    """Return the frequencies on the simplex with the greatest likelihood, by expectation maximisation.

    Args:
        chances: (m, k) transition probabilities.
        counts: (k,) counts of the released cells.

    Returns:
        (m,) frequencies; where the likelihood is flat (a table without full rank), one of its maxima near uniform.
    """
    seen = counts / counts.sum()
    frequencies: Floats = np.full(chances.shape[0], 1 / chances.shape[0])
    for _ in range(_MOST_STEPS):
        following: Floats = frequencies * (chances @ (seen / np.maximum(frequencies @ chances, 1e-300)))
        moved = float(np.abs(following - frequencies).sum())
        frequencies = following
        if moved < 1e-6:
            break
    out: Floats = frequencies / frequencies.sum()
    return out


class _Ridge:
    """Ridge solutions of Σ_y P(y|x) g(y) = u(x) for many penalties from one decomposition."""

    def __init__(self, chances: Floats) -> None:
        self.chances = chances
        used = chances.mean(axis=0)
        self._root = np.sqrt(np.where(used > 0, used, 1.0))
        self._u, self._s, self._vt = np.linalg.svd(chances / self._root, full_matrices=False)

    def solution(self, wanted: Floats, penalty: float) -> Floats:
        """Return g (k,) with the least mean square among those as near to ``wanted`` (m,)."""
        damped = self._s / (self._s**2 + penalty) if penalty else _inverse(self._s)
        out: Floats = (self._vt.T @ (damped * (self._u.T @ wanted))) / self._root
        return out


def _inverse(singular: Floats) -> Floats:
    keep = singular > singular[0] * 1e-10
    out: Floats = np.where(keep, 1 / np.where(keep, singular, 1.0), 0.0)
    return out


def _functional(
    solver: _Ridge, counts: NDArray[np.int64], rows: int, wanted: Floats, alpha: float, epsilon: float
) -> tuple[Interval, bool]:
    """Return the interval of a linear functional of the frequencies, and whether its centre is unbiased and of use."""
    log_risk = math.log(2 / alpha)
    seen = counts / rows
    best: tuple[float, float] | None = None
    for penalty in (0.0, *np.geomspace(1e-8, 10, 28)):
        g = solver.solution(wanted, float(penalty))
        expected = solver.chances @ g
        bias = float(np.abs(expected - wanted).max())
        # The largest variance over the inputs bounds that of the mean; no distribution is presumed.
        spread = float(np.sqrt(np.max(solver.chances @ g**2 - expected**2)))
        centre, half = float(seen @ g), _bernstein(spread, float(np.ptp(g)), rows, log_risk) + bias
        if penalty == 0.0 and bias <= _EXACT and spread <= _USABLE * duchi_sd(epsilon):
            return Interval(centre, centre - half, centre + half), True
        if best is None or half < best[1]:
            best = (centre, half)
    assert best is not None
    return Interval(best[0], best[0] - best[1], best[0] + best[1]), False


def _around(point: float, interval: Interval) -> Interval:
    """Return ``interval`` with another point estimate, widened if it must be to hold it."""
    return Interval(point, min(interval.low, point), max(interval.high, point))


def _share(estimate: float, low: float, high: float) -> Interval:
    """Return the interval of a share of the rows: inside [0, 1], but for an unbiased estimate that lies outside."""
    return Interval(estimate, min(max(low, 0.0), estimate), max(min(high, 1.0), estimate))


def _scaled(interval: Interval, middle: float, scale: float) -> Interval:
    # A mean of clamped values is inside the bounds; an unbiased estimate of it need not be, and is held all the same.
    low = min(max(interval.low, -1.0), interval.estimate)
    high = max(min(interval.high, 1.0), interval.estimate)
    return Interval(*(float(middle + scale * v) for v in (interval.estimate, low, high)))


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return the exact interval of a probability (Clopper & Pearson 1934), risk ``alpha`` over both ends."""
    from scipy.special import betaincinv

    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, alpha / 2))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - alpha / 2))
    return low, high


def _bernstein(spread: float, reach: float, rows: int, log_risk: float) -> float:
    """Return the distance that a mean of independent draws exceeds with a chance of at most 2·e^(−log_risk).

    From P ≤ 2·exp(−n·t²/(2v + 2Rt/3)): the positive root of n·t² − (2R/3)·L·t − 2v·L.
    """
    linear = reach * log_risk / 3
    return (linear + math.sqrt(linear**2 + 2 * rows * spread**2 * log_risk)) / rows


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence = {confidence} is not between 0 and 1")
    return confidence


def _rows(counts: NDArray[np.int64], name: str) -> int:
    rows = int(counts.sum())
    if rows < 1:
        raise ParameterError("the table has no rows to estimate from", f"column {name}")
    return rows
