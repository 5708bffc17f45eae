"""Boosted trees beside the other learners of numbers, also on tables that no default was chosen on.

Run::

    pytest -m benchmark tests/benchmarks/bench_boosted_trees.py

The table is written to ``tests/benchmarks/results/boosted_trees.md``.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_friedman1
from taxi_tables import BEFORE_THE_RIDE, DURATION, taxis

from workbench.learners import learner
from workbench.work.noise import Study

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "learners"))

from regression_tables import boston, diabetes_progression, table  # noqa: E402

pytestmark = pytest.mark.benchmark

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
OTHERS = ("linear-regression", "forest-regression")
MODEL = "boosted-trees"

HEAD = """# Boosted trees: R² on held-out rows beside the other learners of numbers

Mean ± standard error of 20 splits (80/20; taxi: 3), public bounds, seeded noise of the released distribution. *Ahead:*
R² of boosted trees less that of the best other learner on the same splits. The defaults were chosen on Boston and
diabetes progression, those for n·ε above 20,000 on one split of the taxi rides; Friedman 1 (500 generated rows of 10
columns) had no part in that.

| table | ε | boosted-trees | linear-regression | forest-regression | ahead |
|---|---|---|---|---|---|"""

TRIED = """
## What was tried and is not in the learner (20 splits unless stated)

* **Since format 3 a tree of cuts and its corrections** from n·ε = 600 to 80,000 (the figures above are of format 2).
  Prototype, declared ranges, splits 100 to 103 (or 101), before and after, means: 25 tables at n·ε = 1,070 .461 and
  .490 (the forest .480); 21 with insurance (8 of KEEL's, 6 others of UCI, abalone, airfoil, white wine, Boston,
  progression, Friedman 1) at 3,200 .553 and .578, at 10,000 .575 and .617; six large ones at 30,000 .556 and .565, at
  100,000 .592 and .569. Of the program, 14 splits, ε = 2, 3 and 10: Boston .599, .636, .749 and .665, .665, .757;
  progression .299, .388, .401 and .318, .355, .350; but Friedman 1, a sum of columns but for one product, .552, .555,
  .765 and .385, .381, .612 (additive regression .414, .437, .726). Not used below 600: Boston at ε = 1 .514 for .599.
  Level (within .005 of the mean): smooth lines alone, how much each leaf has for itself, counts drawn to those of
  independent columns. Seven tables at 1,070: a reach of .2, .5 and 1 .441, .417 and .388 for .436 (.3), four parts
  .427. Eight parts under the first cut in place of a second cut: .482 to .496 for .488 (21 tables), but insurance
  .754 to .770 for .826. Distances counted up to .4 of the range for .3: .505 for .502 at 1,070 and .583 for .589 at
  3,200. Insurance without corrections .79, without cuts (additive regression) .71.
* **Random or public splits**, one to four levels deep, 1 to 50 trees: R² of the best of 50 settings on Boston was .07,
  .18, .32, .46, .60 at ε = .1 to 10 (8 splits), behind the forest at every ε from .3.
* **Trees on disjoint rows**, each with the whole ε: the best of the random splits at ε of .1 and .3 (.06 and .11 on
  diabetes progression, .07 and .18 on Boston, the best of 50 on 8 splits), but behind the forest at .3 (.15 and .39).
* **One structure and several rounds** (4 trees visited again and again): no better than the random splits.
* **Deeper chosen trees** (2 × 2 or 4 × 2 parts): up to .35 on diabetes progression at ε = 3, as eight parts of one
  column, but behind these by .02 to .3 on Boston at ε of 1 and 3. With n·ε above 20,000 they win, and are used.
* **A linear regression first**, with half of ε: never among the four best of 110 settings (ε of 1, 3 and 10, 6 splits).
* **Classes**, by the gradients of the logistic loss, chosen splits: on diabetes .741, .741, .740 at ε = 1, 3, 10
  (logistic regression .756, .754, .764), on breast cancer .910, .947, .949 (.932, .956, .970), on iris .955 at ε = 10
  (.973); the best of seven settings each time. Nothing won, so that boosted trees predict numbers only."""


def r2(model: str, data: Any, epsilon: float, repeat: int) -> float:
    chosen = learner(model)
    train, test = data.split(repeat)
    noise = Study(np.random.default_rng([20240601, repeat]))
    parameters = chosen.parameters.from_plain({"epsilon": epsilon})
    fitted = chosen.private(data.attributes, data.target, parameters, noise).fit(data.X[train], data.y[train])
    return float(1 - ((data.y[test] - fitted.predict(data.X[test])) ** 2).mean() / data.y[test].var())


def told(figures: NDArray[np.float64], sign: str = "") -> str:
    return f"{figures.mean():{sign}.3f} ± {figures.std() / np.sqrt(len(figures)):.3f}"


def test_ahead_of_the_other_learners_of_numbers(shared_data):
    X, y = make_friedman1(500, 10, noise=1.0, random_state=3)
    subjects: dict[str, tuple[Any, int]] = {
        "Boston": (boston(shared_data), 20),
        "diabetes progression": (diabetes_progression(), 20),
        "Friedman 1": (table(X, y, {f"x{i}": (0, 1) for i in range(10)}, (0, 30)), 20),
        "taxi, duration": (taxis(shared_data, DURATION, BEFORE_THE_RIDE), 3),
    }
    lines, won = [HEAD], []
    for title, (data, repeats) in subjects.items():
        for epsilon in EPSILONS:
            mine, *others = (
                np.array([r2(model, data, epsilon, repeat) for repeat in range(repeats)]) for model in (MODEL, *OTHERS)
            )
            ahead = mine - max(others, key=np.mean)
            lines.append(f"| {title} | {epsilon:g} | {' | '.join(map(told, (mine, *others)))} | {told(ahead, '+')} |")
            if ahead.mean() > 2 * ahead.std() / np.sqrt(repeats):
                won.append((title, epsilon))
    (HERE / "results" / "boosted_trees.md").write_text("\n".join([*lines, TRIED]) + "\n")
    assert {("diabetes progression", 3.0), ("Friedman 1", 3.0), ("Friedman 1", 10.0)} <= set(won)
