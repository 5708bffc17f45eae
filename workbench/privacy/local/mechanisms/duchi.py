"""Duchi's mechanism for means: every answer is one of the two bounds (Duchi, Jordan & Wainwright 2018, sec. 3.2).

For x on [−1, 1] the upper end is answered with probability 1/2 + x·(e^ε − 1)/(2(e^ε + 1)): x is rounded to an end
without bias, and the end goes through randomised response. In the paper the answers are ±(e^ε + 1)/(e^ε − 1), so that
their plain mean is unbiased. Those lie outside the declared bounds; here the bounds themselves are released, and an
estimate multiplies by that factor, which it knows from the table. The noise is the same:
Var = ((e^ε + 1)/(e^ε − 1))² − x².

The table has rank 2: it gives the mean as well as any mechanism can at small ε, and nothing else of the distribution.
A missing value is a third answer (randomised response over three).
"""

from __future__ import annotations

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism
from workbench.privacy.local.sliding_window import places, spread_to, window_weights


def ends(cells: Cells) -> tuple[int, ...]:
    """Return the cells that can be answered: the bounds, and the missing cell where there is one."""
    return (0, cells.size - 1, *((cells.size,) if cells.missing else ()))


def duchi(parameters: LocalParameters, cells: Cells) -> MechanismTable:
    """Return the table, of which only the columns of the two bounds (and of a missing value) are used."""
    epsilon = capped(parameters.epsilon)
    weights = window_weights(places(cells), 2, 1, epsilon, missing=cells.missing)
    return MechanismTable(spread_to(weights, ends(cells), cells.total), claim=epsilon)


DUCHI = Mechanism(
    name="duchi",
    title="Duchi mechanism",
    summary="Reports one of the two bounds: the least noise in a mean at small ε, but suitable for means only.",
    recipe=duchi,
    line_only=True,
)
