"""Discernibility: how many rows each row looks like; a suppressed row looks like all (Bayardo and Agrawal 2005)."""

from __future__ import annotations

import numpy as np

from workbench.risk.generalise.losses.base import Lattice, Loss, Outcome, most_classes
from workbench.risk.generalise.problem import Groups, Problem


def _of(outcome: Outcome) -> float:
    return float(np.square(outcome.sizes.astype(np.float64)).sum()) + float(outcome.suppressed) * outcome.problem.rows


def _least(problem: Problem, groups: Groups) -> float:
    return float(np.square(groups.sizes.astype(np.float64)).sum())


def _floor(problem: Problem) -> Lattice:
    # The squares of sizes that add up to n are least where all are equal.
    return float(problem.rows) ** 2 / most_classes(problem)


DISCERNIBILITY = Loss(
    name="discernibility",
    title="discernibility",
    help="the sum over rows of how many rows are like it; a suppressed row counts as like all",
    of=_of,
    least=_least,
    floor=_floor,
)
