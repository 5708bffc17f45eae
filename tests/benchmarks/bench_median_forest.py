"""Sample-and-aggregate against ε and against the number of blocks, beside the ordinary models.

Run::

    pytest -m benchmark tests/benchmarks/bench_median_forest.py

The tables are written to ``tests/benchmarks/results/median_forest.md``. ε is of each prediction; the private models of
the other learners cost their ε once, for all predictions.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from taxi_tables import BEFORE_THE_RIDE, DURATION, FARE, taxis

from workbench.learners import learner
from workbench.privacy.central.private_median import AGGREGATES, EXPONENTIAL
from workbench.work.noise import Exact, Study

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "learners"))

from regression_tables import boston, diabetes_progression  # noqa: E402

pytestmark = pytest.mark.benchmark

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
BLOCKS = (5, 20, 80)
MODELS = ("median-forest", "median-xgboost")
MOST_ASKED = 500
"""Held-out rows of a taxi split that are predicted."""


@dataclass(frozen=True)
class Subject:
    """One table, and how many splits its figures are means of."""

    title: str
    data: Callable[[Path], Any]
    repeats: int


SUBJECTS = (
    Subject("Boston", boston, 3),
    Subject("diabetes progression", lambda shared: diabetes_progression(), 3),
    Subject("taxi, fare", lambda shared: taxis(shared, FARE, BEFORE_THE_RIDE), 2),
    Subject("taxi, duration", lambda shared: taxis(shared, DURATION, BEFORE_THE_RIDE), 2),
)


@dataclass(frozen=True)
class Score:
    """Mean squared error and R² of one split."""

    mse: float
    r2: float


def score(subject: Subject, data: Any, model: str, repeat: int, **parameters: Any) -> Score:
    """The figures of one fit; without ε that of the blocks' plain median, and with ``ordinary=True`` of one model."""
    chosen = learner(model)
    train, test = data.split(repeat)
    test = test[:MOST_ASKED]
    if parameters.pop("ordinary", False):
        assert chosen.ordinary is not None
        fitted = chosen.ordinary(data.attributes, data.target)
    else:
        noise = Study(np.random.default_rng([20240601, repeat])) if "epsilon" in parameters else Exact()
        given = chosen.parameters.from_plain(parameters)
        fitted = chosen.private(data.attributes, data.target, given, noise)
    said = fitted.fit(data.X[train], data.y[train]).predict(data.X[test])
    mse = float(((data.y[test] - said) ** 2).mean())
    return Score(mse, 1 - mse / float(data.y[test].var()))


def told(subject: Subject, data: Any, model: str, **parameters: Any) -> tuple[str, str, float]:
    """MSE and R² as mean ± standard error, and the mean R²."""
    scores = [score(subject, data, model, repeat, **parameters) for repeat in range(subject.repeats)]
    mse, r2 = np.array([s.mse for s in scores]), np.array([s.r2 for s in scores])
    root = np.sqrt(len(scores))
    return f"{mse.mean():.4g} ± {mse.std() / root:.2g}", f"{r2.mean():.3f} ± {r2.std() / root:.3f}", float(r2.mean())


def test_error_against_epsilon_and_blocks(shared_data):
    lines = [
        "# Sample-and-aggregate: mean squared error and R², mean ± standard error over 80/20 splits",
        "",
        "ε is of **each prediction**: a release that answers 100 rows at ε = 1 costs 100. One row emptied or replaced",
        "changes one block. Seeded noise of the released distribution; 3 splits, of the taxi tables 2 with 500",
        "held-out rows each. *Ordinary:* one model of all rows, without privacy; *no noise:* the plain median.",
    ]
    best: dict[tuple[str, str, float], float] = {}
    tables = [(subject, subject.data(shared_data)) for subject in SUBJECTS]
    lines += ["", "## Against ε, with the default number of blocks", ""]
    lines += ["| table | rows | model | ε | MSE | R² |", "|---|---|---|---|---|---|"]
    for subject, data in tables:
        rows = len(data.split(0)[0])
        for model in MODELS:
            mse, r2, _ = told(subject, data, model, ordinary=True)
            lines.append(f"| {subject.title} | {rows:,} | {model} | ordinary | {mse} | {r2} |")
            for epsilon in EPSILONS:
                mse, r2, mean = told(subject, data, model, epsilon=epsilon)
                best[subject.title, model, epsilon] = mean
                lines.append(f"| {subject.title} | {rows:,} | {model} | {epsilon:g} | {mse} | {r2} |")
    lines += ["", "## Against the number of blocks", "", "R² at ε = 1 and 3 of each prediction, and without noise.", ""]
    lines += ["| table | model | blocks | no noise | ε = 1 | ε = 3 |", "|---|---|---|---|---|---|"]
    for subject, data in tables:
        for model in MODELS:
            for blocks in BLOCKS:
                at: tuple[dict[str, float], ...] = ({}, {"epsilon": 1.0}, {"epsilon": 3.0})
                figures = [told(subject, data, model, blocks=blocks, **given)[1] for given in at]
                lines.append(f"| {subject.title} | {model} | {blocks} | {' | '.join(figures)} |")
    lines += ["", "## The two ways of a private median", "", "R² of median-xgboost.", ""]
    lines += ["| table | ε | exponential mechanism | smooth sensitivity |", "|---|---|---|---|"]
    better = []
    for subject, data in tables[:2]:
        for epsilon in EPSILONS:
            by = {way: told(subject, data, MODELS[1], epsilon=epsilon, aggregate=way) for way in AGGREGATES}
            better.append(by[EXPONENTIAL][2] >= max(figures[2] for figures in by.values()) - 0.05)
            lines.append(f"| {subject.title} | {epsilon:g} | {' | '.join(by[way][1] for way in AGGREGATES)} |")
    (HERE / "results" / "median_forest.md").write_text("\n".join(lines) + "\n")
    assert all(better), "the default is the better of the two"
    for (table, model, epsilon), mean in best.items():
        assert mean > -0.3, (table, model, epsilon, "far worse than saying the middle")
        assert epsilon < 10 or mean > 0.35, (table, model, epsilon)
