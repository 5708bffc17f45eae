"""The black-box auditor on what learners release that ask one query after the other: whole fits, hostile neighbours.

Each verdict is wrong with a probability of at most 1e-7. The same audit must flag a learner with a sixth of its noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.kmeans.estimator import KMeans
from workbench.learners.kmeans.parameters import KMeansParameters
from workbench.learners.linear_regression.estimator import LinearRegression
from workbench.learners.linear_regression.parameters import LinearRegressionParameters
from workbench.learners.logistic_regression.estimator import LogisticRegression
from workbench.learners.logistic_regression.parameters import SEARCH, SUMS, LogisticRegressionParameters
from workbench.learners.pca.estimator import PCA
from workbench.learners.pca.parameters import PcaParameters
from workbench.learners.standardize.estimator import Standardize
from workbench.learners.standardize.parameters import StandardizeParameters
from workbench.privacy.audit import epsilon_lower
from workbench.privacy.central import CentralNoise, StudyNoise

ALPHA = 1e-7
EPSILON = 2.0
FITS, FEW = 4_000, 800
SIDES = (Attribute(name="x", kind="real", lower=-1, upper=1), Attribute(name="z", kind="real", lower=-1, upper=1))
NUMBER = Attribute(name="y", kind="real", lower=-1, upper=1)
GROUP = Attribute(name="y", kind="category", domain=("a", "b"))

Fit = Callable[[CentralNoise, bool], NDArray[np.float64]]


class TooLittle:
    """A sixth of the noise that is paid for."""

    releasable = False

    def __init__(self, inner: CentralNoise) -> None:
        self._inner = inner

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        return self._inner.integers(values, sensitivity, 6 * epsilon)


def chosen_column(noise: CentralNoise, emptied: bool) -> NDArray[np.float64]:
    """Five rows in which one, at the edge, makes x worth choosing; the sums follow from the choice."""
    X = [(1.0, -1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]
    y = [np.nan if emptied else 1.0, 0.0, 0.0, 0.0, 0.0]
    parameters = LinearRegressionParameters(epsilon=EPSILON, columns=1)
    model = LinearRegression(SIDES, NUMBER, parameters, noise).fit(X, y).model_
    return np.array([*model.chosen, *model.answer], dtype=np.float64)


def lone_member(noise: CentralNoise, emptied: bool) -> NDArray[np.float64]:
    """Five rows, one of which is the only one near its centre."""
    X = [(1.0, 1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0)]
    y = [-1 if emptied else 0, 1, 1, 1, 1]
    parameters: Any = KMeansParameters(epsilon=EPSILON, rounds=1)
    model = KMeans(SIDES, GROUP, parameters, noise).fit(X, y).model_
    return np.array([v for answer in model.answers.values() for v in answer], dtype=np.float64)


def best_weights(noise: CentralNoise, emptied: bool) -> NDArray[np.float64]:
    """Two rows of two classes, one of which is emptied."""
    parameters = LogisticRegressionParameters(epsilon=EPSILON, weights_from=SEARCH)
    model = LogisticRegression(SIDES, GROUP, parameters, noise).fit([(0.5, 0.5)] * 2, [-1 if emptied else 0, 1]).model_
    return np.array(model.answers["choice of weights 1"], dtype=np.float64)


def emptied_class(noise: CentralNoise, emptied: bool) -> NDArray[np.float64]:
    """Five rows, one of which, at a corner, is the only one of its class."""
    X = [(1.0, 1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0)]
    y = [-1 if emptied else 0, 1, 1, 1, 1]
    parameters = LogisticRegressionParameters(epsilon=EPSILON, weights_from=SUMS, columns=2)
    model = LogisticRegression(SIDES, GROUP, parameters, noise).fit(X, y).model_
    return np.array(model.answers["sums"], dtype=np.float64)


def lone_direction(noise: CentralNoise, emptied: bool) -> NDArray[np.float64]:
    """Five rows, one of which, at a corner, is all that varies; mean, scatter and products follow from each other."""
    X = [(1.0, 1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0)]
    y = [-1 if emptied else 0, 1, 1, 1, 1]
    model = PCA(SIDES, GROUP, PcaParameters(epsilon=EPSILON), noise).fit(X, y).model_
    return np.array([v for answer in model.answers.values() for v in answer], dtype=np.float64)


def lone_spread(noise: CentralNoise, emptied: bool) -> NDArray[np.float64]:
    """Five rows, one of which, at a corner, is all that makes the columns spread."""
    X = [(1.0, 1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0)]
    y = [-1 if emptied else 0, 1, 1, 1, 1]
    model = Standardize(SIDES, GROUP, StandardizeParameters(epsilon=EPSILON), noise).fit(X, y).model_
    return np.array([v for answer in model.answers for v in answer], dtype=np.float64)


def outputs(fit: Fit, seed: int, emptied: bool, wrapped: Callable[[CentralNoise], CentralNoise]) -> NDArray[np.float64]:
    noise = wrapped(StudyNoise(np.random.default_rng(seed)))
    return np.array([fit(noise, emptied) for _ in range(FEW if fit in (lone_direction, lone_spread) else FITS)])


FITTED = [
    pytest.param(chosen_column, marks=pytest.mark.slow),
    lone_member,
    best_weights,
    pytest.param(emptied_class, marks=pytest.mark.slow),
    lone_direction,
    lone_spread,
]


@pytest.mark.parametrize("fit", FITTED)
def test_a_learner_is_never_seen_above_its_epsilon(fit: Fit) -> None:
    sides = [outputs(fit, seed, seed == 2, lambda noise: noise) for seed in (1, 2)]
    assert not epsilon_lower(*sides, alpha=ALPHA).refutes(EPSILON)


@pytest.mark.parametrize("fit", FITTED)
@pytest.mark.slow
def test_a_sixth_of_the_noise_is_flagged(fit: Fit) -> None:
    sides = [outputs(fit, seed, seed == 2, TooLittle) for seed in (1, 2)]
    assert epsilon_lower(*sides, alpha=ALPHA).refutes(EPSILON)
