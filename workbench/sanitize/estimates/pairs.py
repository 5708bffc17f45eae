"""What two protected columns of a release say together: a correlation, a two-way table, or both.

**The correlation of two noisy columns**, with its interval.

The columns of a row are randomised independently given the row, so the mean of g(answer a)·h(answer b) estimates
Σ f_xy·(P g)(x)·(Q h)(y) whatever the tables P and Q. With g, h estimators of 1 (has a value), x and x², every moment
that a correlation needs is such a mean.

The correlation is ρ where D(ρ) = cov − ρ·(V_a/λ + λ·V_b)/2 is 0 with λ = σ_a/σ_b: V_a/λ + λ·V_b is then 2·σ_a·σ_b. The
interval holds each ρ for which 0 is within the interval of D(ρ) (Fieller 1954): nothing is divided by a noisy variance,
and where the noise could be all that there is, the interval is the whole of −1 to 1. The means at which D is centred
enter to second order only, which is corrected for; λ is known only so far, and the interval is the union over what it
may be (±2 standard errors). Where a table has no unbiased estimator, the largest difference of (P g)(x)·(Q h)(y) from
what is wanted, over all x and y, is allowed for as in ``interval``. The standard errors are those of the sample: they
hold the spread of the rows, too, so the interval also covers the population that the rows are a sample of.

Where little noise meets columns that are nearly equal, the sample shows too few changed rows to show how far noise
reaches: the figures can be those of no table (a covariance above σ_a·σ_b), and no ρ would be held. So for ρ beyond
±0.9 the noise is estimated as well, from the public tables and the likely shares of two columns that rise, or fall,
together as much as these allow; the larger of both errors counts. Where still no ρ is held, the interval is the whole
of −1 to 1.

**The two-way table of two noisy columns of names**: the share of rows with each pair of values, with intervals. Both
columns together went through one public table: the Kronecker product P ⊗ Q, over pairs of values. As a
:class:`PairChannel` it is a channel like any other, and the shares are estimated as those of one column are: unbiased
where both tables have an inverse, else by maximum likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import Channel
from workbench.privacy.local.mechanisms.base import Randomiser
from workbench.privacy.local.unbiased import Linear
from workbench.sanitize.calibrated_columns import ProtectedColumn
from workbench.sanitize.estimates.interval import Interval, Observed, folded_quantile, possible
from workbench.sanitize.estimates.likelihood import maximum_likelihood
from workbench.sanitize.estimates.numbers import Functionals, centred_values, last_held, linear_interval
from workbench.signals.cancel import NEVER, CancelToken

Floats = NDArray[np.float64]

HIDDEN = 1.6  # length of an interval of a correlation, of 2, from which it is said to be hidden by the noise

RATIO, NEARLY = "ratio of unbiased estimates", "ratio of nearly unbiased estimates"

_FORESEEN_FROM = 0.9  # correlations from which, to both sides, the noise is estimated as well

_RATIOS = 40  # correlations tried on each side before the ends are bisected
_LEAST_VARIANCE = 1e-9
_MOST_UNCLEAR = 2.0  # ln λ is never taken to be less clear than this
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class NoisyColumn:
    """One of the two columns."""

    name: str
    cells: Cells  # its grid; of two names, these count as 0 and 1
    randomiser: Randomiser  # the mechanism that ran
    answers: NDArray[np.int64]  # (n,) released cells
    labels: tuple[str, ...] = ()  # the values of names, without the missing cell

    @property
    def values(self) -> tuple[str, ...]:
        """The values of names, the missing one last where there is one."""
        return (*self.labels, MISSING) if self.cells.missing else self.labels


@dataclass(frozen=True)
class Correlation:
    """The correlation of two columns over the rows that have both values."""

    columns: tuple[str, str]
    estimate: float  # the estimated covariance over the likeliest standard deviations, within −1 to 1
    low: float
    high: float
    biased: bool  # always true: a ratio has no unbiased estimator
    bias_bound: float  # what the interval allows for beyond that, where a table has no unbiased estimator of a moment
    hidden: bool  # whether the interval is most of what is possible: the noise hides the correlation
    method: str  # of which estimates it is a ratio

    def to_plain(self) -> dict[str, Any]:
        """Return the figures as JSON holds them."""
        correlation = {"estimate": self.estimate, "low": self.low, "high": self.high}
        stated = {"columns": list(self.columns), "correlation": correlation, "biased": self.biased}
        return {**stated, "method": self.method, "bias_bound": self.bias_bound, "hidden": self.hidden}


def can_correlate(cells: Cells) -> bool:
    """Whether a column of these cells has a correlation with others: numbers, or exactly two names."""
    return cells.numeric or cells.size == 2


def estimate_correlation(
    first: NoisyColumn, second: NoisyColumn, confidence: float, cancel: CancelToken = NEVER
) -> Correlation:
    """Return the correlation of two columns with as many rows in the same order, with an interval of that confidence.

    Raises:
        ParameterError: a column has other than two names, or the table too few rows.
    """
    for column in (first, second):
        if not can_correlate(column.cells):
            raise ParameterError(
                f"the column has {column.cells.size} values without an order, which have no correlation",
                f"column {column.name}",
                "choose numbers, or columns with two values",
            )
    if len(first.answers) < 3:
        raise ParameterError("a correlation needs at least 3 rows")
    sides = tuple(_Side.of(column, confidence, cancel) for column in (first, second))
    return _Pair(first, second, sides[0], sides[1], confidence, cancel).correlation()


@dataclass(frozen=True, eq=False)
class _Side:
    """What one column's table offers."""

    likely: Floats  # (m,) the likeliest shares of the cells
    values: int  # how many of these have a value
    products: Floats  # (3, 3, m) expected products of two of the estimators, for each cell
    # (3, k) estimators of having a value, of x and of x², x in half-ranges from a centre near the mean.
    per_answer: Floats
    expected: Floats  # (3, m) their expectations
    wanted: Floats  # (3, m) what they should be
    exact: bool  # whether all three are unbiased
    spread: float  # likely variance of x

    @classmethod
    def of(cls, column: NoisyColumn, confidence: float, cancel: CancelToken) -> _Side:
        cells, channel = column.cells, column.randomiser.channel()
        counts = np.bincount(column.answers, minlength=channel.outputs)
        found = maximum_likelihood(channel, counts, cancel)
        observed = Observed(channel, counts, 1 - confidence, found.frequencies, found.gap)
        functionals = Functionals(observed, cancel)
        values = np.arange(2.0) if cells.values is None else cells.values
        places, _, _ = centred_values(values, cells.total)
        has_value = np.ones(cells.total)
        has_value[cells.size :] = 0.0
        # The likely mean as the centre keeps x² small where the rows are.
        there = max(float(found.frequencies @ has_value), 1e-9)
        middle = float(found.frequencies @ places) / there
        x = (places - middle) * has_value
        wanted = np.stack([has_value, x, x**2])
        linears = [_estimator(functionals, row) for row in wanted]
        spread = max(float(found.frequencies @ wanted[2]) / there, _LEAST_VARIANCE)
        per_answer = np.stack([linear.values for linear, _ in linears])
        products = [[channel.forward(one * other) for other in per_answer] for one in per_answer]
        return cls(
            found.frequencies,
            cells.size,
            np.array(products),
            per_answer,
            np.stack([linear.expected for linear, _ in linears]),
            wanted,
            all(exact for _, exact in linears),
            spread,
        )


def _estimator(functionals: Functionals, wanted: Floats) -> tuple[Linear, bool]:
    if np.ptp(wanted) == 0:  # every row has a value: nothing to estimate
        channel = functionals.observed.channel
        constant = float(wanted[0])
        return Linear(np.full(channel.outputs, constant), np.full(channel.inputs, constant), 0.0), True
    chosen = functionals.choose(wanted)
    return chosen.linear, chosen.exact


class _Pair:
    """The moments of both columns together, and which correlations agree with them."""

    def __init__(
        self,
        first: NoisyColumn,
        second: NoisyColumn,
        a: _Side,
        b: _Side,
        confidence: float,
        cancel: CancelToken,
    ) -> None:
        self._names = (first.name, second.name)
        self._a, self._b, self._alpha, self._cancel = a, b, 1 - confidence, cancel
        self._rows = len(first.answers)
        self._exact = a.exact and b.exact
        pieces = [a.per_answer[:, first.answers][s] * b.per_answer[:, second.answers][t] for s, t in _TERMS]
        self._terms = np.stack(pieces)  # (6, n)
        moments = self._terms.mean(axis=1)
        self._noise = np.atleast_2d(np.cov(self._terms))  # (6, 6) of one row
        there = max(float(moments[_ONE]), 1.0 / self._rows)
        self._there = there
        self._means = (
            float(np.clip(moments[_X] / there, -2.0, 2.0)),
            float(np.clip(moments[_Y] / there, -2.0, 2.0)),
        )
        self._moments = moments
        self._scale = math.sqrt(a.spread / b.spread)
        self._foreseen = {rising: self._noise_foreseen(rising=rising) for rising in (True, False)}

    def correlation(self) -> Correlation:
        """Return the estimate and the hull of what is admitted."""
        cov, va, vb = (self._figure(w) for w in (self._weights_cov, self._weights_a, self._weights_b))
        likely = math.sqrt(self._a.spread * self._b.spread) * self._there
        own = cov - self._of_means(_X, _Y) * float(self._moments[_ONE])  # of these rows, as the likely deviations are
        point = float(np.clip(own / max(likely, _LEAST_VARIANCE), -1.0, 1.0))
        ratios = self._ratios(va, vb)

        def admits(ratio: float) -> bool:
            self._cancel.check()
            return any(self._admits(ratio, scale) for scale in ratios)

        # Between two of the correlations that are tried there can be all that are admitted.
        middles = [float(np.clip(2 * cov / d, -1.0, 1.0)) for d in (va / s + s * vb for s in ratios) if d > 0]
        low, high = _hull(admits, point, middles)
        hidden = high - low >= HIDDEN
        allowed = 0.0 if self._exact else min(self._bias(self._weights_cov) / max(likely, _LEAST_VARIANCE), 2.0)
        method = RATIO if self._exact else NEARLY
        return Correlation(self._names, point, low, high, True, allowed, hidden, method)

    def _ratios(self, va: float, vb: float) -> tuple[float, ...]:
        """Return what σ_a/σ_b may be: the likely one and two standard errors (of its logarithm) to both sides."""
        unclear = 0.0
        for weights, value in ((self._weights_a, va), (self._weights_b, vb)):
            error = self._error(weights) + self._bias(weights)
            unclear += (error / max(value, error, _LEAST_VARIANCE)) ** 2 / 4
        reach = min(2 * math.sqrt(unclear), _MOST_UNCLEAR)
        centre = self._scale if min(va, vb) <= 0 else math.sqrt(va / vb)
        return centre, centre * math.exp(-reach), centre * math.exp(reach)

    def _admits(self, ratio: float, scale: float) -> bool:
        weights = self._weights_cov - ratio / 2 * (self._weights_a / scale + scale * self._weights_b)
        error, bias = self._error(weights), self._bias(weights)
        if abs(ratio) >= _FORESEEN_FROM:
            error = max(error, self._error(weights, self._foreseen[ratio > 0]))
        if error <= 0:
            return abs(self._figure(weights)) <= bias + 1e-12
        return abs(self._figure(weights)) <= error * folded_quantile(bias / error, self._alpha)

    # -- functionals of the six moments: weights (6,) -----------------------------------------------------------------

    def _figure(self, weights: Floats) -> float:
        return float(weights @ self._moments)

    def _error(self, weights: Floats, noise: Floats | None = None) -> float:
        """Return the standard error of a weighted sum of the moments, by default as the sample shows it."""
        noise = self._noise if noise is None else noise
        return math.sqrt(max(float(weights @ noise @ weights), 0.0) / self._rows)

    def _noise_foreseen(self, *, rising: bool) -> Floats:
        """Return the covariances (6, 6) of the terms of one row, worked out from the tables alone.

        The two columns are taken to rise together as much as their likely shares allow, or one to fall.
        """
        a, b = self._a, self._b
        first, second, shares = _coupled(a.likely, b.likely, b.values, rising=rising)
        s, t = (np.array(side) for side in zip(*_TERMS, strict=True))
        means = (a.expected[s][:, first] * b.expected[t][:, second]) @ shares
        products = a.products[s[:, None], s][..., first] * b.products[t[:, None], t][..., second]
        covariances: Floats = products @ shares - np.outer(means, means)
        return covariances

    def _bias(self, weights: Floats) -> float:
        """Return the largest difference from what is wanted, over all pairs of values."""
        if self._exact:
            return 0.0
        most = 0.0
        a, b = self._a, self._b
        for start in range(0, a.wanted.shape[1], _BLOCK):
            self._cancel.check()
            part = slice(start, start + _BLOCK)
            off = np.zeros((len(a.wanted[0, part]), b.wanted.shape[1]))
            for weight, (s, t) in zip(weights, _TERMS, strict=True):
                off += weight * (
                    np.outer(a.expected[s, part], b.expected[t]) - np.outer(a.wanted[s, part], b.wanted[t])
                )
            most = max(most, float(np.abs(off).max()))
        return most

    @cached_property
    def _weights_cov(self) -> Floats:
        """Return the weights of Σ (x − mean)(y − mean), less what the noise of both means takes from it."""
        x, y = self._means
        return np.array([x * y + self._of_means(_X, _Y), -y, -x, 1.0, 0.0, 0.0])

    @cached_property
    def _weights_a(self) -> Floats:
        """Return the weights of Σ (x − mean)², less what the noise of the mean takes from it."""
        x, _ = self._means
        return np.array([x**2 + self._of_means(_X, _X), -2 * x, 0.0, 0.0, 1.0, 0.0])

    @cached_property
    def _weights_b(self) -> Floats:
        _, y = self._means
        return np.array([y**2 + self._of_means(_Y, _Y), 0.0, -2 * y, 0.0, 0.0, 1.0])

    def _of_means(self, one: int, other: int) -> float:
        """Return the covariance of the noise in two means (of one and the same: its variance)."""
        weights = np.zeros((2, len(_TERMS)))
        for line, which in enumerate((one, other)):
            weights[line, which], weights[line, _ONE] = 1.0, -self._means[which - _X]
        return float(weights[0] @ self._noise @ weights[1]) / self._rows / self._there**2


_TERMS = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2))
"""Of the first column's estimators and the second's: 1·1, x·1, 1·y, x·y, x²·1, 1·y²."""

_ONE, _X, _Y = 0, 1, 2


def _coupled(
    first: Floats, second: Floats, values: int, *, rising: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return pairs of cells (p,), (p,) and their shares (p,): of two columns that rise together, or one of which falls.

    The columns have shares (m,) and (l,) of their cells; so many ``values`` of the second have one; one without stays
    last.
    """
    order = np.arange(len(second))
    if not rising:
        order[:values] = order[:values][::-1]
    ends, others = (np.cumsum(part) / part.sum() for part in (first, second[order]))
    ends[-1] = others[-1] = 1.0  # sums are rounded
    steps = np.unique(np.minimum(np.concatenate([ends, others]), 1.0))
    shares = np.diff(steps, prepend=0.0)
    middles = steps - shares / 2
    return np.searchsorted(ends, middles), order[np.searchsorted(others, middles)], shares


def _hull(admits: Callable[[float], bool], point: float, middles: list[float]) -> tuple[float, float]:
    """Return the least and greatest correlation that is admitted, ``point`` included; ``middles`` are tried, too."""
    tried = np.array([*np.linspace(-1.0, 1.0, 2 * _RATIOS + 1), *middles])
    inside = [float(r) for r in tried if admits(float(r))]
    if not inside and not admits(point):
        return -1.0, 1.0  # the moments are those of no table
    low, high = min([point, *inside]), max([point, *inside])
    step = 1.0 / _RATIOS
    return last_held(admits, low, max(low - step, -1.0)), last_held(admits, high, min(high + step, 1.0))


MOST_PAIRS = 256  # pairs of values up to which a two-way table is estimated: each has an interval of its own

MISSING = "missing"


class PairChannel:
    """The table P ⊗ Q over pairs (x, y), pair x·m_b + y; nothing of its size is ever in memory."""

    def __init__(self, first: Channel, second: Channel) -> None:
        self._first, self._second = first, second
        self.inputs, self.outputs = first.inputs * second.inputs, first.outputs * second.outputs
        self.decides = first.decides and second.decides

    def forward(self, values: Floats) -> Floats:
        """Return (P ⊗ Q)·values."""
        grid = values.reshape(self._first.outputs, self._second.outputs)
        half = np.stack([self._second.forward(row) for row in grid])
        return np.stack([self._first.forward(column) for column in half.T], axis=1).ravel()

    def backward(self, frequencies: Floats) -> Floats:
        """Return frequencies·(P ⊗ Q)."""
        grid = frequencies.reshape(self._first.inputs, self._second.inputs)
        half = np.stack([self._second.backward(row) for row in grid])
        return np.stack([self._first.backward(column) for column in half.T], axis=1).ravel()

    def rows(self, cells: NDArray[np.int64]) -> Floats:
        """Return the rows of some pairs."""
        one, other = np.divmod(cells, self._second.inputs)
        a, b = self._first.rows(one), self._second.rows(other)
        return (a[:, :, None] * b[:, None, :]).reshape(len(cells), self.outputs)

    def solved(self, wanted: Floats) -> Floats | None:
        """Return the solution along one table, then along the other."""
        half = [self._second.solved(row) for row in wanted.reshape(self._first.inputs, self._second.inputs)]
        found = [row for row in half if row is not None]
        if len(found) < len(half):
            return None
        whole = [self._first.solved(column) for column in np.stack(found).T]
        columns = [column for column in whole if column is not None]
        return None if len(columns) < len(whole) else np.stack(columns, axis=1).ravel()


@dataclass(frozen=True)
class TwoWay:
    """Shares of the rows by the values of two columns."""

    columns: tuple[str, str]
    rows: tuple[str, ...]  # the values of the first
    across: tuple[str, ...]  # the values of the second
    shares: dict[tuple[str, str], Interval]  # by (value of the first, value of the second)
    biased: bool  # whether the point estimates are those of the greatest likelihood

    def to_plain(self) -> dict[str, Any]:
        """Return the figures as JSON holds them."""
        table = {a: {b: self.shares[a, b].to_plain() for b in self.across} for a in self.rows}
        return {"columns": list(self.columns), "table": table, "biased": self.biased}


def fits_two_way(first: Cells, second: Cells) -> bool:
    """Whether two columns have a two-way table: names, and not too many pairs."""
    return not first.numeric and not second.numeric and first.total * second.total <= MOST_PAIRS


def estimate_two_way(first: NoisyColumn, second: NoisyColumn, confidence: float, cancel: CancelToken = NEVER) -> TwoWay:
    """Return the share of the rows with each pair of values, each with an interval of that confidence.

    Raises:
        ParameterError: there are too many pairs, or no rows.
    """
    if not fits_two_way(first.cells, second.cells):
        raise ParameterError(
            f"a two-way table needs two columns of names with at most {MOST_PAIRS} pairs of values",
            f"columns {first.name} and {second.name}",
        )
    if not len(first.answers):
        raise ParameterError("the table has no rows to estimate from")
    one, other = first.randomiser.channel(), second.randomiser.channel()
    channel = PairChannel(one, other)
    counts = np.bincount(first.answers * other.outputs + second.answers, minlength=channel.outputs)
    found = maximum_likelihood(channel, counts, cancel)
    functionals = Functionals(Observed(channel, counts, 1 - confidence, found.frequencies, found.gap), cancel)
    made = [
        linear_interval(functionals, own, float(own @ found.frequencies), 0.0, 1.0) for own in np.eye(channel.inputs)
    ]
    biased = any(bias for _, bias in made)
    intervals = [interval for interval, _ in made]
    if biased:  # one method for the whole table
        likely = zip(found.frequencies.tolist(), intervals, strict=True)
        intervals = [possible(Interval(c, i.low, i.high, c), 0.0, 1.0) for c, i in likely]
    pairs = [(a, b) for a in first.values for b in second.values]
    shares = dict(zip(pairs, intervals, strict=True))
    return TwoWay((first.name, second.name), first.values, second.values, shares, biased)


@dataclass(frozen=True)
class PairEstimate:
    """The estimates for two columns."""

    columns: tuple[str, str]
    # Of numbers and of columns with two values (the first as 0, the second as 1).
    correlation: Correlation | None = None
    two_way: TwoWay | None = None  # shares by the values of both, for names

    def to_plain(self) -> dict[str, Any]:
        """Return the estimates as JSON holds them."""
        parts = [part.to_plain() for part in (self.two_way, self.correlation) if part is not None]
        return {key: value for part in parts for key, value in part.items()}


def pair_refusal(first: ProtectedColumn, second: ProtectedColumn) -> str:
    """Return why nothing is estimated for two columns together; empty where something is."""
    a, b = first.grid.cells, second.grid.cells
    if first.column.name == second.column.name:
        return "a pair needs two different columns"
    if (can_correlate(a) and can_correlate(b)) or fits_two_way(a, b):
        return ""
    if not a.numeric and not b.numeric:
        return f"the two columns have {a.total * b.total:,} pairs of values, more than the {MOST_PAIRS} of a table"
    names = first if not a.numeric else second
    return f"column {names.column.name} has more than two values without an order: it has no correlation with numbers"


def estimate_pair(
    first: ProtectedColumn,
    second: ProtectedColumn,
    answers: tuple[NDArray[np.int64], NDArray[np.int64]],
    confidence: float,
    cancel: CancelToken = NEVER,
) -> PairEstimate:
    """Return what fits the two columns: a correlation, a two-way table, or both.

    ``answers`` are the (n,) released cells of each, in the same order.

    Raises:
        ParameterError: nothing fits the two.
    """
    refusal = pair_refusal(first, second)
    columns = (first.column.name, second.column.name)
    if refusal:
        hint = "choose two numbers, columns with two values, or two columns of names with few values"
        raise ParameterError(refusal, f"pair {columns[0]}, {columns[1]}", hint)
    a, b = first.grid.cells, second.grid.cells
    one, other = (
        NoisyColumn(c.column.name, c.grid.cells, c.randomiser, np.asarray(held, dtype=np.int64), c.grid.labels)
        for c, held in zip((first, second), answers, strict=True)
    )
    correlation = two_way = None
    if can_correlate(a) and can_correlate(b):
        correlation = estimate_correlation(one, other, confidence, cancel)
    if fits_two_way(a, b):
        two_way = estimate_two_way(one, other, confidence, cancel)
    return PairEstimate(columns, correlation, two_way)
