"""Cost and resources of a training, computed before a row is read, for window and command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from workbench.learners import Learner
from workbench.params import ParameterError, Parameters, counted, paid
from workbench.release.delta_limit import require_small_cost
from workbench.release.model.release_learner import columns_of, fit_cost, outside, require_small_fit, unfitted
from workbench.sanitize.learner_advice import require_learnable
from workbench.sanitize.plan import Plan
from workbench.work.work import amount_of

if TYPE_CHECKING:
    from workbench.deep.features import Features


@dataclass(frozen=True)
class Preflight:
    """What is known of a training before a row is read; all of it is public."""

    epsilon: Decimal  # what a person with all her rows is charged
    delta: Decimal
    warnings: tuple[str, ...]  # sentences on what is odd about it, or not covered by ε
    sigma: float | None = None  # noise multiplier; `None` of a model that is no network
    sample_rate: float | None = None  # expected share of the rows in a batch
    steps: int | None = None  # steps that will be run
    steps_asked: int | None = None  # steps of all epochs; more than `steps` where the cap ends the run
    memory: int | None = None  # predicted peak in bytes of the run itself
    libraries: int = 0  # bytes on top of the process that trains, before it begins: of Python and of PyTorch
    free: int | None = None  # bytes that the system can still give
    predictions: int | None = None  # how many predictions are paid for, where ε is of each; else `None`
    epsilon_each: Decimal = Decimal(0)  # ε of each of them, for one row
    rows_per_person: int = 1
    weights: str = ""  # SHA-256 of the public weights of a frozen part; empty where there are none

    @property
    def made_of(self) -> str:
        """How the cost comes about, such as ``12 predictions × ε 0.5 = 6``; empty where it is of the whole model."""
        if self.predictions is None:
            return ""
        people = "" if self.rows_per_person == 1 else f" × {counted(self.rows_per_person, 'row')} per person"
        return f"{counted(self.predictions, 'prediction')} × ε {paid(self.epsilon_each)}{people} = {paid(self.epsilon)}"

    @property
    def fits(self) -> bool:
        """Whether the predicted memory is there."""
        return self.memory is None or self.free is None or self.memory + self.libraries <= self.free


def preflight(chosen: Learner | None, parameters: Parameters, plan: Plan, target: str | None, rows: int) -> Preflight:
    """Return what the training of a model on ``rows`` rows would cost and need.

    Raises:
        ParameterError: δ is not below 1/rows, the plan leaves nothing to learn from, or the target is not what the
            model predicts.
    """
    warnings = outside(*columns_of(plan, target))
    if chosen is None:
        features = network_features(plan, target)
        return network_preflight(parameters, features, rows, plan.rows_per_person, warnings)
    require_learnable(chosen, plan, target)
    estimator = unfitted(chosen, parameters, plan, target)
    cost = fit_cost(estimator, plan, rows)
    require_small_fit(estimator, cost, plan, rows)
    found = Preflight(cost.epsilon, cost.delta, warnings, rows_per_person=plan.rows_per_person)
    if not chosen.each_prediction:
        return found
    each = estimator.events(rows)
    return replace(found, predictions=len(each), epsilon_each=amount_of(each[0]))


def network_features(plan: Plan, target: str | None) -> Features:
    """Return the public map from the rows of ``plan`` to the inputs of a network.

    Raises:
        ParameterError: the plan joins two tables, or a column of it is still to be declared.
    """
    from workbench.deep.features import Features

    if plan.join is not None:
        what = "networks cannot be trained on joined tables, and this plan joins two"
        raise ParameterError(what, "join", "train a learner (`workbench fit`), or plan one table", code="join-network")
    inputs, goal = columns_of(plan, target)
    return Features(tuple(c.facts() for c in inputs), goal.facts())


def network_preflight(
    parameters: Parameters, features: Features, rows: int, rows_per_person: int = 1, warnings: tuple[str, ...] = ()
) -> Preflight:
    """Return what the training of a network on ``rows`` rows, read through ``features``, would cost and need.

    Raises:
        ParameterError: δ is not below 1/rows, or the network does not read such rows.
    """
    import psutil

    from workbench.deep.memory import LIBRARIES, PROCESS, predict
    from workbench.deep.plan import DpSgdPlan

    if not isinstance(parameters, DpSgdPlan):
        raise ParameterError("a network needs the parameters of DP-SGD", hint="choose a learner for others")
    schedule = parameters.schedule(rows, rows_per_person)
    cost = schedule.cost()
    require_small_cost(cost, rows, rows_per_person=rows_per_person)
    memory = predict(parameters, features, rows)
    return Preflight(
        cost.epsilon,
        cost.delta,
        warnings,
        sigma=schedule.event.noise_multiplier,
        sample_rate=schedule.batch / schedule.rows,
        steps=schedule.steps,
        steps_asked=schedule.steps_asked,
        memory=memory.peak + memory.of_others(parameters.processes),
        libraries=parameters.processes * (PROCESS + LIBRARIES),
        free=int(psutil.virtual_memory().available),
        rows_per_person=rows_per_person,
        weights=str(parameters.architecture.facts().get("weights_sha256", "")),
    )
