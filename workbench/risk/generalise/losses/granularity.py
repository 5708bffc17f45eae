"""Granularity: how many values a label may stand for, as a share of all values of its hierarchy (Iyengar 2002)."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.risk.generalise.losses.base import Loss, of_cells
from workbench.risk.generalise.problem import Problem, Reals


def _cells(problem: Problem) -> Sequence[Sequence[Reals]]:
    return problem.spread


GRANULARITY: Loss = of_cells(
    name="granularity",
    title="granularity",
    help="the share of all values that a published label may be, on average over cells: 0 to 1",
    cells=_cells,
)
