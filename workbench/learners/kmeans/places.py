"""Where the centres begin: figures that need no data, moved to where the rows are."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

FIGURES = 8
"""How many figures there are: the diagonal, and points kept apart at random, of a fixed public seed."""

_TRIES = 400
_EDGE = 0.8


def diagonal(groups: int, width: int) -> Doubles:
    """Return points (k, D) at equal distances on the diagonal of [−1, 1]^D."""
    return np.outer(np.linspace(-1, 1, 2 * groups + 1)[1::2], np.ones(width))


@lru_cache(maxsize=8)
def figures(groups: int, width: int) -> tuple[Doubles, ...]:
    """Return :data:`FIGURES` sets of points (k, D) in [−1, 1]^D, the diagonal first; they depend on k and D alone."""
    return (diagonal(groups, width), *(_distance(groups, width, seed) for seed in range(FIGURES - 1)))


def _distance(groups: int, width: int, seed: int) -> Doubles:
    """Return random points (k, D) that keep as large a distance as is easily found (after Su et al. 2016)."""
    generator = np.random.Generator(np.random.PCG64([seed, groups, width]))
    for distance in np.linspace(1.2, 0.05, 40) * np.sqrt(width) / groups**0.25:
        found: list[Doubles] = []
        for point in generator.uniform(-_EDGE, _EDGE, (_TRIES, width)):
            if all(np.linalg.norm(point - other) > distance for other in found):
                found.append(point)
            if len(found) == groups:
                return np.array(found)
    return np.asarray(generator.uniform(-_EDGE, _EDGE, (groups, width)))


def moved(figure: Doubles, mean: Doubles, deviation: float) -> Doubles:
    """Return a figure about the mean of the rows, as wide as they scatter, within [−1, 1]."""
    return np.clip(mean + figure * (1.7 * deviation), -1.0, 1.0)


def squared_distances(rows: Doubles, centres: Doubles) -> Doubles:
    """Return the squared distance of each row to each centre (n, k).

    A row's figures are the same to the last bit whatever rows stand beside it: the sensitivity of what is counted from
    them hangs on that. A product of matrices would not promise it; sums by column do.
    """
    out = np.zeros((len(rows), len(centres)))
    for j in range(rows.shape[1]):
        out += np.square(rows[:, j, None] - centres[:, j])
    return out


def mean_deviation(rows: Doubles, place: Doubles) -> Doubles:
    """Return the mean distance of each row's parts to those of ``place`` (n,), with the same promise."""
    out = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        out += np.abs(rows[:, j] - place[j])
    return np.asarray(out / rows.shape[1])
