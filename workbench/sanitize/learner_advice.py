"""Whether a model can learn a target from the columns of a plan, and which of those that can is advised.

Both are asked before a row is read or anything is charged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench import learners
from workbench.data.schema import Attribute
from workbench.learners import Learner
from workbench.learners.tasks import NO_TARGET
from workbench.params import ParameterError
from workbench.sanitize.plan import Plan

ADVICE = (
    (
        "logistic-regression",
        0.0,
        "no private classifier was clearly better on three public tables, at ε from 0.1 to 10",
    ),
    ("boosted-trees", 0.3, "on four public tables it was the most accurate private regression model at nearly every ε"),
    (
        "forest-regression",
        0.0,
        "at so small an ε, its accuracy on public tables varied least among the regression models",
    ),
    ("kmeans", 0.0, "each of its groups is described by one typical row"),
)
"""Name, least ε and reason, the first choice first: what ``tests/benchmarks/results`` found of those that predict."""


@dataclass(frozen=True)
class SuitableLearners:
    """The learners that can be trained on a table, and the others."""

    # Those that predict the target, the advised one first, those that pay for each prediction last.
    predicting: tuple[Learner, ...] = ()
    others: tuple[Learner, ...] = ()  # those that do without it: groups of rows, and columns for another model
    advised: str = ""  # the name of the advised one; empty where nothing fits
    why: str = ""  # why, in a sentence
    unfit: tuple[Learner, ...] = ()  # those that cannot be trained; what each `needs` is the reason

    @property
    def fit(self) -> tuple[Learner, ...]:
        """All that can be trained, in the order of a list."""
        return (*self.predicting, *self.others)


def require_learnable(chosen: Learner, plan: Plan, target: str | None) -> None:
    """Check that a learner can predict ``target`` from the columns that ``plan`` does not drop; reads no row.

    Without a target it learns from all of them, if it predicts nothing.

    Raises:
        ParameterError: no column is left, the target is not what the learner predicts, or it cannot use a column.
    """
    _check(chosen, *_facts(plan, target))


def can_learn(plan: Plan, target: str | None) -> Callable[[Learner], bool]:
    """Return whether :func:`require_learnable` has nothing against a learner, as a function of the learner."""
    facts = _facts(plan, target)  # once, not for each of the learners

    def fits(chosen: Learner) -> bool:
        try:
            _check(chosen, *facts)
        except ParameterError:
            return False
        return True

    return fits


def _facts(plan: Plan, target: str | None) -> tuple[list[Attribute], Attribute]:
    left = [column.facts() for column in plan.columns if column.action != "drop" and column.name != target]
    return left, NO_TARGET if target is None else plan.column(target).facts()


def _check(chosen: Learner, features: list[Attribute], target: Attribute) -> None:
    if not features:
        raise ParameterError("the plan leaves no column to learn from", hint="protect at least one besides the target")
    chosen.require(features, target)


def suitable_learners(epsilon: float, fits: Callable[[Learner], bool]) -> SuitableLearners:
    """Return the learners that fit, the one advised at ``epsilon``, and those that do not fit."""
    found = [entry for entry in learners.LEARNERS if fits(entry)]
    unfit = tuple(entry for entry in learners.LEARNERS if entry not in found)
    predicting = [entry for entry in found if entry.predicts]
    others = tuple(entry for entry in found if entry not in predicting)
    names = [entry.name for entry in predicting or others if not entry.each_prediction]
    advised, why = next(
        ((name, reason) for name, least, reason in ADVICE if name in names and epsilon >= least),
        (names[0] if names else "", ""),
    )
    predicting.sort(key=lambda entry: (entry.name != advised, entry.each_prediction))
    title = next((entry.title for entry in found if entry.name == advised), "")
    stated = f"{title} is recommended: {why}." if why else ""
    return SuitableLearners(tuple(predicting), others, advised, stated, unfit)
