"""The black-box auditor on released answers of medians of blocks: a row at the edge turns the block that it is in.

Each verdict is wrong with a probability of at most 1e-7. The same audit must flag answers drawn at many times the ε.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners import Learner
from workbench.learners.median_forest.estimator import MEDIAN_FOREST, MEDIAN_XGBOOST
from workbench.privacy.audit import epsilon_lower
from workbench.work.noise import Study

ALPHA = 1e-7
EPSILON = 1.0
DRAWS = 20_000
SIDE = (Attribute(name="x", kind="real", lower=-1, upper=1),)
NUMBER = Attribute(name="y", kind="real", lower=-1, upper=1)


def answers(chosen: Learner, aggregate: str, epsilon: float, emptied: bool) -> NDArray[np.float64]:
    """Answers to one row: three blocks of one row, of which the one in the middle is the median, or is emptied."""
    X = np.zeros((3, 1))
    y = np.array([-1.0, 0.25, 1.0])
    if emptied:
        y[1] = np.nan  # its block knows nothing and answers the middle
    parameters: Any = chosen.parameters(epsilon=epsilon, blocks=3, aggregate=aggregate, trees=1)
    noise = Study(np.random.default_rng(2 if emptied else 1))
    model: Any = chosen.estimator(SIDE, NUMBER, parameters, noise).fit(X, y)
    return np.asarray(model.predict(np.zeros((DRAWS, 1)))).reshape(-1, 1)


@pytest.mark.parametrize(
    "chosen",
    [MEDIAN_FOREST, pytest.param(MEDIAN_XGBOOST, marks=pytest.mark.slow)],
    ids=lambda chosen: chosen.name,
)
@pytest.mark.parametrize(("aggregate", "times"), [("exponential", 6), ("smooth", 100)])
def test_an_answer_is_never_seen_above_its_epsilon(chosen: Learner, aggregate: str, times: float) -> None:
    if chosen is MEDIAN_XGBOOST:
        pytest.importorskip("xgboost")
    honest = epsilon_lower(*(answers(chosen, aggregate, EPSILON, gone) for gone in (False, True)), alpha=ALPHA)
    assert not honest.refutes(EPSILON)
    planted = epsilon_lower(*(answers(chosen, aggregate, times * EPSILON, gone) for gone in (False, True)), alpha=ALPHA)
    assert planted.refutes(EPSILON)
