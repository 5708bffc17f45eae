"""The black-box auditor on the released numbers of forests, with hostile neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_noise import TooLittle
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.forest.estimator import ForestParameters, ForestRegression, RandomForest
from workbench.learners.tasks import EMPTY
from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.privacy.central.laplace import StudyNoise

EPSILON, FITS = 1.0, 3_000
ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=0, upper=8),
    Attribute(name="other", kind="category", domain=("a", "b")),
)
# Edge values; the last row is the only one of its class, and decides which split is better.
ROWS = [(0.0, 0.0), (0.0, 1.0), (8.0, 0.0), (8.0, 1.0), (8.0, 1.0)]


def told(numeric: bool, present: bool, faulty: bool) -> NDArray[np.int64]:
    """What releases say of the last row: how much of its class, or of high numbers, its leaf holds, in rows.

    How the root is split stands in the hundreds. Few values in all: the auditor has to learn which of them tell most.
    """
    noise: Any = StudyNoise(np.random.default_rng([present, numeric, faulty]))
    noise = TooLittle(noise, 4 if faulty else 1)
    parameters = ForestParameters(epsilon=EPSILON, choice_share=0.15)
    if numeric:
        target, y = Attribute(name="y", kind="real", lower=0, upper=1), [0, 0, 0, 0, 1.0 if present else np.nan]
        forest: Any = ForestRegression(ATTRIBUTES, target, parameters, noise)
    else:
        target, y = Attribute(name="y", kind="boolean"), [0, 0, 0, 0, 1 if present else EMPTY]
        forest = RandomForest(ATTRIBUTES, target, parameters, noise)
    out = np.empty(FITS, dtype=np.int64)
    for i in range(FITS):
        forest.fit(ROWS, np.array(y))
        answers, goal = forest.model_.answers, forest.model_.setting.goal
        split, leaves = forest.model_.setting.labels(0)[0], forest.model_.setting.labels(0)[-1]
        sums = np.array(answers[leaves]).reshape(-1, goal.parts)
        # The row lies at the upper end of every column: in the last leaf, but for the two parts of the category.
        leaf = len(sums) // 2 if answers[split][0] == 1 else -1
        out[i] = np.clip(np.rint(sums[leaf, 1] / goal.weight), -4, 4) + 100 * answers[split][0]
    return out


def audited(numeric: bool, faulty: bool) -> LowerBound:
    return epsilon_lower(told(numeric, True, faulty), told(numeric, False, faulty))


@pytest.mark.parametrize("numeric", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_releases_never_show_more_than_epsilon(numeric: bool) -> None:
    found = audited(numeric, False)
    assert not found.refutes(EPSILON)
    assert found.epsilon > 0.3  # the audit is not blind: see also the next test


@pytest.mark.slow
@pytest.mark.parametrize("numeric", [False, True])
def test_too_little_noise_is_seen(numeric: bool) -> None:
    assert audited(numeric, True).refutes(EPSILON)
