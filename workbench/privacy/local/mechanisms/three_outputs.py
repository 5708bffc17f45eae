"""Three-Outputs for means: an answer is one of the bounds or the middle (Zhao et al. 2021, sec. IV, "Three-Outputs").

J. Zhao, Y. Zhao, M. Yang, T. Wang, N. Wang, L. Lyu, D. Niyato, K.-Y. Lam, "Local differential privacy-based federated
learning for internet of things", IEEE Internet of Things Journal 8(11). On [−1, 1] the middle is answered with
probability t(1 − |x|(1 − e^(−ε))), and the difference of the chances of the bounds is x/C with
C = (e^ε + 1)/((e^ε − 1)(1 − te^(−ε))): Var = C²(1 − t + t(1 − e^(−ε))|x|) − x². t = 0 is Duchi's mechanism, which it is
up to ε = ln 2; from ln 5.53 on t = e^ε/(e^ε + 2), the most that ε allows; between them the t of the least largest
variance. Values near the middle have less noise than by Duchi's at any such ε, and for ε about 2 nearly all have.

Both ends are sliding windows of one cell (:mod:`workbench.privacy.local.sliding_window`) over three outputs and over
two, and a t between them is a sum of the two tables. What leaves are the bounds and the middle cell; an estimate knows
C from the table.
"""

from __future__ import annotations

import math

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism
from workbench.privacy.local.mechanisms.duchi import duchi, ends
from workbench.privacy.local.sampler import TOTAL
from workbench.privacy.local.sliding_window import places, spread_to, window_weights

DUCHI_UPTO, MOST_FROM = math.log(2), math.log(5.53)
_LEAST = 2.0**-20  # a part that is smaller, or that leaves less, could not have weights of its own


def chance_of_middle(epsilon: float) -> float:
    """Return t, the probability that the middle value is answered by itself (Zhao et al. 2021, eq. 18)."""
    if epsilon <= DUCHI_UPTO:
        return 0.0
    e = math.exp(epsilon)
    if epsilon >= MOST_FROM:
        return e / (e + 2)
    zeroth = e**4 + 14 * e**3 + 50 * e**2 - 2 * e + 25
    first = -2 * e**6 - 42 * e**5 - 270 * e**4 - 404 * e**3 - 918 * e**2 + 30 * e - 250
    angle = math.pi / 3 + math.acos(-first / (2 * zeroth**1.5)) / 3
    return (e**2 + 4 * e + 5 - 2 * math.sqrt(zeroth) * math.cos(angle)) / 6


def three_outputs(parameters: LocalParameters, cells: Cells) -> MechanismTable:
    """Return the table, of which only the columns of the bounds, the middle (and of a missing value) are used."""
    epsilon = capped(parameters.epsilon)
    part = min(chance_of_middle(epsilon) * (1 + 2 * math.exp(-epsilon)), 1.0)
    part = 0.0 if part < _LEAST else 1.0 if part > 1 - _LEAST else part
    if part == 0.0 or cells.size == 2:
        return duchi(parameters, cells)
    at, missing = places(cells), cells.missing
    outer = ends(cells)
    of_three = TOTAL if part == 1.0 else int(part * TOTAL)
    weights = spread_to(
        window_weights(at, 3, 1, epsilon, missing=missing, total=of_three),
        (outer[0], cells.size // 2, *outer[1:]),
        cells.total,
    )
    if of_three < TOTAL:
        of_two = window_weights(at, 2, 1, epsilon, missing=missing, total=TOTAL - of_three)
        weights = weights + spread_to(of_two, outer, cells.total)
    return MechanismTable(weights, claim=epsilon)


THREE_OUTPUTS = Mechanism(
    name="three-outputs",
    title="three outputs",
    summary="Reports one of the two bounds or the middle: little noise in a mean at ε around 2, for most values.",
    recipe=three_outputs,
    line_only=True,
)
