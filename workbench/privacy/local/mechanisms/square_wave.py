"""Square Wave, made for distributions (Li, Wang, Lopuhaä-Zwakenberg, Škorić & Li 2020, sec. 4).

For x on [0, 1] an answer from [−b, 1 + b] within b of x is likelier by a factor of e^ε than any other. The b that
maximises the mutual information is (εe^ε − e^ε + 1)/(2e^ε(e^ε − 1 − ε)). Answers beyond the declared bounds could not
be released on the column's grid, so what is released is (t + b)/(1 + 2b) between the bounds, which loses nothing. In
the cells of the grid that is a sliding window (:mod:`workbench.privacy.local.sliding_window`) of 2b/(1 + 2b) of them,
rounded to whole cells.
"""

from __future__ import annotations

import math

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism
from workbench.privacy.local.sliding_window import places, width_of, window_weights

_SMALL = 1e-3


def half_wave(epsilon: float) -> float:
    """Return b = (εe^ε − e^ε + 1)/(2e^ε(e^ε − 1 − ε)), which tends to 1/2 as ε → 0."""
    if epsilon < _SMALL:
        return 0.5 - epsilon / 3  # the quotient loses all digits; the next term is of the order ε²
    shrunk = math.exp(-epsilon)  # the same, multiplied by e^(−2ε): no overflow
    return (epsilon - 1 + shrunk) * shrunk / (2 * (1 - shrunk * (1 + epsilon)))


def square_wave(parameters: LocalParameters, cells: Cells) -> MechanismTable:
    """Return the table on the grid's own cells."""
    epsilon = capped(parameters.epsilon)
    wave = 2 * half_wave(epsilon)
    width = width_of(wave / (1 + wave), cells.size)
    return MechanismTable(
        window_weights(places(cells), cells.size, width, epsilon, missing=cells.missing), claim=epsilon
    )


SQUARE_WAVE = Mechanism(
    name="square-wave",
    title="square wave",
    summary="Reports values in a window around the true one more often; designed for the shape of a distribution.",
    recipe=square_wave,
    line_only=True,
)
