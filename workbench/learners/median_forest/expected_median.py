"""What a drawn cell says of the median that it was drawn for: post-processing, which costs nothing.

With few blocks or little ε, a cell is often drawn far from the median, and a number taken at its word would be worse
than none. How a cell is drawn is public. With the public assumptions that the blocks' answers are spread normally about
their median by :data:`SPREAD` of the target's range, and that medians lie about the middle of the range by
:data:`PRIOR` of it, the expected median given the drawn cell follows (Bayes). Where the noise is small that is the
cell; where nothing can be known it is the middle of the range. The assumptions bear on the error alone, not on privacy.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.central.private_median import median_weights

SPREAD = 0.05
PRIOR = 0.25


@lru_cache(maxsize=16)
def _expected(aggregate: str, blocks: int, size: int, epsilon: float) -> tuple[float, ...]:
    about = np.array([NormalDist().inv_cdf((block + 0.5) / blocks) for block in range(blocks)]) * SPREAD
    places = np.arange(size) / (size - 1)
    chances = np.empty((size, size))  # of each drawn cell (fastest) at each median
    for cell, place in enumerate(places):
        answers = np.sort(np.rint(np.clip(place + about, 0, 1) * (size - 1))).astype(np.int64)
        weights = median_weights(aggregate, answers.tolist(), size, epsilon)
        total = sum(weights)
        chances[cell] = [weight / total for weight in weights]
    joint = chances * np.exp(-((places - 0.5) ** 2) / (2 * PRIOR**2))[:, None]
    expected: NDArray[np.float64] = (joint * places[:, None]).sum(axis=0) / joint.sum(axis=0)
    return tuple(float(place) for place in expected)


def expected_medians(aggregate: str, blocks: int, size: int, epsilon: float) -> NDArray[np.float64]:
    """Return the expected median for each drawn cell (size,), as a share of the target's range.

    Args:
        aggregate: how the cells are drawn.
        blocks: B.
        size: number of cells.
        epsilon: of each prediction.
    """
    return np.array(_expected(aggregate, blocks, size, epsilon))
