"""Steps of the parameters are those of torch.optim, on one flat vector, and go on from a kept state."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep import probe_step, trainer  # noqa: E402
from workbench.deep.clipping import StepSums  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.memory import PHASES, MemoryForecast, MemoryWatch  # noqa: E402
from workbench.deep.networks import network  # noqa: E402
from workbench.deep.optimizers import UPDATES, Adam, Sgd  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.private_step import flattened  # noqa: E402
from workbench.deep.probe_step import HalvingClippedSum  # noqa: E402
from workbench.deep.trainer import RunOptions, Training, train  # noqa: E402
from workbench.params import ParameterError, WorkbenchError  # noqa: E402
from workbench.privacy.accounting.event import Cost, PoissonGaussian  # noqa: E402
from workbench.privacy.entropy import SeededEntropy  # noqa: E402
from workbench.signals.events import Event, Memory, Notice, Progress  # noqa: E402  # noqa: E402
from workbench.work.noise import Study  # noqa: E402

REFERENCES = {
    "sgd": (lambda: Sgd(0.1), lambda p: torch.optim.SGD(p, lr=0.1)),
    "momentum": (lambda: Sgd(0.1, 0.9), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
    "adam": (lambda: Adam(0.1), lambda p: torch.optim.Adam(p, lr=0.1)),
    "adamw": (lambda: UPDATES["adamw"](0.1, 0.0), lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.01)),
}


def gradients(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    return [torch.randn(20, generator=generator) for _ in range(count)]


@pytest.mark.parametrize("name", REFERENCES)
def test_an_update_is_that_of_torch(name):
    made, reference = REFERENCES[name]
    ours, theirs = torch.linspace(-1, 1, 20), torch.nn.Parameter(torch.linspace(-1, 1, 20))
    update, optimizer = made(), reference([theirs])
    for gradient in gradients(8):
        update(ours, gradient.clone())
        theirs.grad = gradient
        optimizer.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", [2, 11])
def test_a_gradient_of_another_length_is_refused(length):
    with pytest.raises(ValueError, match="another length"):
        Sgd(0.1)(torch.zeros(10), torch.zeros(length))


@pytest.mark.parametrize("name", REFERENCES)
def test_a_restored_update_goes_on_as_if_nothing_had_happened(name):
    made, _ = REFERENCES[name]
    whole, parts = torch.zeros(20), torch.zeros(20)
    one, first, second = made(), made(), made()
    steps = gradients(6)
    for gradient in steps:
        one(whole, gradient.clone())
    for gradient in steps[:3]:
        first(parts, gradient.clone())
    if first.state():
        second.restore({key: value.clone() for key, value in first.state().items()})
    for gradient in steps[3:]:
        second(parts, gradient.clone())
    assert torch.equal(whole, parts)


def test_flattened_parameters_move_with_their_vector():
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    before = torch.cat([p.detach().flatten() for p in module.parameters()])
    flat = flattened(module)
    assert torch.equal(flat, before)
    flat.add_(1)
    after = torch.cat([p.detach().flatten() for p in module.parameters()])
    assert torch.equal(after, before + 1)


# -- Where memory runs out the chunk is halved; batch, sum and cost stay ----------------------------------------------


class Small:
    """An engine on a machine where more than ``room`` rows are too many."""

    def __init__(self, rows: int, room: int, error: BaseException) -> None:
        self._rows, self._room, self._error = rows, room, error
        self._inner = engine_for(network("mlp").build(5, 3), 1.0, rows)

    def __call__(self, inputs: torch.Tensor, targets: torch.Tensor, *, measure: bool = True) -> StepSums:
        if min(self._rows, len(targets)) > self._room:
            raise self._error
        return self._inner(inputs, targets, measure=measure)


def batch(rows: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(rows, 5, generator=generator), torch.arange(rows) % 3


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory")])
def test_the_chunk_is_halved_until_it_fits_and_the_sum_is_the_same(error):
    seen: list[Event] = []
    engine = HalvingClippedSum(lambda rows: Small(rows, 8, error), 128, seen.append)
    x, y = batch()
    found = engine(x, y).total.double()
    assert engine.physical_batch == 5
    whole = engine_for(network("mlp").build(5, 3), 1.0, 128)(x, y).total.double()
    torch.testing.assert_close(found, whole, rtol=1e-3, atol=1e-4)
    assert [e.text.split(";")[0] for e in seen if isinstance(e, Notice)] == [
        f"memory was short: {rows} rows at once from now on" for rows in (20, 10, 5)
    ]
    engine(x, y)
    assert len(seen) == 3, "it stays at what fitted"


def test_where_one_row_is_too_many_the_error_remains():
    engine = HalvingClippedSum(lambda rows: Small(rows, 0, MemoryError()), 4, lambda event: None)
    with pytest.raises(MemoryError):
        engine(*batch())


def test_other_errors_are_not_taken_for_a_shortage():
    seen: list[Event] = []
    engine = HalvingClippedSum(lambda rows: Small(rows, 0, RuntimeError("shapes differ")), 4, seen.append)
    with pytest.raises(RuntimeError, match="shapes differ"):
        engine(*batch())
    assert not seen


def test_an_impossible_physical_batch_is_refused():
    with pytest.raises(ParameterError):
        HalvingClippedSum(lambda rows: Small(rows, 1, MemoryError()), 0, lambda event: None)


# -- One step on made-up rows corrects prediction and chunk, and changes nothing else ---------------------------------


ROWS, COLUMNS = 400, 600


def data() -> ArrayData:
    attributes = tuple(Attribute(name=f"x{i}", kind="real", lower=0, upper=1) for i in range(COLUMNS))
    rows = np.random.default_rng(0).random((ROWS, COLUMNS))
    features = Features(attributes, Attribute(name="y", kind="boolean"))
    return ArrayData(features, rows, (rows[:, 0] > 0.5).astype(np.int64))


def run(rows: ArrayData | None = None, **more: Any) -> tuple[Training, list[Event]]:
    seen: list[Event] = []
    plan = DpSgdPlan(
        network="mlp", noise=1.0, delta=1e-6, batch=200, epochs=3, lr=0.5, clip=1.0, accountant="rdp", device="cpu"
    )
    noise = Study(np.random.default_rng(2), SeededEntropy(1), more.pop("charge", None))
    options = RunOptions(settle=more.pop("settle", None))
    return train(plan, rows or data(), noise, options=options, **{"emit": seen.append, **more}), seen


def without_a_probe(
    schedule: Any, architecture: Any, features: Any, halving: Any, watch: Any, forecast: MemoryForecast
) -> MemoryForecast:
    return forecast


def test_the_probe_changes_neither_result_nor_cost(monkeypatch):
    torch.manual_seed(7)
    probed, _ = run()
    after = torch.rand(3)
    monkeypatch.setattr(trainer, "probed", without_a_probe)
    torch.manual_seed(7)
    plain, _ = run()
    assert torch.equal(torch.rand(3), after), "what a layer may draw is as it was"
    assert probed.cost == plain.cost
    assert [r.epsilon for r in probed.records] == [r.epsilon for r in plain.records]
    for name, weights in plain.weights.items():
        np.testing.assert_array_equal(weights, probed.weights[name])


def test_no_row_is_read_before_the_charge_and_the_probe_is_over_by_then(monkeypatch):
    order: list[str] = []

    class Watched(ArrayData):
        def load(self) -> Any:
            order.append("rows")
            return super().load()

    whole = probe_step.probed

    def noted(*given: Any) -> MemoryForecast:
        order.append("probe")
        return whole(*given)

    monkeypatch.setattr(trainer, "probed", noted)
    rows = data()
    run(Watched(rows.features, rows.X, rows.y), charge=lambda cost: order.append("charge"))
    assert order == ["probe", "charge", "rows"]


def test_the_first_step_is_told_beside_the_prediction_and_every_phase_is_measured():
    training, seen = run()
    samples = [e for e in seen if isinstance(e, Memory)]
    assert samples[0].phase == "model"
    assert samples[0].first_step is None, "it speaks before the first step, so that the marks are there"
    last = samples[-1]
    assert last.forecast == training.predicted_peak_bytes
    assert last.first_step is not None
    assert last.predicted == last.before + training.corrected_peak_bytes
    assert training.corrected_peak_bytes >= last.first_step
    assert tuple(p.name for p in last.phases) == PHASES
    assert all(p.predicted > 0 for p in last.phases)
    assert max(p.peak for p in last.phases) <= training.peak_memory_bytes
    assert {e.phase for e in samples} <= set(PHASES)


def test_a_chunk_that_would_not_fit_is_made_smaller_before_the_charge(monkeypatch):
    class Large(MemoryForecast):
        """A step on made-up rows took 1 GB, and half of it is there."""

        def with_step(self, batch: int, backward: int, step: int) -> MemoryForecast:
            held = 10**9
            return MemoryForecast(beside=0, model=0, reading=0, data=-held // 2, batch=0, backward=held, step=0)

    forecast = trainer.predict
    monkeypatch.setattr(probe_step, "available", lambda device: 0)
    monkeypatch.setattr(trainer, "predict", lambda *given: Large(**_fields(forecast(*given))))
    order: list[str] = []
    seen: list[Event] = []

    def hear(event: Event) -> None:
        seen.append(event)
        if isinstance(event, Notice):
            order.append(event.text)

    shorter, _ = run(emit=hear, charge=lambda cost: order.append("charge"))
    # Half of what the chunk of 128 rows holds is there, so half of the rows stay, and a few for what is in use already.
    assert order[0].startswith("a step takes more memory than is free: 6")
    assert "rows at once from now on; the result and its cost are the same" in order[0]
    assert order[1] == "charge"
    monkeypatch.undo()
    usual, _ = run()
    assert shorter.cost == usual.cost
    for name, weights in usual.weights.items():
        np.testing.assert_allclose(weights, shorter.weights[name], rtol=1e-3, atol=1e-3)


def _fields(forecast: MemoryForecast) -> dict[str, int]:
    return {name: getattr(forecast, name) for name in MemoryForecast.__dataclass_fields__}


def test_a_step_for_which_there_is_no_memory_at_all_is_refused_before_the_charge(monkeypatch):
    def none(*given: Any) -> MemoryForecast:
        raise MemoryError

    monkeypatch.setattr(trainer, "probed", none)
    with pytest.raises(WorkbenchError, match="gradients of 128 rows at once"):
        run(charge=lambda cost: pytest.fail("charged"))


def test_memory_that_suffices_for_no_row_ends_the_run_once_halving_is_over(monkeypatch):
    settled: list[Cost] = []
    charged: list[Cost] = []
    seen: list[Event] = []
    make = trainer.engine_for

    def short_from_the_third_step(*given: Any, **named: Any) -> Any:
        engine = make(*given, **named)

        def sums(*batch: Any, **wanted: Any) -> Any:
            if sum(isinstance(e, Progress) for e in seen) >= 2:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 60000000 bytes.")
            return engine(*batch, **wanted)

        return sums

    monkeypatch.setattr(trainer, "engine_for", short_from_the_third_step)
    with pytest.raises(WorkbenchError, match=r"gradient of even one row \(step 3\); close other programs"):
        run(charge=charged.append, settle=settled.append, emit=seen.append)
    assert len(charged) == 1
    (cost,) = settled
    assert isinstance(cost.event, PoissonGaussian)
    assert cost.event.steps == 3
    assert [e.text for e in seen if isinstance(e, Notice)][-1].startswith("memory was short: 1 row at once")


def test_after_the_first_step_the_forecast_is_what_is_in_use_and_what_comes_later():
    forecast = MemoryForecast(beside=100, model=10, reading=50, data=40, batch=5, backward=20, step=7)
    after = forecast.after_first_step(now=120, to_come=30)
    assert after.between_steps + after.in_a_step == 150
    assert after.phases()["model"] == forecast.phases()["model"], "that phase is over"
    measured = forecast.with_step(batch=6, backward=60, step=30)
    assert (measured.batch, measured.backward, measured.step) == (6, 54, 30)
    assert measured.phases() == {"model": 200, "batch": 156, "backward": 210, "step": 210}


def test_a_phase_is_measured_by_itself_and_a_batch_at_its_first_step():
    watch = MemoryWatch("cpu")
    watch.enter("batch")
    watch.enter("backward")
    held = np.ones(8_000_000)
    watch.enter("step")
    assert watch.peaks["backward"] >= 0.8 * held.nbytes
    assert watch.peaks["batch"] < watch.peaks["backward"]
    small = watch.peaks["batch"]
    watch.enter("batch")
    watch.look()
    assert watch.peaks["batch"] == small, "what a step took stays with the process"
    del held
    before = watch.peaks["step"]
    watch.enter("step", look=False)
    assert watch.peaks["step"] == before
    watch.reset()
    assert watch.phase == "model"
    assert max(watch.peaks.values()) == 0
    assert watch.peak > 0
