"""The memory of a run on a GPU before it starts: counted on tensors without numbers, as it is on real ones."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import pytest

torch = pytest.importorskip("torch")

from engine_networks import made  # noqa: E402
from test_checkpoints import PLAN, data  # noqa: E402

from workbench.data.images.image_set import ImageShape, class_attribute, pixel_attribute  # noqa: E402
from workbench.deep import trainer  # noqa: E402
from workbench.deep.device.device_forecast import device_forecast as forecast  # noqa: E402
from workbench.deep.device.device_step import Way  # noqa: E402
from workbench.deep.device.live_bytes import LiveBytes  # noqa: E402
from workbench.deep.device.static_sum import StaticClippedSum  # noqa: E402
from workbench.deep.image_features import ImageFeatures  # noqa: E402
from workbench.signals.events import Event, Memory  # noqa: E402

LONGER = ("tanh", "depthwise", "wide, many numbers", "norm of positions")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["thesis", *LONGER])
def test_what_is_counted_on_tensors_without_numbers_is_what_real_ones_take(name: str) -> None:
    peaks = []
    for device in ("meta", "cpu"):
        network, x, _ = made(name)
        network = copy.deepcopy(network)
        with LiveBytes() as live:
            network.to(device)
            for parameter in network.parameters():
                parameter.data = parameter.data.clone()
            engine = StaticClippedSum(network, 0.8, tuple(x.shape[1:]), 64)
            engine.begin()
            engine.add()
        peaks.append(live.peak)
        assert 0 < live.now < live.peak
    assert peaks[0] == pytest.approx(peaks[1], rel=0.05)


def test_a_tensor_counts_once_for_as_long_as_somebody_holds_it() -> None:
    with LiveBytes() as live:
        one = torch.zeros(1000, device="meta")
        view = one[10:].view(-1)
        assert live.now == 4096
        del one
        assert live.now == 4096
        two = torch.zeros(1, device="meta") + 1
        assert live.now == 4096 + 512
        del view, two
    assert (live.now, live.peak) == (0, 4096 + 2 * 512)


FEATURES = data().features


@pytest.mark.slow
def test_the_forecast_grows_with_what_it_should_grow_with() -> None:
    plan = replace(PLAN, network="mlp", batch=2048, physical_batch=512, delta=1e-6)
    found = forecast(plan, FEATURES, 100_000)
    assert found.data == 100_000 * (4 * 3 + 8)
    assert found.peak == found.model + found.data + max(found.batch + found.backward, found.step)
    sent = forecast(plan, FEATURES, 100_000, resident=False).peak
    assert sent == pytest.approx(found.peak - found.data, abs=1024), "up to the rounding of two tensors"
    larger = forecast(replace(plan, physical_batch=4096), FEATURES, 100_000)
    assert larger.backward > 3 * found.backward
    assert larger.batch > found.batch
    adam = forecast(replace(plan, optimizer="adam"), FEATURES, 100_000)
    parameters = plan.architecture.parameters(FEATURES.width, 2)
    moments = adam.model - found.model
    assert 8 * parameters <= moments <= 8 * parameters + 1024, "what the optimiser remembers is there throughout"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mnist-cnn", "scatter-cnn"])
def test_networks_of_images_can_be_forecast(name: str) -> None:
    features = ImageFeatures((pixel_attribute(),), class_attribute(tuple("0123456789")), ImageShape(1, 28, 28))
    found = forecast(replace(PLAN, network=name, batch=64), features, 60_000)
    assert found.data >= 60_000 * 784 * 4
    assert found.backward > 0


@pytest.mark.slow
def test_a_run_on_a_device_tells_of_its_forecast_and_of_what_the_first_step_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trainer, "serves", lambda *given: True)
    monkeypatch.setattr(trainer, "Way", partial(Way, numbers_at_once=1024))
    told: list[Event] = []
    done = trainer.train(PLAN, data(), lambda cost: None, emit=told.append)
    assert done.predicted_peak_bytes == forecast(PLAN, FEATURES, 200).peak
    last = [e for e in told if isinstance(e, Memory)][-1]
    assert last.forecast == done.predicted_peak_bytes
    assert last.first_step is not None
    assert {phase.name for phase in last.phases} == {"model", "batch", "backward", "step"}
