"""Membership inference on a training regime, which is trained on one half of the rows.

The other half are people of whom it is known that they were not used, whom a model of all rows does not have. It is
private, as every study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.learners import Learner, learner
from workbench.params import InputError, Parameters, counted
from workbench.privacy.accounting.event import replace_one
from workbench.risk.attacks.base import OpenedModel
from workbench.risk.attacks.bound import Guarantee
from workbench.risk.attacks.membership import (
    Membership,
    People,
    filled_rows,
    likelihood,
    outcome_of,
    require_prediction,
    retrain,
    separations,
    shadows_of,
)
from workbench.risk.attacks.outcome import Outcome, Rate
from workbench.risk.membership import LEAST, Likelihood, Seen
from workbench.signals import NEVER, CancelToken, Emit, Event, Progress, ignore
from workbench.studies.curve import CurvePlan
from workbench.studies.regimes import Fit, Regime, StudyData, trained

WITHOUT = "It is trained without privacy: no ε bounds what an attacker learns."
EACH = "Its ε is per prediction, and the attacker requests many."

Fits = Callable[[NDArray[np.int64], np.random.Generator], tuple[Likelihood, bool]]
"""Trains on some of the rows; returns how well it fits all of them, and whether that is the logarithm of a chance."""


@dataclass(frozen=True, eq=False)
class WayOfTraining:
    """A way of training that can be repeated."""

    people: People  # the rows, of which the first half are used
    fits: Fits  # trains on some of them
    guarantee: Guarantee  # what its ε promises
    seed: int = 0  # of the training and of the attack

    def attacked(self, emit: Emit = ignore, cancel: CancelToken = NEVER) -> Outcome:
        """Train it on the first half of the rows, and guess in every way which half a row is in."""
        request, members = Membership(seed=self.seed), self.people.members
        found, chances = self.fits(np.arange(members), np.random.default_rng([request.seed, 1]))
        shadows = shadows_of(self.people, lambda *given: self.fits(*given)[0], request, emit, cancel)
        guesses = separations(Seen(found, chances, shadows), members, self.guarantee, request.seed)
        return outcome_of(guesses, self.guarantee)


REPEATS = 5  # halves of the rows on which a way of training is attacked: another half is another model


@dataclass(frozen=True, eq=False)
class Repeated:
    """What attacks on one way of training found, each on another half of the rows: ``outcomes`` has at least one."""

    outcomes: tuple[Outcome, ...]

    @property
    def each(self) -> tuple[Mapping[str, Any], ...]:
        """The figures that each attack has of the membership attack that finds most on average."""
        by_guess = zip(*(outcome.figures["guesses"] for outcome in self.outcomes), strict=True)
        return max(by_guess, key=lambda found: sum(one["auc"] for one in found))

    @property
    def auc(self) -> Rate:
        """The area under the curve, a mean with the means of the ends: 95 % or more, as the attacks are not alike.

        Each interval allows for all ways to guess. The error of a mean is no larger than the mean of the errors.
        """
        value, low, high = (
            sum(one[key] for one in self.each) / len(self.outcomes) for key in ("auc", "auc_low", "auc_high")
        )
        return Rate(value, low, high)


def repeated(way: Callable[[int], WayOfTraining], emit: Emit = ignore, cancel: CancelToken = NEVER) -> Repeated:
    """Attack a way of training, which ``way`` returns by its seed, on :data:`REPEATS` halves of the rows."""

    def of_all(event: Event) -> None:
        if isinstance(event, Progress):
            event = replace(event, done=len(found) * event.total + event.done, total=REPEATS * event.total)
        emit(event)

    found: list[Outcome] = []
    for seed in range(REPEATS):
        found.append(way(seed).attacked(of_all, cancel))
    return Repeated(tuple(found))


def of_study(plan: CurvePlan, regime: Regime, epsilon: float, data: StudyData, seed: int = 0) -> WayOfTraining:
    """Return a way of training of a study at one ε; ``seed`` is that of the half that it is trained on.

    Raises:
        InputError: there are too few rows, or the model has no predictions that can be right or wrong.
    """
    model = learner(plan.model)
    require_prediction({"model": model.name}, model.task)
    if len(data.y) < 2 * LEAST:
        raise InputError(
            f"the table has {counted(len(data.y), 'row')}, and {2 * LEAST} are needed", hint="use more rows"
        )
    order = np.random.default_rng([seed, 2]).permutation(len(data.y))
    rows = StudyData(data.columns, data.target, data.X[order], data.y[order], data.cells[order])
    fit = Fit(regime, None if regime.kind == "none" else epsilon, 0)
    parameters = plan.parameters(epsilon, regime)

    def fits(used: NDArray[np.int64], generator: np.random.Generator) -> tuple[Likelihood, bool]:
        estimator, _, _ = trained(fit, rows, model, parameters, used, seed=int(generator.integers(2**62)))
        return likelihood(estimator, rows.target, rows.X, rows.y)

    return WayOfTraining(People(rows.X, rows.y, len(order) // 2), fits, _promise(fit, model, parameters), seed)


def of_model(model: OpenedModel, table: Table, guarantee: Guarantee, seed: int = 0) -> WayOfTraining:
    """Return how a released learner was trained, on rows of a table that it can read.

    Raises:
        InputError: there are too few rows, a column is missing, or it cannot be trained again with the same ε.
    """
    require_prediction(model.card, model.task)
    X, y = filled_rows(model, table, 2 * LEAST)
    order = np.random.default_rng([seed, 2]).permutation(len(y))
    people = People(X[order], y[order], len(y) // 2)
    again = retrain(model, people, CancelToken())
    if again is None or "queries" not in model.card["training"]:
        what = "only a learner that was trained on rows can be retrained on half of them"
        raise InputError(what, hint="attack this model in Released, Attack, with rows that were held out")
    chances = likelihood(model.model, model.target, people.X[:1], people.y[:1])[1]
    return WayOfTraining(people, lambda used, generator: (again(used, generator), chances), guarantee, seed)


def _promise(fit: Fit, model: Learner, parameters: Parameters) -> Guarantee:
    if fit.epsilon is None:
        return Guarantee(why_not=WITHOUT)
    if fit.regime.on_a_table:  # each row is randomised by itself
        return Guarantee(fit.epsilon, 0.0, (fit.epsilon, 0.0))
    private = fit.regime.kind == "private"
    delta = float(getattr(parameters, "delta", None) or 0.0) if private else 0.0
    replaced = replace_one(fit.epsilon, delta)
    return Guarantee(fit.epsilon, delta, replaced, EACH if private and model.each_prediction else "")
