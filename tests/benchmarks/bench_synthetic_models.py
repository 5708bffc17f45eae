"""What ordinary models learn from synthetic rows: R² or accuracy on held-out real rows, by method and ε.

``bench_synthetic_models.py --data FOLDER [--tables …] [--methods …] [--epsilons …] [--splits 5]`` prints
a table of Markdown; what was measured is kept in ``results/synthetic_models.md``. FOLDER holds ``diabetes.csv``
and, where they are to be measured, ``abalone.csv`` (UCI 1), ``diamonds.csv`` (ggplot2), ``insurance.csv``,
``wine_white.csv`` (UCI 186) and ``airfoil.csv`` (UCI 291), each with a header. Bounds are round numbers that nobody
read off the rows; those of ``diamonds`` and ``diabetes, wide`` are far too wide. All draws are seeded; nothing of them
is released.
"""

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from public_tables import TABLES, WHOLE
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from workbench.data.read import read_table
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.privacy.entropy import SeededEntropy
from workbench.synth import SYNTHESISERS
from workbench.synth.columns import coarse_columns, coded_cells
from workbench.synth.setting import method_for, setting_for
from workbench.synth.synthesis import cost_of_synthesis, synthesised
from workbench.work.noise import Study

Cells = NDArray[np.int64]

WIDE = {"BMI": (0, 200), "Age": (0, 200), "Glucose": (0, 1000), "BloodPressure": (0, 500), "Pregnancies": (0, 50)}
FOREST_ROWS = 10_000


class Subject:
    """A table as public facts, the target last, and the fine cells of its rows."""

    def __init__(self, table: Table, facts: Sequence[Attribute]) -> None:
        self.facts = list(facts)
        self.columns = coarse_columns(facts)
        frame = table.frame
        for fact in facts:  # values beyond the declared bounds count as these
            if fact.kind in ("integer", "real"):
                cut = pl.col(fact.name).cast(pl.Float64).clip(fact.lower, fact.upper)
                text = (cut.round().cast(pl.Int64) if fact.kind == "integer" else cut).cast(pl.String)
                frame = frame.with_columns(text)
        table = table.replaced(frame=frame)
        self.cells = np.column_stack([column.grid.encode(table) for column in self.columns])
        self.numeric = self.columns[-1].ordered

    @property
    def truth(self) -> NDArray[Any]:
        return self.values(self.cells[:, -1])

    def values(self, cells: NDArray[Any]) -> NDArray[Any]:
        return self.columns[-1].grid.numbers_of(cells.astype(np.int64)) if self.numeric else cells

    def matrix(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        """Numbers as numbers, categories one column for each value but the first."""
        parts = []
        for column, own in zip(self.columns[:-1], cells.T, strict=False):
            own = own.astype(np.int64)
            parts.append(column.grid.numbers_of(own)[:, None] if column.ordered else np.eye(column.cuts)[own, 1:])
        return np.column_stack(parts)

    def split(self, repeat: int) -> tuple[Cells, Cells]:
        kept = None if self.numeric else self.cells[:, -1]
        train, test = train_test_split(np.arange(len(self.cells)), test_size=0.2, stratify=kept, random_state=repeat)
        return train, test

    def scores(self, made: NDArray[Any], held: Cells) -> tuple[float, float]:
        """R² or accuracy of a linear model and of a forest."""
        X, y = self.matrix(made), self.values(made[:, -1])
        asked, truth = self.matrix(self.cells[held]), self.values(self.cells[held, -1])
        few = FOREST_ROWS if len(y) > FOREST_ROWS else None
        if self.numeric:
            keys: dict[str, Any] = {"random_state": 0, "max_samples": few, "min_samples_leaf": 5, "n_jobs": 1}
            models = LinearRegression(), RandomForestRegressor(50, max_features=0.5, **keys)
        elif len(set(y)) == 1:
            return (float(np.mean(truth == y[0])),) * 2
        else:
            linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            models = linear, RandomForestClassifier(100, random_state=0, max_samples=few)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one, two = (float(model.fit(X, y).score(asked, truth)) for model in models)
        return one, two

    def synthetic(self, method: str, epsilon: str, train: Cells, seed: int, delta: str = "0") -> NDArray[Any]:
        """As many synthetic rows as training rows, as fine cells."""
        last, paid = len(self.facts) - 1, (Decimal(epsilon), Decimal(delta))
        found = method_for(method, self.facts, last, len(train), *paid)
        setting = setting_for(
            self.facts, len(self.facts) - 1, len(train), Decimal(epsilon), delta=Decimal(delta), method=found
        )
        rows, entropy = coded_cells(setting.columns, self.cells[train]), SeededEntropy(seed)
        ask = Study(np.random.default_rng([seed, 7]), entropy).ask(cost_of_synthesis(found, setting))
        made = synthesised(found, setting, rows, len(train), ask)
        return np.column_stack([c.draw(made.codes[:, j], entropy) for j, c in enumerate(setting.columns)])


def _read(folder: Path, name: str, wide: dict[str, tuple[float, float]] | None = None) -> Subject:
    file, goal, known = TABLES[name]
    facts = []
    for column, fact in {**known, **(wide or {})}.items():
        if isinstance(fact[0], str):
            facts.append(Attribute(name=column, kind="category", domain=tuple(map(str, fact))))
        else:
            kind = "integer" if column in WHOLE else "real"
            facts.append(Attribute(name=column, kind=kind, lower=float(fact[0]), upper=float(fact[1])))
    # Numbers first, the target last.
    facts.sort(key=lambda fact: (fact.name == goal, not fact.numeric))
    return Subject(read_table(folder / f"{file}.csv"), facts)


SUBJECTS: dict[str, Callable[[Path], Subject]] = {
    **{name: lambda folder, name=name: _read(folder, name) for name in TABLES},  # type: ignore[misc]
    "diabetes, wide": lambda folder: _read(folder, "diabetes", WIDE),
}


def measured(subject: Subject, ways: Sequence[str], epsilons: Sequence[str], splits: int, delta: str) -> Iterator[str]:
    """Yield a line of Markdown for the real rows and for each way and ε."""
    parts = [subject.split(repeat) for repeat in range(splits)]
    real = [subject.scores(subject.cells[train], held) for train, held in parts]
    yield f"| real rows | – | {_shown(real)} |"
    for way in ways:
        for epsilon in epsilons:
            found = [
                subject.scores(subject.synthetic(way, epsilon, train, 100 * k + 1, delta), held)
                for k, (train, held) in enumerate(parts)
            ]
            yield f"| {way} | {epsilon} | {_shown(found)} |"


def _shown(scores: Sequence[tuple[float, float]]) -> str:
    each = np.array(scores)
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.zeros(2)
    return " | ".join(f"{mean:.3f} ± {se:.3f}" for mean, se in zip(each.mean(axis=0), error, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=list(SUBJECTS), choices=list(SUBJECTS))
    parser.add_argument("--methods", nargs="+", default=[method.name for method in SYNTHESISERS])
    parser.add_argument("--epsilons", nargs="+", default=["0.3", "1", "3", "10"])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--delta", default="0")
    options = parser.parse_args()
    for name in options.tables:
        subject = SUBJECTS[name](options.data)
        head = f"\n## {name}: {'R²' if subject.numeric else 'accuracy'}\n\n| rows | ε | linear model | forest |"
        lines = measured(subject, options.methods, options.epsilons, options.splits, options.delta)
        for line in itertools.chain([head, "|---|---|---|---|"], lines):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
