"""The device step on a GPU: replayed as CUDA graphs it does what it does in order, and never waits for the device.

All of it is tested on the processor, too, but for the replaying itself (``test_device_step.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from test_checkpoints import PLAN, data  # noqa: E402
from test_device_noise import Keys, library  # noqa: E402
from test_device_step import schedule  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep import trainer  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum  # noqa: E402
from workbench.deep.device import placing  # noqa: E402
from workbench.deep.device.chacha20 import key_words, keystream  # noqa: E402
from workbench.deep.device.device_noise import DeviceNoise  # noqa: E402
from workbench.deep.device.device_step import REPLAYED, DevicePrivateStep, Way  # noqa: E402
from workbench.deep.device.precision import PRECISIONS  # noqa: E402
from workbench.deep.device.replay import in_order  # noqa: E402
from workbench.deep.device.static_sum import StaticClippedSum  # noqa: E402
from workbench.deep.flat_parameters import flattened  # noqa: E402
from workbench.deep.updates import UPDATES  # noqa: E402
from workbench.privacy.entropy import SeededEntropy  # noqa: E402
from workbench.signals.events import Event, Notice  # noqa: E402

DEVICE = "cuda"
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device on this machine")


def cnn() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, 2), nn.GroupNorm(2, 8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 12 * 12, 10)
    ).to(DEVICE)


def images(rows: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.rand(rows, 1, 28, 28, device=DEVICE), torch.arange(rows, device=DEVICE) % 10


@contextmanager
def nobody_waits() -> Iterator[None]:
    """Let every operation fail that waits for the device."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_the_gpu_computes_the_cipher_bit_for_bit() -> None:
    keys = Keys()
    words = torch.frombuffer(bytearray(keys.words(4).tobytes()), dtype=torch.int32)
    assert torch.equal(words, key_words(keys.given[0]))
    for block in (0, 2**24 - 3):
        first = torch.tensor([block], dtype=torch.int32, device=DEVICE)
        assert keystream(words.to(DEVICE), first, 500).cpu().numpy().tobytes() == library(keys.given[0], block, 500)


def test_the_gpu_makes_the_numbers_of_the_processor() -> None:
    totals = []
    for device in ("cpu", DEVICE):
        total = torch.zeros(3000, dtype=torch.float64, device=device)
        DeviceNoise(2.0, device, SeededEntropy(1), at_once=1024).add_to(total)
        totals.append(total.cpu())
    torch.testing.assert_close(totals[0], totals[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("physical", [8, 64])
def test_a_replayed_run_ends_where_one_in_order_does(optimizer: str, precision: str, physical: int) -> None:
    """The same keys and coins: after 20 steps the parameters agree, whether one chunk makes a batch or several."""
    ends, said = [], []
    for recorder in (None, in_order):
        module = cnn()
        parameters, update = flattened(module), UPDATES[optimizer](0.1, 0.0)
        way = Way(physical, precision=precision, recorder=recorder, numbers_at_once=2**12)
        step = DevicePrivateStep(module, schedule(noise=0.5), way, SeededEntropy(1), SeededEntropy(2))
        x, y = images()
        for _ in range(20):
            gradient, _ = step.step(x, y)
            update(parameters, gradient)
        ends.append(parameters.clone())
        said.append(step.how)
    assert said == [REPLAYED, ""]
    torch.testing.assert_close(ends[0], ends[1], rtol=1e-3, atol=1e-4)


def test_no_step_waits_for_the_device() -> None:
    module, (x, y) = cnn(), images()
    parameters, update = flattened(module), UPDATES["sgd"](0.1, 0.9)
    step = DevicePrivateStep(module, schedule(), Way(64), SeededEntropy(1), SeededEntropy(2))
    update(parameters, step.step(x, y)[0])  # records
    with nobody_waits():
        for _ in range(10):
            gradient, sums = step.step(x, y)
            update(parameters, gradient)
    assert float(sums.loss) > 0


def test_the_sum_is_that_of_single_rows_on_the_processor() -> None:
    module, (x, y) = cnn(), images(40)
    engine = StaticClippedSum(module, 0.5, (1, 28, 28), 48)
    engine.inputs[:40], engine.targets[:40] = x, y
    engine.begin()
    engine.add()
    bound = engine.clipping.of(48).bound
    plain = PerRowClippedSum(cnn().cpu().double(), bound, 64)(x.cpu().double(), y.cpu()).total
    assert float((engine.total.cpu() - plain).norm()) <= 1e-4 * float(plain.norm())


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_no_row_moves_the_sum_by_more_than_the_norm(precision: str, scale: float) -> None:
    module, (x, y) = cnn(), images(16)
    engine = StaticClippedSum(module, 0.5, (1, 28, 28), 16, precision=precision)

    def total(targets: torch.Tensor) -> torch.Tensor:
        engine.inputs.copy_(x * scale)
        engine.inputs[targets < 0] = 0
        engine.targets.copy_(targets)
        engine.begin()
        engine.add()
        return engine.total.clone()

    whole = total(y)
    for row in range(16):
        emptied = y.clone()
        emptied[row] = -1
        assert 0 < float((whole - total(emptied)).norm()) <= 0.5


def test_rows_that_are_sent_give_what_rows_on_the_device_give() -> None:
    x, y = images()
    gradients = []
    for place in (DEVICE, "cpu"):
        step = DevicePrivateStep(cnn(), schedule(), Way(8), SeededEntropy(1), SeededEntropy(2))
        gradients.append(step.step(x.to(place), y.to(place))[0].clone())
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-6)


class Looks(nn.Module):
    """Reads a number back from the device, which cannot be recorded."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (1.0 if float(x.sum()) < 1e30 else 0.5)


def test_a_network_that_cannot_be_recorded_is_trained_in_order() -> None:
    told: list[Event] = []
    module = nn.Sequential(Looks(), *cnn())
    x, y = images()
    step = DevicePrivateStep(module, schedule(), Way(64), SeededEntropy(1), SeededEntropy(2), told.append)
    assert step.step(x, y)[0].isfinite().all()
    assert "CUDA graphs cannot be used here" in step.how
    assert [e.text for e in told if isinstance(e, Notice)] == [step.how]


def test_short_memory_halves_the_chunk() -> None:
    x, y = images(4000)
    made = schedule(rows=4000, batch=3000)
    step = DevicePrivateStep(cnn(), made, Way(4000), SeededEntropy(1), SeededEntropy(2))
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 2**27) / total)
    try:
        assert step.step(x, y)[0].isfinite().all()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert step.physical_batch < 4000


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_training_on_a_gpu_learns_and_says_how(precision: str) -> None:
    told: list[Event] = []
    costs: list[Any] = []
    plan = replace(PLAN, device="cuda:0", gpu_steps="replayed", precision=precision, epochs=40)
    done = trainer.train(plan, data(), costs.append, emit=told.append)
    assert (done.device, done.releasable, len(costs)) == ("cuda:0", True, 1)
    assert REPLAYED in [e.text for e in told if isinstance(e, Notice)]
    assert done.records[-1].accuracy is None or done.records[-1].accuracy > 0.6
    assert done.corrected_peak_bytes == pytest.approx(done.peak_memory_bytes, rel=0.05)


@pytest.mark.skipif(placing.gpus() < 2, reason="there are not two CUDA devices on this machine")
def test_a_second_gpu_trains_as_the_first_does() -> None:
    ends = [
        trainer.train(
            replace(PLAN, device=f"cuda:{number}", gpu_steps="replayed"),
            data(),
            lambda c: None,
            coins=SeededEntropy(1),
            noise=SeededEntropy(2),
        )
        for number in (0, 1)
    ]
    for name, weights in ends[0].weights.items():
        torch.testing.assert_close(
            torch.from_numpy(weights), torch.from_numpy(ends[1].weights[name]), rtol=1e-3, atol=1e-4
        )
