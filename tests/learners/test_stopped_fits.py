"""A fit looks between blocks of rows whether to stop, and what it learns does not hang on the blocks."""

import sys
import threading
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from workbench.data.schema import Attribute
from workbench.learners import LEARNERS, Learner, base, learner
from workbench.learners.median_forest import blocks
from workbench.params import CancelledError
from workbench.signals.cancel import CancelToken, interruptible
from workbench.work.noise import Exact, Study

MISSING = set() if find_spec("xgboost") else {"median-xgboost"}
"""Models whose optional library is not installed."""

ROWS = 400
COLUMNS = [Attribute(name=name, kind="real", lower=0, upper=1) for name in "abc"]
BLOCKS = [each for each in LEARNERS if each.sums or each.name in ("logistic-regression", "dbscan", "best-classifier")]


def unfitted(chosen: Learner, noise: Any, **settings: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a learner with a delta, where it takes one, or with ``settings``, and rows."""
    rng = np.random.default_rng(2)
    X = rng.random((ROWS, 3))
    numbers = chosen.task == "regression"
    target = Attribute(name="y", kind="real", lower=0, upper=1)
    if not numbers:
        target = Attribute(name="y", kind="category", domain=("no", "yes"))
    declared = chosen.parameters.declared()
    given = {"epsilon": 50.0, "delta": 1e-4, "trees": 2, "tries": 1.0} | settings
    parameters = chosen.parameters.from_plain({n: v for n, v in given.items() if n in declared and v is not None})
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
        monkeypatch.setattr(base, "ROWS_AT_ONCE", rows)
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


@pytest.mark.parametrize("name", [name for name in ("median-forest", "median-xgboost") if name not in MISSING])
def test_a_median_of_blocks_looks_while_it_trains_and_while_it_predicts(name, monkeypatch):
    """Each of 4 blocks is of 100 rows and has 6 trees: they are the same where it looks after each, or never."""
    chosen, made = learner(name), []
    for rows in (1 << 20, 30):
        monkeypatch.setattr(base, "ROWS_AT_ONCE", rows)
        monkeypatch.setattr(blocks, "ROWS_AT_ONCE", rows)
        looks = AfterLooks(10**9)
        with interruptible(looks):
            estimator, X, y = unfitted(chosen, Exact(), blocks=4, trees=6, epsilon=None)
            estimator.fit(X, y)
            trained = 10**9 - looks.left
            made.append(estimator.predict(X))
            predicted = 10**9 - looks.left - trained
    assert (made[0] == made[1]).all()
    assert trained >= 4 * 6
    assert predicted >= 4 * ROWS // 30
    for until in (trained - 3, predicted - 3):
        with interruptible(AfterLooks(until)), pytest.raises(CancelledError):
            unfitted(chosen, Exact(), blocks=4, trees=6, epsilon=None)[0].fit(X, y).predict(X)


@pytest.mark.skipif("median-xgboost" in MISSING, reason="needs XGBoost")
def test_a_stop_is_noticed_while_a_library_is_loaded(monkeypatch):
    loaded = threading.Event()
    monkeypatch.setattr(blocks, "_import_xgboost", loaded.wait)
    monkeypatch.delitem(sys.modules, "xgboost", raising=False)
    estimator, X, y = unfitted(learner("median-xgboost"), Exact(), blocks=4, trees=6, epsilon=None)
    with interruptible(AfterLooks(4)), pytest.raises(CancelledError):
        estimator.fit(X, y)
    loaded.set()


def test_additive_trees_look_between_the_passes_of_a_step():
    """Beside the looks in each block of rows there are three for each of the steps of a column."""
    looks = []
    for cycles in (1, 3):
        never = AfterLooks(10**9)
        estimator, X, y = unfitted(learner("additive-trees"), Exact(), cycles=cycles)
        with interruptible(never):
            estimator.fit(X, y)
        looks.append(10**9 - never.left)
    assert looks[1] - looks[0] >= 2 * 3
