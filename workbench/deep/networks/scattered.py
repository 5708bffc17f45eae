"""One linear layer on wavelet scattering features of images, as they are or set upright (Tramèr & Boneh 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from workbench.deep.networks.images import PIXELS, Pixels, as_image, image_shape, require_image
from workbench.deep.networks.network import Network
from workbench.params import ParameterError
from workbench.paths import resources

if TYPE_CHECKING:
    from torch import Tensor

_CHANNELS, _STEP = 81, 4
_GROUPS = 27
_SMALL = 1e-5
FEATURES = f"scattering 2 scales, 8 angles, normalised in {_GROUPS} groups"

_AT_ONCE, _TRANSFORMED = 512 * 28 * 28, 8 * 28 * 28
"""Pixels prepared at once, and of these transformed at once: few, so that what lies between fits the cache."""

_TRANSFORM = 32_000_000


@dataclass(frozen=True, slots=True)
class ScatterLinear(Network):
    """A linear layer that starts at zero; the features in front of it are fixed and public.

    Each image's features are normalised by themselves, in 27 groups of channels: mean 0, variance 1.
    """

    usual_inputs: ClassVar[int] = PIXELS

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the features and the classes."""
        return (self.prepared_width(inputs), classes)

    def prepared_width(self, inputs: int) -> int:
        """Return the number of features: 81 for each channel and block of 4 × 4 pixels."""
        channels, height, width = image_shape(self.title, inputs)
        if height % _STEP or width % _STEP:
            raise ParameterError(
                f"the network “{self.title}” reads images whose sides are multiples of {_STEP}, not {height} × {width}",
                hint="resize the images, or choose another network",
            )
        return _CHANNELS * channels * (height // _STEP) * (width // _STEP)

    @property
    def frozen(self) -> str:
        return FEATURES

    def preparing(self) -> int:
        """Return what the transform of a part of the images takes (measured)."""
        return _TRANSFORM

    def prepared(self, inputs: Tensor) -> Tensor:
        """Return what the trained layers read of images in [−1, 1]: of (n, 784) or of (n, c, h, w)."""
        import torch

        shape = as_image(self.name, inputs)
        step = max(1, _AT_ONCE // math.prod(shape))
        if len(inputs) <= step:  # not a second time in memory
            return self.made((inputs.reshape(-1, *shape) + 1) / 2)
        features = torch.empty(len(inputs), self.prepared_width(Pixels(*shape)), device=inputs.device)
        for start in range(0, len(inputs), step):
            images = (inputs[start : start + step].reshape(-1, *shape) + 1) / 2
            features[start : start + step] = self.made(images)
        return features

    def made(self, images: Tensor) -> Tensor:
        """Return the normalised features of images (n, c, h, w) in [0, 1]."""
        import torch

        from workbench.deep.scattering import scatter

        step = max(1, _TRANSFORMED // math.prod(images.shape[1:]))
        width = ScatterLinear.prepared_width(self, Pixels(*images.shape[1:]))
        features = torch.empty(len(images), width, device=images.device)
        for start in range(0, len(images), step):
            few = images[start : start + step]
            channels = scatter(few).flatten(1).view(len(few), _GROUPS, -1)
            normalised = torch.nn.functional.layer_norm(channels, channels.shape[2:], eps=_SMALL)
            features[start : start + step] = normalised.flatten(1)
        return features


SCATTER_LINEAR = ScatterLinear(
    "scatter-linear",
    "Linear layer on scattering features",
    "It is linear in fixed wavelet features of images (as a table: grey ones of 28 × 28, given as 784 columns).",
    short="Scattering, DP-SGD",
    on_images=(("batch", 4096), ("epochs", 15), ("lr", 8.0), ("clip", 0.1), ("momentum", 0.9)),
)


DIRECTIONS = 500  # directions kept. The noise of a step grows with what is trained, so the 3,969 features are too many.

STROKES = resources() / "scattering" / "pen_strokes.safetensors"
"""The directions, found in generated pen strokes by ``packaging/pen_strokes.py``: from no data set, so public."""


@dataclass(frozen=True, slots=True)
class ScatterUpright(ScatterLinear):
    """A linear layer that starts at zero, on 500 numbers that are fixed and public.

    Each image is set upright and in the middle; its features are those of ``scatter-linear``, seen from the directions
    in which generated pen strokes vary most, and scaled to a mean square of 1.
    """

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        require_image(self.title, inputs)
        return (DIRECTIONS, classes)

    def prepared_width(self, inputs: int) -> int:
        require_image(self.title, inputs)
        return DIRECTIONS

    @property
    def frozen(self) -> str:
        return f"upright, {FEATURES}, {DIRECTIONS} directions of pen strokes"

    def made(self, images: Tensor) -> Tensor:
        """Return what the linear layer reads (n, 500) of images (n, 1, 28, 28) in [0, 1]."""
        import torch

        from workbench.deep.scattering import straightened

        centre, directions = (part.to(images.device) for part in public_directions())
        # By name: a dataclass with slots is another class than the one that super() without arguments would look for.
        features = ScatterLinear.made(self, straightened(images[:, 0]).unsqueeze(1)) - centre
        return torch.nn.functional.rms_norm(features @ directions, (DIRECTIONS,), eps=1e-12)


@cache
def public_directions() -> tuple[Tensor, Tensor]:
    """Return the centre of the features (3969,) and the directions (3969, 500)."""
    from safetensors.torch import load_file

    parts = load_file(STROKES)
    return parts["centre"], parts["directions"].float() * parts["factor"]


SCATTER_UPRIGHT = ScatterUpright(
    "scatter-upright",
    "Linear layer on upright characters",
    "It straightens and centres each handwritten character, then is linear in fixed wavelet features; 784 columns.",
    short="Upright, DP-SGD",
    on_images=(("batch", 4096), ("epochs", 15), ("lr", 5.0), ("clip", 0.1), ("momentum", 0.9)),
)
