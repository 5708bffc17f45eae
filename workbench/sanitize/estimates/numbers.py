"""The mean of a numeric column: over all rows, or over the rows with a value if missing ones have a cell."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.local.unbiased import Linear, direct, exact, path
from workbench.sanitize.estimates.interval import Interval, Observed, half_length, possible
from workbench.signals.cancel import CancelToken

Floats = NDArray[np.float64]

_GRID = 48  # ratios tried before the ends are bisected
_HALVINGS = 40
_LENGTHENING = 1.5  # the search for a biased estimator ends where the interval is this much longer than its best
_PLENTY = 10  # steps after the best before it does


@dataclass(frozen=True, eq=False)
class Chosen:
    """The estimator of one functional of the frequencies."""

    wanted: Floats  # (m,) u
    linear: Linear  # the estimator
    exact: bool  # whether it is unbiased


class Functionals:
    """Estimators of functionals of one column; shared parts are computed once."""

    def __init__(self, observed: Observed, cancel: CancelToken) -> None:
        self.observed, self._cancel = observed, cancel
        self._answers = observed.channel.backward(observed.fitted)

    def choose(self, wanted: Floats) -> Chosen:
        """Return the unbiased estimator, or the biased one with the shortest interval."""
        self._cancel.check()
        channel = self.observed.channel
        found = direct(channel, wanted)
        if found is not None:
            return Chosen(wanted, found, True)
        best, shortest, since = None, np.inf, 0
        for linear in path(channel, wanted):
            self._cancel.check()
            if exact(linear, wanted):
                return Chosen(wanted, linear, True)
            length = self._rough_length(linear)
            since += 1
            if length < shortest:
                best, shortest, since = linear, length, 0
            elif channel.decides and since > _PLENTY and length > _LENGTHENING * shortest:
                break
        assert best is not None
        return Chosen(wanted, best, False)

    def _rough_length(self, linear: Linear) -> float:
        """Return b + 2·se at the fitted frequencies: near enough to choose by, and one product a step."""
        spread = float(self._answers @ linear.values**2) - float(self.observed.fitted @ linear.expected**2)
        return linear.bias + 2 * math.sqrt(max(spread, 0.0) / self.observed.rows)

    def nearby(self, wanted: Floats) -> Linear:
        """Return the estimator with the least bias and noise together, unbiased or not."""
        best, shortest, since = None, math.inf, 0
        for linear in path(self.observed.channel, wanted):
            self._cancel.check()
            length, since = self._rough_length(linear), since + 1
            if length < shortest:
                best, shortest, since = linear, length, 0
            elif since > _PLENTY:
                break
        assert best is not None
        return best


def linear_interval(
    functionals: Functionals, wanted: Floats, consistent: float, least: float, most: float
) -> tuple[Interval, float]:
    """Return the interval of Σ f·wanted within what is possible, and the largest bias it allows for (0: unbiased)."""
    chosen = functionals.choose(wanted)
    observed = functionals.observed
    centre = observed.mean(chosen.linear.values)
    half = half_length(observed, chosen.linear, functionals.nearby(chosen.linear.variance(observed.channel)))
    point = centre if chosen.exact else consistent
    interval = possible(Interval(point, centre - half, centre + half, consistent), least, most)
    return interval, 0.0 if chosen.exact else chosen.linear.bias


def mean_of_some(
    functionals: Functionals, centred: Floats, has_value: Floats, consistent: float
) -> tuple[Interval, float]:
    """Return the interval of Σ f·centred / Σ f·has_value, a ratio, and the largest bias of the ratio it allows for."""
    top, below = functionals.choose(centred), functionals.choose(has_value)
    observed = functionals.observed
    exact = top.exact and below.exact
    up, down = observed.mean(top.linear.values), observed.mean(below.linear.values)
    point = float(np.clip(up / down, -1.0, 1.0)) if exact and down > 0 else consistent
    fieller = _Fieller(observed, top, below, up, down, _noises(functionals, top.linear, below.linear))
    low, high = _admitted_range(fieller.admits, point)
    share = max(float(observed.fitted @ has_value), 1.0 / observed.rows)
    allowed = 0.0 if exact else min((top.linear.bias + abs(point) * below.linear.bias) / share, 2.0)
    return possible(Interval(point, min(low, point), max(high, point), consistent), -1.0, 1.0), allowed


@dataclass(frozen=True, eq=False)
class _Fieller:
    """The interval of a ratio by Fieller's method (1954), which needs no approximation of a quotient.

    For the true ratio r the functional Σ f·(top − r·below) is 0: the interval holds each r for which 0 is within the
    interval of that.
    """

    observed: Observed  # the release
    top: Chosen  # the estimator of the numerator
    below: Chosen  # of the denominator
    up: float  # what the numerator is estimated at
    down: float  # what the denominator is
    # Estimators of the variance of the one, of their covariance and of the variance of the other.
    noises: tuple[Linear, Linear, Linear]

    def admits(self, ratio: float) -> bool:
        linear = self._difference(ratio)
        return abs(self.up - ratio * self.down) <= half_length(self.observed, linear, self._noise(ratio, linear))

    def _difference(self, ratio: float) -> Linear:
        """Return the estimator of Σ f·(top − ratio·below)."""
        top, below = self.top.linear, self.below.linear
        wanted = self.top.wanted - ratio * self.below.wanted
        expected = top.expected - ratio * below.expected
        return Linear(top.values - ratio * below.values, expected, float(np.abs(expected - wanted).max()))

    def _noise(self, ratio: float, linear: Linear) -> Linear:
        """Return the estimator of the noise of that: var(top) − 2·ratio·cov + ratio²·var(below)."""
        own, both, other = self.noises
        values = own.values - 2 * ratio * both.values + ratio**2 * other.values
        expected = own.expected - 2 * ratio * both.expected + ratio**2 * other.expected
        return Linear(values, expected, float(np.abs(expected - linear.variance(self.observed.channel)).max()))


def _noises(functionals: Functionals, top: Linear, below: Linear) -> tuple[Linear, Linear, Linear]:
    """Return estimators of the variance of one, of the covariance of both and of the variance of the other."""
    channel = functionals.observed.channel
    covariance = channel.forward(top.values * below.values) - top.expected * below.expected
    return (
        functionals.nearby(top.variance(channel)),
        functionals.nearby(covariance),
        functionals.nearby(below.variance(channel)),
    )


def _admitted_range(admitted: Callable[[float], bool], point: float) -> tuple[float, float]:
    """Return the least and the greatest ratio within [−1, 1] that is admitted, the point itself included."""
    ratios = np.linspace(-1.0, 1.0, _GRID + 1)
    inside = [r for r in ratios.tolist() if admitted(r)]
    low, high = min([point, *inside]), max([point, *inside])
    step = 2.0 / _GRID
    return last_held(admitted, low, max(low - step, -1.0)), last_held(admitted, high, min(high + step, 1.0))


def last_held(holds: Callable[[float], bool], within: float, without: float) -> float:
    """Return where what holds at ``within`` ends on the way to ``without``, by bisection from outside."""
    if within == without or holds(without):
        return without
    for _ in range(_HALVINGS):
        middle = (within + without) / 2
        within, without = (middle, without) if holds(middle) else (within, middle)
    return without


def centred_values(values: Floats, total: int) -> tuple[Floats, float, float]:
    """Return the values of the cells moved to [−1, 1] (0 for a missing cell), with the middle and the scale."""
    middle, scale = (values[0] + values[-1]) / 2, (values[-1] - values[0]) / 2
    out = np.zeros(total)
    out[: values.size] = (values - middle) / scale
    return out, float(middle), float(scale)
