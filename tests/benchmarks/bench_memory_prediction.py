"""The memory that a training run is predicted to take beside what it takes, each in a process of its own.

Run with ``pytest -m benchmark tests/benchmarks/bench_memory_prediction.py -s`` (Linux: the peak is the kernel's).
What counts is the resident memory above that of the process just before the rows are read, as the preflight and the
card mean it; PyTorch itself is a figure of its own.
"""

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

RESULTS = Path(__file__).parent / "results" / "memory_prediction.md"
LOWEST, HIGHEST = 0.9, 1.5
"""Bounds of predicted over measured: a little too much is a wait, too little ends a run."""


@dataclass(frozen=True)
class Size:
    """One run."""

    network: str
    rows: int
    columns: int
    batch: int
    physical_batch: int
    accountant: str = "pld"
    optimizer: str = "sgd"
    epochs: int = 4

    def words(self) -> list[str]:
        """The run as arguments of a process."""
        return [str(v) for v in vars(self).values()]


SIZES = (
    Size("logistic", 150, 4, 30, 128, epochs=40),
    Size("logistic", 768, 8, 96, 128, epochs=20),
    Size("logistic", 5_000, 1_000, 1_024, 1_024),
    Size("logistic", 100_000, 20, 1_000, 128, epochs=1),
    Size("mlp", 150, 4, 30, 128, epochs=40),
    Size("mlp", 768, 8, 96, 128, epochs=20),
    Size("mlp", 5_000, 8, 256, 32),
    Size("mlp", 5_000, 8, 256, 128),
    Size("mlp", 5_000, 8, 256, 512),
    Size("mlp", 5_000, 8, 1_024, 512),
    Size("mlp", 5_000, 8, 1_024, 1_024, "rdp"),
    Size("mlp", 5_000, 8, 4_096, 4_096, "rdp"),
    Size("mlp", 20_000, 8, 64, 128, epochs=2),
    Size("mlp", 5_000, 100, 256, 128),
    Size("mlp", 5_000, 400, 1_024, 512, "rdp", "adam"),
    Size("mlp", 100_000, 50, 256, 128, epochs=1),
    Size("mnist-cnn", 2_000, 784, 64, 128, "rdp", epochs=1),
    Size("mnist-cnn", 2_000, 784, 256, 32, "rdp", epochs=1),
    Size("mnist-cnn", 2_000, 784, 256, 256, "rdp", epochs=1),
    Size("scatter-linear", 2_000, 784, 512, 128, "rdp", epochs=1),
    Size("scatter-linear", 2_000, 784, 1_024, 1_024, "rdp", epochs=1),
)


def run_one(words: list[str]) -> None:
    """Train one size in a thread, as the window and the command line do, and print what it took."""
    import numpy as np
    import polars as pl
    import psutil

    from workbench.data.schema import Attribute
    from workbench.data.table import Table
    from workbench.deep.features import Features, TableData
    from workbench.deep.plan import DpSgdPlan
    from workbench.work.noise import Charged

    size = Size(words[0], *map(int, words[1:5]), words[5], words[6], int(words[7]))
    plan = DpSgdPlan(
        network=size.network,
        noise=2.0,
        delta=1e-7,
        batch=size.batch,
        epochs=size.epochs,
        lr=0.1,
        clip=1.0,
        physical_batch=size.physical_batch,
        accountant=size.accountant,
        optimizer=size.optimizer,
        device="cpu",
    )
    attributes = tuple(Attribute(name=f"x{i}", kind="real", lower=0, upper=1) for i in range(size.columns))
    features = Features(attributes, Attribute(name="y", kind="boolean"))
    values = np.random.default_rng(0).integers(0, 1000, (size.rows, size.columns))
    cells = {a.name: pl.Series(column).cast(pl.String) for a, column in zip(attributes, values.T, strict=True)}
    table = Table(pl.DataFrame({**cells, "y": np.where(values[:, 0] > 500, "true", "false")}), "made")
    del values
    plan.schedule(size.rows)  # as the preflight does
    process = psutil.Process()
    before_libraries = process.memory_info().rss
    from workbench.deep import trainer

    base = []

    class Watch(trainer.MemoryWatch):
        """Begins where the run does: the libraries are loaded, nothing of the run is there."""

        def __init__(self, device: str) -> None:
            Path("/proc/self/clear_refs").write_text("5")  # the kernel's own peak starts anew here
            super().__init__(device)
            base.append(process.memory_info().rss)

    trainer.MemoryWatch = Watch  # type: ignore[misc]
    done = []
    rows = TableData(features, table)
    thread = threading.Thread(target=lambda: done.append(trainer.train(plan, rows, Charged(lambda cost: None))))
    thread.start()
    thread.join()
    status = Path("/proc/self/status").read_text().split()
    peak = 1024 * int(status[status.index("VmHWM:") + 1]) - base[0]
    found = {
        "predicted": done[0].predicted_peak_bytes,
        "corrected": done[0].corrected_peak_bytes,
        "measured": peak,
        "told": done[0].peak_memory_bytes,
        "libraries": base[0] - before_libraries,
    }
    sys.stdout.write(json.dumps(found))


@pytest.mark.benchmark
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the kernel's peak")
def test_predicted_memory_is_near_what_a_run_takes_and_never_far_below(tmp_path):
    lines, ratios, libraries = [], [], []
    own = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}  # no features of an earlier day
    for size in SIZES:
        words = [sys.executable, __file__, *size.words()]
        found = json.loads(subprocess.run(words, check=True, capture_output=True, env=own).stdout)
        ratios.append(found["predicted"] / found["measured"])
        libraries.append(found["libraries"])
        lines.append(
            f"| {size.network} | {size.rows:,} | {size.columns:,} | {size.batch:,} | {size.physical_batch:,} | "
            f"{size.accountant} | {size.optimizer} | {found['predicted'] / 1e6:.1f} | {found['corrected'] / 1e6:.1f} | "
            f"{found['measured'] / 1e6:.1f} | "
            f"{found['told'] / 1e6:.1f} | {ratios[-1]:.2f} |"
        )
        sys.stdout.write(lines[-1] + "\n")
    head = (
        "Memory of a training run in MB, above the process as it was: predicted by arithmetic, corrected after the "
        "first step, measured (the kernel's peak), and as the run itself tells. One process for each line.\n\n"
        "| network | rows | columns | batch | rows in memory | accountant | optimizer | predicted | corrected | "
        "measured | told | predicted / measured |\n|---|--:|--:|--:|--:|---|---|--:|--:|--:|--:|--:|\n"
    )
    taken = f"{min(libraries) / 1e6:.0f} to {max(libraries) / 1e6:.0f} MB"
    beside = (
        f"PyTorch and the compiler of loops at their first use: {taken}. "
        "scatter-linear at 512 computed its features, at 1,024 it found them on disk."
    )
    RESULTS.write_text(head + "\n".join(lines) + f"\n\n{beside}\n", encoding="utf-8")
    assert min(ratios) >= LOWEST
    assert max(ratios) <= HIGHEST


if __name__ == "__main__":
    run_one(sys.argv[1:])
