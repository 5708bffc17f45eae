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
    return (diagonal(groups, width), *(_apart(groups, width, seed) for seed in range(FIGURES - 1)))


def _apart(groups: int, width: int, seed: int) -> Doubles:
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
    """Return the squared distance of each row to each centre (n, k)."""
    # |x − c|² = |x|² − 2x·c + |c|² needs no array of (n, k, D).
    out = (rows * rows).sum(axis=1)[:, None] - 2 * rows @ centres.T + (centres * centres).sum(axis=1)
    return np.asarray(np.maximum(out, 0.0))
