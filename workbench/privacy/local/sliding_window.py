"""Tables in which each value has a window of likely answers that slides from one end of the outputs to the other.

Duchi, Piecewise, Square Wave and the parts of Hybrid are of this kind. Of k output cells a window of w lies wholly in
them for every value, so that the answers in it have one chance p and all others one chance q, w·p + (k−w)·q = 1: with
p/q = e^ε the table has exactly ε, and no normaliser depends on the value. A window that begins inside a cell gives that
cell and the one at its other end what it covers of them: the expected answer is then a straight line in the value, to
rounding, and the mean has an unbiased estimator that is a straight line, too. A missing value has a window of its own,
w cells that leave as one.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.sampler import TOTAL


def odds(epsilon: float) -> Fraction:
    """Return a fraction just below e^epsilon."""
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_FLOOR
        return Fraction(Decimal(epsilon).exp() * (1 - Decimal(10) ** -50))


def places(cells: Cells) -> NDArray[np.float64]:
    """Return where each value lies between the bounds, (s,), from 0 to 1."""
    if cells.values is None:
        raise ParameterError("these cells are names, which have no order between bounds")
    values = cells.values
    out: NDArray[np.float64] = (values - values[0]) / (values[-1] - values[0])
    return out


def width_of(share: float, outputs: int) -> int:
    """Return how many of ``outputs`` cells a window has that is to cover a share of them: at least 1, never all."""
    return min(max(math.floor(share * outputs + 0.5), 1), outputs - 1)


def window_weights(
    at: NDArray[np.float64], outputs: int, width: int, epsilon: float, *, missing: bool, total: int = TOTAL
) -> NDArray[np.uint64]:
    """Return the integers of a table with sliding windows, (m, k); with a missing cell one more row and column.

    Each row sums to ``total``, and no two entries of a column have a ratio above e^epsilon; a sum of such tables is
    such a table.

    Args:
        at: (m,) place of each value from 0 to 1, where its window begins in the room that it has.
        outputs: k ≥ 2 cells for values.
        width: w cells of a window, 1 ≤ w < k.
        epsilon: ln(p/q) or just above it.
        missing: whether there is a missing cell, the last.
        total: what a row sums to, at most 2**63.

    Raises:
        ParameterError: a weight would round to zero.
    """
    times = odds(epsilon)
    virtual = outputs + (width if missing else 0)
    # q is rounded up so far that q + ⌈extra/w⌉ ≤ e^ε·q, extra being what the window has above q.
    needed = Fraction(total + width) / (width * (times - 1) + virtual)
    low = math.ceil(needed)
    extra = total - virtual * low
    if low < 1 or extra < 0:
        raise ParameterError("a probability of the mechanism is too small for its integer table")
    each, rest = divmod(extra, width)
    start = np.clip(at, 0.0, 1.0) * (outputs - width)
    first = np.minimum(np.floor(start), outputs - width).astype(np.int64)
    after = np.floor((start - first) * float(each)).astype(np.uint64)  # what the cell beyond the window gets
    after = np.minimum(after, np.uint64(each))
    weights = np.full((at.size, outputs + 1), low, dtype=np.uint64)  # one more, which a last window does not enter
    column, row = np.arange(outputs + 1)[None, :], np.arange(at.size)
    begins = first[:, None]
    weights[(column > begins) & (column < begins + width)] += np.uint64(each)
    weights[(column > begins) & (column <= begins + rest)] += np.uint64(1)  # rest < width: these are inside
    weights[row, first] += np.uint64(each) - after
    weights[row, first + width] += after
    weights = weights[:, :-1]
    if not missing:
        return np.ascontiguousarray(weights)
    own = np.full((1, outputs), low, dtype=np.uint64)
    last = np.full((at.size + 1, 1), width * low, dtype=np.uint64)
    last[-1, 0] += np.uint64(extra)
    return np.hstack([np.vstack([weights, own]), last])


def spread_to(weights: NDArray[np.uint64], columns: tuple[int, ...], outputs: int) -> NDArray[np.uint64]:
    """Return the table with its answers placed at some of ``outputs`` columns, all others never given."""
    out = np.zeros((len(weights), outputs), dtype=np.uint64)
    out[:, list(columns)] = weights
    return out
