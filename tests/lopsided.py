"""A mechanism over names whose table is not symmetric: a later answer of the list is likelier than an earlier one."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.privacy.local import mechanisms
from workbench.privacy.local.calibrate import calibrated
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable
from workbench.privacy.local.mechanisms.base import LocalParameters, Mechanism


@dataclass(frozen=True, kw_only=True)
class LopsidedParameters(LocalParameters):
    """It has no parameter but ε."""


def lopsided(parameters: LopsidedParameters, cells: Cells) -> MechanismTable:
    """Return the table P(j | i) ∝ (1 + 3j/t)·e^(s·[i = j]), calibrated to ``parameters.epsilon``."""
    liking = 1 + 3 * np.arange(cells.total) / cells.total

    def weights(nominal: float, rows: slice) -> NDArray[np.float64]:
        return liking * np.exp(nominal * np.eye(cells.total)[rows])

    return calibrated(weights, parameters.epsilon, guess=parameters.epsilon, inputs=cells.total)


TOY = Mechanism(
    name="toy",
    title="lopsided response",
    summary="Keeps the value or answers a later one of the list rather than an earlier one.",
    parameters=LopsidedParameters,
    recipe=lopsided,
)


def register(patch: pytest.MonkeyPatch) -> None:
    """Add the mechanism to the list, as a line in its file would."""
    patch.setattr(mechanisms, "MECHANISMS", (*mechanisms.MECHANISMS, TOY))
