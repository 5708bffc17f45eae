"""The private step on a GPU: the same sums, the noise and the sampling of the processor, and memory as predicted."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402
from torch import nn  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep.book_keeping import BookKeepingClippedSum  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.trainer import train  # noqa: E402
from workbench.privacy.entropy import SeededEntropy  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device on this machine")


def small_cnn() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(4 * 13 * 13, 10)
    )


@pytest.mark.parametrize("rule", ["flat", "per-layer", "automatic"])
def test_the_sum_on_the_gpu_is_that_of_the_processor(rule):
    x, y = torch.rand(40, 1, 28, 28), torch.arange(40) % 10
    y[3] = -1
    there = engine_for(small_cnn().cuda(), 0.5, 16, rule=rule, example=x.cuda())
    assert isinstance(there, BookKeepingClippedSum), "the fast engines are the processor's"
    bounds = there.clipping.of(14).bound
    here = engine_for(small_cnn().double(), bounds, 64, rule=rule)(x.double(), y).total
    assert float((there(x.cuda(), y.cuda()).total.double().cpu() - here).norm()) <= 1e-3 * float(here.norm())


def test_a_run_on_the_gpu_is_charged_as_on_the_processor():
    attributes = tuple(Attribute(name=f"x{i}", kind="real", lower=0, upper=1) for i in range(4))
    features = Features(attributes, Attribute(name="y", kind="boolean"))
    rows = np.random.default_rng(0).random((400, 4))
    data = ArrayData(features, rows, (rows[:, 0] > 0.5).astype(np.int64))
    given: dict[str, Any] = {"network": "mlp", "noise": 1.0, "delta": 1e-6, "batch": 40, "epochs": 2, "lr": 0.5}
    costs: list[Decimal] = []
    for device in ("cpu", "cuda"):
        run = train(DpSgdPlan(**given, clip=1.0, device=device), data, lambda cost: costs.append(cost.epsilon))
        assert (run.device, run.steps, run.releasable) == (device, 20, True)
        assert all(np.isfinite(w).all() for w in run.weights.values())
    assert costs[0] == costs[1]


def test_a_seeded_run_on_the_gpu_gives_what_the_processor_gives():
    features = Features(
        tuple(Attribute(name=f"x{i}", kind="real", lower=0, upper=1) for i in range(4)),
        Attribute(name="y", kind="boolean"),
    )
    rows = np.random.default_rng(0).random((400, 4))
    data = ArrayData(features, rows, (rows[:, 0] > 0.5).astype(np.int64))
    weights = []
    for device in ("cpu", "cuda"):
        asked = DpSgdPlan(network="mlp", noise=1.0, delta=1e-6, batch=40, epochs=2, lr=0.5, clip=1.0, device=device)
        run = train(asked, data, lambda cost: None, coins=SeededEntropy(1), noise=SeededEntropy(2))
        assert run.peak_memory_bytes > 0
        weights.append(run.weights)
    for name in weights[0]:
        np.testing.assert_allclose(weights[0][name], weights[1][name], rtol=1e-2, atol=1e-3)
