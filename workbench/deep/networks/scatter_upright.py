"""One linear layer on the strongest directions of wavelet features, of characters that were straightened first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from workbench.deep.networks.images import require_image
from workbench.deep.networks.scatter_linear import FEATURES, ScatterLinear
from workbench.paths import resources

if TYPE_CHECKING:
    from torch import Tensor

DIRECTIONS = 500
"""Directions kept. The noise of a step grows with what is trained, so the 3,969 features are too many."""

STROKES = resources() / "scattering" / "pen_strokes.safetensors"
"""The directions, found in generated pen strokes by ``packaging/pen_strokes.py``: from no data set, so public."""


@dataclass(frozen=True, slots=True)
class ScatterUpright(ScatterLinear):
    """A linear layer that starts at zero, on 500 numbers that are fixed and public.

    Each image is set upright and in the middle; its features are those of ``scatter-linear``, seen from the directions
    in which generated pen strokes vary most, and scaled to a mean square of 1.
    """

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the directions and the classes."""
        require_image(self.name, inputs)
        return (DIRECTIONS, classes)

    def prepared_width(self, inputs: int) -> int:
        """Return the number of directions."""
        require_image(self.name, inputs)
        return DIRECTIONS

    @property
    def frozen(self) -> str:
        """The name of what is fixed."""
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
    "It sets each written character upright and in the middle, then weighs fixed wavelet features; 784 columns.",
    short="Upright, DP-SGD",
    on_images=(("batch", 4096), ("epochs", 15), ("lr", 5.0), ("clip", 0.1), ("momentum", 0.9)),
)
