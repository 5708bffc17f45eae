"""Networks, weights and rows of which a clipped sum could get a norm wrong, drawn at random."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from engine_networks import Mean
from torch import nn

from workbench.deep.book_keeping import BookKeepingClippedSum
from workbench.deep.clipping import PerRowClippedSum
from workbench.deep.clipping_factors import CLIPPINGS, PER_LAYER
from workbench.deep.image_kernel import ImageClippedSum
from workbench.deep.private_step import flattened
from workbench.deep.table_kernel import LogisticClippedSum, TableClippedSum

WIDTH, MOST_ROWS = 3, 50
ODD = (math.inf, -math.inf, math.nan, 3e38, -3e38, 1e30, 1e19, 1e-19, 1e-30, 1e-42, 1e-45, 0.0)

Engine = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""From rows and classes to the sum, in double precision."""


class Last(nn.Module):
    """The last output of a recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(WIDTH, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0][:, -1]


def chain(*widths: int, relu: bool = True, bias: bool = True) -> nn.Sequential:
    """Linear layers with activations between them."""
    layers: list[nn.Module] = []
    for i, (a, b) in enumerate(zip((WIDTH, *widths), widths, strict=False)):
        layers += [nn.ReLU() if relu or i % 2 else nn.Tanh()] if i else []
        layers.append(nn.Linear(a, b, bias=bias))
    return nn.Sequential(*layers)


def picture(*layers: nn.Module, end: int = 3) -> nn.Sequential:
    """Layers for images of two channels and 7 × 7 numbers, then two linear ones."""
    width = nn.Sequential(*layers)(torch.zeros(1, 2, 7, 7)).numel()
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width, 4), nn.ReLU(), nn.Linear(4, end))


TABLE, SEQUENCE, IMAGE = (WIDTH,), (4, WIDTH), (2, 7, 7)
Built = tuple[Callable[[], nn.Sequential], tuple[int, ...]]

CHAINS: list[Built] = [
    (lambda: chain(2), TABLE),
    (lambda: chain(3), TABLE),
    (lambda: chain(8, 2), TABLE),
    (lambda: chain(8, 3), TABLE),
    (lambda: chain(8, 8, 3), TABLE),
    (lambda: chain(40, 6, 2, relu=False), TABLE),
    (lambda: chain(5, 4, 3, relu=False), TABLE),
]
PICTURES: list[Built] = [
    (lambda: picture(nn.Conv2d(2, 3, 1), nn.ReLU()), IMAGE),
    (lambda: picture(nn.Conv2d(2, 3, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(2, 1)), IMAGE),
    (lambda: picture(nn.Conv2d(2, 3, (3, 2), 1, (2, 0)), nn.Tanh(), nn.MaxPool2d(2, 3)), IMAGE),
    (
        lambda: picture(
            nn.Conv2d(2, 3, 2, 1, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 3, 2, (1, 2)), nn.Tanh(), end=2
        ),
        IMAGE,
    ),
]
OTHERS: list[Built] = [
    (lambda: chain(6, 3, bias=False), TABLE),
    (lambda: nn.Sequential(nn.Linear(WIDTH, 5), nn.ReLU(), Mean(), nn.Linear(5, 3, bias=False)), SEQUENCE),
    (lambda: nn.Sequential(nn.Linear(WIDTH, 4), nn.LayerNorm(4), nn.ReLU(), Mean(), nn.Linear(4, 3)), SEQUENCE),
    (lambda: picture(nn.Conv2d(2, 4, 3, 2, 1, groups=2, bias=False), nn.GroupNorm(2, 4), nn.ReLU()), IMAGE),
    (lambda: picture(nn.Conv2d(2, 4, 3, 1, 2, dilation=2), nn.ReLU(), nn.Conv2d(4, 3, 3)), IMAGE),
]
RECURRENT: list[Built] = [(lambda: nn.Sequential(Last(), nn.Linear(4, 3)), SEQUENCE)]


def plain(kind: type) -> Callable[[nn.Module, float, str, int, tuple[int, ...], int], Engine]:
    """An engine that is called with rows and classes."""

    def bound(network: nn.Module, clip: float, rule: str, physical: int, _row: tuple[int, ...], _rows: int) -> Engine:
        engine = kind(network, clip, physical, rule=rule)
        return lambda x, y: engine(x, y).total.double().clone()

    return bound


ENGINES = {
    "logistic": (plain(LogisticClippedSum), CHAINS[:1]),
    "table": (plain(TableClippedSum), CHAINS),
    "image": (plain(ImageClippedSum), PICTURES),
    "book-keeping": (plain(BookKeepingClippedSum), CHAINS + PICTURES + OTHERS),
    "row by row": (plain(PerRowClippedSum), CHAINS + PICTURES + OTHERS + RECURRENT),
}


@dataclass(frozen=True)
class Case:
    """A network with its weights, bound to an engine, and a batch.

    Attributes:
        stated: what it is, for the message of a test that fails.
        clip: C.
        total: gives the sum.
        x: rows.
        y: their classes, −1 for an empty row.
        looked_at: the rows to be emptied.
    """

    stated: str
    clip: float
    total: Engine
    x: torch.Tensor
    y: torch.Tensor
    looked_at: list[int]

    def emptied(self, row: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The batch with an empty row in the place of one."""
        x, y = self.x.clone(), self.y.clone()
        x[row], y[row] = 0, -1
        return x, y

    def worst(self) -> float:
        """How far one row moves the sum, relative to C."""
        whole = self.total(self.x, self.y)
        moved = [float((whole - self.total(*self.emptied(row))).norm()) for row in self.looked_at]
        return max(value if math.isfinite(value) else math.inf for value in moved) / self.clip


def cases(engine: str, count: int, seed: int = 0) -> Iterator[Case]:
    for number in range(count):
        chance = np.random.default_rng([seed, number, *engine.encode()])
        torch.manual_seed(int(chance.integers(2**31)))
        bound, built = ENGINES[engine]
        which = int(chance.integers(len(built)))
        build, row = built[which]
        network = build()
        flattened(network)
        manner = [_anything, _half_infinite, _far_apart][number % 3]
        rows = int(chance.integers(1, MOST_ROWS + 1))
        odd = manner(network, torch.zeros(rows, *row), chance)
        classes = _last(network).out_features
        y = torch.from_numpy(chance.integers(0, classes, rows))
        if manner is not _anything:
            y[:] = 1
        y[torch.from_numpy(chance.random(rows) < 0.1)] = -1
        clip, rule = _power(chance, -6, 6), CLIPPINGS[int(chance.integers(3))]
        if manner is _half_infinite and chance.random() < 0.7:
            rule = PER_LAYER
        if manner is _far_apart:
            clip = _power(chance, -6, -4)
        physical = int(chance.integers(1, 64))
        looked_at = [rows - 1, *map(int, chance.integers(0, rows, 2))]
        told = f"{engine}, case {number}: network {which}, {manner.__name__}, {rule}, C = {clip:g}, {rows} rows"
        yield Case(told, clip, bound(network, clip, rule, physical, row, rows), odd, y, looked_at)


def _power(chance: np.random.Generator, low: float, high: float) -> float:
    return float(10 ** chance.uniform(low, high))


def _anything(network: nn.Sequential, x: torch.Tensor, chance: np.random.Generator) -> torch.Tensor:
    """Weights and rows of any size, some of them no numbers."""
    with torch.no_grad():
        for p in network.parameters():
            p.mul_(_power(chance, -20, 20) if chance.random() < 0.7 else 1)
    x = torch.randn_like(x)
    for row in x:
        kind = chance.random()
        if kind < 0.3:
            row.mul_(_power(chance, -45, 38))
        elif kind < 0.6:
            row.view(-1)[int(chance.integers(row.numel()))] = float(chance.choice(ODD))
        elif kind < 0.7:
            row.fill_(float(chance.choice(ODD)))
    return x


def _half_infinite(network: nn.Sequential, x: torch.Tensor, chance: np.random.Generator) -> torch.Tensor:
    """All rows alike, with norms that overflow in some layers; the last row has what is infinite or no number."""
    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d):
                layer.weight.abs_().mul_(_power(chance, 0, 13))
                if layer.bias is not None:
                    layer.bias.zero_()
        _last(network).weight[1:].neg_()
    x[..., :-1] = _power(chance, 0, 1)
    x[-1] = 0
    x[-1].view(-1)[-1] = _power(chance, 10, 38.5)
    return x


def _far_apart(network: nn.Sequential, x: torch.Tensor, chance: np.random.Generator) -> torch.Tensor:
    """Large inputs of the last layer, and logits so far apart that squares of their gradients underflow."""
    last = _last(network)
    x += _power(chance, -1, 1)
    with torch.no_grad():
        for p in network.parameters():
            p.abs_()
        last.weight.zero_()
        if last.bias is not None:
            last.bias.fill_(-200)
            last.bias[:2] = 0
        if len(network) > 1:
            size = float(network[:-1](x[:1]).norm())
            next(iter(network.parameters())).mul_(_power(chance, 17.5, 19) / max(size, 1e-20))
            whole = float(network[:-1](x[:1]).sum())
            if 0 < whole < math.inf:
                last.weight[1] = chance.uniform(49, 55) / whole
    return x


def _last(network: nn.Sequential) -> nn.Linear:
    last = network[-1]
    assert isinstance(last, nn.Linear)
    return last
