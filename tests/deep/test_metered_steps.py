"""A training draws what it declared: toys that declare one noise and draw by another, or take more, are refused."""

import ast
import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402
from torch import nn  # noqa: E402

import workbench  # noqa: E402
from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep import trainer  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.noise import GaussianNoise  # noqa: E402
from workbench.deep.plan import DpSgdPlan, Schedule  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.private_step import PrivateStep  # noqa: E402
from workbench.privacy.accounting.event import Cost  # noqa: E402
from workbench.privacy.entropy import ChaCha20Entropy  # noqa: E402
from workbench.work.ask import Ask, Steps, UndeclaredError  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

ROWS = 40
PLAN = DpSgdPlan(
    network="logistic", noise=2.0, delta=1e-5, batch=10, epochs=1, lr=0.1, clip=0.5, accountant="rdp", device="cpu"
)
HOME = Path(workbench.__file__).parent


def charged() -> Ask:
    return Charged(lambda cost: None).ask(PLAN.schedule(ROWS).cost())


def mechanism(steps: Steps) -> PrivateStep:
    module = nn.Sequential(nn.Linear(3, 2))
    schedule = PLAN.schedule(ROWS)
    return PrivateStep.of(
        steps,
        rows=ROWS,
        batch=schedule.batch,
        clip=schedule.clip,
        clipped_sum=lambda clip: engine_for(module, clip, ROWS),
    )


@pytest.fixture
def no_bit(monkeypatch):
    monkeypatch.setattr(ChaCha20Entropy, "words", lambda self, count: pytest.fail("a bit was drawn"))


def test_noise_and_sampling_are_those_of_the_event_that_was_charged():
    made = mechanism(charged().steps("DP-SGD logistic"))
    assert made.noise is not None
    assert made.noise.scale == 2.0 * 0.5
    assert made.sampler.threshold == int(10 / ROWS * 2**64)


def test_a_trainer_that_takes_a_step_more_is_refused_before_a_bit(no_bit):
    schedule = PLAN.schedule(ROWS)
    made = mechanism(charged().steps("DP-SGD logistic", schedule.steps))
    with pytest.raises(UndeclaredError, match="all 4 steps"):
        made.step(torch.zeros(ROWS, 3), torch.zeros(ROWS, dtype=torch.int64))


def test_a_toy_that_adds_noise_without_taking_a_step_is_refused_before_a_bit(no_bit):
    made = mechanism(charged().steps("DP-SGD logistic"))
    with pytest.raises(UndeclaredError, match="once for each step"):
        made.noisy(torch.zeros(8))


def test_a_step_has_noise_once():
    steps = charged().steps("DP-SGD logistic")
    noise = GaussianNoise(steps, 1.0)
    steps.take()
    noise.add_to(np.zeros(3), np.empty(3))
    with pytest.raises(UndeclaredError, match="once for each step"):
        noise.add_to(np.zeros(3), np.empty(3))


def test_a_toy_that_declares_much_noise_and_means_little_has_nothing_to_say_it_with():
    """A source of noise is made of steps and a clipping norm, and takes no multiplier, scale or stream."""
    steps = charged().steps("DP-SGD logistic")
    for given in ((0.01, ChaCha20Entropy()), (steps, 1.0, 0.01), (steps,)):
        with pytest.raises((TypeError, AttributeError)):
            GaussianNoise(*given)  # type: ignore[arg-type, call-arg]


def test_a_trainer_that_asks_for_another_run_than_it_declared_is_refused(no_bit, monkeypatch):
    """The toy charges for twice the noise under another name, and asks for the plan's steps."""
    whole = Schedule.cost

    def louder(self: Schedule, steps: int | None = None) -> Cost:
        event = replace(self.event, noise_multiplier=2 * self.event.noise_multiplier, label="cheap")
        return replace(whole(self, steps), event=event)

    monkeypatch.setattr(Schedule, "cost", louder)
    features = Features((Attribute(name="x", kind="real", lower=0, upper=1),), Attribute(name="y", kind="boolean"))
    rows = ArrayData(features, np.zeros((ROWS, 1)), np.zeros(ROWS, dtype=int))
    with pytest.raises(UndeclaredError, match="'DP-SGD logistic' was not declared"):
        trainer.train(PLAN, rows, Charged(lambda cost: None))


MADE_IN = {
    "Steps": {"work/ask.py"},
    "ChaCha20Entropy": {"work/ask.py"},
    "PoissonSampler": {"deep/private_step.py"},
    "GaussianNoise": {"deep/private_step.py", "deep/probe_step.py"},
    "Ziggurat": {"deep/noise.py"},
}


@functools.cache
def _makers() -> dict[str, set[str]]:
    """By each name that the program calls, the modules that call it: what constructs it is among them."""
    found: dict[str, set[str]] = {}
    for path in HOME.rglob("*.py"):
        text = path.read_text("utf-8")
        if not any(name in text for name in MADE_IN):
            continue  # what is called is named
        for node in ast.walk(ast.parse(text)):
            called: Any = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name):
                found.setdefault(called.id, set()).add(path.relative_to(HOME).as_posix())
    return found


@pytest.mark.parametrize(("name", "where"), MADE_IN.items())
def test_released_noise_is_made_in_one_place(name, where):
    assert _makers()[name] - {"privacy/accounting/event_text.py", "privacy/accounting/event_alternatives.py"} == where
