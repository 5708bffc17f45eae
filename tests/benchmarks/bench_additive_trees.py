"""Additive trees beside the other learners and beside DP-EBM: R² or accuracy on held-out rows.

``python tests/benchmarks/bench_additive_trees.py --data FOLDER [--peer PYTHON] [--tables …] [--splits 10]`` prints a
table of Markdown; what was measured is kept in ``results/additive_trees.md``. FOLDER is that of ``public_tables.py``,
PYTHON an environment of its own with ``interpret`` (``peer_ebm.py`` runs there). All noise is seeded; nothing is
released.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from public_tables import TABLES, PublicTable

from workbench.learners import learner
from workbench.work.noise import Exact, Study

NUMBERS = ("additive-regression", "boosted-trees", "forest-regression", "linear-regression")
CLASSES = ("additive-trees", "random-forest", "logistic-regression", "naive-bayes")
PEER = Path(__file__).parent / "peer_ebm.py"
DELTA = 1e-6  # of peer_ebm.py too
EPSILONS = (0.3, 1.0, 3.0, 10.0)


def ours(table: PublicTable, model: str, epsilon: float | None, splits: int, **more: float) -> list[float]:
    """The score of each split; ``epsilon`` None is without privacy."""
    chosen, found = learner(model), []
    given = {"epsilon": epsilon, **more}
    for repeat in range(splits):
        train, test = table.split(repeat)
        noise = Exact() if epsilon is None else Study(np.random.default_rng([20261124, repeat]))
        parameters = chosen.parameters.from_plain(given)
        fitted = chosen.private(table.attributes, table.target, parameters, noise).fit(table.X[train], table.y[train])
        found.append(table.score(fitted.predict(table.X[test]), test))
    return found


def peers(table: PublicTable, python: str, splits: int, epsilons: list[float]) -> list[list[float]]:
    """The scores of DP-EBM for each ε, with that δ."""
    task: dict[str, Any] = {
        "X": table.X.tolist(),
        "y": table.y.tolist(),
        "bounds": [list(a.bounds()) if a.numeric else None for a in table.attributes],
        "target": list(table.target.bounds()) if table.target.numeric else None,
        "epsilons": epsilons,
        "splits": [[part.tolist() for part in table.split(repeat)] for repeat in range(splits)],
    }
    done = subprocess.run([python, str(PEER)], input=json.dumps(task), capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return [[table.score(np.array(p), table.split(r)[1]) for r, p in enumerate(at)] for at in said]


def lines(table: PublicTable, options: argparse.Namespace) -> Iterator[str]:
    """Yield a line of Markdown for each model."""
    models = NUMBERS if table.target.numeric else CLASSES
    for model in models:
        cells = [told(ours(table, model, epsilon, options.splits)) for epsilon in options.epsilons]
        yield f"| {model} | {' | '.join(cells)} | {told(ours(table, model, None, min(3, options.splits)))} |"
        if "delta" in learner(model).parameters.declared():
            cells = [told(ours(table, model, epsilon, options.splits, delta=DELTA)) for epsilon in options.epsilons]
            yield f"| {model}, δ = {DELTA:g} | {' | '.join(cells)} | |"
    if options.peer:
        found = peers(table, options.peer, options.splits, options.epsilons)
        yield f"| DP-EBM (interpret), δ = {DELTA:g} | {' | '.join(map(told, found))} | |"


def told(scores: list[float]) -> str:
    """A mean and its standard error."""
    return f"{np.mean(scores):.3f} ± {np.std(scores) / np.sqrt(len(scores)):.3f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    for name in options.tables:
        table = PublicTable(options.data, name)
        figure = "R²" if table.target.numeric else "accuracy"
        heads = " | ".join(f"ε = {epsilon:g}" for epsilon in options.epsilons)
        rule = "---|" * (len(options.epsilons) + 2)
        sys.stdout.write(f"\n## {name}, {len(table.y):,} rows: {figure}\n\n| model | {heads} | none |\n|{rule}\n")
        for line in lines(table, options):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
