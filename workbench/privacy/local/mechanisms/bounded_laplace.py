"""Bounded (truncated) Laplace: the density of Laplace noise kept to the public interval.

P(j | i) ∝ e^(−s·|v_i − v_j| / (U − L)) over the cells. With the scale tied to the whole range, the nominal s is
the true ε on the line itself (the ratio is largest between the two ends, where the normalisers are equal); a
smaller "sensitivity" is not: 1 on [0, 10] at ε = 1 has true ε 1.490 (Holohan, Antonatos, Braghin & Mac Aonghusa
2020, Thm 3.5, for the central case). A missing value is one range away from every number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.local.calibrate import calibrated
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, capped
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism


def bounded_laplace(parameters: LocalParameters, cells: Cells) -> MechanismTable:
    """Return the table calibrated to ``parameters.epsilon``."""
    base = cells.base()

    def weights(nominal: float, rows: slice) -> NDArray[np.float64]:
        return base * np.exp(-nominal * cells.distances(rows))

    return calibrated(weights, parameters.epsilon, guess=capped(parameters.epsilon), inputs=cells.total)


BOUNDED_LAPLACE = Mechanism(
    name="bounded-laplace",
    title="bounded Laplace",
    summary="Reports values near the true one more often than distant ones, always within the bounds.",
    recipe=bounded_laplace,
    line_only=True,
)
