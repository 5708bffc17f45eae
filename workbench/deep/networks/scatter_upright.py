"""One linear layer on wavelet scattering features of characters that were straightened first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.deep.networks.scatter_linear import ScatterLinear

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class ScatterUpright(ScatterLinear):
    """As ``scatter-linear``, of images that are set upright and in the middle: light ink on dark paper."""

    def seen(self, images: Tensor) -> Tensor:
        """Return the images straightened, each by itself."""
        from workbench.deep.straighten import straightened

        return straightened(images)


SCATTER_UPRIGHT = ScatterUpright(
    "scatter-upright",
    "Linear layer on features of upright characters",
    "It sets each written character upright and in the middle, then weighs fixed wavelet features; 784 columns.",
    short="Upright, DP-SGD",
)
