"""The loops of the engines for tables, each over the rows of a batch: whatever stands between two products of matrices.

Shapes: b rows, d what enters a layer, k what leaves it. All numbers are in single precision. ``squares`` (b,) begin as
1 + ‖h‖² of what enters a layer, the 1 for the bias, and are multiplied by ‖g‖² of what leaves it: the squared norm of
a row's gradient in that layer (Goodfellow 2015). Of two classes the gradients of the logits are c and −c with
c = m/(1 + exp(m·D)), D the difference of the logits, and m = −1 for class 0, 1 for class 1, 0 for an empty row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.deep.compiled import exp, loops

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]

_ZERO, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)


@loops
def take(x: Floats, y: Whole, rows: Whole, entering: Floats, classes: Whole, squares: Floats) -> None:
    """Copy ``rows`` (r,) of a table x (n, d), y (n,), and begin their squares; what is left of b rows is made empty.

    Raises:
        IndexError: a row is not in the table.
    """
    for i in range(len(rows)):
        row = rows[i]
        if row < 0 or row >= len(x):
            raise IndexError("a row that the table does not have")
        given, to = x[row], entering[i]
        square = _ONE
        for j in range(len(given)):
            to[j] = given[j]
            square += given[j] * given[j]
        squares[i] = square
        classes[i] = y[row]
    for i in range(len(rows), len(entering)):
        entering[i, :] = _ZERO
        squares[i] = _ONE
        classes[i] = -1


@loops
def activate(h: Floats, relu: bool, squares: Floats) -> None:
    """Apply an activation to h (b, d) in place, and write 1 + ‖h‖² of each row for the layer that h enters."""
    for i in range(len(h)):
        row = h[i]
        if relu:
            for j in range(len(row)):
                row[j] = max(row[j], _ZERO)
        else:
            for j in range(len(row)):
                row[j] = _ONE - _TWO / (exp(_TWO * row[j]) + _ONE)
        square = _ONE
        for j in range(len(row)):
            square += row[j] * row[j]
        squares[i] = square


@loops
def slopes_of_two(
    h: Floats, classes: Whole, weight: Floats, bias: Floats, odds: Floats, slopes: Floats, lost: float, squares: Floats
) -> None:
    """Make m·D and c of the last layer, (2, d) and (2,), for two classes, and finish its squares.

    Raises:
        IndexError: a class is neither of the two.
    """
    shift, missing = bias[1] - bias[0], np.float32(lost)
    low, high = weight[0], weight[1]
    for i in range(len(h)):
        row = h[i]
        if classes[i] > 1:
            raise IndexError("a class that the network does not have")
        gap = shift
        for j in range(len(row)):
            gap += row[j] * (high[j] - low[j])
        sign = np.float32(2 * classes[i] - 1) if classes[i] >= 0 else _ZERO
        odds[i] = gap * sign
        slope = sign / (exp(odds[i]) + _ONE)
        slopes[i] = slope
        squares[i] *= _TWO * slope * slope + missing


@loops
def below_two(
    slopes: Floats, weight: Floats, h: Floats, relu: bool, below: Floats, lost: float, squares: Floats
) -> None:
    """Make the gradient below the last layer of two classes, through the activation that gave h (b, d)."""
    missing = np.float32(lost)
    low, high = weight[0], weight[1]
    for i in range(len(h)):
        row, to, slope = h[i], below[i], slopes[i]
        square = missing
        for j in range(len(row)):
            through = (_ONE if row[j] > _ZERO else _ZERO) if relu else _ONE - row[j] * row[j]
            value = slope * (low[j] - high[j]) * through
            to[j] = value
            square += value * value
        squares[i] *= square


@loops
def below(g: Floats, h: Floats, relu: bool, lost: float, squares: Floats) -> None:
    """Take g (b, d), the gradient of h, through the activation that gave h, and finish the squares of its layer."""
    missing = np.float32(lost)
    for i in range(len(h)):
        row, to = h[i], g[i]
        square = missing
        if relu:
            for j in range(len(row)):
                value = to[j] if row[j] > _ZERO else _ZERO
                to[j] = value
                square += value * value
        else:
            for j in range(len(row)):
                value = to[j] * (_ONE - row[j] * row[j])
                to[j] = value
                square += value * value
        squares[i] *= square


@loops
def slopes_of_many(logits: Floats, classes: Whole, slopes: Floats, lost: float, squares: Floats) -> None:
    """Make the gradients of logits (b, k), and finish the squares of the last layer; an empty row has none.

    Raises:
        IndexError: a class is not one of the k.
    """
    missing = np.float32(lost)
    for i in range(len(logits)):
        row, to, which = logits[i], slopes[i], classes[i]
        if which >= len(row):
            raise IndexError("a class that the network does not have")
        if which < 0:
            to[:] = _ZERO
            squares[i] *= missing
            continue
        most = row[0]
        for j in range(1, len(row)):
            most = max(most, row[j])
        whole = _ZERO
        for j in range(len(row)):
            to[j] = exp(row[j] - most)
            whole += to[j]
        part = _ONE / whole
        for j in range(len(row)):
            to[j] *= part
        to[which] -= _ONE
        square = missing
        for j in range(len(row)):
            square += to[j] * to[j]
        squares[i] *= square


@loops
def scale(h: Floats, g: Floats, factors: Floats, by_rows: bool, of_bias: Floats) -> None:
    """Scale the rows of h (b, d), or else of g (b, k), by their factors, and write the sums of the bias (k,).

    Rows with the factor 0 are set to 0 on both sides: they may hold ∞, and 0·∞ is not a number.
    """
    of_bias[:] = _ZERO
    for i in range(len(h)):
        factor, entering, leaving = factors[i], h[i], g[i]
        if factor == _ZERO:
            entering[:] = _ZERO
            leaving[:] = _ZERO
        elif by_rows:
            for j in range(len(entering)):
                entering[j] *= factor
            for j in range(len(leaving)):
                of_bias[j] += factor * leaving[j]
        else:
            for j in range(len(leaving)):
                leaving[j] *= factor
                of_bias[j] += leaving[j]


@loops
def sum_of_two(h: Floats, slopes: Floats, factors: Floats, of_weight: Floats, of_bias: Floats) -> None:
    """Write the sums of the last layer of two classes, (2, d) and (2,), from h (b, d), c and the factors (b,)."""
    zero, one = of_weight[0], of_weight[1]
    zero[:] = _ZERO
    bias = _ZERO
    for i in range(len(h)):
        if factors[i] == _ZERO:
            continue
        part, row = slopes[i] * factors[i], h[i]
        bias += part
        for j in range(len(row)):
            zero[j] += part * row[j]
    for j in range(len(zero)):
        one[j] = -zero[j]
    of_bias[0], of_bias[1] = bias, -bias


@loops
def logistic(
    x: Floats, y: Whole, rows: Whole, weight: Floats, bias: Floats, automatic: bool, bound: float, stability: float,
    odds: Floats, squares: Floats, of_weight: Floats, of_bias: Floats,
) -> None:  # fmt: skip
    """Write the clipped sums of one layer for two classes, (2, d) and (2,), from ``rows`` (b,) of a table.

    The norm of a row's gradient is |c|·r with r² = 2(‖x‖² + 1), so the clipped one has c = m/max(1 + e, r/C), with
    e = exp(m·D), and that of the automatic rule m·C/(r + stability·(1 + e)). A row without a finite r or c is left out.
    m·D and the squared norms (b,) are kept for whoever reports on the batch.

    Raises:
        IndexError: a row is not in the table, or a class is neither of the two.
    """
    zero, one = of_weight[0], of_weight[1]
    low, high = weight[0], weight[1]
    shift = bias[1] - bias[0]
    limit, little = np.float32(bound), np.float32(stability)
    inverse = _ONE / limit
    zero[:] = _ZERO
    whole = _ZERO
    for i in range(len(rows)):
        row = rows[i]
        if row < 0 or row >= len(x):
            raise IndexError("a row that the table does not have")
        given, class_ = x[row], y[row]
        if class_ > 1:
            raise IndexError("a class that the network does not have")
        gap, square = shift, _ONE
        for j in range(len(given)):
            gap += given[j] * (high[j] - low[j])
            square += given[j] * given[j]
        sign = np.float32(2 * class_ - 1) if class_ >= 0 else _ZERO
        odds[i] = gap * sign
        size = exp(odds[i]) + _ONE
        slope = sign / size
        square *= _TWO
        squares[i] = square * slope * slope
        norm = np.sqrt(square)
        part = sign * limit / (norm + little * size) if automatic else sign / max(size, norm * inverse)
        if square < np.inf and odds[i] == odds[i]:  # else the row is left out
            whole += part
            for j in range(len(given)):
                zero[j] += part * given[j]
    for j in range(len(zero)):
        one[j] = -zero[j]
    of_bias[0], of_bias[1] = whole, -whole
