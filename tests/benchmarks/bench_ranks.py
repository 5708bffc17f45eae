"""Steps of one training in one process and in two, alternated in one run, and in one process of two threads.

Run with ``pytest -m benchmark tests/benchmarks/bench_ranks.py -s``. Seconds are those of the steps, processor seconds
those of the whole training in all its processes (libraries, trial step and compiler included); a figure is the median
of the rounds, a ratio the median of the ratios of neighbouring runs.
"""

from __future__ import annotations

import contextlib
import os
import resource
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402

from workbench.data.images.image_set import ImageSet  # noqa: E402
from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep import devices  # noqa: E402
from workbench.deep.features import Features, ImageFeatures, TableData  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.trainer import RunOptions, train  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

pytestmark = pytest.mark.benchmark

RESULTS = Path(__file__).parent / "results" / "ranks.md"
ROUNDS = int(os.environ.get("WORKBENCH_BENCH_ROUNDS", "5"))
COLUMNS = 8


def table(rows: int) -> ArrayData:
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, (rows, COLUMNS))
    columns = tuple(Attribute(name=f"x{i}", kind="real", lower=-1, upper=1) for i in range(COLUMNS))
    return ArrayData(Features(columns, Attribute(name="y", kind="category", domain=("0", "1"))), X, (X[:, 0] > 0) * 1)


def digits(rows: int) -> TableData:
    generator = np.random.default_rng(0)
    images = ImageSet.of(
        generator.integers(0, 256, (rows, 1, 28, 28), dtype=np.uint8),
        generator.integers(0, 10, rows),
        tuple("0123456789"),
        "made up",
    )
    return TableData(ImageFeatures.of(images), images)


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "mnist-cnn, 1,024 of 20,000 images": (digits(20_000), {"network": "mnist-cnn", "batch": 1024, "epochs": 1}),
    "mlp, 8,192 of 400,000 rows": (table(400_000), {"network": "mlp", "batch": 8192, "epochs": 3}),
    "mlp, 256 of 100,000 rows": (table(100_000), {"network": "mlp", "batch": 256, "epochs": 3}),
    "logistic, 256 of 100,000 rows": (table(100_000), {"network": "logistic", "batch": 256, "epochs": 5}),
}


@contextlib.contextmanager
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """Train once; return the seconds of a step, and the processor seconds of everything."""
    data, given = CASES[name]
    asked = DpSgdPlan(
        noise=1.0, delta=1e-6, lr=0.1, clip=1.0, accountant="rdp", device="cpu", physical_batch=512,
        processes=2 if way == "2 processes" else 1, **given,
    )  # fmt: skip
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with monkeypatch.context() as patch:
        if way == "2 threads":
            patch.setattr(devices, "one_thread", two_threads)
        done = train(asked, data, Charged(lambda cost: None), options=RunOptions(quiet=True))
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    busy = sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True))
    return done.seconds / done.steps, busy


def test_steps_of_one_process_and_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = ("1 process", "2 processes", "2 threads")
    lines = []
    for name in CASES:
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for way in ways:  # libraries and compiled loops are there from here on
            run(name, way, monkeypatch)
        for _ in range(ROUNDS):
            for way in ways:
                found[way].append(run(name, way, monkeypatch))
        step = {way: 1000 * statistics.median(s for s, _ in found[way]) for way in ways}
        ratio = {
            way: statistics.median(a[0] / b[0] for a, b in zip(found[way], found[ways[0]], strict=True)) for way in ways
        }
        busy = {way: statistics.median(b for _, b in found[way]) for way in ways}
        cells = [
            name,
            *(f"{step[way]:.2f}" for way in ways),
            *(f"{ratio[way]:.2f}" for way in ways[1:]),
            *(f"{busy[way]:.1f}" for way in ways),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    load = os.getloadavg()[0]
    RESULTS.write_text(
        "# One training in two processes\n\n"
        f"`tests/benchmarks/bench_ranks.py`: {os.cpu_count()} cores, torch {torch.__version__.split('+')[0]}, "
        f"{ROUNDS} rounds, load average {load:.1f} at the end (other programs ran meanwhile).\n\n"
        "| network | ms a step, 1 process | 2 processes | 1 process, 2 threads | 2 processes ÷ 1 | 2 threads ÷ 1 | "
        "CPU s, 1 process | 2 processes | 2 threads |\n"
        "|---|---|---|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )
