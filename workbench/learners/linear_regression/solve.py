"""Coefficients from noisy sums: post-processing, which costs nothing and is exact without noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.central.sums import heights

_PRIOR_MEAN = 0.1  # variance of a column's mean about the centre of its bounds, in half-ranges²
_FLAT = 1e-9
_USUAL_SLOPE = 0.4  # half-ranges of the target for one of a column
_MOST, _MOST_OF_LINES = 6.0, 9.0
_SPREAD, _REACH = 0.5, 0.4
"""The deviation of turned columns; and half-ranges of the target at which what a first line leaves is cut off."""
_FORMER = {4: (0.42, _REACH), 3: (1 / 3, 0.5)}  # of files of former formats


@dataclass(frozen=True)
class Line:
    """A linear prediction on the encoded scale."""

    centre: NDArray[np.float64]  # of the columns (m,)
    height: float  # the prediction at the centre
    slopes: NDArray[np.float64]  # of the columns (m,)

    def at(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction for rows (n, m), within [−1, 1]; each row's by itself, whatever is beside it."""
        return np.clip(self.beyond(columns), -1.0, 1.0)

    def beyond(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the line itself at rows (n, m), wherever it goes."""
        weights = np.concatenate([[self.height - self.centre @ self.slopes], self.slopes])
        return heights(columns, weights[:, None])[:, 0]


@dataclass(frozen=True)
class Turn:
    """What a first line and its moments make of the rows: columns that do not hang together, and what stays wrong."""

    line: Line  # the first line
    # The weights of each new column (m, m): about 0, with a deviation of `spread` as far as it is known.
    axes: NDArray[np.float64]
    spread: float  # that deviation
    reach: float  # half-ranges of the target at which what is still wrong is cut off

    def rows(
        self, columns: NDArray[np.float64], goal: NDArray[np.float64], picked: Sequence[int] = ()
    ) -> NDArray[np.float64]:
        """Return what new rows are made of, each part in ±1, of rows (n, m) and goals (n,).

        The new columns, those products of two of them that are picked, and what is wrong in units of the reach.
        """
        wrong = np.clip((goal - self.line.at(columns)) / self.reach, -1.0, 1.0)
        turned = self.turned(columns)
        return np.column_stack([turned, crossed(turned, picked, self.spread), wrong])

    def turned(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the new columns of rows (n, m), within ±1."""
        weights = np.vstack([-self.line.centre @ self.axes, self.axes])
        return np.clip(heights(columns, weights), -1.0, 1.0)

    def corrected(self, found: Line, picked: Sequence[int] = ()) -> Line | Curve:
        """Return the first line with that of the new rows added; ``picked`` are the products among their columns."""
        m = len(self.line.centre)
        height = self.line.height + self.reach * (found.height - float(found.centre @ found.slopes))
        line = Line(self.line.centre, height, self.line.slopes + self.reach * (self.axes @ found.slopes[:m]))
        return Curve(line, self, tuple(picked), self.reach * found.slopes[m:]) if len(picked) else line


@dataclass(frozen=True)
class Curve:
    """A line, and products of rotated columns beside it."""

    line: Line
    turn: Turn  # what turns the columns
    picked: tuple[int, ...]  # the products (k,), by their place among those of `crossed`
    slopes: NDArray[np.float64]  # of the products (k,)

    def at(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction for rows (n, m), within [−1, 1]; each row's by itself."""
        bends = heights(
            crossed(self.turn.turned(columns), self.picked, self.turn.spread), np.append(0.0, self.slopes)[:, None]
        )
        return np.clip(self.line.beyond(columns) + bends[:, 0], -1.0, 1.0)


def product_count(columns: int) -> int:
    """Return how many products of two columns there are, squares included."""
    return columns * (columns + 1) // 2


def crossed(turned: NDArray[np.float64], picked: Sequence[int], spread: float) -> NDArray[np.float64]:
    """Return :func:`column_products` of turned columns, within ±1."""
    return np.clip(column_products(turned, picked, spread), -1.0, 1.0)


def column_products(columns: NDArray[np.float64], picked: Sequence[int], spread: float) -> NDArray[np.float64]:
    """Return products of two of the columns (n, k), squares less their mean: of deviation ``spread`` if normal.

    Args:
        columns: about 0, with a deviation of ``spread``, which do not hang together (n, m).
        picked: which products, by their place in the upper triangle, squares included.
        spread: the deviation.
    """
    first, second = (places[list(picked)] for places in np.triu_indices(columns.shape[1]))
    found = columns[:, first] * columns[:, second] / spread
    return np.where(first == second, (found - spread) / np.sqrt(2), found)


@dataclass(frozen=True)
class Moments:
    """Noisy moments about the means, a row; see :func:`turn` for what they are computed from."""

    centre: NDArray[np.float64]  # means of the columns (m,)
    height: float  # mean of the target
    covariance: NDArray[np.float64]  # of the columns (m, m)
    with_target: NDArray[np.float64]  # of the columns with the target (m,)
    noise: float  # standard deviation of the noise of each moment

    @classmethod
    def of(cls, gram: NDArray[np.float64], rows: int, deviation: float) -> Moments:
        """Return the moments of noisy sums; means are drawn to the middle of the bounds where noise is large."""
        weight = _weight(gram[0, 0], rows, deviation)
        noise = deviation / weight
        known = _PRIOR_MEAN / (_PRIOR_MEAN + noise * noise)
        means = np.clip(gram[0, 1:] / weight, -1, 1) * known
        centre, height = means[:-1], float(means[-1])
        covariance = gram[1:-1, 1:-1] / weight - np.outer(centre, centre)
        return cls(centre, height, covariance, gram[1:-1, -1] / weight - centre * height, noise)


def turn(gram: NDArray[np.float64], rows: int, deviation: float, strength: float, version: int) -> Turn:
    """Return the ridge regression whose penalty in each direction follows from the known noise, and its axes.

    With r as the deviation of the noise of a moment, noise alone has eigenvalues between −2·r·√m and 2·r·√m (Wigner).
    An eigenvalue λ of the columns' covariance that is above r·√m = e shows itself as λ + e²/λ (Benaych-Georges &
    Nadakuditi 2011, for large m), which is undone; any other is hidden in the noise and counts as e. The slopes s are
    those of the least expected (λ·s − c)², c being the moment with the target: s = λ·c/(λ² + κ). The noise of the
    covariance adds m·r² to λ² in the mean, and that of c counts as r²/τ² for slopes of a usual size τ, so that κ is
    strength·r²·(m + 1/τ²): a direction in which the columns hardly vary, as where they are collinear, is damped more
    than one that is clear.

    Args:
        gram: noisy sums (m + 2, m + 2) in the order 1, x, y.
        rows: public n.
        deviation: of the noise of each sum.
        strength: factor of the penalty; 0 is without.
        version: of the format of the file, by whose rules rows are turned: back from format 5 on.
    """
    found = Moments.of(gram, rows, deviation)
    m, r = len(found.centre), found.noise
    values, vectors = directions(found.covariance, r)
    penalty = strength * r * r * (m + 1 / _USUAL_SLOPE**2) / values
    slopes = vectors @ ((vectors.T @ found.with_target) / (values + penalty))
    spread, reach = _FORMER.get(max(version, 3), (_SPREAD, _REACH))
    # Turned back, each new column is near one of the old, and a product of two says what these say together.
    axes = axes_of(values, vectors, _MOST_OF_LINES) @ vectors.T if version > 4 else axes_of(values, vectors)
    return Turn(Line(found.centre, found.height, slopes), axes * spread, spread, reach)


def directions(covariance: NDArray[np.float64], noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return variances (m,) and directions (m, m) of columns by their noisy covariance: see :func:`turn`."""
    m = len(covariance)
    values, vectors = np.linalg.eigh(covariance) if m else (np.zeros(0), np.zeros((0, 0)))
    hidden = noise * np.sqrt(m)
    clear = (values + np.sqrt(np.maximum(values**2 - 4 * hidden**2, 0.0))) / 2
    return np.maximum(np.where(values > 2 * hidden, clear, hidden), _FLAT), vectors


def axes_of(values: NDArray[np.float64], vectors: NDArray[np.float64], most: float = _MOST) -> NDArray[np.float64]:
    """Return the weights (m, m) of columns of deviation 1, stretched ``most`` times at most."""
    return vectors * np.minimum(1 / np.sqrt(values), most)


def former_line(gram: NDArray[np.float64], rows: int, deviation: float, strength: float) -> Line:
    """Return the line that files of format 1 mean: one penalty for all directions, strength·(r·√m/2 + 3·r²·m).

    Eigenvalues below 0 are set to 0; the slopes are those of :func:`cautious_slopes`. Where columns are collinear the
    penalty was too small, and R² could fall as ε rose.
    """
    found = Moments.of(gram, rows, deviation)
    m, r, c = len(found.centre), found.noise, found.with_target
    if m == 0:
        return Line(found.centre, found.height, np.zeros(0))
    values, vectors = np.linalg.eigh(found.covariance)
    values = np.clip(values, 0.0, None) + strength * (r * np.sqrt(m) / 2 + 3 * r * r * m) + _FLAT
    by_noise = float(r * r * (1 + found.centre @ found.centre / m + found.height**2) * (1 / values).sum())
    return Line(found.centre, found.height, cautious_slopes(values, vectors, c, by_noise))


def cautious_slopes(
    values: NDArray[np.float64], vectors: NDArray[np.float64], goal: NDArray[np.float64], by_noise: float
) -> NDArray[np.float64]:
    """Return slopes (m,) multiplied by 1 less the part of what they explain that noise alone would explain.

    Args:
        values: eigenvalues (m,) of the columns' covariance with the penalty, all above 0.
        vectors: its eigenvectors (m, m).
        goal: covariance (m,) of the columns with the target.
        by_noise: what the noise of ``goal`` would explain.
    """
    slopes = vectors @ ((vectors.T @ goal) / values)
    explained = float(goal @ slopes)
    kept = max(0.0, 1 - by_noise / explained) if explained > 0 else 0.0
    return np.asarray(slopes * kept)


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
