"""Coefficients from noisy sums: post-processing, which costs nothing and is exact where there is no noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PRIOR_MEAN = 0.1  # variance of a column's mean about the centre of its bounds, in half-ranges²
_FLAT = 1e-9


@dataclass(frozen=True)
class Line:
    """A linear prediction on the encoded scale.

    Attributes:
        centre: of the columns (m,).
        height: the prediction at the centre.
        slopes: of the columns (m,).
    """

    centre: NDArray[np.float64]
    height: float
    slopes: NDArray[np.float64]

    def at(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction for rows (n, m), within [−1, 1]."""
        return np.clip(self.height + (columns - self.centre) @ self.slopes, -1.0, 1.0)


def adaptive_line(gram: NDArray[np.float64], rows: int, deviation: float, strength: float) -> Line:
    """Return the ridge regression whose penalty follows from the size of the noise.

    Moments about the means are formed first; eigenvalues below 0 can only be noise and are set to 0. The penalty per
    row is strength·(r·√m/2 + 3·r²·m), r being the noise's deviation per row. The slopes are then multiplied by 1 less
    the part of the explained variance that noise alone would explain (after James & Stein 1961): where nothing is
    more than noise, the prediction is the mean.

    Args:
        gram: noisy sums (m + 2, m + 2) in the order 1, x, y.
        rows: public n.
        deviation: of the noise of each sum.
        strength: factor of the penalty; 0 is without.
    """
    m = len(gram) - 2
    weight = _weight(gram[0, 0], rows, deviation)
    r = deviation / weight
    known = _PRIOR_MEAN / (_PRIOR_MEAN + r * r)
    means = np.clip(gram[0, 1:] / weight, -1, 1) * known
    centre, height = means[:-1], float(means[-1])
    if m == 0:
        return Line(centre, height, np.zeros(0))
    covariance = gram[1:-1, 1:-1] / weight - np.outer(centre, centre)
    with_target = gram[1:-1, -1] / weight - centre * height
    values, vectors = np.linalg.eigh(covariance)
    values = np.clip(values, 0.0, None) + strength * (r * np.sqrt(m) / 2 + 3 * r * r * m) + _FLAT
    slopes = vectors @ ((vectors.T @ with_target) / values)
    explained = float(with_target @ slopes)
    by_noise = r * r * (1 + centre @ centre / m + height * height) * float((1 / values).sum())
    kept = max(0.0, 1 - by_noise / explained) if explained > 0 else 0.0
    return Line(centre, height, slopes * kept)


def functional_line(gram: NDArray[np.float64], deviation: float, strength: float) -> Line:
    """Return the minimum of the noisy loss, with the paper's ridge of 4 deviations and its spectral trimming.

    A noisy loss may have no minimum: the directions in which it does not curve upwards are left out (Zhang et al. 2012,
    section 6).

    Args:
        gram: noisy sums (p + 1, p + 1) in the order 1, x, y.
        deviation: of the noise of each coefficient of the loss.
        strength: factor of the ridge.
    """
    values, vectors = np.linalg.eigh(gram[:-1, :-1])
    values = values + strength * 4 * deviation
    kept = values > _FLAT
    along = vectors[:, kept]
    found = along @ ((along.T @ gram[:-1, -1]) / values[kept])
    return Line(np.zeros(len(found) - 1), float(found[0]), found[1:])


def _weight(noisy: float, rows: int, deviation: float) -> float:
    """Return Σ 1 of the weighted rows: between half of n and n, unless the noise cannot explain that it is less."""
    least = 0.5 * rows
    if noisy < least - 6 * deviation:
        return max(noisy, 1.0)
    return float(np.clip(noisy, least, rows))
