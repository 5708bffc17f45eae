"""The small convolutional network of the thesis and of TensorFlow Privacy's tutorial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.deep.networks.images import SIDE, begun, require_image
from workbench.deep.networks.network import Network
from workbench.deep.row_chunks import IMAGE_ROWS

if TYPE_CHECKING:
    from torch import nn

_FIXED = (8 * 8 + 1) * 16 + (16 * 4 * 4 + 1) * 32 + (512 + 1) * 32
"""Weights and biases in front of the last layer."""

_OUTPUTS = (16 * 14 * 14, 16 * 13 * 13, 32 * 5 * 5, 32 * 4 * 4, 32)
_PATCHES = 14 * 14 * 64 + 5 * 5 * 256


@dataclass(frozen=True, slots=True)
class ConvolutionalNetwork(Network):
    """Convolution 16@8 (stride 2, padding 3), pool 2 (stride 1), convolution 32@4 (stride 2), pool 2, 512 → 32 → k."""

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the numbers that leave every layer, the input first."""
        require_image(self.name, inputs)
        return (inputs, *_OUTPUTS, classes)

    def parameters(self, inputs: int, classes: int) -> int:
        """Return the number of weights and biases."""
        require_image(self.name, inputs)
        return _FIXED + 33 * classes

    def held_by_row(self, inputs: int, classes: int) -> int:
        """Return the numbers that a step holds for each row: outputs, their gradients, patches."""
        return 4 * sum(self.widths(inputs, classes)[1:]) + 2 * _PATCHES

    def rows_at_once(self) -> int:
        """Return the most images that the engine for small convolutional networks holds."""
        return IMAGE_ROWS

    def build(self, inputs: int, classes: int) -> nn.Sequential:
        """Return the module with its public first weights."""
        import torch
        from torch import nn

        require_image(self.name, inputs)
        with torch.device("meta"):
            module = nn.Sequential(
                nn.Unflatten(1, (1, SIDE, SIDE)),
                nn.Conv2d(1, 16, 8, stride=2, padding=3),
                nn.ReLU(),
                nn.MaxPool2d(2, stride=1),
                nn.Conv2d(16, 32, 4, stride=2),
                nn.ReLU(),
                nn.MaxPool2d(2, stride=1),
                nn.Flatten(),
                nn.Linear(512, 32),
                nn.ReLU(),
                nn.Linear(32, classes),
            )
        return begun(module)


MNIST_CNN = ConvolutionalNetwork(
    "mnist-cnn",
    "Small convolutional network",
    "It learns filters of 28 × 28 grey images (as a table: 784 columns).",
    short="CNN, DP-SGD",
)
