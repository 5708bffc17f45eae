"""The corrected table: what sanitised rows can still tell, and what a model that knows the public tables makes of it.

Run::

    pytest -m benchmark tests/benchmarks/bench_corrected.py

The tables are written to ``tests/benchmarks/results/corrected.md``.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from workbench.data.columns.grid import grid
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.sanitize.budget_split import target_weight
from workbench.sanitize.plan import Column
from workbench.studies.regimes import Fit, Regime, StudyData, predictions

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "learners"))

import classification_tables as tables  # noqa: E402

pytestmark = pytest.mark.benchmark

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
REPEATS = 20
CELLS = 8
PLANNED = "as plan --target gives it"
FOUR = ("Glucose", "BMI", "Age", "Pregnancies")
TWO = ("Glucose", "BMI")

Part = Callable[[float, int], float]
"""The target's part of ε, of the whole row's ε and the number of other columns."""


def equal(epsilon: float, others: int) -> float:
    return 1 / (others + 1)


def four_times(epsilon: float, others: int) -> float:
    return 4 / (others + 4)


def enough(epsilon: float, others: int) -> float:
    """What a first plan gives: half of ε until that is 1, and never less than an equal share."""
    weight = target_weight(epsilon, others)
    return weight / (weight + others)


TRIED = """
## What was tried (means of 40 draws on diabetes, iris and breast cancer, 8 cells a column)

* **Other priors of how far classes lie apart** (usual deviation .15, .25, .35 instead of .5; the prior counting for 10
  features instead of 3): from ε = .3 to 30 on the three tables no setting is ahead everywhere. A usual deviation of .25
  gains .007 on diabetes at ε = 3 (.647) and loses .013 at ε = 10 (.663), and .007 on breast cancer at 10 (.637) and .02
  at 30 (.879). The values stayed.
* **Other grids and mechanisms** (diabetes, the four columns, ε = 10, equal shares): 2 cells .712, 4 cells .728, 8 cells
  .735 with randomised response, 65 cells .728 with the staircase; a coarse public grid costs nothing here.
* **The class sizes** are posterior means under a flat prior with the table's known noise. That keeps the model from
  being sure of the wrong class, but labels that show the wrong one cannot be corrected: see the limits above.
* **A plan that gives the target more** is what helps at ε of 1 and 3, and it helps the ordinary model on the same rows,
  too. A weight of 4 at every ε loses .02 at ε = 10 with few columns; half of ε until that is ε = 1, as a first plan
  gives it, does not."""

PARTS: dict[str, Part] = {"equal": equal, "weight 4": four_times, PLANNED: enough}


def study(data: tables.Table, epsilon: float, part: Part, keep: tuple[str, ...] = ()) -> StudyData:
    """The table as a plan with these columns (all of them where none is named) gives it to a study."""
    use = [j for j, a in enumerate(data.attributes) if not keep or a.name in keep]
    share = part(epsilon, len(use))
    columns = tuple(
        Column(name=a.name, kind="real", lower=a.lower, upper=a.upper, cells=CELLS)
        for a in (data.attributes[j] for j in use)
    )
    weight = share / (1 - share) * len(use)
    target = Column(name="y", kind="category", domain=data.target.domain, mechanism="grr", weight=weight)
    cells = [nearest(column, data.X[:, j]) for column, j in zip(columns, use, strict=True)]
    return StudyData(columns, target, data.X[:, use], data.y, np.column_stack([*cells, data.y]).astype(np.uint32))


def nearest(column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    made = grid(column)
    return np.clip(np.floor((values - column.bounds()[0]) / made.step + 0.5), 0, made.cells.size - 1)


def accuracies(data: tables.Table, given: StudyData, kind: str, epsilon: float) -> NDArray[np.float64]:
    regime, out = Regime.parse(f"{kind}:plan"), []
    for repeat in range(REPEATS):
        train, test = data.split(repeat)
        fit = Fit(regime, epsilon, repeat)
        told = predictions(fit, given, NAIVE_BAYES, None, train, test, seed=0, sanitised_truth=False)
        out.append((told.predicted == told.truth).mean())
    return np.array(out)


def told(figures: NDArray[np.float64]) -> str:
    return f"{figures.mean():.3f} ± {figures.std() / np.sqrt(len(figures)):.3f}"


def right_majority(epsilon: float, larger: int, smaller: int) -> float:
    """The chance that of randomised labels most are those of the larger class; a tie is decided by a coin."""
    p = np.exp(epsilon) / (1 + np.exp(epsilon))
    chances = np.convolve(
        binom.pmf(np.arange(larger + 1), larger, p), binom.pmf(np.arange(smaller + 1), smaller, 1 - p)
    )
    half = (larger + smaller) / 2
    counts = np.arange(len(chances))
    return float(chances[counts > half].sum() + 0.5 * chances[counts == half].sum())


def limits(data: tables.Table) -> list[str]:
    train, test = data.split(0)
    smaller, larger = np.sort(np.bincount(data.y[train]))
    level = float(np.bincount(data.y[test]).max() / len(test))
    lines = [
        "## What can be known at all: diabetes",
        "",
        f"{larger} of {larger + smaller} training labels are of the larger class. A model that looks at nothing else "
        f"is right in {level:.3f} of the",
        f"held-out rows if the answered labels show the larger class, and in {1 - level:.3f} if they show the other. "
        "Randomised response",
        "tells two such tables apart as well as any local mechanism of its ε can (Kairouz, Oh & Viswanath 2014), and "
        "who treats the",
        "classes alike cannot know the larger one better. In brackets: the expected accuracy of saying it always.",
        "",
        f"| part of ε for the label | {' | '.join(f'ε = {e:g}' for e in EPSILONS)} |",
        "|---" * (len(EPSILONS) + 1) + "|",
    ]
    for title, part in (("all of it", 1.0), ("half", 0.5), ("1 of 5 columns", 0.2), ("1 of 9 columns", 1 / 9)):
        chances = [right_majority(part * epsilon, int(larger), int(smaller)) for epsilon in EPSILONS]
        cells = [f"{c:.3f} ({c * level + (1 - c) * (1 - level):.3f})" for c in chances]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def test_corrected_and_sanitised_by_plan(shared_data):
    diabetes = tables.diabetes(shared_data)
    subjects = (
        ("diabetes, 8 columns", diabetes, ()),
        (f"diabetes, {', '.join(FOUR)}", diabetes, FOUR),
        (f"diabetes, {', '.join(TWO)}", diabetes, TWO),
        ("iris, 4 columns", tables.iris(), ()),
        ("breast cancer, 30 columns", tables.breast_cancer(), ()),
    )
    lines = [
        "# Naive Bayes on a sanitised table, corrected by its public tables and not",
        "",
        f"Accuracy on raw held-out rows, mean ± standard error of {REPEATS} splits (80/20); {CELLS} cells a column, "
        "the advisor's",
        "mechanism. ε is of the whole row, target included. *Part of the target:* an equal share; weight 4; or as "
        "`plan --target` gives it:",
        "half of ε, until that is ε = 1, and never less than an equal share.",
        "",
        *limits(diabetes),
    ]
    below = []
    best: dict[str, float] = {}
    for title, data, keep in subjects:
        level = np.mean([np.bincount(data.y[data.split(r)[1]]).max() / len(data.split(r)[1]) for r in range(REPEATS)])
        lines += ["", f"## {title}; always the majority: {level:.3f}", ""]
        lines += [f"| regime | part of the target | {' | '.join(f'ε = {e:g}' for e in EPSILONS)} |"]
        lines += ["|---" * (len(EPSILONS) + 2) + "|"]
        rows: dict[tuple[str, str], list[str]] = {(k, p): [] for k in ("corrected", "sanitized") for p in PARTS}
        for name, part in PARTS.items():
            for epsilon in EPSILONS:
                given = study(data, epsilon, part, keep)
                for kind in ("corrected", "sanitized"):
                    figures = accuracies(data, given, kind, epsilon)
                    rows[kind, name].append(told(figures))
                    error = figures.std() / np.sqrt(REPEATS)
                    if kind == "corrected" and name == PLANNED and len(data.target.values()) == 2:
                        best[title] = float(figures.mean())  # of the largest ε at the end
                        if epsilon >= 1 and figures.mean() < level - 2 * error - 0.02:
                            below.append((title, epsilon, float(figures.mean())))
        lines += [f"| {kind} | {name} | {' | '.join(cells)} |" for (kind, name), cells in rows.items()]
    (HERE / "results" / "corrected.md").write_text("\n".join([*lines, TRIED]) + "\n")
    assert not below
    assert best[f"diabetes, {', '.join(TWO)}"] >= 0.74
