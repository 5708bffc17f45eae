"""A small convolutional network on wavelet scattering features (Tramèr & Boneh 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.deep.networks.images import begun, require_image
from workbench.deep.networks.scatter_linear import ScatterLinear
from workbench.deep.row_chunks import IMAGE_ROWS

if TYPE_CHECKING:
    from torch import nn

_CHANNELS, _SIDE, _FILTERS, _WINDOW = 81, 7, 16, 3
_FIRST = _SIDE - _WINDOW + 1
_SECOND = _FIRST - _WINDOW + 1
_AREA = _WINDOW * _WINDOW
_CONVOLUTIONS = (_CHANNELS * _AREA + 1) * _FILTERS + (_FILTERS * _AREA + 1) * _FILTERS
_PATCHES = _FIRST**2 * _CHANNELS * _AREA + _SECOND**2 * _FILTERS * _AREA


@dataclass(frozen=True, slots=True)
class ScatterCnn(ScatterLinear):
    """Two convolutions 16@3 with tanh and a linear layer, on the features of ``scatter-linear`` as 81 planes of 7 × 7.

    A bounded activation keeps gradients of rows small (Papernot et al. 2021); there are 14,000 + 145 k parameters.
    """

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the features, the outputs of both convolutions, and the classes."""
        require_image(self.name, inputs)
        return (self.prepared_width(inputs), _FILTERS * _FIRST**2, _FILTERS * _SECOND**2, classes)

    def parameters(self, inputs: int, classes: int) -> int:
        """Return the number of weights and biases."""
        require_image(self.name, inputs)
        return _CONVOLUTIONS + (_FILTERS * _SECOND**2 + 1) * classes

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
                nn.Unflatten(1, (_CHANNELS, _SIDE, _SIDE)),
                nn.Conv2d(_CHANNELS, _FILTERS, _WINDOW),
                nn.Tanh(),
                nn.Conv2d(_FILTERS, _FILTERS, _WINDOW),
                nn.Tanh(),
                nn.Flatten(),
                nn.Linear(_FILTERS * _SECOND**2, classes),
            )
        return begun(module)


SCATTER_CNN = ScatterCnn(
    "scatter-cnn",
    "Small CNN on scattering features",
    "It learns filters of fixed wavelet features of 28 × 28 grey images, given as 784 columns.",
    short="Scattering CNN, DP-SGD",
    on_images=(("batch", 4096), ("epochs", 15), ("lr", 4.0), ("clip", 0.1), ("momentum", 0.9)),
)
