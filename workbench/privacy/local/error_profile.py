"""The error of a mechanism, from its table alone: this reads no data and spends no budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import DENSE_UPTO, Channel, TwoChances
from workbench.privacy.local.mechanism_table import blocks
from workbench.privacy.local.mechanisms.base import Randomiser
from workbench.privacy.local.unbiased import nearest, unbiased

_MOST_NAMES = 4096  # for a larger domain the mean over this many others has the same displayed digits


_ESTIMATED = 64  # names whose frequency is estimated where there are more than 512: evenly spaced ones are taken


_BELLS = ((0.5, 0.15), (0.25, 0.12), (0.75, 0.12))  # middle and deviation, in parts of the range

_SKEWED = (0.05, 0.1, 0.2)  # distance of the mean from the end, in parts of the range

_NO_NOISE = 1e-300


@dataclass(frozen=True)
class ErrorFacts:
    """The figures of an :class:`ErrorProfile`, which says what each is; light enough to be kept on disk."""

    exact_epsilon: float
    bias_max: float
    sd_mean: float
    expected_absolute_error: float
    constant_error: float
    statistic_variance: float | None
    relations_kept: float

    def scaled(self, unit: float) -> ErrorFacts:
        """Return the figures of the same mechanism where the distance of two cells is ``unit`` times as large."""
        variance = self.statistic_variance
        return ErrorFacts(
            exact_epsilon=self.exact_epsilon,
            bias_max=self.bias_max * unit,
            sd_mean=self.sd_mean * unit,
            expected_absolute_error=self.expected_absolute_error * unit,
            constant_error=self.constant_error * unit,
            statistic_variance=None if variance is None else variance * unit**2,
            relations_kept=self.relations_kept,
        )

    @property
    def statistic_sd(self) -> float | None:
        """Standard deviation of the unbiased estimate of a mean or a frequency from one record."""
        return None if self.statistic_variance is None else math.sqrt(self.statistic_variance)

    @property
    def useless(self) -> bool:
        """Whether a constant answer, which has no privacy cost, is at least as close."""
        return not self.expected_absolute_error < self.constant_error


@dataclass(frozen=True, eq=False)
class ErrorProfile:
    """Error of one mechanism on one attribute.

    For numbers, in the attribute's unit: bias E[Y|x] − x, variance Var[Y|x], both (s,) over the cells that hold a
    value, and errors under a uniform prior over them; an output in the missing cell counts as the middle of the
    range. For names, bias and variance are those of the estimate of each frequency from one record, for each true and
    estimated value (the true one first), and the error is the probability that the value is changed, with all values
    equally likely. The estimate is unbiased if the table allows it, otherwise the nearest one by least squares.
    """

    exact_epsilon: float  # ε of the integers sampled
    bias: NDArray[np.float64]  # (s,) as above
    variance: NDArray[np.float64]  # (s,) as above
    expected_absolute_error: float  # mean of E|Y − x|, or the probability of a change
    mse_uniform: float  # mean of E(Y − x)², or the probability of a change
    # The expected error of always answering the middle (or one fixed name): a mechanism that does worse is not worth
    # its budget.
    constant_error: float
    # Variance of the unbiased estimate of a mean from one record, the geometric mean over some public shapes of the
    # values (`usual_shapes`), so that the least one makes intervals that are the shortest on average (names: of a
    # frequency, with all values equally likely); `None` if the table has no unbiased estimator.
    statistic_variance: float | None
    # The part of a correlation with any other column that is left after this one was randomised, if its values are
    # spread evenly over the cells. For numbers the correlation of Y and x, which is exact where the other column
    # depends on x by a straight line; the mechanism's draws are independent of the rest of the row. For names 1 −
    # error/constant error, which of randomised response is p − q.
    relations_kept: float

    @property
    def facts(self) -> ErrorFacts:
        """The figures without the errors of each cell."""
        return ErrorFacts(
            exact_epsilon=self.exact_epsilon,
            bias_max=self.bias_max,
            sd_mean=float(np.sqrt(self.variance.mean())),
            expected_absolute_error=self.expected_absolute_error,
            constant_error=self.constant_error,
            statistic_variance=self.statistic_variance,
            relations_kept=self.relations_kept,
        )

    @property
    def variance_max(self) -> float:
        """Largest variance over the cells."""
        return float(self.variance.max())

    @property
    def variance_mean(self) -> float:
        """Mean variance over the cells."""
        return float(self.variance.mean())

    @property
    def bias_max(self) -> float:
        """Largest absolute bias over the cells."""
        return float(np.abs(self.bias).max())


def duchi_sd(epsilon: float) -> float:
    """Return the standard deviation of Duchi's mechanism at 0 on [−1, 1]: (e^ε + 1)/(e^ε − 1) (Duchi et al. 2018)."""
    return 1 / math.tanh(epsilon / 2)


def error_profile(randomiser: Randomiser, cells: Cells) -> ErrorProfile:
    """Return what ``randomiser`` does to the values of ``cells``."""
    if cells.values is None:
        return _of_names(randomiser, cells)
    values = cells.values
    middle = (values[0] + values[-1]) / 2
    answers = np.append(values, middle) if cells.missing else values
    mean, square, distance = (np.empty(cells.size) for _ in range(3))
    for rows in blocks(cells.size, len(answers)):
        chances = randomiser.probabilities(rows)
        mean[rows], square[rows] = chances @ answers, chances @ answers**2
        distance[rows] = np.sum(chances * np.abs(answers[None, :] - values[rows, None]), axis=1)
    variance = np.maximum(square - mean**2, 0.0)
    absolute = float(np.mean(distance))
    bias = mean - values
    return ErrorProfile(
        exact_epsilon=randomiser.exact_epsilon,
        bias=bias,
        variance=variance,
        expected_absolute_error=absolute,
        mse_uniform=float(np.mean(variance + bias**2)),
        constant_error=float(np.mean(np.abs(values - middle))),
        statistic_variance=_variance_of_mean(randomiser.channel(), answers - middle, values),
        relations_kept=_correlation(values, mean, variance),
    )


def _correlation(values: NDArray[np.float64], mean: NDArray[np.float64], variance: NDArray[np.float64]) -> float:
    """Return corr(x, Y), at least 0, of evenly spread x (s,) and an answer Y of this mean and variance given x (s,)."""
    spread = float(np.sqrt(values.var() * (mean.var() + variance.mean())))
    if spread == 0:
        return 0.0
    together = float(np.mean((values - values.mean()) * (mean - mean.mean())))
    return min(max(together / spread, 0.0), 1.0)


def usual_shapes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ten public shapes that the values of a column often have, (10, s): the share of each value in each shape.

    Spread evenly; about the middle; about a quarter, and three quarters, of the range; and skewed, with a mean of a
    twentieth, a tenth and a fifth of the range from either end, as amounts and durations between wide bounds are. No
    row is looked at: how noise depends on the value differs between mechanisms, and no one is the best for all values.

    Args:
        values: (s,) the public values of the column, ascending.
    """
    place = (values - values[0]) / max(float(values[-1] - values[0]), 1e-300)
    bells = [np.exp(-(((place - middle) / deviation) ** 2) / 2) for middle, deviation in _BELLS]
    skewed = [np.exp(-side / mean) for mean in _SKEWED for side in (place, 1 - place)]
    shapes = np.array([np.ones(len(values)), *bells, *skewed])
    return np.asarray(shapes / shapes.sum(axis=1, keepdims=True))


def _variance_of_mean(channel: Channel, wanted: NDArray[np.float64], values: NDArray[np.float64]) -> float | None:
    """Return the variance of the unbiased estimate of Σ f·wanted from one record, the usual one over the shapes."""
    found = unbiased(channel, wanted)
    if found is None:
        return None
    of_shapes = usual_shapes(values) @ found.variance(channel)[: len(values)]
    return float(np.exp(np.mean(np.log(np.maximum(of_shapes, _NO_NOISE)))))


def _of_names(randomiser: Randomiser, cells: Cells) -> ErrorProfile:
    channel = randomiser.channel()
    bias, variance, changed, exact = _two_chances(channel) if isinstance(channel, TwoChances) else _any(channel)
    return ErrorProfile(
        exact_epsilon=randomiser.exact_epsilon,
        bias=bias,
        variance=variance,
        expected_absolute_error=changed,
        mse_uniform=changed,
        constant_error=1 - 1 / cells.total,
        statistic_variance=float(variance.mean()) if exact else None,
        relations_kept=max(0.0, 1 - changed / (1 - 1 / cells.total)) if cells.total > 1 else 0.0,
    )


def _two_chances(channel: TwoChances) -> tuple[NDArray[np.float64], NDArray[np.float64], float, bool]:
    """Return bias, variance, the chance of a change and that the estimate is unbiased, from p and q alone."""
    p, q, k = channel.keep, channel.other, channel.inputs
    if p <= q:
        return np.full(1, 1 - 1 / k), np.zeros(1), 1 - p, False
    own, others = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
    # Two representatives: the frequency of the true value, and k−1 times that of another one.
    spread = np.array([own, *([others] * min(k - 1, _MOST_NAMES))])
    return np.zeros_like(spread), spread, 1 - p, True


def _any(channel: Channel) -> tuple[NDArray[np.float64], NDArray[np.float64], float, bool]:
    size = channel.inputs
    kept = np.array([channel.rows(np.array([cell]))[0, cell] for cell in range(size)])
    cells = np.arange(size)
    if size > DENSE_UPTO:
        cells = np.unique(np.linspace(0, size - 1, _ESTIMATED).round().astype(np.int64))
    bias, variance = np.zeros((size, cells.size)), np.zeros((size, cells.size))
    exact = True
    for at, cell in enumerate(cells):
        own = np.zeros(size)
        own[cell] = 1.0
        found = unbiased(channel, own)
        exact = exact and found is not None
        linear = nearest(channel, own) if found is None else found
        bias[:, at], variance[:, at] = linear.expected - own, linear.variance(channel)
    if exact:
        bias[:] = 0.0  # what is left is rounding
    true = np.zeros(bias.shape, dtype=bool)
    true[cells, np.arange(cells.size)] = True
    first = [np.concatenate([matrix[true], matrix[~true]]) for matrix in (bias, variance)]
    return first[0], first[1], float(1 - kept.mean()), exact
