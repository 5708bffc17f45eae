"""Private learners beside diffprivlib's: the same tables, public bounds and splits, in one run.

diffprivlib 0.6.6 needs an environment of its own (scikit-learn 1.6.1). Name its Python and run::

    WORKBENCH_PEER_PYTHON=/path/to/python pytest -m benchmark tests/benchmarks/bench_learners.py

The tables are written to ``tests/benchmarks/results/learners.md``.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from workbench.learners import learner
from workbench.work.noise import Exact, Study

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "learners"))

import classification_tables as classes  # noqa: E402
import regression_tables as numbers  # noqa: E402

pytestmark = pytest.mark.benchmark

PEER = os.environ.get("WORKBENCH_PEER_PYTHON", "")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
REPEATS = 20


@dataclass(frozen=True)
class Comparison:
    """One learner on some tables: what is measured, whether the peer has it, and reads columns scaled to [−1, 1]."""

    model: str
    measured: str
    tables: Callable[[Path], dict[str, Any]]
    figure: Callable[[NDArray[Any], NDArray[Any]], float]
    scaled: bool = False
    peer: bool = True


@dataclass(frozen=True)
class Answer:
    """What one fit says of the held-out rows, and its centres (k, d), if it has some."""

    said: NDArray[Any]
    centres: NDArray[np.float64] | None = None


def r2(truth: NDArray[np.float64], said: NDArray[np.float64]) -> float:
    return float(1 - ((truth - said) ** 2).mean() / truth.var())


def accuracy(truth: NDArray[np.int64], said: NDArray[np.int64]) -> float:
    return float((truth == said).mean())


def inertia(data: Any, repeat: int, answer: Answer) -> float:
    """The held-out rows' squared distances to the nearest centre, declared range = 1."""
    assert answer.centres is not None
    lower, upper = (np.array(side) for side in data.bounds())
    rows = (data.X[data.split(repeat)[1]] - lower) / (upper - lower)
    centres = (answer.centres - lower) / (upper - lower)
    return float(np.square(rows[:, None] - centres).sum(axis=2).min(axis=1).sum())


def of_numbers(shared: Path) -> dict[str, Any]:
    return {"Boston": numbers.boston(shared), "diabetes progression": numbers.diabetes_progression()}


def of_classes(shared: Path) -> dict[str, Any]:
    return {"diabetes": classes.diabetes(shared), "iris": classes.iris(), "breast cancer": classes.breast_cancer()}


COMPARISONS = (
    Comparison("linear-regression", "R²", of_numbers, r2),
    Comparison("logistic-regression", "accuracy", of_classes, accuracy, scaled=True),
    Comparison("kmeans", "adjusted Rand index", of_classes, adjusted_rand_score),
    Comparison("random-forest", "accuracy", of_classes, accuracy),
    Comparison("forest-regression", "R²", of_numbers, r2, peer=False),
    Comparison("boosted-trees", "R²", of_numbers, r2, peer=False),
)


def peer_says(comparison: Comparison, data: Any) -> list[list[Answer]]:
    bounds = [a.bounds() for a in data.attributes]
    target = data.target
    task = {
        "kind": comparison.model,
        "scaled": comparison.scaled,
        "X": data.X.tolist(),
        "y": data.y.tolist(),
        "lower": [lower for lower, _ in bounds],
        "upper": [upper for _, upper in bounds],
        "target": target.bounds() if target.numeric else (),
        "classes": 0 if target.numeric else len(target.values()),
        "epsilons": EPSILONS,
        "splits": [[part.tolist() for part in data.split(repeat)] for repeat in range(REPEATS)],
    }
    done = subprocess.run(
        [PEER, str(HERE / "peer_learners.py")],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
        timeout=3600,
    )
    return [
        [Answer(np.array(one["said"]), None if one["centres"] is None else np.array(one["centres"])) for one in told]
        for told in json.loads(done.stdout)
    ]


def ours(comparison: Comparison, data: Any, epsilon: float | None, repeat: int) -> Answer:
    chosen = learner(comparison.model)
    train, test = data.split(repeat)
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20240601, repeat]))
    parameters = chosen.parameters.from_plain({} if epsilon is None else {"epsilon": epsilon})
    model = chosen.private(data.attributes, data.target, parameters, noise).fit(data.X[train], data.y[train])
    return Answer(model.predict(data.X[test]), getattr(model, "cluster_centers_", None))


def told(figures: list[float]) -> str:
    if np.mean(figures) < -100:
        return f"{np.mean(figures):.0e}"
    return f"{np.mean(figures):.3f} ± {np.std(figures) / np.sqrt(len(figures)):.3f}"


@pytest.mark.skipif(not PEER, reason="WORKBENCH_PEER_PYTHON does not name a Python with diffprivlib 0.6.6")
def test_ahead_of_diffprivlib_at_every_epsilon(shared_data):
    lines = [
        "# Private learners: mean ± standard error of 20 splits (80/20), public bounds",
        "",
        "Workbench: seeded noise of the released distribution. Peer: diffprivlib 0.6.6, the same splits and bounds.",
        "The peer's linear regression, k-means and logistic regression do not have the ε that they are given.",
        "Inertia ratio: of the held-out rows, to the nearest centre, over that of the model without privacy.",
        "",
        "| model, figure | table | ε | workbench | diffprivlib | no privacy |",
        "|---|---|---|---|---|---|",
    ]
    behind = []
    for comparison in COMPARISONS:
        for name, data in comparison.tables(shared_data).items():
            truth = [data.y[data.split(repeat)[1]] for repeat in range(REPEATS)]
            plain = [ours(comparison, data, None, repeat) for repeat in range(REPEATS)]
            said_by_peer = peer_says(comparison, data) if comparison.peer else [[]] * len(EPSILONS)
            mine = [[ours(comparison, data, epsilon, repeat) for repeat in range(REPEATS)] for epsilon in EPSILONS]

            def figures(answers: list[Answer], of: Comparison = comparison, truth: Any = truth) -> list[float]:
                return [of.figure(t, answer.said) for t, answer in zip(truth, answers, strict=True)]

            def ratios(answers: list[Answer], data: Any = data, plain: list[Answer] = plain) -> list[float]:
                return [inertia(data, r, a) / inertia(data, r, plain[r]) for r, a in enumerate(answers)]

            measures = [(comparison.measured, figures, 1)]
            measures += [("inertia ratio (less is better)", ratios, -1)] if comparison.model == "kmeans" else []
            for measured, measure, sign in measures:
                title = f"{comparison.model}, {measured}"
                best = told(measure(plain))
                for epsilon, answers, said in zip(EPSILONS, mine, said_by_peer, strict=True):
                    us = measure(answers)
                    if not comparison.peer:
                        lines.append(f"| {title} | {name} | {epsilon:g} | {told(us)} | has none | {best} |")
                        continue
                    peer = measure(said)
                    lines.append(f"| {title} | {name} | {epsilon:g} | {told(us)} | {told(peer)} | {best} |")
                    if sign * (np.mean(us) - np.mean(peer)) < 0:
                        behind.append((title, name, epsilon))
    (HERE / "results" / "learners.md").write_text("\n".join(lines) + "\n")
    assert not behind
