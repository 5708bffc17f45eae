"""What a mechanism does to a value, from its table alone: no data are touched and no budget is spent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.cells import Cells
from workbench.privacy.mechanisms.base import Randomiser
from workbench.privacy.mechanisms.grr import ClosedFormResponse
from workbench.privacy.table import blocks


@dataclass(frozen=True, eq=False)
class Facts:
    """Error of one mechanism on one attribute.

    For numbers, in the attribute's unit: bias E[Y|x] − x, variance Var[Y|x], both (s,) over the cells that hold a
    value, and errors under a uniform prior over them; an output in the missing cell counts as the middle of the
    range. For names, bias and variance are those of the unbiased estimate of each frequency from one record
    (Var at most and on average over true and estimated value), and the error is the probability that the value
    is changed.

    Attributes:
        exact_epsilon: ε of the integers sampled.
        bias: (s,) as above.
        variance: (s,) as above.
        expected_absolute_error: mean of E|Y − x|, or the probability of a change.
        mse_uniform: mean of E(Y − x)², or the probability of a change.
        constant_error: the expected error of always answering the middle (or one fixed name): no mechanism that
            does worse is worth its budget.
    """

    exact_epsilon: float
    bias: NDArray[np.float64]
    variance: NDArray[np.float64]
    expected_absolute_error: float
    mse_uniform: float
    constant_error: float

    @property
    def variance_max(self) -> float:
        """Largest variance over the cells."""
        return float(self.variance.max())

    @property
    def variance_mean(self) -> float:
        """Mean variance over the cells."""
        return float(self.variance.mean())

    @property
    def sd_mean(self) -> float:
        """Root of the mean variance over the cells."""
        return float(np.sqrt(self.variance.mean()))

    @property
    def bias_max(self) -> float:
        """Largest absolute bias over the cells."""
        return float(np.abs(self.bias).max())

    @property
    def useless(self) -> bool:
        """Whether a constant answer, which costs nothing, is at least as near."""
        return not self.expected_absolute_error < self.constant_error


def facts(randomiser: Randomiser, cells: Cells) -> Facts:
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
    return Facts(
        exact_epsilon=randomiser.exact_epsilon,
        bias=bias,
        variance=variance,
        expected_absolute_error=absolute,
        mse_uniform=float(np.mean(variance + bias**2)),
        constant_error=float(np.mean(np.abs(values - middle))),
    )


def _of_names(randomiser: Randomiser, cells: Cells) -> Facts:
    """Return the facts of randomised response over names, from its two probabilities."""
    if isinstance(randomiser, ClosedFormResponse):
        p, q = randomiser.keep_and_other()
    else:
        chances = randomiser.probabilities(slice(0, 1))
        p, q = float(chances[0, 0]), float(chances[0, 1])
    k = cells.total
    own, others = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
    # Two representatives: the frequency of the true value, and k−1 times that of another one.
    spread = np.array([own, *([others] * min(k - 1, 4096))])
    return Facts(
        exact_epsilon=randomiser.exact_epsilon,
        bias=np.zeros_like(spread),
        variance=spread,
        expected_absolute_error=1 - p,
        mse_uniform=1 - p,
        constant_error=1 - 1 / k,
    )
