"""Networks that mix rows, or keep something of them, are found in the mode in which they train."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.params import ParameterError  # noqa: E402

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
        (Running(hidden=False), "keeps something of the rows"),
        (Running(hidden=True), "keeps something of the rows"),
    ],
)
def test_networks_are_tried_in_the_mode_in_which_they_train(layer: nn.Module, said: str) -> None:
    network, x = nn.Sequential(layer, nn.Linear(5, 3)), torch.randn(ROWS, 5)
    with pytest.raises(ParameterError, match=said):
        engine_for(network, 1.0, 8, example=x)
    if not isinstance(layer, Summed):
        assert engine_for(network.eval(), 1.0, 8, example=x)(x, torch.arange(ROWS) % 3).rows == ROWS
        assert not layer.training, "it stays in its mode"


def test_dropout_is_no_mixing() -> None:
    network = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    engine = engine_for(network, 1.0, 8, example=torch.randn(ROWS, 5))
    assert network[1].training
    x, y = torch.randn(ROWS, 5), torch.arange(ROWS) % 3
    assert not torch.equal(engine(x, y).total.clone(), engine(x, y).total)
