"""A run that is interrupted and goes on: no step is taken twice for one price, no noise is used twice."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep.checkpoint import Checkpoints, RunState  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.optimizers import UPDATES  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.private_step import PrivateStep  # noqa: E402
from workbench.deep.trainer import RunOptions, train  # noqa: E402
from workbench.params import CancelledError, InputError  # noqa: E402
from workbench.privacy.entropy import ChaCha20Entropy, SeededEntropy  # noqa: E402
from workbench.signals.cancel import CancelToken  # noqa: E402
from workbench.signals.events import Budget, Event, Metric, Progress  # noqa: E402
from workbench.work.noise import Charged, Study  # noqa: E402

FEATURES = Features(
    tuple(Attribute(name=f"x{i}", kind="real", lower=-3, upper=3) for i in range(3)),
    Attribute(name="y", kind="category", domain=("no", "yes")),
)


def data(rows: int = 200) -> ArrayData:
    X = np.random.default_rng(0).uniform(-3, 3, size=(rows, 3))
    return ArrayData(FEATURES, X, (X[:, 0] + X[:, 1] > 0).astype(int))


PLAN = DpSgdPlan(
    network="logistic", noise=1.0, delta=1e-5, batch=20, epochs=6, lr=1.0, clip=1.0, accountant="rdp", device="cpu"
)
STEPS = 60


@dataclass
class Memory:
    """A keeper that lives as long as the test: what a disk would hold, and the order in which it was written."""

    state: RunState | None = None
    counted: int = 0
    written: list[str] = field(default_factory=list)

    def claim(self, steps: int) -> None:
        self.counted += steps
        self.written.append("claim")

    def give_back(self, steps: int) -> None:
        self.counted -= steps

    def save(self, state: RunState) -> None:
        # Through bytes, as a disk would have it: nothing of it is shared with the run that goes on.
        self.state = RunState.of(state.tensors(), state.facts(), "memory")
        self.written.append("save")


class KilledError(BaseException):
    """The process is gone: nothing of what it still meant to do is done."""


def run(keep: Memory, **more: Any) -> Any:
    noise = more.pop("noise", Charged(lambda cost: None))
    return train(more.pop("plan", PLAN), data(), noise, options=RunOptions(keep=keep), **more)


def interrupt_at(step: int, token: CancelToken) -> Any:
    def hear(event: Event) -> None:
        if isinstance(event, Progress) and event.done == step:
            token.cancel()

    return hear


def seeded() -> Study:
    return Study(np.random.default_rng(2), SeededEntropy(1))


@pytest.mark.parametrize(("optimizer", "momentum"), [("sgd", 0.0), ("sgd", 0.9), ("adam", 0.0), ("adamw", 0.0)])
def test_a_paused_run_ends_where_an_uninterrupted_one_does(optimizer, momentum):
    """With seeded streams that go on where they stopped, to the last bit; a release takes fresh ones."""
    plan = replace(PLAN, optimizer=optimizer, momentum=momentum, lr=0.1)
    whole = run(Memory(), plan=plan, noise=seeded())
    keep, token = Memory(), CancelToken()
    steps: list[int] = []
    sampler = PrivateStep.of

    def shared(*given: Any, **more: Any) -> PrivateStep:  # what the first part drew ahead, and the steps it left
        made = sampler(*given, **more)
        if more["rows"] < 200:  # tried on made-up rows
            return made
        if not steps:
            steps.append(1)
            shared.first = made  # type: ignore[attr-defined]
            return made
        first = shared.first  # type: ignore[attr-defined]
        # One step more is taken of the run's own steps, by whose number it goes on.
        made.sampler, made.noise = first.sampler, first.noise
        taken = made.steps.take
        made.steps.take = lambda: (first.steps.take(), taken())[1]  # type: ignore[method-assign]
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrivateStep, "of", shared)
        with pytest.raises(CancelledError):
            run(keep, plan=plan, noise=seeded(), cancel=token, emit=interrupt_at(23, token))
        assert keep.counted == 23
        assert keep.state is not None
        assert keep.state.step == 23
        done = run(keep, plan=plan, noise=seeded())
    assert done.steps == STEPS == whole.steps
    for name, weights in whole.weights.items():
        assert np.array_equal(weights, done.weights[name])
    assert done.cost == whole.cost
    assert [r.step for r in done.records] == [r.step for r in whole.records]
    assert [r.loss for r in done.records] == [r.loss for r in whole.records]


def test_a_pause_is_made_within_one_step_and_epsilon_goes_on_from_there():
    keep, token, heard = Memory(), CancelToken(), []
    told = interrupt_at(31, token)

    def hear(event: Event) -> None:
        heard.append(event)
        told(event)

    with pytest.raises(CancelledError):
        run(keep, cancel=token, emit=hear)
    assert [e.done for e in heard if isinstance(e, Progress)][-1] == 31
    before = [e.epsilon for e in heard if isinstance(e, Budget)]
    heard.clear()
    done = run(keep, emit=hear)
    after = [e for e in heard if isinstance(e, Budget)]
    assert after[0].step == 32
    assert before[-1] <= after[0].epsilon * (1 + 1e-9) or after[0].epsilon <= float(done.cost.epsilon)
    assert float(done.cost.epsilon) == pytest.approx(float(PLAN.schedule(200).cost().epsilon))
    epsilons = [r.epsilon for r in done.records]
    assert epsilons == sorted(epsilons)


@pytest.mark.parametrize("killed_at", [1, 2, 5, 17, 44])
def test_steps_that_were_lost_in_a_crash_count_and_are_not_taken_again(killed_at, monkeypatch):
    """The charge is of so many steps: those of all parts together, also the ones whose result was lost."""
    taken = []
    whole = PrivateStep.step

    def counted(self: PrivateStep, *given: Any, **more: Any) -> Any:
        if len(taken) == killed_at:
            raise KilledError
        taken.append(1)
        return whole(self, *given, **more)

    keep = Memory()
    with monkeypatch.context() as patch:
        patch.setattr(PrivateStep, "step", counted)
        patch.setattr(Checkpoints, "pause", lambda *_: pytest.fail("nobody pauses a process that is killed"))
        with pytest.raises(KilledError):
            run(keep)
        at = keep.counted
        assert at > killed_at, "a step is claimed before it is taken"
        before = len(taken)
        patch.setattr(PrivateStep, "step", lambda self, *a, **m: (taken.append(1), whole(self, *a, **m))[1])
        done = run(keep)
    assert done.steps == STEPS
    assert len(taken) - before == STEPS - at
    assert len(taken) <= STEPS, "never more steps than were charged"


def test_a_step_is_claimed_before_anything_of_it_is_told():
    keep = Memory()
    too_early: list[Event] = []

    def hear(event: Event) -> None:
        if isinstance(event, Progress | Metric | Budget):
            step = event.done if isinstance(event, Progress) else event.step
            if step > keep.counted:
                too_early.append(event)

    run(keep, emit=hear)
    assert too_early == []
    assert keep.counted == STEPS
    assert keep.written[0] == "claim", "the state before the first step is that of any run"
    assert all(pair == ("save", "claim") for pair in zip(keep.written[1::2], keep.written[2::2], strict=True))


def test_each_part_of_a_run_has_a_key_of_its_own(monkeypatch):
    """Noise that was added once is never added again: the checkpoint holds no key, and none is derived from it."""
    drawn: list[bytes] = []
    words = ChaCha20Entropy.words

    def remembered(self: ChaCha20Entropy, count: int) -> Any:
        out = words(self, count)
        drawn.append(out[:16].tobytes())
        return out

    monkeypatch.setattr(ChaCha20Entropy, "words", remembered)
    keep, token = Memory(), CancelToken()
    with pytest.raises(CancelledError):
        run(keep, cancel=token, emit=interrupt_at(10, token))
    parts = len(drawn)
    assert keep.state is not None
    held = keep.state.tensors() + repr(keep.state.facts()).encode()
    run(keep)
    assert parts < len(drawn)
    assert len(set(drawn)) == len(drawn)
    assert not any(stream in held for stream in drawn)


def test_what_an_optimiser_remembers_comes_through_a_file():
    for name, make in UPDATES.items():
        first, second = make(0.1, 0.9 if name == "sgd" else 0.0), make(0.1, 0.9 if name == "sgd" else 0.0)
        parameters, gradient = torch.zeros(5), torch.arange(5.0)
        first(parameters, gradient.clone())
        state = RunState(step=1, parameters=parameters, update=first.state(), seconds=0.0, physical_batch=4)
        again = RunState.of(state.tensors(), state.facts(), "here")
        second.restore(dict(again.update))
        other = again.parameters.clone()
        first(parameters, gradient.clone())
        second(other, gradient.clone())
        assert torch.equal(parameters, other), name


def test_a_checkpoint_of_another_network_or_a_damaged_one_is_refused():
    keep = Memory(RunState(step=3, parameters=torch.zeros(99), update={}, seconds=0.0, physical_batch=8), counted=3)
    with pytest.raises(InputError, match="belongs to another network"):
        run(keep)
    with pytest.raises(InputError, match="damaged"):
        RunState.of(b"nothing", {}, "here")


def test_a_quiet_run_tells_no_private_figure_and_computes_none():
    heard: list[Event] = []
    done = train(PLAN, data(), Charged(lambda cost: None), emit=heard.append, options=RunOptions(quiet=True))
    assert not any(isinstance(event, Metric) for event in heard)
    assert all(record.loss is None and record.accuracy is None for record in done.records)
