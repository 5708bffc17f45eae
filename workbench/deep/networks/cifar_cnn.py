"""The convolutional network of the literature on private CIFAR-10 (Papernot et al. 2021; Tramèr & Boneh 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.deep.networks.images import begun, image_shape
from workbench.deep.networks.network import UNBOUNDED, Network
from workbench.params import ParameterError

if TYPE_CHECKING:
    from torch import nn

_WIDTHS = (32, 64, 128)
"""Channels of the three stages; each has two convolutions and halves the sides of the image."""

_HIDDEN = 128
_GROUPS = 8
_STEP = 1 << len(_WIDTHS)


@dataclass(frozen=True, slots=True)
class CifarNetwork(Network):
    """Three stages of two 3 × 3 convolutions, each with GroupNorm and tanh, pooling 2 behind each; 128 → k.

    tanh and GroupNorm keep the gradients of rows small and alike, so that clipping bends them less.
    """

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the numbers that leave every layer, the input first."""
        _, height, width = self._shape(inputs)
        outputs = [channels * (height >> k) * (width >> k) for k, channels in enumerate(_WIDTHS) for _ in range(2)]
        return (inputs, *outputs, _HIDDEN, classes)

    def parameters(self, inputs: int, classes: int) -> int:
        """Return the number of weights and biases."""
        before, height, width = self._shape(inputs)
        total = 0
        for channels in _WIDTHS:
            total += 9 * channels * (before + channels) + 2 * channels + 4 * channels
            before = channels
        return total + (before * (height // _STEP) * (width // _STEP) + 1) * _HIDDEN + (_HIDDEN + 1) * classes

    def held_by_row(self, inputs: int, classes: int) -> int:
        """Return the numbers that a step holds for each row: outputs three times over, gradients, patches."""
        channels, height, width = self._shape(inputs)
        patches, before = 0, channels
        for k, after in enumerate(_WIDTHS):
            patches += 9 * (before + after) * (height >> k) * (width >> k)
            before = after
        return 8 * sum(self.widths(inputs, classes)[1:]) + patches

    def rows_at_once(self) -> int:
        """Return what bounds no physical batch: its engine has no parts of its own."""
        return UNBOUNDED

    def build(self, inputs: int, classes: int) -> nn.Sequential:
        """Return the module with its public first weights."""
        import torch
        from torch import nn

        before, height, width = self._shape(inputs)
        layers: list[nn.Module] = [nn.Unflatten(1, (before, height, width))]
        with torch.device("meta"):
            for channels in _WIDTHS:
                for _ in range(2):
                    layers += [nn.Conv2d(before, channels, 3, padding=1), nn.GroupNorm(_GROUPS, channels), nn.Tanh()]
                    before = channels
                layers.append(nn.MaxPool2d(2))
            inner = before * (height // _STEP) * (width // _STEP)
            layers += [nn.Flatten(), nn.Linear(inner, _HIDDEN), nn.Tanh(), nn.Linear(_HIDDEN, classes)]
        return begun(nn.Sequential(*layers))

    def _shape(self, inputs: int) -> tuple[int, int, int]:
        channels, height, width = image_shape(self.name, inputs)
        if height < _STEP or width < _STEP:
            raise ParameterError(
                f"the network {self.name!r} reads images of {_STEP} × {_STEP} pixels or more, not {height} × {width}",
                hint="choose another network",
            )
        return channels, height, width


CIFAR_CNN = CifarNetwork(
    "cifar-cnn",
    "Convolutional network",
    "It learns filters of colour or grey images, such as CIFAR-10's, in six convolutions.",
    short="CNN 6, DP-SGD",
)
