"""Exponential mechanism with a distance as its utility (McSherry & Talwar 2007, Thm 6; over a metric space).

P(j | i) ∝ e^(−s·d(i, j)/2), d the distance in parts of the range, its root or its square: each has sensitivity 1. The
textbook takes s = ε, which is right for the worst table and spends less than ε on most: here s is calibrated until the
exact ε of the table is the share. With the distance itself that is the bounded Laplace mechanism. The root, the
default, separates a value from its neighbours better, and from ε = 2 on errs less on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import choice
from workbench.privacy.local.calibrate import calibrated
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism

POWERS = {"absolute": 1.0, "root": 0.5, "squared": 2.0}


@dataclass(frozen=True, kw_only=True)
class ExponentialParameters(LocalParameters):
    """Which distance an answer is judged by."""

    distance: str = choice(
        choices=tuple(POWERS), default="root", help="the distance that makes a value less likely, or a power of it"
    )


def exponential(parameters: ExponentialParameters, cells: Cells) -> MechanismTable:
    """Return the table calibrated to ``parameters.epsilon``."""
    base, power = cells.base(), POWERS[parameters.distance]

    def weights(nominal: float, rows: slice) -> NDArray[np.float64]:
        return base * np.exp(-nominal / 2 * cells.distances(rows) ** power)

    return calibrated(weights, parameters.epsilon, guess=1.5 * capped(parameters.epsilon), inputs=cells.total)


EXPONENTIAL = Mechanism(
    name="exponential",
    title="exponential mechanism",
    summary="Reports a value less often the farther it is from the true one, by the root of the distance.",
    parameters=ExponentialParameters,
    recipe=exponential,
    line_only=True,
)
