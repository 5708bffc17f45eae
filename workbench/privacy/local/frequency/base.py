"""What a frequency oracle is: a report of its own kind for each row, and unbiased frequencies from many of them.

Wang, Blocki, Li & Jha 2017: the server counts for each value how many reports support it. A report supports the value
of its row with probability p and any other value with probability q, so that f̂ = (supports/n − q)/(p − q) is unbiased
with variance (f·p(1 − p) + (1 − f)·q(1 − q))/(n(p − q)²).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy


@dataclass(frozen=True)
class Frequency:
    """The estimated frequency of one value among the rows, as a part of 1."""

    estimate: float  # unbiased; it may be negative or above 1
    low: float  # lower end of the interval, within [0, 1]
    high: float  # upper end


class FrequencyOracle(Protocol):
    """An encoder of rows and the decoder of their reports, calibrated for k values."""

    size: int  # k
    exact_ratio: Fraction  # the largest ratio of the chances of one report under two values, e^ε exactly
    exact_epsilon: float  # ln of it, rounded up to a double
    own: float  # p, the probability that a report supports the value of its row
    other: float  # q, the probability that it supports any one other value

    def encode(self, values: NDArray[np.int64], entropy: Entropy) -> Any:
        """Return a report for each of the (n,) values, 0 ≤ value < k."""
        ...

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """Return how many reports support each value, (k,)."""
        ...


@dataclass(frozen=True, kw_only=True)
class OracleKind:
    """The descriptor of a frequency oracle."""

    name: str
    title: str
    report: str
    build: Callable[[int, float], FrequencyOracle]


def variance(oracle: FrequencyOracle, frequency: float) -> float:
    """Return the variance of the estimate of one frequency from one record; n records divide it by n."""
    p, q = oracle.own, oracle.other
    return (frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)) / (p - q) ** 2


def frequencies(oracle: FrequencyOracle, reports: Any, confidence: float = 0.95) -> tuple[Frequency, ...]:
    """Return the frequency of each value among the rows that were reported, k of them.

    The interval of each is Clopper & Pearson's of the expected supports. Supports are a sum of independent draws of two
    chances, whose tails are no heavier than the binomial's of the same mean (Hoeffding 1956).

    Raises:
        ParameterError: there is no report, or the confidence is not between 0 and 1.
    """
    from scipy.stats import beta

    if not 0 < confidence < 1:
        raise ParameterError(f"confidence = {confidence} is not between 0 and 1")
    rows = len(reports)
    if rows < 1:
        raise ParameterError("there are no reports to estimate from", hint="collect some first")
    seen = oracle.supports(reports).astype(np.float64)
    risk = (1 - confidence) / 2
    low = np.where(seen > 0, beta.ppf(risk, np.maximum(seen, 1), rows - seen + 1), 0.0)
    high = np.where(seen < rows, beta.ppf(1 - risk, seen + 1, np.maximum(rows - seen, 1)), 1.0)
    point, low, high = ((part - oracle.other) / (oracle.own - oracle.other) for part in (seen / rows, low, high))
    ends = np.clip(np.column_stack([low, high]), 0.0, 1.0).tolist()
    return tuple(Frequency(e, *end) for e, end in zip(point.tolist(), ends, strict=True))
