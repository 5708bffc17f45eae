"""Learners beside each other on ten public tables: R² or accuracy on held-out rows.

``python tests/benchmarks/bench_additive_trees.py --data FOLDER [--tables …] [--models …]`` prints Markdown; what was
measured is kept in ``results/additive_trees.md``, and of linear regression in ``results/linear_regression.md``. With
``--page`` it prints the tables of learners of ``results/ten_tables.md``. Scores are kept in ``--kept FILE`` as they are
made, and those that are there already are not made again. FOLDER is that of ``public_tables.py``. All noise is seeded;
nothing is released.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from public_tables import TABLES, PublicTable

from workbench.learners import learner
from workbench.work.noise import Exact, Study

NUMBERS = ("additive-regression", "boosted-trees", "forest-regression", "linear-regression")
CLASSES = ("additive-trees", "random-forest", "logistic-regression", "naive-bayes")
DELTA = 1e-6
EPSILONS = (0.3, 1.0, 3.0, 10.0)
PLAIN = ("linear", "forest")
FEW = {"wine": 5, "nursery": 3, "diamonds": 3}  # splits of large tables at most


class Kept:
    """Scores of each split by (table, model, ε, δ), in a file of JSON lines."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._files = [path for path in options.kept if path.exists()]
        self._scores: dict[str, list[float]] = {}
        for path in self._files:
            self._scores |= dict(json.loads(line) for line in path.read_text().splitlines())

    def scores(self, table: PublicTable, model: str, epsilon: float | None, delta: float | None = None) -> list[float]:
        """The score of each split, made or kept."""
        splits = min(self._options.splits, FEW.get(table.name, self._options.splits))
        key = f"{table.name}: {model}, {epsilon}, {delta}, {splits}"
        if key not in self._scores:
            made = plain(table, model, splits) if model in PLAIN else None
            more = {} if delta is None else {"delta": delta}
            self._scores[key] = made or ours(table, model, epsilon, splits, **more)
            if self._options.kept:
                with self._options.kept[0].open("a") as opened:
                    opened.write(json.dumps([key, self._scores[key]]) + "\n")
        return self._scores[key]


def plain(table: PublicTable, model: str, splits: int) -> list[float]:
    """The score of each split of an ordinary linear (or logistic) model or forest."""
    parts = (table.split(repeat) for repeat in range(splits))
    return [table.ordinary(model, table.X[train], table.y[train], test) for train, test in parts]


def ours(table: PublicTable, model: str, epsilon: float | None, splits: int, **more: float) -> list[float]:
    """The score of each split; ``epsilon`` None is without privacy."""
    return [fitted(table, model, epsilon, repeat, **more) for repeat in range(splits)]


def fitted(table: PublicTable, model: str, epsilon: float | None, repeat: int, **more: float) -> float:
    """The score of one split."""
    chosen, (train, test) = learner(model), table.split(repeat)
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20261124, repeat]))
    parameters = chosen.parameters.from_plain({"epsilon": epsilon, **more})
    private = chosen.private(table.attributes, table.target, parameters, noise).fit(table.X[train], table.y[train])
    return table.score(private.predict(table.X[test]), test)


def asked(table: PublicTable, options: argparse.Namespace) -> Iterator[tuple[str, float | None]]:
    """Yield each model of a table, and its δ."""
    models = NUMBERS if table.target.numeric else CLASSES
    for model in [model for model in models if model in (options.models or models)]:
        yield model, None
        if "delta" in learner(model).parameters.declared():
            yield model, DELTA


def lines(table: PublicTable, options: argparse.Namespace) -> Iterator[str]:
    """Yield a line of Markdown for each model."""
    kept = Kept(options)
    for model, delta in asked(table, options):
        cells = [told(kept.scores(table, model, epsilon, delta)) for epsilon in options.epsilons]
        none = told(ours(table, model, None, min(3, options.splits))) if delta is None else ""
        yield f"| {model}{'' if delta is None else f', δ = {delta:g}'} | {' | '.join(cells)} | {none} |"


def page(tables: Sequence[PublicTable], options: argparse.Namespace) -> Iterator[str]:
    """Yield the tables of learners of ``ten_tables.md``: the best of each at ε = 1, each model, and what falls."""
    kept, each, falls = Kept(options), list[str](), list[str]()
    yield "| table | no privacy | best of pure ε at ε = 1 | best, with a δ too | splits |\n|---|---|---|---|---|"
    for table in tables:
        none = max((kept.scores(table, model, None) for model in PLAIN), key=lambda s: float(np.mean(s)))
        best: dict[bool, tuple[float, str]] = {}
        for model, delta in asked(table, options):
            name = model if delta is None else f"{model}, δ"
            found = {epsilon: kept.scores(table, model, epsilon, delta) for epsilon in options.epsilons}
            each.append(f"| {table.name} | {name} | {' | '.join(map(told, found.values()))} |")
            falls += falling(f"{table.name}, {name}", found)
            for of_delta in (False, True):
                if delta is None or of_delta:
                    best[of_delta] = max(best.get(of_delta, (-np.inf, "")), (float(np.mean(found[1.0])), name))
        plain_ones = " / ".join(told(kept.scores(table, model, None)) for model in PLAIN)
        each.append(f"| {table.name} | **no privacy**: linear / forest | {plain_ones} |")
        cells = []
        for score, name in best.values():
            away = score - float(np.mean(none))
            near = away >= -(0.05 if table.target.numeric else 0.02)
            cells.append(f"{name} {score:.3f} ({away:+.3f}, {'**yes**' if near else 'no'})")
        yield f"| {table.name} | {told(none)} | {' | '.join(cells)} | {len(none)} |"
    heads = " | ".join(f"ε = {epsilon:g}" for epsilon in options.epsilons)
    yield f"\n| table | model | {heads} |\n|{'---|' * (len(options.epsilons) + 2)}"
    yield from each
    yield from ("", *falls)


def falling(what: str, found: dict[float, list[float]], sign: int = 1) -> Iterator[str]:
    """Yield what is worse at a larger ε by more than three standard errors of the difference, split by split.

    Worse is lower, or with ``sign`` −1 higher.
    """
    for (less, first), (more, second) in itertools.combinations(found.items(), 2):
        lower = sign * (np.array(first) - np.array(second))
        error = float(np.std(lower, ddof=1) / np.sqrt(len(lower)))
        if lower.mean() > 3 * error:
            yield f"* {what}: {np.mean(second):.3f} at ε = {more:g} after {np.mean(first):.3f} at {less:g}"


def told(scores: list[float]) -> str:
    """A mean and its standard error."""
    return f"{np.mean(scores):.3f} ± {np.std(scores) / np.sqrt(len(scores)):.3f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=(*NUMBERS, *CLASSES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--kept", type=Path, nargs="+", default=[])
    options = parser.parse_args()
    if options.page:
        for line in page([PublicTable(options.data, name) for name in options.tables], options):
            sys.stdout.write(line + "\n")
        return
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
