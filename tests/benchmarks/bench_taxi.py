"""How taxi rides are paid, predicted by three private learners against ε.

Run::

    pytest -m benchmark tests/benchmarks/bench_taxi.py

The table is written to ``tests/benchmarks/results/taxi.md``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from taxi_tables import BEFORE_THE_RIDE, FARE, PAYMENT, TIP, Taxis, taxis

from workbench.learners import learner
from workbench.work.noise import Exact, Study

pytestmark = pytest.mark.benchmark

HERE = Path(__file__).parent
MODELS = ("naive-bayes", "logistic-regression", "random-forest")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
REPEATS = 5
COLUMNS = {"with the tip": (*BEFORE_THE_RIDE, FARE, TIP), "without the tip": (*BEFORE_THE_RIDE, FARE)}


def accuracy(model: str, data: Taxis, epsilon: float | None, repeat: int) -> float:
    chosen = learner(model)
    train, test = data.split(repeat)
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20240601, repeat]))
    parameters = chosen.parameters.from_plain({} if epsilon is None else {"epsilon": epsilon})
    fitted = chosen.private(data.attributes, data.target, parameters, noise).fit(data.X[train], data.y[train])
    return float((fitted.predict(data.X[test]) == data.y[test]).mean())


def majority(data: Taxis, repeat: int) -> float:
    train, test = data.split(repeat)
    return float((data.y[test] == np.bincount(data.y[train]).argmax()).mean())


def test_payment_type_against_epsilon(shared_data: Path) -> None:
    lines = [
        "# How green taxi rides are paid: accuracy on held-out rows, mean ± standard error of 5 splits (80/20)",
        "",
        "New York, January 2024; five declared classes, public bounds, seeded noise of the released distribution.",
        "The tip of a ride in cash is not recorded, so that the tip tells most of what can be told.",
    ]
    below = []
    for title, columns in COLUMNS.items():
        data = taxis(shared_data, PAYMENT, columns)
        level = [majority(data, repeat) for repeat in range(REPEATS)]
        lines += ["", f"## {len(data.y):,} rows, {title}; always the majority: {np.mean(level):.4f}", ""]
        lines += [f"| ε | {' | '.join(MODELS)} |", "|---|---|---|---|"]
        # Naive Bayes is below the majority without privacy, too: columns that say the same are counted twice.
        plain = {model: [accuracy(model, data, None, repeat) for repeat in range(REPEATS)] for model in MODELS}
        expected = {model: min(np.mean(level), np.mean(figures)) for model, figures in plain.items()}
        for epsilon in (*EPSILONS, None):
            cells = []
            for model in MODELS:
                figures = [accuracy(model, data, epsilon, repeat) for repeat in range(REPEATS)]
                cells.append(f"{np.mean(figures):.4f} ± {np.std(figures) / np.sqrt(REPEATS):.4f}")
                if epsilon is not None and epsilon >= 1 and np.mean(figures) < expected[model] - 0.02:
                    below.append((title, model, epsilon, float(np.mean(figures))))
            lines.append(f"| {'no privacy' if epsilon is None else f'{epsilon:g}'} | {' | '.join(cells)} |")
    (HERE / "results" / "taxi.md").write_text("\n".join(lines) + "\n")
    assert not below
