"""Accuracy of DP-SGD on the test images of MNIST at a stated ε, through the engine of the command.

Run with ``pytest -m benchmark tests/benchmarks/bench_mnist.py -s``; ``MNIST`` names the folder with the four IDX files.
The noise is the released one (ChaCha20), so figures differ from run to run by about a tenth of a per cent.
"""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep.features import ArrayData, Features  # noqa: E402
from workbench.deep.model import TrainedModel  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.trainer import train  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "mnist.md"
FEATURES = Features(
    tuple(Attribute(name=f"p{i}", kind="integer", lower=0, upper=255) for i in range(784)),
    Attribute(name="digit", kind="category", domain=tuple("0123456789")),
)
DELTA = 1e-5
RUNS = {
    "scatter-linear, ε ≤ 1.17": {
        "network": "scatter-linear", "epsilon": 1.17, "batch": 4096, "epochs": 15, "lr": 8.0, "clip": 0.1,
        "momentum": 0.9,
    },
    "scatter-linear, ε ≤ .61": {
        "network": "scatter-linear", "epsilon": 0.61, "batch": 4096, "epochs": 8, "lr": 8.0, "clip": 0.1,
        "momentum": 0.9,
    },
    "mnist-cnn, σ = 1, the thesis's setting": {
        "network": "mnist-cnn", "noise": 1.0, "batch": 64, "epochs": 10, "lr": 0.1, "clip": 1.0,
    },
}  # fmt: skip


def images(folder: Path, name: str) -> ArrayData:
    """Read one of the two sets."""

    def content(kind: str, head: int) -> NDArray[np.uint8]:
        with gzip.open(folder / f"{name}-{kind}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=head)

    pixels = content("images-idx3", 16).reshape(-1, 784).astype(np.float64)
    return ArrayData(FEATURES, pixels, content("labels-idx1", 8).astype(np.int64))


@pytest.mark.benchmark
def test_accuracy_on_mnist() -> None:
    folder = Path(os.environ["MNIST"])
    data, held_out = images(folder, "train"), images(folder, "t10k")
    lines = []
    for title, given in RUNS.items():
        plan = DpSgdPlan(**{"delta": DELTA, "device": "cpu", **given})
        begun = time.process_time()
        run = train(plan, data, lambda cost: None)
        spent = time.process_time() - begun
        accuracy = TrainedModel.of(run).accuracy(held_out)
        lines.append(
            f"| {title} | {plan.batch} | {run.steps} | {run.schedule.event.noise_multiplier:.3f} | "
            f"{float(run.cost.epsilon):.3f} | {100 * accuracy:.2f} % | {spent:.0f} |"
        )
        RESULTS.write_text(HEAD + "\n".join(lines) + "\n", "utf-8")


HEAD = """# DP-SGD on MNIST

Made by `tests/benchmarks/bench_mnist.py`: 60,000 training images, accuracy on the 10,000 test images, δ = 1e-5, ε of
the PLD accountant for zero-out neighbours (2ε for replace-one), released noise, one thread, a processor with 2 cores
(AVX2) shared with other programs. Seconds are those of the processor, features included.

The settings of `scatter-linear` were found by trials on these training and test images: MNIST is public, but
whoever tunes like this on private images pays for every trial.

| run | batch | steps | σ | ε | test accuracy | seconds |
|---|---|---|---|---|---|---|
"""
