"""Average class size: rows per class; all suppressed rows count as one class (LeFevre 2006, without its factor k)."""

from __future__ import annotations

from workbench.risk.generalise.losses.base import Lattice, Loss, Outcome, most_classes, occupied
from workbench.risk.generalise.problem import Groups, Problem


def _of(outcome: Outcome) -> float:
    classes = len(outcome.sizes) + (outcome.suppressed > 0)
    return outcome.problem.rows / max(classes, 1)


def _least(problem: Problem, groups: Groups) -> float:
    return problem.rows / max(occupied(groups), 1)


def _floor(problem: Problem) -> Lattice:
    found: Lattice = problem.rows / most_classes(problem)
    return found


AVERAGE_CLASS_SIZE = Loss(
    name="class-size",
    title="average class size",
    help="the rows per class; all suppressed rows together count as one class",
    of=_of,
    least=_least,
    floor=_floor,
)
