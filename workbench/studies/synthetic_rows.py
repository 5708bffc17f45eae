"""Synthetic rows in a study: drawn from noisy counts of the training rows, with seeded noise that releases nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.accounting.event import exact
from workbench.privacy.entropy import SeededEntropy
from workbench.sanitize.plan import Column
from workbench.synth import Synthesiser
from workbench.synth.base import Setting
from workbench.synth.columns import coded_cells
from workbench.synth.needs import require_bounded
from workbench.synth.setting import setting_for
from workbench.synth.synthesis import cost_of_synthesis, require_payable, synthesised
from workbench.work.noise import Study


def setting_of(columns: Sequence[Column], rows: int, epsilon: float) -> Setting:
    """Return the public facts of a synthesis of ``rows`` rows; the last column is the target."""
    return setting_for([column.facts() for column in columns], len(columns) - 1, rows, exact(epsilon))


def require_possible(columns: Sequence[Column], method: Synthesiser, rows: int, epsilon: float) -> None:
    """Refuse, before any work, tables that are too large or an ε that is too small to be divided.

    Raises:
        ParameterError: one of both.
    """
    setting = setting_of(columns, rows, epsilon)
    require_bounded(setting, method)
    require_payable(method, setting)


def synthetic_cells(
    columns: Sequence[Column], cells: NDArray[np.uint32], method: Synthesiser, epsilon: float, seed: int
) -> NDArray[np.uint32]:
    """Return as many synthetic rows as there are rows, as cells of the public grids.

    Args:
        columns: the columns, the target last.
        cells: (n, d) cells of the rows.
        method: the way.
        epsilon: ε of one row's whole record.
        seed: of noise and sampling.

    Returns:
        (n, d) cells.
    """
    setting = setting_of(columns, len(cells), epsilon)
    noise, drawn = np.random.SeedSequence(seed).spawn(2)
    entropy = SeededEntropy(drawn)
    made = synthesised(
        method,
        setting,
        coded_cells(setting.columns, cells),
        len(cells),
        Study(np.random.Generator(np.random.PCG64(noise)), entropy).ask(cost_of_synthesis(method, setting)),
    )
    return np.column_stack([column.draw(made.codes[:, j], entropy) for j, column in enumerate(setting.columns)])
