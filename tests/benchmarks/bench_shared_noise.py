"""What it is worth that steps share noise: the error of prefix sums, exactly, and accuracy on test rows, at equal ε.

Run with ``pytest -m benchmark tests/benchmarks/bench_shared_noise.py -s``; ``MNIST`` names the folder with the four IDX
files, ``DIABETES`` the table. The noise is the released one. Of each the best learning rate counts.
"""

import csv
import os
import statistics
from functools import cache
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402
from mnist_images import images  # noqa: E402
from public_tables import TABLES  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep.correlated_noise import power_for, sum_error  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.model import TrainedModel  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.trainer import RunOptions, train  # noqa: E402
from workbench.privacy.accounting.accountant import event_of, noise_for  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "shared_noise.md"
RUNS = ((60_000, 64, 5), (60_000, 512, 5), (614, 16, 20))
BANDS, EPSILONS = (1, 2, 8, 32), (1.0, 3.0, 8.0)
TRAINED = {
    ("mnist", 64, 5): (0.06, 0.12, 0.25, 0.5),
    ("mnist", 512, 5): (0.5, 1.0, 2.0, 4.0),
    ("diabetes", 16, 20): (0.2, 0.5, 1.0),
}
"""Rows, batch and epochs, and the learning rates that were tried."""
REPEATS = {"mnist": 3, "diabetes": 12}
Pair = tuple[ArrayData, ArrayData]


def delta_of(rows: int) -> float:
    return 1 / (10 * rows)


@cache
def sigma_of(rows: int, batch: int, epochs: int, bands: int, epsilon: float) -> float:
    return noise_for(event_of(rows, batch, epochs, 1.0, bands=bands), delta_of(rows), epsilon)


def error_of(rows: int, batch: int, epochs: int, bands: int, epsilon: float) -> float:
    """The root mean square error of all prefix sums, in clipping norms."""
    steps = event_of(rows, batch, epochs, 1.0).steps
    return sigma_of(rows, batch, epochs, bands, epsilon) * sum_error(steps, power_for(steps, bands), bands)


def sums() -> list[str]:
    lines = []
    for run in RUNS:
        for epsilon in EPSILONS:
            usual = error_of(*run, 1, epsilon)
            found = [f"{error_of(*run, b, epsilon) / usual:.2f}" for b in BANDS[1:]]
            stated = (f"{run[0]:,}", *run[1:], f"{epsilon:g}", f"{sigma_of(*run, 1, epsilon):.2f}", *found)
            lines.append(f"| {' | '.join(map(str, stated))} |")
    return lines


@cache
def whole() -> Pair:
    folder = Path(os.environ["MNIST"])
    return images(folder, "train"), images(folder, "t10k")


def split(seed: int) -> Pair:
    """Four fifths of the table, and the others."""
    _, target, facts = TABLES["diabetes"]
    with open(os.environ["DIABETES"], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in facts if name != target]
    columns = tuple(Attribute(name=n, kind="real", lower=facts[n][0], upper=facts[n][1]) for n in names)
    features = Features(columns, Attribute(name=target, kind="category", domain=("0", "1")))
    X = np.array([[float(row[name]) for name in names] for row in rows])
    y = np.array([int(row[target]) for row in rows])
    order = np.random.default_rng(seed).permutation(len(y))
    return tuple(ArrayData(features, X[part], y[part]) for part in (order[:614], order[614:]))  # type: ignore[return-value]


def accuracy(of: str, batch: int, epochs: int, bands: int, epsilon: float) -> str:
    best = (0.0, "")
    for rate in TRAINED[of, batch, epochs]:
        found = []
        for seed in range(REPEATS[of]):
            data, held_out = whole() if of == "mnist" else split(seed)
            plan = DpSgdPlan(
                network="logistic", noise=sigma_of(data.rows, batch, epochs, bands, epsilon), delta=delta_of(data.rows),
                batch=batch, epochs=epochs, lr=rate, clip=1.0, bands=bands, accountant="rdp", device="cpu",
            )  # fmt: skip
            run = train(plan, data, Charged(lambda cost: None), options=RunOptions(quiet=True))
            found.append(100 * TrainedModel.of(run).accuracy(held_out))
        mean, error = statistics.mean(found), statistics.stdev(found) / len(found) ** 0.5
        best = max(best, (mean, f"{mean:.2f} ± {error:.2f} ({rate:g})"))
    return best[1]


@pytest.mark.benchmark
def test_shared_noise():
    lines = [
        f"| n | batch | epochs | ε | σ | {' | '.join(f'{b} bands' for b in BANDS[1:])} |",
        "|---" * (4 + len(BANDS)) + "|",
        *sums(),
    ]
    RESULTS.write_text(HEAD + "\n".join(lines) + "\n" + TAIL, "utf-8")
    for run in TRAINED:
        for epsilon in EPSILONS[:2]:
            cells = [accuracy(*run, bands, epsilon) for bands in (1, 8)]
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(f"| {' | '.join(map(str, run))} | {epsilon:g} | {' | '.join(cells)} |\n")


HEAD = """# Noise that steps share (bench_shared_noise.py)

Small batches gain a lot, larger ones little, and at ε = 1 larger batches alone gain as much. Tried and not kept:
the best b numbers of a column by L-BFGS in place of one power (under 1 % less error, for b ≤ T/4).

Error of the prefix sums of noise (root mean square over all steps) divided by that of independent noise at the same ε,
δ = 1/(10n), by the accountant pld; σ is the noise multiplier of independent noise.

"""
TAIL = """
Accuracy on test rows in per cent, logistic regression with plain SGD and clipping norm 1: mean ± standard error, and
the best learning rate of those tried. MNIST 3 runs, diabetes 12 random splits.

| table | batch | epochs | ε | independent | 8 bands |
|---|---|---|---|---|---|
"""
