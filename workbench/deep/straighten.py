"""Characters set upright and in the middle: each image by its own moments, so it costs no budget.

The slant of a handwritten character is its writer's; taking it out makes the classes easier to tell apart (LeCun et al.
1998 do so before several of their classifiers). Nothing is learned, and no image sees another.
"""

from __future__ import annotations

import torch
from torch import Tensor

MOST_SLANT = 0.7
"""Most columns that a line is shifted for each line of distance from the centre."""

_LEAST_INK, _LEAST_HEIGHT = 1e-3, 1.0
"""An image without ink has no centre, and a flat one no slant: both stay as they are, nearly."""


def straightened(images: Tensor) -> Tensor:
    """Return ``images`` (n, h, w) of ink in [0, 1], each sheared until it is upright, its centre of mass in the middle.

    What is moved beyond the border is lost; what comes in is blank. Values between pixels are interpolated linearly.
    """
    count, height, width = images.shape
    y, x = (torch.arange(side, device=images.device) - (side - 1) / 2 for side in (height, width))
    ink = images.sum((1, 2)).clamp_min(_LEAST_INK)
    centre_y, centre_x = (images.sum(2) @ y) / ink, (images.sum(1) @ x) / ink
    dy, dx = y - centre_y[:, None], x - centre_x[:, None]
    across = torch.einsum("nyx,ny,nx->n", images, dy, dx) / ink
    down = torch.einsum("nyx,ny->n", images, dy.square()) / ink
    slant = (across / down.clamp_min(_LEAST_HEIGHT)).clamp(-MOST_SLANT, MOST_SLANT)
    # A point (y, x) of the result is taken from (y + cy, x + cx + slant·y), in units of half a side.
    places = torch.zeros(count, 2, 3, device=images.device)
    places[:, 0, 0] = places[:, 1, 1] = 1
    places[:, 0, 1], places[:, 0, 2] = slant * height / width, centre_x / (width / 2)
    places[:, 1, 2] = centre_y / (height / 2)
    grid = torch.nn.functional.affine_grid(places, [count, 1, height, width], align_corners=False)
    return torch.nn.functional.grid_sample(images[:, None], grid, mode="bilinear", align_corners=False)[:, 0]
