"""Memory is predicted by arithmetic and measured while a run goes on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.memory import MemoryWatch, predict  # noqa: E402
from workbench.deep.networks import network  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.trainer import train  # noqa: E402


def test_each_phase_grows_with_what_it_holds() -> None:
    small = predict(network("mlp"), 1000, 8, 2, batch=64, physical_batch=64)
    assert predict(network("mlp"), 2000, 8, 2, batch=64, physical_batch=64).data == 2 * small.data
    assert predict(network("mlp"), 1000, 8, 2, batch=64, physical_batch=16).backward == small.backward // 4
    adam = predict(network("mlp"), 1000, 8, 2, batch=64, physical_batch=64, optimizer="adam")
    assert adam.model == 2 * small.model
    assert small.peak == small.model + small.data + max(small.batch + small.backward, small.step)


def test_the_physical_batch_bounds_memory_whatever_the_logical_one() -> None:
    one = predict(network("mlp"), 10**6, 8, 2, batch=256, physical_batch=128)
    other = predict(network("mlp"), 10**6, 8, 2, batch=65_536, physical_batch=128)
    assert other.backward == one.backward


@dataclass
class Blank:
    """Rows all alike, made when they are loaded."""

    rows: int
    features: Features

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        return np.ones((self.rows, self.features.width), dtype=np.float32), np.zeros(self.rows, dtype=np.int64)


def test_a_run_takes_about_what_was_predicted() -> None:
    """200 MB of rows, so that what the process does besides is small; a step's arrays are 20 MB."""
    attributes = tuple(Attribute(name=f"x{i}", kind="real", lower=0, upper=1) for i in range(100))
    plan = DpSgdPlan(
        network="mlp",
        noise=1.0,
        delta=1e-7,
        batch=5000,
        epochs=1,
        lr=0.1,
        clip=1.0,
        accountant="rdp",
        device="cpu",
        seconds=0.5,
    )
    run = train(plan, Blank(500_000, Features(attributes, Attribute(name="y", kind="boolean"))), lambda cost: None)
    assert run.peak_memory_bytes == pytest.approx(run.predicted_peak_bytes, rel=0.25)


def test_a_watch_keeps_the_peak_above_its_start() -> None:
    watch = MemoryWatch("cpu")
    held = np.ones(8_000_000)
    watch.look()
    assert watch.peak >= 0.8 * held.nbytes
    peak = watch.peak
    del held
    watch.look()
    assert watch.peak == peak
    assert watch.now < peak
