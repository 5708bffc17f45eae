"""A fit looks between blocks of rows whether to stop, and what it learns does not hang on the blocks."""

from typing import Any

import numpy as np
import pytest

from workbench.data.schema import Attribute
from workbench.learners import LEARNERS, Learner, base, learner
from workbench.params import CancelledError
from workbench.signals.cancel import CancelToken, interruptible
from workbench.work.noise import Exact, Study

ROWS = 400
COLUMNS = [Attribute(name=name, kind="real", lower=0, upper=1) for name in "abc"]
BLOCKS = [each for each in LEARNERS if each.sums or each.name == "logistic-regression"]


def unfitted(chosen: Learner, noise: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a learner with a delta, where it takes one, and rows."""
    rng = np.random.default_rng(2)
    X = rng.random((ROWS, 3))
    numbers = chosen.task == "regression"
    target = Attribute(name="y", kind="real", lower=0, upper=1)
    if not numbers:
        target = Attribute(name="y", kind="category", domain=("no", "yes"))
    declared = chosen.parameters.declared()
    given = {"epsilon": 50.0, "delta": 1e-4, "trees": 2}
    parameters = chosen.parameters.from_plain({name: value for name, value in given.items() if name in declared})
    return chosen.private(COLUMNS, target, parameters, noise), X, X[:, 0] if numbers else (X[:, 0] > 0.4).astype(int)


class AfterLooks(CancelToken):
    """Set once somebody has looked so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    @property
    def cancelled(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("chosen", BLOCKS, ids=lambda chosen: chosen.name)
def test_a_fit_looks_in_each_block_and_learns_the_same(chosen, monkeypatch):
    made = []
    for rows in (1 << 20, 30):
        monkeypatch.setattr(base, "_ROWS_AT_ONCE", rows)
        estimator, X, y = unfitted(chosen, Study(np.random.default_rng(1)))
        made.append(estimator.fit(X, y).to_plain())
    assert made[0] == made[1]
    never = AfterLooks(10**9)
    estimator, X, y = unfitted(chosen, Exact())
    with interruptible(never):
        estimator.fit(X, y)
    assert 10**9 - never.left >= ROWS // 30
    estimator = unfitted(chosen, Exact())[0]
    with interruptible(AfterLooks(ROWS // 30 - 1)), pytest.raises(CancelledError):
        estimator.fit(X, y)


@pytest.mark.parametrize("name", ["linear-regression", "logistic-regression"])
def test_a_model_inside_a_synthesis_stops(name):
    estimator, X, y = unfitted(learner(name), Exact())
    with pytest.raises(CancelledError):
        estimator.learned(Exact().ask(None), ROWS, X, y, AfterLooks(2))
