"""Statistics of a sanitised column from its released cells and its public table alone.

Every figure is about the n rows after clamping to the public bounds and rounding to the public grid. Estimates are
unbiased if the mechanism has an unbiased estimator; otherwise they use the frequencies of greatest likelihood and are
marked ``biased``. The figure at those frequencies, which a real table could have, is always given (``consistent``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import Channel, TwoChances
from workbench.privacy.local.mechanisms.base import Randomiser
from workbench.sanitize.calibrated import ProtectedColumn
from workbench.sanitize.estimates.interval import Interval, Observed, possible
from workbench.sanitize.estimates.likelihood import maximum_likelihood
from workbench.sanitize.estimates.numbers import Functionals, centred_values, linear_interval, mean_of_some
from workbench.sanitize.estimates.randomised_response import frequency_intervals
from workbench.signals.cancel import CancelToken

Floats = NDArray[np.float64]

UNBIASED, RATIO, LIKELIHOOD = "unbiased", "ratio of unbiased estimates", "maximum likelihood"


@dataclass(frozen=True)
class ColumnEstimate:
    """The estimates for one column.

    Attributes:
        name: the column.
        biased: whether the point estimates are not unbiased: maximum likelihood, or a ratio (bias of order 1/n).
        method: how the point estimates were made.
        frequencies: share of the rows by value, for names.
        mean: mean of the rows with a value, for numbers; in the attribute's unit (days for dates).
        missing: share of the rows without a value, if that is a cell of its own.
        bias_bound: allowance for bias in the mean's interval, which never gets shorter than twice this.
        gap: no frequencies have a log-likelihood (in nats) more than this above that of the consistent ones.
    """

    name: str
    biased: bool
    method: str
    frequencies: dict[str, Interval] | None = None
    mean: Interval | None = None
    missing: Interval | None = None
    bias_bound: float = 0.0
    gap: float = 0.0

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
    column: ProtectedColumn, counts: NDArray[np.int64], confidence: float, cancel: CancelToken | None = None
) -> ColumnEstimate:
    """Return the mean of a numeric column, the frequencies of one of names.

    Args:
        column: the column with the mechanism that ran.
        counts: (t,) counts of the released cells, the missing one last where there is one.
        confidence: of each interval.
        cancel: checked between steps.

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
    cancel: CancelToken | None = None,
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
    cancel = cancel or CancelToken()
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
    cancel: CancelToken | None = None,
) -> ColumnEstimate:
    """Return the mean of a numeric column.

    Args:
        name: the column.
        cells: its grid.
        randomiser: the mechanism that ran.
        counts: (t,) counts of the released cells, the missing one last where there is one.
        confidence: of the interval.
        cancel: checked between steps.

    Raises:
        ParameterError: the table has no rows, or the cells are names.
    """
    if cells.values is None:
        raise ParameterError("the column holds names, not numbers", f"column {name}")
    cancel = cancel or CancelToken()
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
