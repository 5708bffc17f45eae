"""The table with the least expected distance of all tables of ε, by a linear programme on small grids.

Minimise Σ_i Σ_j P_ij·|v_i − v_j| over all P with l_j ≤ P_ij ≤ e^ε·l_j in every column (Kairouz, Oh & Viswanath 2016;
Bordenabe, Chatzikokolakis & Palamidessi 2014 for distances). Written with L_j = e^ε·l_j and
P_ij = L_j/e^ε + (1 − e^(−ε))·F_ij, 0 ≤ F_ij ≤ L_j, it is well scaled for every ε, and whatever the solver's rounding,
P has at most ε. The solution is then put into integers like any other table: its exact ε is checked, not assumed.

Many of its columns are unused, and the chances of others are equal for several values: it is for single values near the
truth and has, as a rule, no unbiased estimator of anything.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.local.calibrate import calibrated
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism
from workbench.privacy.local.sliding_window import spread_to

MOST = 32  # most cells: the programme has a variable for each pair of them

_SOLVED_FROM, _SOLVED_UPTO = 1e-2, 12.0
"""Range of ε in which the programme is solved; outside it the solution at the near end is put to the share's ε."""

_UNUSED = 1e-7
_HARDLY = 2.0**-10


def _solution(cells: Cells, epsilon: float) -> tuple[tuple[int, ...], NDArray[np.float64], NDArray[np.float64]]:
    """Return the u columns that are used, L, (u,), and F, (m, u), over them; the rows of F have one sum."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, hstack, kron, vstack

    size, low = cells.total, math.exp(-epsilon)
    far = cells.distances()
    # Variables: L (k), F row by row (k·k), and κ, the sum of every row of F.
    cost = np.concatenate([low * far.sum(axis=0), (1 - low) * far.ravel(), [0.0]])
    below = hstack([kron(np.ones((size, 1)), -eye_array(size)), eye_array(size * size), coo_array((size * size, 1))])
    sums = hstack([coo_array((size, size)), kron(eye_array(size), np.ones((1, size))), -np.ones((size, 1))])
    whole = np.concatenate([np.full(size, low), np.zeros(size * size), [1 - low]])[None, :]
    made = linprog(
        cost / size,
        A_ub=below.tocsr(),
        b_ub=np.zeros(size * size),
        A_eq=vstack([sums, coo_array(whole)]).tocsr(),
        b_eq=np.append(np.zeros(size), 1.0),
        method="highs-ds",
    )
    if made.x is None:
        raise ParameterError(f"the linear programme of {size} cells has no solution at epsilon = {epsilon:g}")
    levels = np.maximum(made.x[:size], 0.0)
    above = np.clip(made.x[size:-1].reshape(size, size), 0.0, levels)
    if np.ptp(above, axis=0).max() <= _UNUSED:
        levels, above = _all_but_constant(int(np.argmin(far.sum(axis=0))), size)
    used = levels > _UNUSED
    above = above[:, used]
    return tuple(np.flatnonzero(used).tolist()), levels[used], above


def _all_but_constant(cell: int, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return L and F of answering ``cell`` nearly always, and else randomised response.

    At small ε one constant answer is the nearest to the values, and spends nothing. This is as near and has the share's
    own ε, which a release then says.
    """
    own = _HARDLY / size * np.eye(size)
    levels = np.full(size, _HARDLY / size)
    levels[cell] += 1 - _HARDLY
    own[:, cell] += 1 - _HARDLY
    return levels, own


def optimal(parameters: LocalParameters, cells: Cells) -> MechanismTable:
    """Return the table; columns that the programme does not use are never answered."""
    epsilon = capped(parameters.epsilon)
    used, levels, above = _solution(cells, min(max(epsilon, _SOLVED_FROM), _SOLVED_UPTO))

    def weights(nominal: float, rows: slice) -> NDArray[np.float64]:
        out: NDArray[np.float64] = levels * math.exp(-nominal) - math.expm1(-nominal) * above[rows]
        return out

    answered = calibrated(weights, epsilon, guess=epsilon, inputs=cells.total).weights
    return MechanismTable(spread_to(answered, used, cells.total), claim=epsilon)


OPTIMAL = Mechanism(
    name="optimal",
    title="optimal table",
    summary="Of all mechanisms, the one with the smallest expected error of a value; for at most 32 cells.",
    recipe=optimal,
    line_only=True,
    most_cells=MOST,
    solved=True,
)
