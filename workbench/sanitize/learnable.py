"""Whether a model can learn a target from the columns of a plan: asked before a row is read or anything is charged."""

from __future__ import annotations

from workbench.learners import Learner
from workbench.params import ParameterError
from workbench.sanitize.plan import Plan


def require_learnable(chosen: Learner, plan: Plan, target: str) -> None:
    """Check that a learner can predict ``target`` from the columns that ``plan`` does not drop; reads no row.

    Raises:
        ParameterError: no column is left, the target is not what the learner predicts, or it cannot use a column.
    """
    features = [column.facts() for column in plan.columns if column.action != "drop" and column.name != target]
    if not features:
        raise ParameterError("the plan leaves no column to learn from", hint="protect at least one besides the target")
    chosen.require(features, plan.column(target).facts())
