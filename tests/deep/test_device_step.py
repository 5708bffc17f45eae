"""The step on a device, computed on the processor: its law and cost, pauses, short memory, recordings that fail."""

from __future__ import annotations

import copy
import json
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numpy.typing import NDArray  # noqa: E402
from scipy import stats  # noqa: E402
from test_checkpoints import PLAN, STEPS, Memory, data, interrupt_at, run  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep import trainer  # noqa: E402
from workbench.deep.book_keeping import BookKeepingClippedSum  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum  # noqa: E402
from workbench.deep.device import placing, static_sum  # noqa: E402
from workbench.deep.device.chunk_rows import ResidentRows, SentRows  # noqa: E402
from workbench.deep.device.device_step import DevicePrivateStep, Way, serves  # noqa: E402
from workbench.deep.device.drawn_ahead import DrawnAhead, chunk_size  # noqa: E402
from workbench.deep.device.replay import in_order, recorder_for  # noqa: E402
from workbench.deep.flat_parameters import flattened  # noqa: E402
from workbench.deep.plan import Schedule  # noqa: E402
from workbench.deep.poisson import PoissonSampler  # noqa: E402
from workbench.params import CancelledError, InputError  # noqa: E402
from workbench.privacy.accounting.event import Cost  # noqa: E402
from workbench.privacy.entropy import OsEntropy, SeededEntropy  # noqa: E402
from workbench.signals.cancel import CancelToken  # noqa: E402
from workbench.signals.events import Event, Metric, Notice, Spread  # noqa: E402

FALSE_ALARM = 1e-6
SMALL = Way(physical_batch=8, numbers_at_once=1024)
HERE = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def schedule(rows: int = 60, batch: int = 20, noise: float = 1e-6) -> Schedule:
    return replace(PLAN, noise=max(noise, 0.1), batch=batch, epochs=1000, clip=0.5).schedule(rows)


def quiet_schedule(rows: int = 60, batch: int = 20) -> Schedule:
    """A schedule with hardly any noise, so that the sums can be seen."""
    made = schedule(rows, batch)
    return replace(made, event=replace(made.event, noise_multiplier=1e-9))


def net() -> nn.Sequential:
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(5, 6, bias=False), nn.Tanh(), nn.Linear(6, 3))


def rows(count: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(5)
    return torch.randn(count, 5), torch.arange(count) % 3


def test_a_sum_is_rounded_in_its_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_sum, "_NUMBERS_OF_A_PRODUCT", 7)
    total = torch.randn(100, dtype=torch.float64)
    expected, memory = total.float(), total.data_ptr()
    found = static_sum.in_single_precision(total)
    assert torch.equal(found, expected)
    assert found.data_ptr() == memory


def step_of(
    module: nn.Module,
    made: Schedule,
    way: Way = SMALL,
    *,
    seed: int = 1,
    emit: Callable[[Event], None] = lambda e: None,
) -> DevicePrivateStep:
    return DevicePrivateStep(module, made, way, SeededEntropy(seed), SeededEntropy(seed + 1), emit)


def expected_sums(count: int, made: Schedule, seed: int = 1) -> list[NDArray[np.int64]]:
    sampler = PoissonSampler(made.rows, made.event.sample_rate, SeededEntropy(seed))
    return [sampler.draw() for _ in range(count)]


@pytest.mark.parametrize(
    "way",
    [SMALL, Way(64, numbers_at_once=1024), pytest.param(Way(1, numbers_at_once=1024), marks=pytest.mark.slow)],
)
def test_a_step_is_the_clipped_sum_of_the_rows_that_were_drawn(way: Way) -> None:
    module, made, (x, y) = net(), quiet_schedule(), rows()
    y[7] = -1
    step = step_of(module, made, way)
    for drawn in expected_sums(4, made):
        gradient, sums = step.step(x, y)
        plain = PerRowClippedSum(module, 0.5, 64)(x[drawn], y[drawn])
        torch.testing.assert_close(gradient.double() * 20, plain.total, rtol=5e-3, atol=1e-5)
        assert (int(sums.rows), int(sums.correct)) == (plain.rows, plain.correct)
        assert float(sums.loss) == pytest.approx(float(plain.loss), rel=1e-5)


def test_a_step_sees_parameters_that_were_changed_in_place() -> None:
    module, made, (x, y) = net(), quiet_schedule(), rows()
    parameters, step = flattened(module), step_of(module, made)
    drawn = expected_sums(2, made)[1]
    gradient, _ = step.step(x, y)
    parameters.sub_(gradient.float(), alpha=5.0)
    torch.testing.assert_close(
        step.step(x, y)[0].double() * 20,
        PerRowClippedSum(module, 0.5, 64)(x[drawn], y[drawn]).total,
        rtol=5e-3,
        atol=1e-5,
    )


def test_the_noise_of_a_step_has_the_variance_of_the_schedule_and_is_new_in_every_step() -> None:
    """σ²C² on the sum, and so σ²C²/batch² on the gradient, at σ = 0.1, C = 0.5 and a batch of 20."""
    module, made, (x, y) = net(), schedule(noise=0.1), rows()
    y[:] = -1
    step = step_of(module, made)
    drawn = np.concatenate([step.step(x, y)[0].numpy().copy() for _ in range(50)])
    standard = drawn / (0.1 * 0.5 / 20)
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(standard))
    assert low < float((standard**2).sum()) < high
    assert len(np.unique(drawn)) == len(drawn)


def test_a_step_without_rows_is_noise_only() -> None:
    module, made, (x, y) = net(), quiet_schedule(rows=60, batch=1), rows()
    step = step_of(module, made)
    for drawn in expected_sums(12, made):
        gradient, sums = step.step(x, y)
        assert int(sums.rows) == len(drawn)
        assert (float(gradient.abs().max()) < 1e-6) == (len(drawn) == 0)


@pytest.mark.parametrize("batch", [1, 20, 60])
def test_batches_drawn_ahead_are_those_of_the_sampler_whole_and_in_order(batch: int) -> None:
    made, chunk = schedule(batch=batch), chunk_size(batch, 8, 60)
    ahead = DrawnAhead(PoissonSampler(60, made.event.sample_rate, SeededEntropy(1)), batch, chunk, HERE)
    for number, drawn in enumerate(expected_sums(300, made)):
        found = ahead.next()
        if number == 100:
            chunk //= 2
            found = ahead.cut(found, chunk)
        assert found.here.shape == (-(-len(drawn) // chunk), chunk)
        flat = found.places.flatten()
        np.testing.assert_array_equal(flat[flat >= 0].numpy(), drawn)
        assert (flat[len(drawn) :] == -1).all()


def _told_by_a_fork(work: Callable[[], list[list[int]] | str]) -> list[list[int]] | str:
    """Return what ``work`` returns in a process that is forked here."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:  # nothing of the tests may run on here
        try:
            os.write(theirs, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        told = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    found: list[list[int]] | str = json.loads(told)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("cut", [False, True], ids=["as drawn", "cut before"])
def test_a_forked_process_never_returns_batches_that_its_parent_drew_ahead(cut: bool) -> None:
    ahead = DrawnAhead(PoissonSampler(1000, 0.05, OsEntropy()), 50, 64, HERE)
    newest = ahead.next()
    if cut:
        newest = ahead.cut(newest, 32)
    assert len(ahead._ready) > 5, "batches are drawn ahead"

    def five() -> list[list[int]]:
        return [ahead.next().here.flatten().tolist() for _ in range(5)]

    def halved() -> str:
        try:
            ahead.cut(newest, 16)
        except RuntimeError as error:
            return str(error)
        return "it was cut"

    drawn = _told_by_a_fork(five)
    assert all(sum(place >= 0 for place in batch) > 10 for batch in drawn), "batches of 50 rows"
    assert not any(batch in drawn for batch in five())
    assert "drawn by another process" in _told_by_a_fork(halved)
    assert len(ahead.cut(ahead.next(), 16).here[0]) == 16, "here it goes on"


def test_batches_drawn_ahead_are_not_copied() -> None:
    ahead = DrawnAhead(PoissonSampler(1000, 0.05, OsEntropy()), 50, 64, HERE)
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="drawn ahead cannot be copied"):
            way(ahead)


def test_one_chunk_holds_a_usual_batch_and_no_chunk_exceeds_the_physical_batch() -> None:
    assert chunk_size(64, 128, 60_000) == 88
    assert chunk_size(1024, 128, 60_000) == 128
    assert chunk_size(1024, 2000, 60_000) == 1120
    assert chunk_size(20, 1, 60) == 1
    assert chunk_size(150, 128, 60_000) == 96, "two even ones rather than a full and a nearly empty one"
    assert chunk_size(60, 128, 60) == 64


def test_rows_that_are_sent_are_those_that_lie_on_the_device() -> None:
    x, y = rows()
    y[3], x[3], x[9] = -1, float("nan"), 2.0
    places = torch.tensor([9, 3, 0, -1, 59, -1])
    filled = []
    for held in (ResidentRows(x, y), SentRows(x, y)):
        inputs, targets = torch.full((6, 5), 9.0), torch.full((6,), 9)
        held.fill(inputs, targets, places, places)
        filled.append((inputs, targets))
    (one, classes), (other, others) = filled
    assert torch.equal(one, other)
    assert torch.equal(classes, others)
    assert classes.tolist() == [0, -1, 0, -1, 2, -1]
    assert torch.equal(one[0], x[9])
    assert not one[[1, 3, 5]].any(), "an empty row is zeros, whatever stands in the table"


def test_short_memory_halves_the_chunk_and_the_same_batch_is_summed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module, made, (x, y) = net(), quiet_schedule(), rows()
    expected = [step_of(module, made).step(x, y)[0].clone()]
    passes, calls = BookKeepingClippedSum._passes, []

    def short(self: Any, inputs: torch.Tensor, *rest: Any) -> Any:
        calls.append(len(inputs))
        if len(inputs) > 3 and len(calls) > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return passes(self, inputs, *rest)

    monkeypatch.setattr(BookKeepingClippedSum, "_passes", short)
    told: list[Event] = []
    step = step_of(module, made, emit=told.append)
    torch.testing.assert_close(step.step(x, y)[0], expected[0], rtol=1e-3, atol=1e-6)
    assert step.physical_batch == 2
    assert [e.text for e in told if isinstance(e, Notice)] == [
        f"memory was short: {n} rows at once from now on; the result and its cost are the same" for n in (4, 2)
    ]


def test_memory_that_does_not_suffice_for_one_row_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_given: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(BookKeepingClippedSum, "_passes", never)
    with pytest.raises(RuntimeError, match="out of memory"):
        step_of(net(), quiet_schedule()).step(*rows())


def test_a_run_on_the_processor_has_its_own_engines_and_records_nothing() -> None:
    engine = BookKeepingClippedSum(net(), 1.0, 8)
    asked = replace(PLAN, gpu_steps="replayed")
    assert not serves(asked, "cpu", engine)
    assert serves(asked, "cuda", engine)
    assert serves(asked, "cuda:3", engine)
    assert not serves(asked, "cuda", PerRowClippedSum(net(), 1.0, 8))
    assert not serves(PLAN, "cuda", engine), "what nobody has tested is asked for by name"
    assert recorder_for(HERE) is in_order


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train by the step of a device, on the processor."""
    monkeypatch.setattr(trainer, "serves", lambda *given: True)
    monkeypatch.setattr(trainer, "Way", partial(Way, numbers_at_once=1024))


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
def test_a_training_is_charged_once_learns_and_can_be_released() -> None:
    charged: list[Cost] = []
    told: list[Event] = []
    done = trainer.train(PLAN, data(), charged.append, emit=told.append)
    assert "never on a GPU" in done.randomness
    assert sum(isinstance(e, Notice) and e.text in done.randomness for e in told) == 1
    assert [cost.epsilon for cost in charged] == [done.schedule.cost().epsilon]
    assert (done.steps, done.stopped, done.releasable) == (STEPS, "epochs", True)
    learned = [record.accuracy for record in done.records if record.accuracy is not None]
    assert np.mean(learned[-10:]) > 0.8
    assert done.records[-1].loss is not None


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
def test_seeded_trainings_are_alike_and_cannot_be_released() -> None:
    one, two = (
        trainer.train(PLAN, data(), lambda c: None, coins=SeededEntropy(1), noise=SeededEntropy(2)) for _ in "ab"
    )
    assert not one.releasable
    for name, weights in one.weights.items():
        np.testing.assert_array_equal(weights, two.weights[name])


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
def test_a_paused_training_goes_on_at_the_cost_of_one_with_fresh_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    words = OsEntropy.words

    def heard(self: OsEntropy, count: int) -> NDArray[np.uint64]:
        drawn = words(self, count)
        if count == 4:
            keys.append(drawn.tobytes())
        return drawn

    monkeypatch.setattr(OsEntropy, "words", heard)
    keep, token = Memory(), CancelToken()
    with pytest.raises(CancelledError):
        run(keep, emit=interrupt_at(25, token), cancel=token)
    assert keep.counted == 25
    charged: list[Cost] = []
    done = trainer.train(PLAN, data(), charged.append, keep=keep)
    assert (done.steps, keep.counted) == (STEPS, STEPS)
    assert done.cost == done.schedule.cost()
    assert len(keys) == len(set(keys)) == 2, "each part has a key of its own"
    assert keep.state is None or b"key" not in keep.state.tensors()


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
def test_a_quiet_training_computes_no_private_figure() -> None:
    told: list[Event] = []
    done = trainer.train(PLAN, data(), lambda cost: None, quiet=True, emit=told.append)
    assert not [e for e in told if isinstance(e, Metric | Spread)]
    assert all(record.loss is None for record in done.records)


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
def test_a_watched_training_tells_of_losses_and_norms() -> None:
    told: list[Event] = []
    trainer.train(PLAN, data(), lambda cost: None, emit=told.append)
    assert {e.name for e in told if isinstance(e, Metric)} == {"loss", "accuracy"}
    spread = [e for e in told if isinstance(e, Spread)]
    assert spread
    assert sum(map(sum, (e.counts for e in spread))) > STEPS


def test_rows_that_would_not_fit_are_sent_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "stay_on", lambda device, size: size <= 60 * (4 * 3 + 8))
    table, told = data(60).load(), []

    def place(name: str, *, resident: bool) -> None:
        monkeypatch.setattr(placing, "prepared_rows", lambda *a, kept_on, **k: torch.zeros(len(a[1]), 3).to(kept_on))
        x, y = placing.placed(
            PLAN.architecture, 3, *table, name, resident=resident, emit=told.append, cancel=CancelToken()
        )
        assert (x.device.type, y.device.type) == (("cpu", "cpu") if told else (name, name))

    place("meta", resident=False)
    assert not told
    monkeypatch.setattr(placing, "stay_on", lambda device, size: False)
    place("cpu", resident=False)
    place("cpu", resident=True)
    assert not told, "they are where they are computed"
    place("meta", resident=False)
    assert "free memory of meta" in told[0].text


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_the_processor_refuses_a_precision_that_it_has_not(precision: str) -> None:
    asked = replace(PLAN, gpu_steps="replayed", precision=precision)
    with pytest.raises(InputError, match="the processor computes in float32"):
        trainer.train(asked, data(), lambda cost: pytest.fail("charged"))
