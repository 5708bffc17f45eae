"""One linear layer on wavelet scattering features (Tramèr & Boneh 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.deep.networks.images import PIXELS, SIDE, require_image
from workbench.deep.networks.network import Network

if TYPE_CHECKING:
    from torch import Tensor

_FEATURES = 81 * 7 * 7
_GROUPS = 27
_SMALL = 1e-5
_AT_ONCE, _TRANSFORMED = 512, 8
"""Images prepared at once, and of these transformed at once: few, so that what lies between fits the cache."""

_TRANSFORM = 32_000_000


@dataclass(frozen=True, slots=True)
class ScatterLinear(Network):
    """A linear layer that starts at zero; the features in front of it are fixed and public.

    Each image's features are normalised by themselves, in 27 groups of 3 channels: mean 0, variance 1.
    """

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the features and the classes."""
        require_image(self.name, inputs)
        return (_FEATURES, classes)

    def prepared_width(self, inputs: int) -> int:
        """Return the number of features."""
        return _FEATURES

    def preparing(self) -> int:
        """Return what the transform of a part of the images takes (measured)."""
        return _TRANSFORM

    def prepared(self, inputs: Tensor) -> Tensor:
        """Return the features (n, :meth:`prepared_width`) of images (n, 784) in [−1, 1]."""
        import torch

        features = torch.empty(len(inputs), self.prepared_width(PIXELS), device=inputs.device)
        for start in range(0, len(inputs), _AT_ONCE):
            images = (inputs[start : start + _AT_ONCE].view(-1, SIDE, SIDE) + 1) / 2
            features[start : start + _AT_ONCE] = self.made(images)
        return features

    def made(self, images: Tensor) -> Tensor:
        """Return the normalised features (n, 3969) of images (n, 28, 28) in [0, 1]."""
        import torch

        from workbench.deep.scattering import scatter

        features = torch.empty(len(images), _FEATURES, device=images.device)
        for start in range(0, len(images), _TRANSFORMED):
            few = images[start : start + _TRANSFORMED]
            channels = scatter(few.unsqueeze(1)).view(len(few), _GROUPS, -1)
            normal = torch.nn.functional.layer_norm(channels, channels.shape[2:], eps=_SMALL)
            features[start : start + _TRANSFORMED] = normal.flatten(1)
        return features


SCATTER_LINEAR = ScatterLinear(
    "scatter-linear",
    "Linear layer on scattering features",
    "It weighs fixed wavelet features of 28 × 28 grey images, given as 784 columns.",
    short="Scattering, DP-SGD",
)
