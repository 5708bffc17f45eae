"""Private selection of the columns to use.

Few clear columns predict better than many noisy ones. What each column could do alone is measured by the loss of the
best line through it, and the best are found one after another by report-noisy-max.

*The loss.* With x and y in [−1, 1], a line is given by its heights a at x = −1 and b at x = 1, both within [−1, 1].
Then every prediction lies within [−1, 1] and a row's squared error within [0, 4]. The loss of a column is the least
sum of squared errors, divided by 4. One more row cannot make the least sum smaller, and makes it larger by at most its
own error at the former best line: between 0 and 1.

*Report-noisy-max.* All losses move in one direction and by at most Δ, so that noise of scale Δ/ε on each is enough for
ε (Dwork & Roth 2014, claim 3.9, for counts; the proof needs only that the scores are monotone). Losses are whole
numbers here, K of them a unit, rounded down from a value that doubles give to far better than one of them: Δ = K + 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.work.ask import Ask

UNIT = 1 << 10  # whole numbers of a loss of one row

SENSITIVITY = UNIT + 2  # how far one row moves a loss: by one unit, and by what rounding can add on either side


def line_sums(columns: NDArray[np.int64], target: NDArray[np.int64]) -> list[int]:
    """Return the sums that losses are computed from: n, Σy, Σy², each Σx, each Σx², each Σxy.

    Args:
        columns: encoded columns (n, D), each in [−K, K].
        target: encoded target (n,) in [−K, K]; n·K² must not be above 2^52, so that the sums are exact.
    """
    x, y = columns.astype(np.float64), target.astype(np.float64)
    of_columns = (x.sum(axis=0), (x * x).sum(axis=0), y @ x)
    return [len(y), int(y.sum()), int(y @ y), *(int(v) for sums in of_columns for v in sums)]


def losses_of(sums: Sequence[int] | NDArray[np.int64], size: int) -> list[int]:
    """Return the loss of the best line through each column alone, (D,), in parts of :data:`UNIT`.

    Args:
        sums: of :func:`line_sums`, which are exact as doubles.
        size: K.
    """
    square, found = float(size) ** 2, np.array(sums, dtype=np.float64)
    n, sum_y, sum_yy = float(found[0]), float(found[1]) / size, float(found[2]) / square
    of_columns = found[3:].reshape(3, -1)
    sum_x, sum_xx, sum_xy = of_columns[0] / size, of_columns[1] / square, of_columns[2] / square
    # A line is a·u + b·v with u = (1 − x)/2 and v = (1 + x)/2.
    uu, vv, uv = (n - 2 * sum_x + sum_xx) / 4, (n + 2 * sum_x + sum_xx) / 4, (n - sum_xx) / 4
    uy, vy = (sum_y - sum_xy) / 2, (sum_y + sum_xy) / 2

    def loss(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(sum_yy - 2 * (a * uy + b * vy) + a * a * uu + 2 * a * b * uv + b * b * vv)

    determinant = uu * vv - uv * uv
    regular = determinant > 1e-12 * np.maximum(uu * vv, 1.0)
    safe = np.where(regular, determinant, 1.0)
    a, b = (uy * vv - vy * uv) / safe, (vy * uu - uy * uv) / safe
    inside = regular & (np.abs(a) <= 1) & (np.abs(b) <= 1)
    best = np.where(inside, loss(a, b), np.inf)
    # Otherwise the least value lies on the edge of the square: on each of the four sides it is a parabola's.
    for end in (-1.0, 1.0):
        fixed = np.full_like(uu, end)
        other = np.clip((vy - end * uv) / np.maximum(vv, 1e-12), -1, 1)
        best = np.minimum(best, loss(fixed, other))
        other = np.clip((uy - end * uv) / np.maximum(uu, 1e-12), -1, 1)
        best = np.minimum(best, loss(other, fixed))
    return [int(v) for v in np.floor(np.maximum(best, 0.0) / 4 * UNIT)]


def choose(losses: Sequence[int], labels: Sequence[str], ask: Ask, sensitivity: int = SENSITIVITY) -> list[int]:
    """Return the columns with the least noisy losses, one for each query, in the order in which they were found.

    Args:
        losses: of the columns, moved by one row in one direction.
        labels: of the query of each round.
        ask: serves them.
        sensitivity: how far one row moves a loss at most.
    """
    left = list(range(len(losses)))
    chosen: list[int] = []
    for label in labels:
        (best,) = ask.least(label, [[losses[j] for j in left]], sensitivity)
        chosen.append(left.pop(best))
    return chosen
