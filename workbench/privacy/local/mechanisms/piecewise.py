"""Piecewise mechanism for means (Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu 2019, Algorithm 2).

On [−1, 1] with s = e^(ε/2) and C = (s + 1)/(s − 1) an answer t from [−C, C] is likely, by a factor of e^ε, in a piece
of length C − 1 whose middle is x·(C + 1)/2; E[t] = x and Var = x²/(s − 1) + (s + 3)/(3(s − 1)²). Answers beyond the
declared bounds could not be released on the column's grid, so what is released is t/C between the bounds, which loses
nothing: an estimate multiplies by C, which it knows from the table. In the cells of the grid the piece is a sliding
window (:mod:`workbench.privacy.local.sliding_window`) of 1/(1 + s) of them, rounded to whole cells.
"""

from __future__ import annotations

import math

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism
from workbench.privacy.local.sliding_window import places, width_of, window_weights


def farthest(epsilon: float) -> float:
    """Return C = (e^(ε/2) + 1)/(e^(ε/2) − 1), the largest answer for values on [−1, 1]."""
    return 1 / math.tanh(epsilon / 4)


def piece(epsilon: float) -> float:
    """Return the part of all answers that are likely: (C − 1)/(2C) = 1/(1 + e^(ε/2))."""
    return 1 / (1 + math.exp(epsilon / 2))


def piecewise(parameters: LocalParameters, cells: Cells) -> MechanismTable:
    """Return the table on the grid's own cells."""
    epsilon = capped(parameters.epsilon)
    width = width_of(piece(epsilon), cells.size)
    return MechanismTable(
        window_weights(places(cells), cells.size, width, epsilon, missing=cells.missing), claim=epsilon
    )


PIECEWISE = Mechanism(
    name="piecewise",
    title="piecewise mechanism",
    summary="Reports values in a wide window around the true one more often; designed for means.",
    recipe=piecewise,
    line_only=True,
)
