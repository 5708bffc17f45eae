"""Hybrid of Piecewise and Duchi for means (Wang et al. 2019, sec. 3.3): the least largest variance of the three.

With probability α = 1 − e^(−ε/2) the piecewise mechanism answers, otherwise Duchi's; up to ε* = 0.6094 only Duchi's.
The largest variance on [−1, 1] is that of Duchi's up to ε*, and beyond it
(s + 3)/(3s(s − 1)) + (e^ε + 1)²/(s(e^ε − 1)²) with s = e^(ε/2), the same for every x. Duchi's two answers
±(e^ε + 1)/(e^ε − 1) lie inside the piecewise mechanism's [−C, C]; on the grid, which covers that range
(:mod:`workbench.privacy.local.mechanisms.piecewise`), each is shared by its two nearest cells so that its mean is
exact. The parts are tables of exactly ε, in integers, and so is their sum.
"""

from __future__ import annotations

import math

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism
from workbench.privacy.local.mechanisms.duchi import duchi
from workbench.privacy.local.mechanisms.piecewise import farthest, piece
from workbench.privacy.local.sampler import TOTAL
from workbench.privacy.local.sliding_window import places, spread_to, width_of, window_weights

_ROOTS = sum((6353 + sign * 405 * math.sqrt(241)) ** (1 / 3) for sign in (1, -1))
DUCHI_UPTO = math.log((2 * _ROOTS - 5) / 27)  # ε*, 0.6094 (Wang et al. 2019, eq. 8).


def part_of_piecewise(epsilon: float) -> float:
    """Return α: the probability that the piecewise mechanism answers."""
    return 0.0 if epsilon <= DUCHI_UPTO else -math.expm1(-epsilon / 2)


def hybrid(parameters: LocalParameters, cells: Cells) -> MechanismTable:
    """Return the table on the grid's own cells."""
    epsilon = capped(parameters.epsilon)
    part = part_of_piecewise(epsilon)
    if part == 0.0 or cells.size == 2:  # of two cells both mechanisms are randomised response
        return duchi(parameters, cells)
    at, missing = places(cells), cells.missing
    of_piecewise = int(part * TOTAL)
    width = width_of(piece(epsilon), cells.size)
    weights = window_weights(at, cells.size, width, epsilon, missing=missing, total=of_piecewise)
    for share, low in _answers(epsilon, cells.size, TOTAL - of_piecewise):
        if share:
            ends = window_weights(at, 2, 1, epsilon, missing=missing, total=share)
            columns = (low, cells.size - 1 - low, *((cells.size,) if missing else ()))
            weights = weights + spread_to(ends, columns, cells.total)
    return MechanismTable(weights, claim=epsilon)


def _answers(epsilon: float, size: int, total: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return Duchi's lower answer on the grid as two cells, each with its share of ``total``."""
    reach = 1 / math.tanh(epsilon / 2) / farthest(epsilon)  # of the grid's half range
    place = (1 - reach) * (size - 1) / 2
    low = min(math.floor(place), size // 2 - 1)
    inner = int((place - low) * total) if 2 * (low + 1) < size - 1 else 0  # both answers have cells of their own
    # A part too small to have weights of its own would be refused: it goes to its neighbour.
    inner = 0 if inner < total >> 20 else total if total - inner < total >> 20 else inner
    return (total - inner, low), (inner, low + 1)


HYBRID = Mechanism(
    name="hybrid",
    title="hybrid mechanism",
    summary="Uses the piecewise mechanism or Duchi's at random: the least noise in a mean, whatever the values are.",
    recipe=hybrid,
    line_only=True,
)
