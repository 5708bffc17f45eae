"""Statistics of a sanitised column from its released cells and its public table alone.

Every figure is about the n rows after clamping to the public bounds and rounding to the public grid. Estimates are
unbiased if the mechanism has an unbiased estimator; otherwise they use the frequencies of greatest likelihood and are
marked ``biased``. The figure at those frequencies, which a real table could have, is always given (``consistent``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from workbench.params import ParameterError
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import Channel, TwoChances
from workbench.privacy.local.mechanisms.base import Randomiser
from workbench.sanitize.calibrated_columns import ProtectedColumn
from workbench.sanitize.estimates.interval import Interval, Observed, possible
from workbench.sanitize.estimates.likelihood import maximum_likelihood
from workbench.sanitize.estimates.numbers import Functionals, centred_values, linear_interval, mean_of_some
from workbench.signals.cancel import NEVER, CancelToken

Floats = NDArray[np.float64]

_SLACK = 0.9  # part of the risk that is used: the saddlepoint tail may be that much too small


def at_least(count: Floats, holders: Floats, rows: int, keep: float, other: float) -> Floats:
    """Return P(Bin(holders, keep) + Bin(rows − holders, other) ≥ count), elementwise."""
    others = rows - holders
    t, spread, exponent = _tilt(count, holders, others, keep, other)
    w = np.sign(t) * np.sqrt(2 * np.maximum(t * count - exponent, 0.0))
    u = -np.expm1(-t) * np.sqrt(spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        formula = ndtr(-w) + np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)
    # At the mean itself the formula is 0/0, and no tail of interest lies there.
    out = np.where(np.abs(w) < 1e-4, 0.5, np.clip(formula, 0.0, 1.0))
    some = -np.expm1(holders * math.log1p(-keep) + others * math.log1p(-other))
    every = np.exp(holders * math.log(keep) + others * math.log(other))
    out = np.where(count <= 0, 1.0, np.where(count == 1, some, out))
    return np.where(count > rows, 0.0, np.where(count == rows, every, out))


def at_most(count: Floats, holders: Floats, rows: int, keep: float, other: float) -> Floats:
    """Return the chance of at most ``count``: of at least rows − count that do not report the value."""
    return at_least(rows - count, holders, rows, 1 - keep, 1 - other)


def _tilt(count: Floats, holders: Floats, others: Floats, p: float, q: float) -> tuple[Floats, Floats, Floats]:
    """Return the saddlepoint t where the tilted expectation is ``count``, the tilted variance, and K(t)."""
    rows = holders + others
    inside = np.clip(count, 0.25, rows - 0.25)
    # With x = e^t: m·px/(1−p+px) + (n−m)·qx/(1−q+qx) = c is a quadratic in x.
    a = p * q * (rows - inside)
    b = holders * p * (1 - q) + others * q * (1 - p) - inside * (p * (1 - q) + q * (1 - p))
    c = -inside * (1 - p) * (1 - q)
    root = np.sqrt(b**2 - 4 * a * c)
    with np.errstate(divide="ignore", invalid="ignore"):  # in the form that is not taken the difference may vanish
        x = np.where(b > 0, -2 * c / (b + root), (root - b) / (2 * a))
    own, other = p * x / (1 - p + p * x), q * x / (1 - q + q * x)
    spread = holders * own * (1 - own) + others * other * (1 - other)
    exponent = holders * np.log1p(p * (x - 1)) + others * np.log1p(q * (x - 1))
    return np.log(x), spread, exponent


def frequency_intervals(
    channel: TwoChances, counts: NDArray[np.int64], rows: int, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Return unbiased frequencies of (k,) counts, and the ends of intervals that miss with chance alpha, each (k,)."""
    estimate = (counts / rows - channel.other) / (channel.keep - channel.other)
    risk = alpha / 2 * _SLACK
    # Values that are reported alike have one interval: of millions most are.
    seen, back = np.unique(counts, return_inverse=True)
    given = seen.astype(np.float64)
    # The chance of a report grows with m, so each tail crosses the risk once.
    p, q = channel.keep, channel.other
    low = _first(lambda m: at_least(given, m, rows, p, q) > risk, given.size, rows)
    high = _first(lambda m: at_most(given, m, rows, p, q) <= risk, given.size, rows + 1) - 1
    # A count too small (or too large) for any m is nearest to none (or all) of the rows.
    return estimate, (np.minimum(low, rows) / rows)[back], (np.maximum(high, 0) / rows)[back]


def _first(holds: Callable[[Floats], NDArray[np.bool_]], size: int, most: int) -> Floats:
    """Return the least whole m below ``most`` for which ``holds``, else ``most``: by bisection, all values at once."""
    low, high = np.full(size, -1.0), np.full(size, float(most))
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        yes = holds(np.maximum(middle, 0.0))
        move = high - low > 1
        high = np.where(move & yes, middle, high)
        low = np.where(move & ~yes, middle, low)
    return high


UNBIASED, RATIO, LIKELIHOOD = "unbiased", "ratio of unbiased estimates", "maximum likelihood"


@dataclass(frozen=True)
class ColumnEstimate:
    """The estimates for one column."""

    name: str
    biased: bool  # whether the point estimates are not unbiased: maximum likelihood, or a ratio (bias of order 1/n)
    method: str
    frequencies: dict[str, Interval] | None = None  # share of the rows by value, for names
    mean: Interval | None = None  # mean of the rows with a value, for numbers; in the attribute's unit (days for dates)
    missing: Interval | None = None  # share of the rows without a value, if that is a cell of its own
    bias_bound: float = 0.0  # allowance for bias in the mean's interval, which never gets shorter than twice this
    gap: float = 0.0  # no frequencies have a log-likelihood (in nats) more than this above that of the consistent ones

    def to_plain(self) -> dict[str, Any]:
        """Return the estimate as JSON holds it."""
        plain: dict[str, Any] = {"name": self.name, "biased": self.biased, "method": self.method, "gap": self.gap}
        if self.frequencies is not None:
            plain["frequencies"] = {value: i.to_plain() for value, i in self.frequencies.items()}
        if self.mean is not None:
            plain |= {"mean": self.mean.to_plain(), "bias_bound": self.bias_bound}
        if self.missing is not None:
            plain["missing"] = self.missing.to_plain()
        return plain


def estimate_column(
    column: ProtectedColumn, counts: NDArray[np.int64], confidence: float, cancel: CancelToken = NEVER
) -> ColumnEstimate:
    """Return the mean of a numeric column, the frequencies of one of names; each interval has the ``confidence``.

    The counts (t,) are those of the released cells, the missing one last where there is one.

    Raises:
        ParameterError: there are no rows.
    """
    grid, name = column.grid, column.column.name
    if grid.cells.numeric:
        return estimate_numbers(name, grid.cells, column.randomiser, counts, confidence, cancel)
    return estimate_names(name, grid.labels, column.randomiser, counts, grid.cells.missing, confidence, cancel)


def estimate_names(
    name: str,
    labels: tuple[str, ...],
    randomiser: Randomiser,
    counts: NDArray[np.int64],
    missing: bool,
    confidence: float,
    cancel: CancelToken = NEVER,
) -> ColumnEstimate:
    """Return the frequencies of names.

    Args:
        name: the column.
        labels: the k values (without the missing cell).
        randomiser: the mechanism that ran.
        counts: (k,) or with the missing cell (k+1,) counts of the released cells.
        missing: whether the last cell is the missing one.
        confidence: of each interval.
        cancel: checked between steps.

    Raises:
        ParameterError: the table has no rows.
    """
    observed = _observed(name, randomiser.channel(), counts, confidence, cancel)
    intervals, exact = _shares(observed, cancel)
    return ColumnEstimate(
        name,
        biased=not exact,
        method=UNBIASED if exact else LIKELIHOOD,
        frequencies=dict(zip(labels, intervals, strict=False)),
        missing=intervals[-1] if missing else None,
        gap=observed.gap,
    )


def _shares(observed: Observed, cancel: CancelToken) -> tuple[list[Interval], bool]:
    channel, consistent = observed.channel, observed.fitted
    if isinstance(channel, TwoChances) and channel.keep > channel.other:
        ends = frequency_intervals(channel, observed.counts, observed.rows, observed.alpha)
        made = [
            possible(Interval(e, low, high, c), 0.0, 1.0)
            for e, low, high, c in zip(*(part.tolist() for part in ends), consistent.tolist(), strict=True)
        ]
        return made, True
    functionals = Functionals(observed, cancel)
    found = [linear_interval(functionals, own, float(own @ consistent), 0.0, 1.0) for own in np.eye(channel.inputs)]
    if not any(bias for _, bias in found):
        return [interval for interval, _ in found], True
    # One method per column: if one value has no unbiased estimator, all use the likelihood.
    pairs = zip(consistent.tolist(), (i for i, _ in found), strict=True)
    return [possible(Interval(c, i.low, i.high, c), 0.0, 1.0) for c, i in pairs], False


def estimate_numbers(
    name: str,
    cells: Cells,
    randomiser: Randomiser,
    counts: NDArray[np.int64],
    confidence: float,
    cancel: CancelToken = NEVER,
) -> ColumnEstimate:
    """Return the mean of a numeric column from (t,) counts of its released cells, the missing one last if there is one.

    Raises:
        ParameterError: the table has no rows, or the cells are names.
    """
    if cells.values is None:
        raise ParameterError("the column contains names, not numbers", f"column {name}")
    observed = _observed(name, randomiser.channel(), counts, confidence, cancel)
    functionals = Functionals(observed, cancel)
    return (_mean_of_some if cells.missing else _mean_of_all)(name, cells.values, functionals)


def _mean_of_all(name: str, values: Floats, functionals: Functionals) -> ColumnEstimate:
    observed = functionals.observed
    centred, middle, scale = centred_values(values, values.size)
    mean, bias = linear_interval(functionals, centred, float(observed.fitted @ centred), -1.0, 1.0)
    return ColumnEstimate(
        name,
        biased=bias > 0,
        method=LIKELIHOOD if bias else UNBIASED,
        mean=_scaled(mean, middle, scale, values),
        bias_bound=bias * scale,
        gap=observed.gap,
    )


def _mean_of_some(name: str, values: Floats, functionals: Functionals) -> ColumnEstimate:
    """Return the mean of the rows that have a value, and the share of those without one: the last cell."""
    observed = functionals.observed
    centred, middle, scale = centred_values(values, values.size + 1)
    has_value = np.append(np.ones(values.size), 0.0)
    there = float(observed.fitted @ has_value)
    present, unclear = linear_interval(functionals, has_value, there, 0.0, 1.0)
    likely = float(observed.fitted @ centred) / there if there > 0 else 0.0
    mean, bias = mean_of_some(functionals, centred, has_value, likely)
    return ColumnEstimate(
        name,
        biased=True,
        method=LIKELIHOOD if bias or unclear else RATIO,
        mean=_scaled(mean, middle, scale, values),
        missing=Interval(1 - present.estimate, 1 - present.high, 1 - present.low, 1 - present.consistent),
        bias_bound=bias * scale,
        gap=observed.gap,
    )


def _observed(
    name: str, channel: Channel, counts: NDArray[np.int64], confidence: float, cancel: CancelToken
) -> Observed:
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence = {confidence} is not between 0 and 1")
    if int(counts.sum()) < 1:
        raise ParameterError("the table has no rows to estimate from", f"column {name}")
    found = maximum_likelihood(channel, counts, cancel)
    return Observed(channel, counts, 1 - confidence, found.frequencies, found.gap)


def _scaled(interval: Interval, middle: float, scale: float, values: Floats) -> Interval:
    figures = (interval.estimate, interval.low, interval.high, interval.consistent)
    # The last bit of a bound is not to leave the bounds.
    return possible(Interval(*(float(middle + scale * v) for v in figures)), float(values[0]), float(values[-1]))
