"""Bounded staircase: one stair up around the value, one stair down elsewhere.

The staircase density with sensitivity Δ = U − L (Geng & Viswanath 2014, eq. 9) has its first stair at distance
γΔ and its second at Δ, the whole interval; kept to the interval it is 1 within γΔ of the value and e^(−s) beyond.
Redrawing into the interval changes the normalisers, so the nominal s is *not* the true ε: that is
s + ln(2 − e^(−s/2)), and 1 becomes 1.3318. The table is calibrated on the true one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import choice
from workbench.privacy.local.calibrate import calibrated
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism


@dataclass(frozen=True, kw_only=True)
class StaircaseParameters(LocalParameters):
    """The width of the stair is named by what it minimises for the unbounded noise."""

    minimise: str = choice(
        choices=("absolute", "variance"),
        default="absolute",
        help="what the width of the step minimises: E|noise| or E noise²",
    )


def _cube_root(x: float) -> float:
    return float(np.cbrt(x))


def gamma_absolute(epsilon: float) -> float:
    """Return the γ that minimises the expected absolute noise: 1/(1 + e^(ε/2)) (Geng & Viswanath 2014, Thm 3)."""
    return 1 / (1 + math.exp(epsilon / 2))


def gamma_variance(epsilon: float) -> float:
    """Return the γ that minimises the variance of the noise (Geng & Viswanath 2014, Thm 4), b = e^(−ε).

    γ = −b/(1−b) + (b − 2b² + 2b⁴ − b⁵)^(1/3) / (2^(1/3)·(1−b)²).
    """
    b = math.exp(-epsilon)
    return -b / (1 - b) + _cube_root(b - 2 * b**2 + 2 * b**4 - b**5) / (_cube_root(2.0) * (1 - b) ** 2)


def nominal_epsilon(target: float) -> float:
    """Return the nominal ε whose bounded staircase has true ε ``target``: −2 ln s, s = (−1+√(1+8e^ε))/(2e^ε)."""
    # Written with e^(−ε/2) so that large ε does not overflow.
    root = math.sqrt(math.exp(-2 * target) + 8 * math.exp(-target))
    return -2 * math.log((-math.exp(-target) + root) / 2)


def staircase(parameters: StaircaseParameters, cells: Cells) -> MechanismTable:
    """Return the table calibrated to ``parameters.epsilon``."""
    nominal = nominal_epsilon(capped(parameters.epsilon))
    gamma = gamma_absolute(nominal) if parameters.minimise == "absolute" else gamma_variance(nominal)
    base = cells.base()
    # The width is fixed before the calibration: ε is then continuous in the height of the stair. The comparison
    # allows for rounding in the distances; at least the own cell is on the upper stair.
    width = max(gamma, 1e-9) * (1 - 1e-12)

    def weights(height: float, rows: slice) -> NDArray[np.float64]:
        return base * np.where(cells.distances(rows) < width, 1.0, math.exp(-height))

    return calibrated(weights, parameters.epsilon, guess=nominal, inputs=cells.total)


STAIRCASE = Mechanism(
    name="staircase",
    title="bounded staircase",
    summary="Reports values within a fixed distance of the true one often, all others within the bounds rarely.",
    parameters=StaircaseParameters,
    recipe=staircase,
    line_only=True,
)
