"""Calibration of a recipe: find the parameter at which its *exact* ε reaches the share from below."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.local.mechanism_table import MechanismTable, blocks, capped, integer_rows

Recipe = Callable[[float, slice], NDArray[np.float64]]
"""Unnormalised positive weights for a nominal parameter, the rows of some inputs; the exact ε increases with it."""

_STEPS = 60
_CLOSE = 1e-9


def _float_epsilon(recipe: Recipe, nominal: float, inputs: int) -> float:
    """Return ε of a recipe's rows in doubles: a guide for the bisection, never a figure that is shown."""
    high, low = np.zeros(1), np.full(1, np.inf)
    for block in blocks(inputs, inputs):
        rows = recipe(nominal, block)
        rows = rows / rows.sum(axis=1, keepdims=True)
        high, low = np.maximum(high, rows.max(axis=0)), np.minimum(low, rows.min(axis=0))
    return float(np.log(np.max(high / low)))


def _integers(recipe: Recipe, nominal: float, inputs: int) -> NDArray[np.uint64]:
    """Return the table of ``nominal`` in integers, made row by row: at no time are there two tables."""
    out: NDArray[np.uint64] | None = None
    for block in blocks(inputs, inputs):
        rows = integer_rows(recipe(nominal, block))
        if out is None:
            out = np.empty((inputs, rows.shape[1]), dtype=np.uint64)
        out[block] = rows
    assert out is not None
    return out


def calibrated(recipe: Recipe, epsilon: float, guess: float, inputs: int) -> MechanismTable:
    """Return the table of ``recipe`` whose exact ε is at most ``epsilon`` and at least 0.98 of it.

    Args:
        recipe: the mechanism's weights for a nominal parameter.
        epsilon: the share, > 0; above 30 the table for 30 is returned.
        guess: a nominal parameter near the answer.
        inputs: m, the number of rows.

    Raises:
        ParameterError: no parameter meets the share.
    """
    target = capped(epsilon)

    def loss(nominal: float) -> float:
        return _float_epsilon(recipe, nominal, inputs)

    nominal = _bisected(loss, target * (1 - _CLOSE), guess)
    slack = _CLOSE
    while slack < 0.02:
        weights = _integers(recipe, nominal, inputs)
        try:
            table = MechanismTable(weights, claim=target)
        except ParameterError:
            # Rounding to integers raised ε above the share: step back and try again.
            slack *= 8
            nominal = _bisected(loss, target * (1 - slack), nominal)
            continue
        if table.exact_epsilon >= 0.98 * target:
            return table
        break
    raise ParameterError(f"no table of this mechanism has epsilon near {epsilon:g}", hint="choose another mechanism")


def _bisected(loss_of: Callable[[float], float], target: float, guess: float) -> float:
    """Return a nominal parameter whose ε is in [target·(1−1e-9), target], by bracketing and bisection."""
    low, high = 0.0, max(guess, target * 1e-3)
    loss_low, loss_high = 0.0, loss_of(high)
    for _ in range(_STEPS):
        if loss_high > target:
            break
        low, loss_low = high, loss_high
        high *= 1.5
        loss_high = loss_of(high)
    else:
        raise ParameterError(f"this mechanism cannot reach epsilon = {target:g}")
    for step in range(_STEPS):
        if target * (1 - _CLOSE) <= loss_low:
            break
        # Regula falsi on alternate steps: large tables then need a handful of evaluations, not sixty.
        fraction = (target * (1 - _CLOSE / 2) - loss_low) / (loss_high - loss_low) if step % 3 else 0.5
        middle = low + (high - low) * min(max(fraction, 1e-12), 1 - 1e-12)
        loss = loss_of(middle)
        if loss > target:
            high, loss_high = middle, loss
        else:
            low, loss_low = middle, loss
        if math.nextafter(low, high) >= high:
            break
    return low
