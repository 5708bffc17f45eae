"""Steps whose replays do not do what was recorded: noticed before a gradient leaves, and nothing untested unasked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

torch = pytest.importorskip("torch")

from test_checkpoints import PLAN, Memory, data  # noqa: E402
from test_device_noise import HOW, broken  # noqa: E402
from test_device_step import net, on_device, one_thread, quiet_schedule, rows, schedule, step_of  # noqa: E402, F401

from workbench.deep import trainer  # noqa: E402
from workbench.deep.device.device_noise import DeviceNoise  # noqa: E402
from workbench.deep.device.device_step import DevicePrivateStep, Way  # noqa: E402
from workbench.deep.noise import GAUSSIAN_SENTENCE  # noqa: E402
from workbench.params import InputError, ParameterError, WorkbenchError  # noqa: E402
from workbench.signals.events import Event, Notice, Progress  # noqa: E402


def test_a_recording_is_replayed_and_gives_what_the_operations_in_order_give() -> None:
    recorded, replays, told = [], [], []

    def recorder(function: Callable[[], None]) -> Callable[[], None]:
        function()
        recorded.append(function)

        def replay() -> None:
            replays.append(1)
            function()

        return replay

    module, made, (x, y) = net(), quiet_schedule(), rows()
    step = step_of(module, made, Way(8, recorder=recorder, numbers_at_once=1024), emit=told.append)
    plain = step_of(module, made)
    for _ in range(3):
        torch.testing.assert_close(step.step(x, y)[0], plain.step(x, y)[0], rtol=1e-6, atol=1e-9)
    assert len(recorded) == 3, "the noise, the sum and the reading of rows"
    assert len(replays) > 3
    assert [e.text for e in told] == ["the steps are replayed as CUDA graphs"]
    assert step.how == "the steps are replayed as CUDA graphs"


def failing(function: Callable[[], None]) -> Callable[[], None]:
    raise RuntimeError("CUDA error: operation not permitted when stream is capturing")


def wrong(function: Callable[[], None]) -> Callable[[], None]:
    return lambda: None


@pytest.mark.parametrize(("recorder", "why"), [(failing, "recording failed"), (wrong, "did not give the same sum")])
def test_where_recording_does_not_work_the_steps_go_on_without(recorder: Any, why: str) -> None:
    told: list[Event] = []
    module, made, (x, y) = net(), quiet_schedule(), rows()
    way = Way(8, recorder=recorder, numbers_at_once=1024)
    if recorder is wrong:  # of the sum alone
        way = Way(8, recorder=lambda f: wrong(f) if f.__name__ == "add" else f, numbers_at_once=1024)
    step = step_of(module, made, way, emit=told.append)
    torch.testing.assert_close(step.step(x, y)[0], step_of(module, made).step(x, y)[0], rtol=1e-6, atol=1e-9)
    assert why in step.how
    assert [e.text for e in told] == [step.how]
    assert "slower" in step.how


@pytest.mark.parametrize("how", [h if h in HOW[:2] else pytest.param(h, marks=pytest.mark.slow) for h in HOW])
def test_noise_that_a_replay_does_not_make_never_lets_a_gradient_leave_without(how: str) -> None:
    module, made, (x, y) = net(), schedule(), rows()
    y[:] = -1
    way = Way(8, recorder=lambda f: broken(how)(f) if f.__name__ == "_make" else f, numbers_at_once=16)
    step = DevicePrivateStep(module, made, way)
    gradients = torch.cat([step.step(x, y)[0].clone() for _ in range(4)])
    assert gradients.all()
    assert len(gradients.unique()) == len(gradients)
    assert "a replay did not make the same noise" in step.how


@pytest.mark.parametrize("stale", [False, True])
def test_a_replay_that_does_not_read_the_rows_is_noticed(stale: bool) -> None:
    def recorder(function: Callable[[], None]) -> Callable[[], None]:
        if "lambda" not in function.__name__:
            return function
        calls: list[int] = []
        return lambda: None if not stale or calls else calls.append(1) or function()

    module, made, (x, y) = net(), quiet_schedule(), rows()
    x[5] = math.nan
    step = step_of(module, made, Way(8, recorder=recorder, numbers_at_once=1024))
    torch.testing.assert_close(step.step(x, y)[0], step_of(module, made).step(x, y)[0], rtol=1e-6, atol=1e-9)
    assert "did not read the same rows" in step.how


def nothing(self: DeviceNoise, total: torch.Tensor) -> None:
    pass


def half(self: DeviceNoise, total: torch.Tensor) -> None:
    ADD_TO(self, total[: len(total) // 2])


def the_same_again(self: DeviceNoise, total: torch.Tensor) -> None:
    if not hasattr(self, "kept"):
        self.kept = torch.zeros_like(total)  # type: ignore[attr-defined]
        ADD_TO(self, self.kept)  # type: ignore[attr-defined]
    total.add_(self.kept)  # type: ignore[attr-defined]


ADD_TO = DeviceNoise.add_to


@pytest.mark.parametrize("addition", [nothing, half, the_same_again])
def test_an_addition_that_leaves_out_noise_is_refused_before_a_gradient_leaves(
    addition: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeviceNoise, "add_to", addition)
    with pytest.raises(WorkbenchError, match=r"does not compute a step as it should \(cpu\); train with --device cpu"):
        step_of(net(), schedule()).step(*rows())


def test_a_replayed_sum_that_is_stale_is_noticed() -> None:
    def recorder(function: Callable[[], None]) -> Callable[[], None]:
        if function.__name__ != "add":
            return function
        made, kept = cast("Any", function).__self__, []

        def replay() -> None:
            if not kept:
                function()
                kept.append(made.total.clone())
            else:
                made.total.add_(kept[0])

        return replay

    step = step_of(net(), quiet_schedule(), Way(8, recorder=recorder, numbers_at_once=1024))
    step.step(*rows())
    assert "a replayed step did not add its noise to the same sum" in step.how


@pytest.mark.usefixtures("on_device")
def test_a_run_whose_noise_goes_wrong_keeps_nothing_and_stays_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[int] = []
    recorder = broken("does nothing", lambda: bool(late))
    way = partial(Way, numbers_at_once=16, recorder=lambda f: recorder(f) if f.__name__ == "_make" else f)
    monkeypatch.setattr(trainer, "Way", way)
    keep, charged, settled = Memory(), [], []

    def emit(event: Event) -> None:
        if isinstance(event, Progress) and event.done > 2:
            late.append(1)

    with pytest.raises(WorkbenchError, match="does not make the noise"):
        trainer.train(PLAN, data(), charged.append, settle=settled.append, keep=keep, emit=emit)
    assert late
    assert len(charged) == 1
    assert not settled
    if keep.state is not None:
        assert keep.state.step <= 3, "a state that the noise went into is kept only once the noise was compared"


@pytest.mark.parametrize("given", [{"gpu_steps": "replayed"}, {"gpu_steps": "replayed", "precision": "bf16"}])
def test_what_nobody_tested_on_a_gpu_is_asked_for_by_name(given: dict[str, str]) -> None:
    assert PLAN.gpu_steps == "plain"
    asked = replace(PLAN, **given)  # type: ignore[arg-type]
    assert "never tested" in type(asked).declared()["gpu_steps"].help
    with pytest.raises(InputError, match="the processor"):
        trainer.train(asked, data(), lambda cost: pytest.fail("charged"))
    if "precision" in given:
        with pytest.raises(ParameterError, match="only replayed steps compute in bf16; add --gpu-steps replayed"):
            replace(PLAN, precision=given["precision"])


@pytest.mark.parametrize(("device", "made_there"), [("cpu", False), ("cuda", False), ("cuda", True)])
def test_the_card_and_a_notice_say_what_was_never_tested(device: str, made_there: bool) -> None:
    told: list[Event] = []
    said = trainer._randomness(device, on_device=made_there, asked="plain", emit=told.append)
    assert said.startswith(GAUSSIAN_SENTENCE)
    assert ("never on a GPU" in said) == (device != "cpu")
    assert ("the noise by the Box–Muller transform" in said) == made_there
    expected = [said.removeprefix(GAUSSIAN_SENTENCE).strip()] if device != "cpu" else []
    assert [e.text for e in told if isinstance(e, Notice)] == expected
