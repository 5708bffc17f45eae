"""What one split of one table says about one way of releasing it at one ε; kept, so that a long study can be resumed.

Run parts of the study at any time, in any order::

    python tests/benchmarks/synthesis_pieces.py --keep FOLDER --data SHARED_DATA [--tables NAME ...] [--ways NAME ...]
        [--epsilons E ...] [--splits FIRST:BEYOND]

Each piece is one JSON line in FOLDER; what is there is not computed again.
"""

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from synthesis_tables import SUBJECTS, Subject

from workbench.learners.forest.estimator import RANDOM_FOREST
from workbench.learners.logistic_regression.estimator import LOGISTIC_REGRESSION
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.sanitize.plan import VALUES
from workbench.studies.held_out import seed_of
from workbench.studies.regimes import Fit, Regime, StudyData, predictions, synthetic_cells
from workbench.synth import SYNTHESISERS, synthesiser
from workbench.synth.columns import CodedRows

EPSILONS = (0.3, 1.0, 3.0, 10.0)
FOREST_ROWS = 10_000
"""Rows that each tree of a forest sees at most: the forests of 40,000 rows would take most of the study's time."""

EM_ROUNDS = 50
REAL, AGAIN = "real rows", "real rows, drawn again"
NOISY, NOISY_VALUES, CORRECTED, PRIVATE = "noisy rows", "noisy rows, for values", "corrected", "private learner"
FREE = (REAL, AGAIN)
METHODS = tuple(method.name for method in SYNTHESISERS)
PAID = (NOISY, NOISY_VALUES, CORRECTED, *METHODS, PRIVATE)

LEARNERS = ("naive Bayes", "logistic regression", "forest")
FIGURES = ("pairs", "all", *LEARNERS, "seconds")
"""Error of pairs, of columns and pairs, three accuracies, seconds to make the rows (or to train the private models)."""

Key = tuple[str, str, float | None, int]


@dataclass(frozen=True)
class Halves:
    """One stratified split, and what the measurements need of it."""

    subject: Subject
    repeat: int
    training: NDArray[np.int64]
    held: NDArray[np.int64]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(c.size for c in self.subject.columns)


def halves(subject: Subject, repeat: int) -> Halves:
    y = subject.data.y
    training, held = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=repeat)
    return Halves(subject, repeat, training, held)


def table_of(codes: NDArray[np.int32], sizes: Sequence[int], columns: tuple[int, ...]) -> NDArray[np.float64]:
    rows = CodedRows(codes, np.ones(len(codes), bool))
    return rows.counts(columns, [sizes[c] for c in columns]) / len(codes)


def distances(split: Halves, found: Callable[[tuple[int, ...]], NDArray[np.float64]]) -> tuple[float, float]:
    """Mean total variation distance to the training rows: of the tables of pairs, and of single columns and pairs."""
    real, sizes = split.subject.coarse(split.subject.data.cells[split.training]), split.sizes

    def apart(count: int) -> list[float]:
        chosen = itertools.combinations(range(len(sizes)), count)
        return [float(np.abs(table_of(real, sizes, c) - found(c)).sum()) / 2 for c in chosen]

    pairs = apart(2)
    return float(np.mean(pairs)), float(np.mean([*apart(1), *pairs]))


def trained_on(split: Halves, fine: NDArray[Any]) -> list[float]:
    """The accuracy on real held-out rows of three ordinary models trained on these rows."""
    subject = split.subject
    X, asked, y = subject.matrix(fine), subject.matrix(subject.data.cells[split.held]), fine[:, -1].astype(np.int64)
    truth = subject.data.cells[split.held, -1].astype(np.int64)
    if len(set(y)) == 1:
        return [float(np.mean(truth == y[0]))] * len(LEARNERS)
    models = (
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        RandomForestClassifier(100, random_state=0, max_samples=FOREST_ROWS if len(y) > FOREST_ROWS else None),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [float(np.mean(model.fit(X, y).predict(asked) == truth)) for model in models]


def of_rows(split: Halves, make: Callable[[], NDArray[Any]]) -> dict[str, float]:
    started = time.monotonic()
    fine = make().astype(np.int64)
    seconds = time.monotonic() - started
    codes = split.subject.coarse(fine)
    errors = distances(split, lambda columns: table_of(codes, split.sizes, columns))
    return dict(zip(FIGURES, (*errors, *trained_on(split, fine), seconds), strict=True))


def corrected(split: Halves, epsilon: float) -> dict[str, float]:
    """The noisy rows, read by somebody who knows the public tables: marginals of greatest likelihood, naive Bayes."""
    subject, data = split.subject, split.subject.data
    way = Regime.parse("corrected:plan")
    rows = data.sanitised_cells(way, epsilon, noise_of(NOISY, epsilon, split.repeat))[split.training]
    tables = data.public_tables(way, epsilon)
    started = time.monotonic()
    chances, answers = [], []
    for j, column in enumerate(subject.columns):
        seen, answer = np.unique(rows[:, j], return_inverse=True)
        table = tables[j].randomiser.probabilities()[:, seen]
        of_cell = column.coarse(np.arange(len(table), dtype=np.uint32))
        sums = np.zeros((column.size, len(seen)))
        np.add.at(sums, of_cell, table)
        chances.append(sums / np.bincount(of_cell, minlength=column.size)[:, None])
        answers.append(answer)

    def found(columns: tuple[int, ...]) -> NDArray[np.float64]:
        if len(columns) == 1:
            (j,) = columns
            counts = np.bincount(answers[j], minlength=chances[j].shape[1])[:, None]
            return likeliest(chances[j], np.ones((1, 1)), counts)[:, 0]
        i, j = columns
        width = chances[j].shape[1]
        counts = np.bincount(answers[i] * width + answers[j], minlength=chances[i].shape[1] * width)
        return likeliest(chances[i], chances[j], counts.reshape(-1, width))

    errors = distances(split, found)
    model = NAIVE_BAYES.corrected(tables[:-1], tables[-1]).fit(rows[:, :-1], rows[:, -1])  # type: ignore[misc]
    said = model.predict(data.X[split.held])
    accuracy = float(np.mean(said == data.y[split.held]))
    seconds = time.monotonic() - started
    return {"pairs": errors[0], "all": errors[1], LEARNERS[0]: accuracy, "seconds": seconds}


def likeliest(one: NDArray[np.float64], other: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares of the true cells (k, l) after some rounds of EM; the chances are (k, a) and (l, b)."""
    share = counts / counts.sum()
    found = np.full((len(one), len(other)), 1 / (len(one) * len(other)))
    for _ in range(EM_ROUNDS):
        expected = one.T @ found @ other
        found = found * (one @ np.divide(share, expected, out=np.zeros_like(share), where=share > 0) @ other.T)
    return found / found.sum()


def privately(split: Halves, epsilon: float) -> dict[str, float]:
    """Three private models of the training rows; each alone costs ε."""
    started, accuracies, data = time.monotonic(), [], split.subject.data
    for learner in (NAIVE_BAYES, LOGISTIC_REGRESSION, RANDOM_FOREST):
        fit = Fit(Regime.parse("private"), epsilon, split.repeat)
        told = predictions(
            fit,
            data,
            learner,
            learner.parameters(epsilon=epsilon),  # type: ignore[call-arg]
            split.training,
            split.held,
            seed=0,
            sanitised_truth=False,
        )
        accuracies.append(float((told.predicted == told.truth).mean()))
    return dict(zip((*LEARNERS, "seconds"), (*accuracies, time.monotonic() - started), strict=True))


def noise_of(way: str, epsilon: float | None, repeat: int) -> int:
    return seed_of("bench_synthesis", way, epsilon, repeat)


@lru_cache(maxsize=1)
def for_values(subject: Subject) -> StudyData:
    """The same table, each column of which is released so that one value is near the truth."""
    data = subject.data
    return StudyData(
        tuple(replace(c, purpose=VALUES) for c in data.columns),
        replace(data.target, purpose=VALUES),
        data.X,
        data.y,
        data.cells,
    )


def piece(split: Halves, way: str, epsilon: float | None) -> dict[str, float]:
    """Return what there is of :data:`FIGURES`."""
    subject, training, seed = split.subject, split.training, noise_of(way, epsilon, split.repeat)
    data = subject.data
    if way == REAL:
        return of_rows(split, lambda: data.cells[training])
    if way == AGAIN:
        return of_rows(split, lambda: data.cells[np.random.default_rng(seed).choice(training, len(training))])
    assert epsilon is not None
    planned = Regime.parse("sanitized:plan")
    if way == NOISY:
        return of_rows(split, lambda: data.sanitised_cells(planned, epsilon, seed)[training])
    if way == NOISY_VALUES:
        return of_rows(split, lambda: for_values(subject).sanitised_cells(planned, epsilon, seed)[training])
    if way == CORRECTED:
        return corrected(split, epsilon)
    if way == PRIVATE:
        return privately(split, epsilon)
    method = synthesiser(way)
    return of_rows(split, lambda: synthetic_cells(subject.everything, data.cells[training], method, epsilon, seed))


class Kept:
    """The pieces that were computed, in one file of JSON lines for each table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.pieces: dict[Key, dict[str, float]] = {}
        for file in sorted(folder.glob("*.jsonl")):
            for line in file.read_text("utf-8").splitlines():
                held = json.loads(line)
                self.pieces[held["table"], held["way"], held["epsilon"], held["split"]] = held["figures"]

    def add(self, key: Key, figures: dict[str, float]) -> None:
        self.pieces[key] = figures
        line = dict(zip(("table", "way", "epsilon", "split"), key, strict=True)) | {"figures": figures}
        with (self.folder / f"{key[0].replace(' ', '-').replace(',', '')}-{key[1].split()[0]}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")


def keys(tables: Sequence[str], ways: Sequence[str], epsilons: Sequence[float], splits: range) -> Iterator[Key]:
    for table in tables:
        for way in ways:
            for epsilon in (None,) if way in FREE else epsilons:
                for split in splits:
                    yield table, way, epsilon, split


def complete(kept: Kept, shared: Path, wanted: Sequence[Key]) -> None:
    """Compute the pieces that are not there."""
    subjects: dict[str, Subject] = {}
    for key in wanted:
        table, way, epsilon, repeat = key
        if key in kept.pieces:
            continue
        subject = subjects.setdefault(table, SUBJECTS[table](shared)) if table not in subjects else subjects[table]
        kept.add(key, piece(halves(subject, repeat), way, epsilon))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=list(SUBJECTS), choices=list(SUBJECTS))
    parser.add_argument("--ways", nargs="+", default=[*FREE, *PAID], choices=[*FREE, *PAID])
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--splits", default="0:20")
    options = parser.parse_args()
    first, beyond = map(int, options.splits.split(":"))
    wanted = list(keys(options.tables, options.ways, options.epsilons, range(first, beyond)))
    complete(Kept(options.keep), options.data, wanted)


if __name__ == "__main__":
    main()
