"""The networks of the GPU benchmarks, for the workbench and for its peer, which cannot import it: torch alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Measured:
    """A network to measure.

    Attributes:
        build: makes it.
        row: the shape of a row.
        classes: number of classes.
        rows: of the generated table.
    """

    build: Callable[[], nn.Sequential]
    row: tuple[int, ...]
    classes: int
    rows: int

    def table(self, device: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Return generated rows and classes on ``device``."""
        generator = torch.Generator().manual_seed(0)
        x = torch.rand(self.rows, *self.row, generator=generator) * 2 - 1
        y = torch.randint(0, self.classes, (self.rows,), generator=generator)
        return x.to(device), y.to(device)


def cnn() -> nn.Sequential:
    """The network of the thesis: 26,010 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, 3), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
        nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip


def mlp() -> nn.Sequential:
    """The network of tables: 4,866 parameters."""
    return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))


def vgg16_head() -> nn.Sequential:
    """The trained part of VGG16 with 512 hidden units, on features of images of 224 × 224: 12.9 million parameters."""
    return nn.Sequential(nn.Linear(512 * 7 * 7, 512), nn.ReLU(), nn.Linear(512, 12))


def large_cnn() -> nn.Sequential:
    """A network of 9.9 million parameters on images of 32 × 32."""
    layers: list[nn.Module] = []
    for before, after in ((3, 64), (64, 128), (128, 256), (256, 512), (512, 512), (512, 512)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(32, after), nn.ReLU()]
        if after != before and before != 3:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * 4 * 4, 450), nn.ReLU(), nn.Linear(450, 10))


def small_cnn() -> nn.Sequential:
    """A tiny network, to try the scripts where there is no GPU."""
    return nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 13 * 13, 10))


NETWORKS = {
    "cnn": Measured(cnn, (1, 28, 28), 10, 20_000),
    "mlp": Measured(mlp, (8,), 2, 100_000),
    "vgg16-head": Measured(vgg16_head, (512 * 7 * 7,), 12, 4_000),
    "large-cnn": Measured(large_cnn, (3, 32, 32), 10, 10_000),
    "small-cnn": Measured(small_cnn, (1, 28, 28), 10, 200),
}
