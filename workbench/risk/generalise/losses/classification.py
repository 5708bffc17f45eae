"""Classification: how many rows a vote within each class predicts wrongly (Iyengar 2002)."""

from __future__ import annotations

import numpy as np

from workbench.params import ParameterError
from workbench.risk.generalise.losses.base import Loss, Outcome, no_floor
from workbench.risk.generalise.problem import Groups, Problem, Sensitive, Truths


def _target(problem: Problem) -> Sensitive:
    if problem.target is None:
        raise ParameterError("the loss classification predicts a column, and none is named", "target", "name one")
    return problem.target


def _right(problem: Problem, groups: Groups, judged: Truths) -> int:
    """Return how many rows of the ``judged`` classes have the most frequent target of their class."""
    votes = problem.histograms(groups, _target(problem), judged, lambda counts: counts.max(axis=1).astype(np.int64))
    return int(votes.sum())


def _of(outcome: Outcome) -> float:
    return 1 - _right(outcome.problem, outcome.groups, outcome.kept) / outcome.problem.rows


def _least(problem: Problem, groups: Groups) -> float:
    return 1 - _right(problem, groups, groups.occupied) / problem.rows


CLASSIFICATION = Loss(
    name="classification",
    title="classification",
    help="the share of rows that a vote within their class predicts wrongly; a suppressed row counts as wrong",
    of=_of,
    least=_least,
    floor=no_floor,
    needs="target",
)
