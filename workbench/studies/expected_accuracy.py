"""Expected accuracy of a network: simulated or public rows to train on, and the result."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.deep.expected_accuracy import ExpectedAccuracy, PublicRows
from workbench.deep.features import Features, ImageFeatures
from workbench.deep.networks.images import PIXELS, SIDE
from workbench.learners.tasks import CLASSIFICATION, EMPTY
from workbench.studies.why.rows import generate

_POINTS, _ALONG = 5, 24  # points that a stroke passes, and dots that it is drawn with

_TREMBLE = 0.13  # standard deviation of a point from image to image, where a side is 1

_THICK = 0.05
_AT_ONCE = 1 << 22  # numbers of a part of the dots


def made_up_images(
    shape: tuple[int, int, int], classes: int, rows: int, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images (n, channels, height, width) of 0…255 and their classes (n,).

    A class is five random places and a random colour; an image of it is a smooth stroke near these places, light on
    dark, with some noise. How hard they are to distinguish follows from the numbers above, and from no real image.
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
    t = np.linspace(0, 1, _ALONG)[:, None]
    order = np.arange(_POINTS)
    ways = np.array([1, 4, 6, 4, 1])
    return np.asarray(ways * t**order * (1 - t) ** (_POINTS - 1 - order))


PLENTY = 1 << 40  # made-up rows do not run out

SEPARATION = 2.5
"""The distance of two made-up classes, in deviations: whoever knows how they were made gets nine rows of ten right."""

NOT_READ = "No private row was read and nothing is charged: this result can be used to choose settings."
FROM_ROWS = (
    "Nothing is charged, but some facts used here were taken from the private rows instead of declared: "
    "settings chosen by this result reveal more about the rows than epsilon says."
)
BRIEF_NOT_READ = "No private row was read."
BRIEF_FROM_ROWS = "It uses facts that were taken from the private rows."


def made_up_rows(features: Features, seed: int = 0) -> PublicRows:
    """Return rows that follow from ``features``, the public declarations, alone: they contain no real data.

    A table of 784 numbers is one of grey images of 28 × 28 for the networks that read such; it gets drawings, too.
    """

    def rows(count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        if isinstance(features, ImageFeatures):
            images, codes = made_up_images(features.width.shape, len(features.classes), count, seed)
            return features.encode(images), codes
        if features.width == PIXELS == len(features.attributes):
            images, codes = made_up_images((1, SIDE, SIDE), len(features.classes), count, seed)
            return (images.reshape(count, -1) / np.float32(127.5) - 1).astype(np.float32), codes
        made = generate(features.attributes, features.target, CLASSIFICATION, count, seed, SEPARATION)
        return features.encode(made.X), made.y

    return PublicRows(rows, PLENTY)


def public_rows(features: Features, table: Table, seed: int = 0) -> PublicRows:
    """Return the rows of ``table``, which is public, in random order; those without a class are left out.

    Raises:
        InputError: they are not like the rows that ``features`` reads.
    """
    X, y = features.read(table)
    here = np.random.default_rng(seed).permutation(np.flatnonzero(y != EMPTY))
    return PublicRows(lambda count: (features.encode(X[here[:count]]), y[here[:count]]), len(here), made_up=False)


def in_brief(found: ExpectedAccuracy, *, from_rows: bool = False) -> str:
    """Return what was found in a few words; ``from_rows`` as for :func:`in_sentences`."""
    read = BRIEF_FROM_ROWS if from_rows else BRIEF_NOT_READ
    rows = "simulated rows of this shape" if found.made_up else "public rows"
    return (
        f"About {_percent(found.accuracy)} on {rows}: {_percent(found.without_privacy)} without privacy, "
        f"{_percent(found.chance)} by chance. {read}"
    )


def in_sentences(found: ExpectedAccuracy, *, from_rows: bool = False) -> tuple[str, ...]:
    """Return what was found, what it does not show, and how it was scaled down, if it was.

    ``from_rows``: whether facts that it rests on (bounds, values, classes, sizes) were taken from the private rows.
    """
    rows = "simulated rows of this shape" if found.made_up else "the public rows"
    spread = ""
    if round(100 * found.lowest) != round(100 * found.highest):
        spread = f" ({_percent(found.lowest)} to {_percent(found.highest)} in {found.repeats} trainings)"
    sentences = [
        f"Accuracy on {rows} is about {_percent(found.accuracy)} with this privacy{spread}, about "
        f"{_percent(found.without_privacy)} without, and {_percent(found.chance)} by chance."
    ]
    if found.made_up:
        sentences.append(
            "This shows the cost of privacy for this number of rows, network and settings; the real rows may "
            "be easier or harder to classify."
        )
    else:
        sentences.append("Accuracy on the real rows will be similar only if they resemble the public ones.")
    if not found.whole:
        sentences.append(
            f"Trained on {found.simulated_rows:,} rows, not {found.rows:,}, and {found.simulated_batch:,.0f}or "
            f"so per step, not {found.batch:,}, with the same noise in the mean gradient of a step; training on "
            "all rows is likely to be more accurate."
        )
    sentences.append(FROM_ROWS if from_rows else NOT_READ)
    return tuple(sentences)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
