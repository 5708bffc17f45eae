"""Convolutional networks: small ones of the literature, described by their convolutions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.deep.networks.images import PIXELS, SIDE, image_shape, require_image
from workbench.deep.networks.network import IMAGE_ROWS, UNBOUNDED, Network, begun
from workbench.deep.networks.scattered import SCATTER_LINEAR
from workbench.params import ParameterError

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution, followed by the network's activation and perhaps by pooling over 2 × 2 windows."""

    channels: int  # that leave it
    kernel: int  # side of its window
    stride: int = 1  # of the window
    padding: int = 0  # zeros on each side
    pool: int = 0  # stride of the pooling; 0 for none


@dataclass(frozen=True, slots=True)
class ConvolutionalNetwork(Network):
    """Convolutions with one activation, then linear layers."""

    usual_inputs: ClassVar[int] = PIXELS

    convolutions: tuple[Convolution, ...] = ()  # from the image on
    units: int = 0  # of the hidden linear layer; 0 for none
    relu: bool = False  # whether the activation is ReLU; tanh otherwise, which keeps the gradients of rows small
    groups: int = 0  # of the GroupNorm behind each convolution, which keeps them alike; 0 for none
    # Channels, height and width that the first convolution reads, of images of 28 × 28; of any image its own if not
    # given.
    image: tuple[int, int, int] | None = None
    front: Network | None = None  # the network whose fixed features are read

    def prepared_width(self, inputs: int) -> int:
        """Return how many numbers of a row the first convolution reads."""
        return inputs if self.front is None else math.prod(self._shape(inputs))

    def prepared(self, inputs: Tensor) -> Tensor:
        """Return what the first convolution reads."""
        return inputs.flatten(1) if self.front is None else self.front.prepared(inputs)

    @property
    def frozen(self) -> str:
        return "" if self.front is None else self.front.frozen

    def preparing(self) -> int:
        """Return what making the features takes."""
        return 0 if self.front is None else self.front.preparing()

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the numbers that leave every layer, the input first; pooling that halves is part of its layer."""
        found = [self.prepared_width(inputs)]
        for one, _, (height, width), pooled in self._sizes(inputs):
            found.append(one.channels * height * width)
            if one.pool == 1:
                found.append(one.channels * pooled[0] * pooled[1])
        return (*found, *((self.units,) if self.units else ()), classes)

    def parameters(self, inputs: int, classes: int) -> int:
        total, features = 0, 0
        for one, before, _, (height, width) in self._sizes(inputs):
            total += (one.kernel**2 * before + 1 + (2 if self.groups else 0)) * one.channels
            features = one.channels * height * width
        if self.units:
            total, features = total + (features + 1) * self.units, self.units
        return total + (features + 1) * classes

    def held_by_row(self, inputs: int, classes: int) -> int:
        """Return the numbers that a step holds for each row: outputs, their gradients, patches."""
        patches = sum(h * w * one.kernel**2 * before for one, before, (h, w), _ in self._sizes(inputs))
        outputs = sum(self.widths(inputs, classes)[1:])
        return 8 * outputs + patches if self.groups else 4 * outputs + 2 * patches

    def rows_at_once(self) -> int:
        """Return the most images that the engine for small networks holds; that of others has no parts of its own."""
        return UNBOUNDED if self.groups else IMAGE_ROWS

    def build(self, inputs: int, classes: int) -> nn.Sequential:
        import torch
        from torch import nn

        activation = nn.ReLU if self.relu else nn.Tanh
        layers: list[nn.Module] = [nn.Unflatten(1, self._shape(inputs))]
        features = 0
        with torch.device("meta"):
            for one, before, _, (height, width) in self._sizes(inputs):
                layers.append(nn.Conv2d(before, one.channels, one.kernel, one.stride, one.padding))
                layers += [nn.GroupNorm(self.groups, one.channels)] if self.groups else []
                layers.append(activation())
                layers += [nn.MaxPool2d(2, one.pool)] if one.pool else []
                features = one.channels * height * width
            layers.append(nn.Flatten())
            if self.units:
                layers += [nn.Linear(features, self.units), activation()]
            layers.append(nn.Linear(self.units or features, classes))
        return begun(nn.Sequential(*layers))

    def _sizes(self, inputs: int) -> Iterator[tuple[Convolution, int, tuple[int, int], tuple[int, int]]]:
        """Yield each convolution, the channels that enter it, and the sides of what leaves it, also after pooling."""
        before, *sides = self._shape(inputs)
        for one in self.convolutions:
            sides = [(side + 2 * one.padding - one.kernel) // one.stride + 1 for side in sides]
            pooled = [(side - 2) // one.pool + 1 for side in sides] if one.pool else sides
            yield one, before, (sides[0], sides[1]), (pooled[0], pooled[1])
            before, sides = one.channels, pooled

    def _shape(self, inputs: int) -> tuple[int, int, int]:
        if self.image is not None:
            require_image(self.title, inputs)
            return self.image
        channels, height, width = image_shape(self.title, inputs)
        least = 1 << sum(one.pool == 2 for one in self.convolutions)
        if height < least or width < least:
            raise ParameterError(
                f"the network “{self.title}” reads images of {least} × {least} pixels or more, not {height} × {width}",
                hint="choose another network",
            )
        return channels, height, width


MNIST_CNN = ConvolutionalNetwork(
    "mnist-cnn",  # of the thesis and of TensorFlow Privacy's tutorial
    "Small convolutional network",
    "It learns filters of 28 × 28 grey images (as a table: 784 columns).",
    short="CNN, DP-SGD",
    convolutions=(Convolution(16, 8, stride=2, padding=3, pool=1), Convolution(32, 4, stride=2, pool=1)),
    units=32,
    relu=True,
    image=(1, SIDE, SIDE),
)

CIFAR_CNN = ConvolutionalNetwork(
    "cifar-cnn",  # of the literature on private CIFAR-10: Papernot et al. 2021; Tramèr & Boneh 2021
    "Convolutional network",
    "It learns filters of colour or grey images, such as CIFAR-10's, in six convolutions.",
    short="CNN 6, DP-SGD",
    convolutions=tuple(Convolution(channels, 3, padding=1, pool=pool) for channels in (32, 64, 128) for pool in (0, 2)),
    units=128,
    groups=8,
)

SCATTER_CNN = ConvolutionalNetwork(
    "scatter-cnn",  # Tramèr & Boneh 2021; 14,000 + 145 parameters for each class
    "Small CNN on scattering features",
    "It learns filters of fixed wavelet features of 28 × 28 grey images, given as 784 columns.",
    short="Scattering CNN, DP-SGD",
    on_images=(("batch", 4096), ("epochs", 15), ("lr", 4.0), ("clip", 0.1), ("momentum", 0.9)),
    convolutions=(Convolution(16, 3), Convolution(16, 3)),
    image=(81, 7, 7),
    front=SCATTER_LINEAR,
)
