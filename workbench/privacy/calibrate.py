"""Calibration of a recipe: the parameter at which its *exact* ε is the share, from below."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.table import MechanismTable, integer_rows, served

Recipe = Callable[[float], NDArray[np.float64]]
"""Unnormalised positive weights (m, k) for a nominal parameter; the exact ε increases with it."""

_STEPS = 60
_CLOSE = 1e-9


def float_epsilon(rows: NDArray[np.float64]) -> float:
    """Return ε of unnormalised rows in doubles: the guide of the bisection, never the figure that is shown."""
    rows = rows / rows.sum(axis=1, keepdims=True)
    return float(np.log(np.max(rows.max(axis=0) / rows.min(axis=0))))


def calibrated(recipe: Recipe, epsilon: float, guess: float) -> MechanismTable:
    """Return the table of ``recipe`` whose exact ε is at most ``epsilon`` and at least 0.98 of it.

    Args:
        recipe: the mechanism's weights for a nominal parameter.
        epsilon: the share, > 0; above 30 the table for 30 is returned.
        guess: a nominal parameter near the answer.

    Raises:
        ParameterError: no parameter meets the share.
    """
    target = served(epsilon)
    nominal = _bisected(recipe, target * (1 - _CLOSE), guess)
    slack = _CLOSE
    while slack < 0.02:
        weights = integer_rows(recipe(nominal))
        try:
            table = MechanismTable(weights, claim=target)
        except ParameterError:
            # Rounding to integers carried ε over the share: step back and look again.
            slack *= 8
            nominal = _bisected(recipe, target * (1 - slack), nominal)
            continue
        if table.exact_epsilon >= 0.98 * target:
            return table
        break
    raise ParameterError(f"no table of this mechanism has epsilon near {epsilon:g}", mend="choose another mechanism")


def _bisected(recipe: Recipe, target: float, guess: float) -> float:
    """Return a nominal parameter whose ε is in [target·(1−1e-9), target], by bracketing and bisection."""
    low, high = 0.0, max(guess, target * 1e-3)
    loss_low, loss_high = 0.0, float_epsilon(recipe(high))
    for _ in range(_STEPS):
        if loss_high > target:
            break
        low, loss_low = high, loss_high
        high *= 1.5
        loss_high = float_epsilon(recipe(high))
    else:
        raise ParameterError(f"this mechanism cannot reach epsilon = {target:g}")
    for step in range(_STEPS):
        if target * (1 - _CLOSE) <= loss_low:
            break
        # Regula falsi on alternate steps: large tables then need a handful of evaluations, not sixty.
        fraction = (target * (1 - _CLOSE / 2) - loss_low) / (loss_high - loss_low) if step % 3 else 0.5
        middle = low + (high - low) * min(max(fraction, 1e-12), 1 - 1e-12)
        loss = float_epsilon(recipe(middle))
        if loss > target:
            high, loss_high = middle, loss
        else:
            low, loss_low = middle, loss
        if math.nextafter(low, high) >= high:
            break
    return low
