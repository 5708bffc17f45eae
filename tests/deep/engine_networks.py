"""Networks of every kind of layer, with rows for them, the engine they get, and the definition of their clipped sum."""

import math
from collections.abc import Callable

import torch
from torch import nn

from workbench.deep.book_keeping import BookKeepingClippedSum
from workbench.deep.clipping import PerRowClippedSum
from workbench.deep.image_kernel import ImageClippedSum
from workbench.deep.networks import network
from workbench.deep.table_kernel import LogisticClippedSum, TableClippedSum

ROWS = 13


class Mean(nn.Module):
    """The mean over the positions of a sequence."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(1)


class Recurrent(nn.Module):
    """A recurrent layer, of which the last output is classified."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(x)[0][:, -1])


class Viewed(nn.Module):
    """Images as rows by ``view``, which looks at how a tensor lies in memory and refuses channels last."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(len(x), -1)


class Both(nn.Module):
    """Words and their order: an embedding and a recurrent layer of two directions and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(7, 5)
        self.layer = nn.GRU(5, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.words(x))[0].mean(1))


def pictures(channels: int = 2, side: int = 11) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(ROWS, channels, side, side)


def image_net(*layers: nn.Module, channels: int = 2) -> nn.Sequential:
    whole = nn.Sequential(*layers, nn.Tanh(), nn.Flatten())
    width = whole(torch.zeros(1, channels, 11, 11)).shape[1]
    return nn.Sequential(*whole, nn.Linear(width, 3))


NETS: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor], type]] = {
    "linear": (lambda: nn.Sequential(nn.Linear(5, 3)), lambda: torch.randn(ROWS, 5), TableClippedSum),
    "tanh": (
        lambda: nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 7), nn.ReLU(), nn.Linear(7, 3)),
        lambda: torch.randn(ROWS, 5),
        TableClippedSum,
    ),
    "two classes": (lambda: nn.Sequential(nn.Linear(5, 2)), lambda: torch.randn(ROWS, 5), LogisticClippedSum),
    "two classes, hidden": (
        lambda: nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 7), nn.ReLU(), nn.Linear(7, 2)),
        lambda: torch.randn(ROWS, 5),
        TableClippedSum,
    ),
    "two classes, wide": (
        lambda: nn.Sequential(nn.Linear(700, 900), nn.Tanh(), nn.Linear(900, 2)),
        lambda: torch.randn(ROWS, 700),
        TableClippedSum,
    ),
    "no bias": (
        lambda: nn.Sequential(nn.Linear(5, 8, bias=False), nn.ReLU(inplace=True), nn.Linear(8, 3)),
        lambda: torch.randn(ROWS, 5),
        BookKeepingClippedSum,
    ),
    "sequence": (
        lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), Mean(), nn.Linear(8, 3)),
        lambda: torch.randn(ROWS, 4, 5),
        BookKeepingClippedSum,
    ),
    "thesis": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 16, 8, 2, 3), nn.ReLU(), nn.MaxPool2d(2, 1),
            nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1),
            nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
        ),
        pictures(1, 28),
        ImageClippedSum,
    ),
    "pool by 2": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, (3, 2), (1, 2), 1), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(60, 3)
        ),
        pictures(),
        ImageClippedSum,
    ),
    "scatter-cnn": (lambda: network("scatter-cnn").build(784, 3), lambda: torch.randn(ROWS, 81 * 49), ImageClippedSum),
    "no pool, padded twice": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, 1, 1), nn.ReLU(), nn.Conv2d(4, 5, (2, 3), 2, (1, 0)), nn.Tanh(), nn.Flatten(),
            nn.Linear(150, 6), nn.Tanh(), nn.Linear(6, 3),
        ),
        pictures(3),
        ImageClippedSum,
    ),
    "pool by 3, wide": (
        lambda: nn.Sequential(
            nn.Conv2d(16, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 3), nn.Conv2d(4, 5, 2), nn.ReLU(), nn.Flatten(),
            nn.Linear(20, 3),
        ),
        pictures(16),
        ImageClippedSum,
    ),
    "viewed": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3, bias=False), nn.Tanh(), Viewed(), nn.Linear(324, 3)),
        pictures(),
        BookKeepingClippedSum,
    ),
    "dilated": (
        lambda: image_net(nn.Conv2d(2, 4, (2, 3), (2, 1), 1, dilation=(1, 3), bias=False)),
        pictures(),
        BookKeepingClippedSum,
    ),
    "wide, many numbers": (
        lambda: image_net(nn.Conv2d(2, 80, 3, bias=False), nn.Conv2d(80, 92, 3, 3), nn.GroupNorm(4, 92)),
        pictures(),
        BookKeepingClippedSum,
    ),
    "depthwise": (
        lambda: image_net(nn.Conv2d(2, 6, 3, 1, 1, groups=2, bias=False), nn.Conv2d(6, 6, 3, groups=6)),
        pictures(),
        BookKeepingClippedSum,
    ),
    "dilated groups": (
        lambda: image_net(nn.Conv2d(2, 4, 3, 2, 2, dilation=2, groups=2)), pictures(), BookKeepingClippedSum,
    ),
    "same, reflected": (
        lambda: image_net(nn.Conv2d(2, 4, (3, 2), padding="same", padding_mode="reflect", bias=False)),
        pictures(),
        BookKeepingClippedSum,
    ),
    "group norm": (
        lambda: image_net(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3)),
        pictures(),
        BookKeepingClippedSum,
    ),
    "conv1d": (
        lambda: nn.Sequential(
            nn.Conv1d(3, 6, 3, stride=2, padding=1, dilation=2, groups=3), nn.Tanh(), nn.Flatten(), nn.Linear(24, 3)
        ),
        lambda: torch.randn(ROWS, 3, 9),
        BookKeepingClippedSum,
    ),
    "conv1d, one group": (
        lambda: nn.Sequential(
            nn.Conv1d(3, 6, 3, stride=2, padding=2, dilation=2), nn.Tanh(), nn.Conv1d(6, 5, 2, bias=False),
            nn.ReLU(), nn.Flatten(), nn.Linear(20, 3),
        ),
        lambda: torch.randn(ROWS, 3, 9),
        BookKeepingClippedSum,
    ),
    "norm of positions": (
        lambda: nn.Sequential(nn.Linear(5, 6, bias=False), nn.LayerNorm((4, 6)), nn.Tanh(), Mean(), nn.Linear(6, 3)),
        lambda: torch.randn(ROWS, 4, 5),
        BookKeepingClippedSum,
    ),
    "words": (
        lambda: nn.Sequential(nn.Embedding(7, 5, padding_idx=0), nn.LayerNorm(5), Mean(), nn.Linear(5, 3)),
        lambda: torch.randint(0, 7, (ROWS, 6)),
        BookKeepingClippedSum,
    ),
    "rnn": (lambda: Recurrent(nn.RNN(5, 6, batch_first=True)), lambda: torch.randn(ROWS, 4, 5), PerRowClippedSum),
    "gru": (lambda: Recurrent(nn.GRU(5, 6, batch_first=True)), lambda: torch.randn(ROWS, 4, 5), PerRowClippedSum),
    "words, two ways": (Both, lambda: torch.randint(0, 7, (ROWS, 4)), PerRowClippedSum),
    "lstm": (lambda: Recurrent(nn.LSTM(5, 6, batch_first=True)), lambda: torch.randn(ROWS, 4, 5), PerRowClippedSum),
}  # fmt: skip


def made(name: str) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(3)
    build, inputs, _ = NETS[name]
    network = build()
    return network, inputs(), torch.arange(ROWS) % (2 if "two classes" in name else 3)


def reference(network: nn.Module, x: torch.Tensor, y: torch.Tensor, bound: float, rule: str) -> torch.Tensor:
    """The definition, one row at a time: ordinary autograd, norms and sums in double precision."""
    parameters = list(network.named_parameters())
    holders = [name.rpartition(".")[0] for name, _ in parameters]
    total = torch.zeros(sum(p.numel() for _, p in parameters), dtype=torch.float64)
    for row, target in zip(x, y, strict=True):
        loss = nn.functional.cross_entropy(network(row[None]), target[None])
        found = [g.flatten().double() for g in torch.autograd.grad(loss, [p for _, p in parameters])]
        norms = {
            h: math.hypot(*(float(g.norm()) for g, own in zip(found, holders, strict=True) if own == h))
            for h in holders
        }
        whole = math.hypot(*norms.values())
        factor = {"flat": min(1.0, bound / whole), "automatic": bound / (whole + 0.01)}.get(rule)
        each = [factor or min(1.0, bound / len(norms) ** 0.5 / norms[h]) for h in holders]
        total += torch.cat([g * f for g, f in zip(found, each, strict=True)])
    return total


def bound_of(engine: object, clip: float, rows: int) -> float:
    return clip if isinstance(engine, PerRowClippedSum) else engine.clipping.of(rows).bound  # type: ignore[attr-defined]
