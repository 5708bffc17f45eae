"""Frozen weights of a user's network (adapters such as LoRA): no gradient, no noise, constants of the model's file."""

import math
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from engine_networks import bound_of, reference  # noqa: E402
from own_networks import COLUMNS, FEATURES, asked, data, written  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep.book_keeping import BookKeepingClippedSum  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum  # noqa: E402
from workbench.deep.clipping_factors import CLIPPINGS  # noqa: E402
from workbench.deep.frozen_weights import frozen, weights  # noqa: E402
from workbench.deep.memory import predict  # noqa: E402
from workbench.deep.model import TrainedModel, facts, weights_bytes  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.trainer import Training, train  # noqa: E402
from workbench.deep.user_network import UserNetwork, trust  # noqa: E402
from workbench.params import InputError, ParameterError  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

HELP = Path(__file__).parents[2] / "resources" / "help" / "networks.md"
LORA = textwrap.dedent(re.findall(r"^(?: {4}.*\n|\n)+", HELP.read_text("utf-8"), re.MULTILINE)[-1])
CODE = """
import torch

def shared(inputs, classes):
    one = nn.Linear(5, 5).requires_grad_(False)
    two = nn.Linear(5, 5)
    two.weight = one.weight
    return nn.Sequential(one, nn.Tanh(), two, nn.Tanh(), LoraLinear(nn.Linear(5, classes)))

def biases(inputs, classes):
    made = nn.Sequential(nn.Linear(inputs, 6), nn.Tanh(), nn.Linear(6, classes))
    for layer in (made[0], made[2]):
        layer.weight.requires_grad_(False)
    return made

def one_bias(inputs, classes):
    made = nn.Linear(inputs, classes)
    made.weight.requires_grad_(False)
    return made

def picture(inputs, classes):
    known = nn.Sequential(nn.Unflatten(1, (1, 1, 5)), nn.Conv2d(1, 4, (1, 2)), nn.BatchNorm2d(4), nn.Flatten())
    return nn.Sequential(known.requires_grad_(False), nn.Tanh(), nn.Linear(16, classes))

def nothing(inputs, classes):
    return nn.Linear(inputs, classes).requires_grad_(False)

def half(inputs, classes):
    made = nn.Linear(inputs, classes)
    made.code = nn.Parameter(torch.ones(3, dtype=torch.int8), requires_grad=False)
    return made

class Keeping(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.mean, self.layer = nn.Parameter(torch.zeros(inputs), requires_grad=False), nn.Linear(inputs, classes)

    def forward(self, x):
        self.mean.data.lerp_(x.detach().mean(0), 0.1)
        return self.layer(x - self.mean)

class Sly(Keeping):
    def forward(self, x):
        if len(x) > 3:
            self.mean.data.lerp_(x.detach().mean(0), 0.1)
        return self.layer(x)

class Hidden(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.base, self.adapter = nn.Linear(inputs, classes), LoraLinear(nn.Linear(inputs, classes))

    def forward(self, x):
        return self.base(x) + self.adapter.up(self.adapter.down(x - x.mean(0)))
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    return written("frozen_code", LORA + CODE, tmp_path, monkeypatch)


def run_of(name: str) -> Training:
    return train(asked(name), data(), Charged(lambda cost: None))


def rows_of(known: UserNetwork) -> tuple[nn.Module, Any, Any]:
    """The network with weights of which none is zero, and rows."""
    module = known.build(5, 2)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn(p.shape, generator=generator) * 0.5)
    return module, torch.randn(13, 5, generator=generator), torch.arange(13) % 2


@pytest.mark.parametrize("rule", CLIPPINGS)
@pytest.mark.parametrize(
    ("factory", "kind"),
    [
        ("adapted", BookKeepingClippedSum),
        ("shared", PerRowClippedSum),
        ("biases", PerRowClippedSum),
        ("one_bias", PerRowClippedSum),
        ("picture", BookKeepingClippedSum),
    ],
)
def test_norms_and_sums_are_of_what_learns_alone(code, factory, kind, rule):
    """The definition by ordinary autograd knows of the weights that learn only; a bound below every norm and above."""
    known = trust(f"{code}:{factory}").configured({"convert_batchnorm": True})
    module, x, y = rows_of(known)
    assert frozen(module)
    for clip in (0.05, 100.0):
        engine = engine_for(module, clip, 4, rule=rule, example=known.example(5))
        assert isinstance(engine, kind)
        expected = reference(module, x, y, bound_of(engine, clip, 4), rule)
        found = engine(x, y).total.double()
        assert found.shape == (known.parameters(5, 2),)
        assert float((found - expected).norm()) <= 1e-5 * float(expected.norm())


def test_an_adapter_learns_at_the_same_cost_and_its_frozen_weights_come_back_from_the_file(code, tmp_path):
    known = trust(f"{code}:adapted")
    first = {name: t.numpy().copy() for name, t in frozen(known.build(5, 2)).items()}
    assert list(first) == ["0.0.base.weight", "0.0.base.bias"]
    run = run_of(known.name)
    assert run.cost.epsilon == train(asked("mlp"), data(), Charged(lambda cost: None)).cost.epsilon
    assert all(np.array_equal(run.weights[name], first[name]) for name in first)
    assert TrainedModel.of(run).accuracy(data()) > 0.85  # 0.95 in the mean of 40, with a standard deviation of 0.008
    assert facts(run)["architecture"]["remarks"] == [
        "384 frozen weights are taken as public, and the file holds them: the layer 0.base (Linear)"
    ]
    assert "first and frozen weights are public: not learned from private rows" in known.beyond
    (tmp_path / "model.safetensors").write_bytes(weights_bytes(run))
    inputs = [a.facts().to_plain() for a in COLUMNS]
    loaded = TrainedModel.load(tmp_path, facts(run), inputs)
    X = data().load()[0]
    assert np.array_equal(loaded._logits(X), TrainedModel.of(run)._logits(X))
    changed = TrainedModel(
        loaded.network, loaded.features, {**loaded.weights, "0.0.base.weight": first["0.0.base.weight"] + 1}
    )
    assert not np.array_equal(changed._logits(X), loaded._logits(X)), "the file's frozen weights are those that predict"


def test_a_file_without_the_frozen_weights_is_refused(code, tmp_path):
    from safetensors.numpy import save_file

    run = run_of(trust(f"{code}:adapted").name)
    kept = {name: w for name, w in run.weights.items() if "base" not in name}
    save_file(kept, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="not those of the network on the card"):
        TrainedModel.load(tmp_path, facts(run), [a.facts().to_plain() for a in COLUMNS])


def test_weights_that_layers_share_stay_shared_and_are_held_once(code):
    module = trust(f"{code}:shared").build(5, 2)
    assert module[0][0].weight is module[0][2].weight
    assert [name for name in weights(module) if name.endswith(("0.0.weight", "0.2.weight"))] == ["0.0.weight"]
    assert "0.2.bias" in dict(module.named_parameters())


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("nothing", "all weights of frozen_code:nothing are frozen.*make at least one layer trainable"),
        ("half", "the frozen weight code of frozen_code:half has the data type torch.int8"),
        ("Keeping", "stores something about the rows"),
        ("Hidden", "mixes the rows of a batch"),
        ("picture", "mixes the rows of a batch"),
    ],
)
def test_what_cannot_stay_frozen_or_hides_behind_zeros_is_refused_before_the_charge(code, factory, said):
    charged: list[object] = []
    name = trust(f"{code}:{factory}").name
    with pytest.raises(ParameterError, match=said):
        train(asked(name), data(), Charged(charged.append))
    assert not charged


def test_nothing_of_the_rows_is_released_in_frozen_weights_even_by_code_that_writes_into_them(code):
    """A canary: the code takes a mean of larger batches, which the trial on three generated rows cannot see."""
    run = run_of(trust(f"{code}:Sly").name)
    assert not run.weights["0.mean"].any()
    assert math.isfinite(run.weights["0.layer.weight"].sum())


def test_the_forecast_of_memory_counts_frozen_weights_twice(code):
    """They are in the network, and a copy is kept for the file."""
    known = trust(f"{code}:adapted")
    assert known.frozen_weights(5, 2) == 384
    module = known.build(5, 2)
    assert sum(t.numel() for t in weights(module).values()) == known.parameters(5, 2) + 384
    assert predict(asked(known.name), FEATURES, 120).between_steps >= 4 * (2 * known.parameters(5, 2) + 2 * 384)
