"""Drawings that nobody made: each class a bent stroke of its own, in every image a little different."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_POINTS, _ALONG = 5, 24
"""Points that a stroke passes, and dots that it is drawn with."""

_TREMBLE = 0.13
"""Standard deviation of a point from image to image, where a side is 1."""

_THICK = 0.05
_AT_ONCE = 1 << 22
"""Numbers of a part of the dots."""


def made_up_images(
    shape: tuple[int, int, int], classes: int, rows: int, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images (n, channels, height, width) of 0…255 and their classes (n,).

    A class is five random places and a random colour; an image of it is a smooth stroke near these places, light on
    dark, with some noise. How hard they are to tell apart follows from the numbers above, and from no real image.

    Args:
        shape: channels, height and width.
        classes: how many there are.
        rows: how many images.
        seed: repeats them.
    """
    draw = np.random.default_rng(seed)
    channels, height, width = shape
    places = draw.uniform(0.15, 0.85, (classes, _POINTS, 2))
    colours = draw.uniform(0.4, 1.0, (classes, channels))
    codes = draw.integers(0, classes, rows)
    images = np.empty((rows, channels, height, width), np.uint8)
    step = max(1, _AT_ONCE // (_ALONG * max(height, width) + height * width))
    curve = _through_points()
    for start in range(0, rows, step):
        some = codes[start : start + step]
        points = places[some] + _TREMBLE * draw.standard_normal((len(some), _POINTS, 2))
        dots = np.einsum("tp,npd->ntd", curve, points)
        down = _bumps(dots[:, :, 0], height)
        across = _bumps(dots[:, :, 1], width)
        ink = np.minimum(np.matmul(down.transpose(0, 2, 1), across), 1.0)
        light = ink[:, None] * colours[some][:, :, None, None]
        light += 0.1 * draw.standard_normal(light.shape)
        images[start : start + step] = np.clip(255 * light, 0, 255).astype(np.uint8)
    return images, codes


def _bumps(places: NDArray[np.float64], side: int) -> NDArray[np.float64]:
    """Return how near each pixel of a side is to each dot, (n, dots, side)."""
    pixels = (np.arange(side) + 0.5) / side
    distance = (pixels - places[:, :, None]) / _THICK
    return np.asarray(np.exp(-(distance**2) / 2))


def _through_points() -> NDArray[np.float64]:
    """Return the weights (dots, points) of a Bézier curve."""
    t = np.linspace(0, 1, _ALONG)[:, None]
    order = np.arange(_POINTS)
    ways = np.array([1, 4, 6, 4, 1])
    return np.asarray(ways * t**order * (1 - t) ** (_POINTS - 1 - order))
