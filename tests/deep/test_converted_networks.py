"""Layers that mix rows are refused with the offer to convert them; screen and card say what was changed."""

import pytest

torch = pytest.importorskip("torch")

from own_networks import asked, data, written  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep import networks  # noqa: E402
from workbench.deep.mixing_layers import converted, mixing  # noqa: E402
from workbench.deep.model import TrainedModel, facts  # noqa: E402
from workbench.deep.networks.images import Pixels  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.trainer import train  # noqa: E402
from workbench.deep.user_network import UserNetwork, trust  # noqa: E402
from workbench.params import ParameterError  # noqa: E402
from workbench.release.documents.release_document import _training  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

CODE = """
from torch import nn

def table(inputs, classes):
    return nn.Sequential(nn.Linear(inputs, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, classes))

def image(shape, classes):
    return nn.Sequential(
        nn.Conv2d(shape[0], 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.InstanceNorm2d(8, track_running_stats=True),
        nn.Conv2d(8, 4, 3), nn.SyncBatchNorm(4), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, classes))

def lazy(classes):
    return nn.Sequential(nn.LazyBatchNorm1d(), nn.Linear(2, classes))

def plain(inputs, classes):
    return nn.Sequential(nn.Linear(inputs, classes))
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    return written("converted_code", CODE, tmp_path, monkeypatch)


def test_a_network_with_batchnorm_is_refused_with_an_offer_and_trains_once_it_is_taken(code):
    name = trust(f"{code}:table").name
    charged: list[object] = []
    with pytest.raises(ParameterError, match=r"BatchNorm1d\) mixes the rows of a batch.*") as refused:
        train(asked(name), data(), Charged(charged.append))
    assert "add --convert-batchnorm" in str(refused.value)
    assert not charged
    run = train(asked(name, convert_batchnorm=True), data(), Charged(charged.append))
    assert len(charged) == 1
    model = TrainedModel.of(run)
    assert model.accuracy(data()) > 0.85  # 0.96 in the mean of 60, with a standard deviation of 0.008
    told = facts(run)["architecture"]
    assert told["convert_batchnorm"] is True
    assert told["remarks"] == [
        "GroupNorm of the same channels replaces the layer 1 (BatchNorm1d), which would mix the rows of a batch",
        "dropout is off, because the network trains in the mode of a prediction: the layer 3 (Dropout)",
    ]
    again = networks.network(name).from_facts(told, None)
    assert isinstance(again, UserNetwork)
    assert again.converts
    assert isinstance(again.build(2, 2)[0][1], nn.GroupNorm)
    shown = repr(_training({"training": {"architecture": told}, "parameters": {}}, 1))
    assert "GroupNorm of the same channels" in shown
    assert "Dropout is off" in shown


def test_every_layer_that_mixes_is_replaced_and_rows_stay_apart(code):
    known = trust(f"{code}:image").configured({"convert_batchnorm": True})
    inputs = Pixels(3, 12, 12)
    module = known.build(inputs, 2)
    assert mixing(module) == []
    assert "1 (BatchNorm2d), 3 (InstanceNorm2d) and 5 (SyncBatchNorm)" in known.remarks(inputs, 2)[0]
    engine = engine_for(module, 0.5, 8, example=known.example(inputs))
    x, y = torch.rand(6, inputs), torch.arange(6) % 2
    whole = engine(x, y).total.double().clone()
    emptied = y.clone()
    emptied[2] = -1
    assert 0 < float((whole - engine(x, emptied).total.double()).norm()) <= 0.5


@pytest.mark.parametrize(("channels", "groups"), [(2, 1), (7, 1), (8, 2), (64, 16), (96, 24), (512, 32)])
def test_a_group_has_four_channels_or_more_so_that_no_row_is_made_zero(channels, groups):
    norm = nn.BatchNorm1d(channels)
    nn.init.constant_(norm.weight, 3.0)
    made = converted(norm)
    assert isinstance(made, nn.GroupNorm)
    assert made.num_groups == groups
    assert (made.weight == 3).all()
    assert made(torch.randn(4, channels)).abs().sum() > 0


def test_without_such_layers_there_is_nothing_to_remark_and_lazy_ones_are_refused_in_a_sentence(code):
    plain = trust(f"{code}:plain").configured({"convert_batchnorm": True})
    assert plain.remarks(2, 2) == ()
    lazy = trust(f"{code}:lazy").configured({"convert_batchnorm": True})
    with pytest.raises(ParameterError, match="has no number of channels"):
        lazy.build(2, 2)


# -- Networks that mix rows, or keep something of them, are found in the mode in which they train ---------------------


ROWS = 8


class OwnNorm(nn.Module):
    """A batch normalisation of one's own: it mixes rows in training alone."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x - (x.mean(0) if self.training else self.mean)


class Running(nn.Module):
    """Takes a mean of former batches away; in a buffer, or where nobody looks for one."""

    def __init__(self, *, hidden: bool) -> None:
        super().__init__()
        self.kept = [torch.zeros(5)]
        if not hidden:
            self.register_buffer("mean", self.kept[0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = x - self.kept[0]
        if self.training:
            self.kept[0].lerp_(x.detach().mean(0), 0.1)
        return out


class Summed(nn.Module):
    """Adds the rows before it to each row: the first one is as it was."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(0)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (OwnNorm(), "mixes the rows"),
        (Summed(), "mixes the rows"),
        (Running(hidden=False), "stores something about the rows"),
        (Running(hidden=True), "stores something about the rows"),
    ],
)
def test_networks_are_tried_in_the_mode_in_which_they_train(layer, said):
    network, x = nn.Sequential(layer, nn.Linear(5, 3)), torch.randn(ROWS, 5)
    with pytest.raises(ParameterError, match=said):
        engine_for(network, 1.0, 8, example=x)
    if not isinstance(layer, Summed):
        assert engine_for(network.eval(), 1.0, 8, example=x)(x, torch.arange(ROWS) % 3).rows == ROWS
        assert not layer.training, "it stays in its mode"


def test_dropout_is_no_mixing():
    network = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    engine = engine_for(network, 1.0, 8, example=torch.randn(ROWS, 5))
    assert network[1].training
    x, y = torch.randn(ROWS, 5), torch.arange(ROWS) % 3
    assert not torch.equal(engine(x, y).total.clone(), engine(x, y).total)
