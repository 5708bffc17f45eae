"""Steps of one training in one process and in two, alternated in one run, and in one process of two threads.

Run with ``pytest -m benchmark tests/benchmarks/bench_ranks.py -s``. A figure is the median of the rounds, a ratio the
median of the ratios of neighbouring runs. Beside other programs the clock says little; the processor time of a step in
the process of the command is what a step would take at least if each process had a core of its own.
"""

import contextlib
import os
import resource
import statistics
import time
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
WAYS = ("1 process", "2 processes", "1 process of 2 threads")


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
    "mnist-cnn, 1,024 of 8,000 images": (digits(8_000), {"network": "mnist-cnn", "batch": 1024, "epochs": 1}),
    "mlp, 8,192 of 100,000 rows": (table(100_000), {"network": "mlp", "batch": 8192, "epochs": 1}),
    "mlp, 256 of 25,000 rows": (table(25_000), {"network": "mlp", "batch": 256, "epochs": 2}),
    "logistic, 256 of 25,000 rows": (table(25_000), {"network": "logistic", "batch": 256, "epochs": 2}),
}


@contextlib.contextmanager
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float, float]:
    """Train once; return milliseconds of a step by the clock and of this processor, and all processor seconds."""
    data, given = CASES[name]
    asked = DpSgdPlan(
        noise=1.0, delta=1e-6, lr=0.1, clip=1.0, accountant="rdp", device="cpu", physical_batch=512,
        processes=2 if way == WAYS[1] else 1, **given,
    )  # fmt: skip
    looks: list[float] = []

    def clock() -> float:
        looks.append(time.process_time())
        return time.monotonic()

    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with monkeypatch.context() as patch:
        if way == WAYS[2]:
            patch.setattr(devices, "one_thread", two_threads)
        done = train(asked, data, Charged(lambda cost: None), options=RunOptions(quiet=True, clock=clock))
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    busy = sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True))
    return 1000 * done.seconds / done.steps, 1000 * (looks[-1] - looks[0]) / done.steps, busy


def test_steps_of_one_process_and_of_two(monkeypatch):
    lines = []
    for name in CASES:
        found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
        run(name, WAYS[0], monkeypatch)  # libraries and compiled loops are there from here on
        for _ in range(ROUNDS):
            for way in WAYS:
                found[way].append(run(name, way, monkeypatch))
        cells = [name]
        for k in (0, 1):
            cells += [f"{statistics.median(one[k] for one in found[way]):.2f}" for way in WAYS]
            for way in WAYS[1:]:
                both = zip(found[way], found[WAYS[0]], strict=True)
                cells.append(f"{statistics.median(a[k] / b[k] for a, b in both):.2f}")
        cells += [f"{statistics.median(one[2] for one in found[way]):.1f}" for way in WAYS]
        lines.append("| " + " | ".join(cells) + " |")
    load = os.getloadavg()[0]
    head = [*WAYS, f"{WAYS[1]} ÷ 1", f"{WAYS[2]} ÷ 1"]
    columns = ["network", *(f"clock: {one}" for one in head), *(f"processor: {one}" for one in head)]
    columns += [f"all CPU s: {way}" for way in WAYS]
    RESULTS.write_text(
        "# One training in two processes\n\n"
        f"`tests/benchmarks/bench_ranks.py`: {os.cpu_count()} cores, torch {torch.__version__.split('+')[0]}, "
        f"{ROUNDS} rounds, load average {load:.1f} at the end. Milliseconds of a step by the clock, then of the "
        "processor in the process of the command; the last columns are processor seconds of whole trainings, "
        "libraries and trial steps included.\n\n"
        f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )
