"""What every network must do, whoever wrote it: a test class that inherits this is given ``known``, a network."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from array_data import ArrayData

from workbench.data.schema import Attribute
from workbench.deep.checkpoint import RunState
from workbench.deep.features import Features
from workbench.deep.model import WEIGHTS, TrainedModel, facts, weights_bytes
from workbench.deep.networks import Network
from workbench.deep.networks.images import PIXELS
from workbench.deep.plan import DpSgdPlan
from workbench.deep.preparation import engine_for
from workbench.deep.trainer import RunOptions, Training, train
from workbench.params import CancelledError, ParameterError
from workbench.privacy.accounting.event import Cost
from workbench.privacy.entropy import SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Event, Progress
from workbench.work.noise import Charged, Noise, Study

ROWS, CLASSES = 12, 3
CLIP = 0.7


def inputs_of(known: Network) -> int:
    """Six columns, or the pixels of a grey image where a network reads images."""
    try:
        known.parameters(6, CLASSES)
    except ParameterError:
        return PIXELS
    return 6


def data_of(known: Network, rows: int = ROWS) -> ArrayData:
    width = inputs_of(known)
    attributes = tuple(Attribute(name=f"x{i}", kind="real", lower=-1, upper=1) for i in range(width))
    target = Attribute(name="y", kind="category", domain=tuple("abc"))
    X = np.random.default_rng(5).uniform(-1, 1, (rows, width))
    return ArrayData(Features(attributes, target), X, np.arange(rows) % CLASSES)


def plan_of(known: Network, **changes: Any) -> DpSgdPlan:
    given = {"noise": 1.0, "delta": 1e-3, "batch": 4, "epochs": 2, "lr": 0.1, "clip": CLIP, "accountant": "rdp"}
    return DpSgdPlan(network=known.name, device="cpu", **{**given, **changes})


def trained(known: Network, noise: Noise | None = None, **more: Any) -> Training:
    options = RunOptions(**{name: more.pop(name) for name in ("settle", "keep") if name in more})
    return train(plan_of(known), data_of(known), noise or Charged(lambda cost: None), options=options, **more)


class KilledError(BaseException):
    """The process is gone."""


@dataclass
class Kept:
    """A keeper as long as a test."""

    state: RunState | None = None
    counted: int = 0
    saved: list[int] = field(default_factory=list)

    def claim(self, steps: int) -> None:
        self.counted += steps

    def give_back(self, steps: int) -> None:
        self.counted -= steps

    def save(self, state: RunState) -> None:
        self.state = RunState.of(state.tensors(), state.facts(), "memory")
        self.saved.append(state.step)


class NetworkConformance:
    def test_it_has_the_parameters_it_says_and_a_logit_for_each_class(self, known):
        inputs = inputs_of(known)
        module = known.build(inputs, CLASSES)
        assert sum(p.numel() for p in module.parameters()) == known.parameters(inputs, CLASSES)
        prepared = known.prepared(torch.rand(4, inputs) * 2 - 1)
        assert prepared.shape == (4, known.prepared_width(inputs))
        assert module(prepared).shape == (4, CLASSES)
        assert known.widths(inputs, CLASSES)[-1] == CLASSES

    def test_first_weights_are_public_and_leave_the_global_generator_alone(self, known):
        inputs = inputs_of(known)
        torch.manual_seed(3)
        expected = torch.rand(4)
        torch.manual_seed(3)
        first, second = (known.build(inputs, CLASSES).state_dict() for _ in range(2))
        assert torch.equal(torch.rand(4), expected)
        assert all(torch.equal(first[name], second[name]) and first[name].isfinite().all() for name in first)

    def test_what_the_layers_read_of_a_row_does_not_depend_on_the_others(self, known):
        rows = torch.rand(3, inputs_of(known)) * 2 - 1
        torch.testing.assert_close(known.prepared(rows)[1:2], known.prepared(rows[1:2]), rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("rule", ["flat", "per-layer", "automatic"])
    def test_emptying_a_row_moves_the_sum_by_at_most_the_clipping_norm(self, known, rule):
        inputs, classes = data_of(known, 4).load()
        x, y = known.prepared(torch.from_numpy(inputs)), torch.from_numpy(classes)
        engine = engine_for(known.build(inputs_of(known), CLASSES), CLIP, 4, rule=rule, example=x)
        whole = engine(x, y).total.double().clone()
        for row in range(4):
            emptied = y.clone()
            emptied[row] = -1
            assert float((whole - engine(x, emptied).total.double()).norm()) <= CLIP

    def test_a_saved_network_predicts_as_the_one_that_was_trained(self, known, tmp_path):
        run = trained(known)
        assert (run.steps, run.stopped, run.releasable) == (6, "epochs", True)
        (tmp_path / WEIGHTS).write_bytes(weights_bytes(run))
        loaded = TrainedModel.load(tmp_path, facts(run), [a.to_plain() for a in run.features.attributes])
        X = data_of(known).X
        np.testing.assert_array_equal(loaded.logits(X), TrainedModel.of(run).logits(X))

    def test_seeds_repeat_a_study_which_cannot_be_released(self, known):
        first, second = (trained(known, Study(np.random.default_rng(2), SeededEntropy(1))) for _ in range(2))
        assert all(np.array_equal(first.weights[name], second.weights[name]) for name in first.weights)
        with pytest.raises(ParameterError, match="cannot be released"):
            weights_bytes(first)

    def test_a_cancelled_run_is_not_settled_and_goes_on_from_where_it_was(self, known):
        token, keep = CancelToken(), Kept()

        def stop_at_two(event: Event) -> None:
            if isinstance(event, Progress) and event.label == "training steps" and event.done == 2:
                token.cancel()

        settled: list[Cost] = []
        with pytest.raises(CancelledError):
            trained(known, emit=stop_at_two, cancel=token, keep=keep, settle=settled.append)
        assert (settled, keep.counted, keep.saved) == ([], 2, [2])
        done = trained(known, keep=keep)
        assert done.steps == 6
        assert done.cost == done.schedule.cost()

    def test_a_killed_run_keeps_the_steps_that_were_claimed(self, known):
        keep, charged = Kept(), []

        def kill_at_two(event: Event) -> None:
            if isinstance(event, Progress) and event.label == "training steps" and event.done == 2:
                raise KilledError

        settled: list[Cost] = []
        with pytest.raises(KilledError):
            trained(known, Charged(charged.append), emit=kill_at_two, keep=keep, settle=settled.append)
        assert len(charged) == 1
        assert settled == [], "what ended it may depend on the rows"
        assert keep.counted >= 2
