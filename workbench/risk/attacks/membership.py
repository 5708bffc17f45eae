"""Membership inference on a released model, from its predictions and shadow models trained as its card states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench import learners
from workbench.data.columns.grid import matrix
from workbench.data.columns.missing import with_codes
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.learners.tasks import CLASSIFICATION, REGRESSION, has_target, target_of, task
from workbench.params import InputError, Parameters, integer
from workbench.risk.attacks.base import OpenedModel, Subject
from workbench.risk.attacks.bound import Guarantee, most_of_coin
from workbench.risk.attacks.outcome import LEVEL, Outcome, Rate, percent
from workbench.risk.membership import (
    FALSE_SHARES,
    GUESSES,
    LEAST,
    Likelihood,
    Retrain,
    Seen,
    Separation,
    Shadows,
    allowed_by,
    cast_shadows,
    guess,
    separated,
)
from workbench.signals.cancel import NEVER, CancelToken, interruptible
from workbench.signals.events import Emit, ignore
from workbench.work.noise import Study

NAME = "membership"
_LEAST_CHANCE = 1e-13
_ROWS_LEFT_OUT = 2  # shadows that every row is left out of at least


@dataclass(frozen=True, kw_only=True)
class Membership(Parameters):
    """What an attacker does to find out who was used."""

    shadows: int = integer(
        default=16,
        at_least=0,
        upto=1024,
        title="shadow models",
        help="number of shadow models that the attacker trains; 0: none, which is fast but weaker",
    )
    seed: int = integer(
        default=0, at_least=0, upto=2**63 - 1, help="seed of the noise and the rows of the shadow models"
    )


@runtime_checkable
class _ReadsRows(Protocol):
    """A network, which reads its rows itself."""

    def inputs_of(self, table: Table) -> NDArray[Any]: ...


@dataclass(frozen=True, eq=False)
class People:
    """Members and others as a model reads them, members first: ``members`` says how many they are."""

    X: NDArray[Any]
    y: NDArray[Any]
    members: int

    @classmethod
    def read(cls, model: OpenedModel, members: Table, others: Table) -> People:
        """Read both tables; rows without anything to predict are left out.

        Raises:
            InputError: a column is missing, a cell does not fit what the card declares, or there are too few rows.
        """
        (X, y), (more_X, more_y) = (filled_rows(model, table, LEAST) for table in (members, others))
        return cls(np.concatenate([X, more_X]), np.concatenate([y, more_y]), len(y))


def filled_rows(model: OpenedModel, table: Table, least: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (X, y) of the rows of a table that have something to predict.

    Raises:
        InputError: a column is missing, a cell does not fit what the card declares, or there are fewer than ``least``.
    """
    table = with_codes(table, (*model.attributes, model.target))
    X = rows_of(model, table)
    y = target_of(table, model.target)
    filled = has_target(y)
    if filled.sum() < least:
        # Not how many: an attack that fails shows no figure of the rows.
        what = f"fewer than {least} of its rows have a {task(model.task).noun} to predict"
        raise InputError(what, table.source, "use more rows")
    return X[filled], y[filled]


def require_prediction(card: Mapping[str, Any], made: str) -> None:
    """Refuse the model of a card where it makes groups or columns: ``made`` is its task.

    Raises:
        InputError: it has no predictions that can be right or wrong.
    """
    if made not in (CLASSIFICATION, REGRESSION):
        what = f"the model {card['model']} has no predictions that can be right or wrong"
        raise InputError(what, hint="attack a model that predicts a column")


def rows_of(model: OpenedModel, table: Table) -> NDArray[Any]:
    """Return X of a table as the model takes it."""
    if isinstance(model.model, _ReadsRows):
        return model.model.inputs_of(table)
    table.require([a.name for a in (*model.attributes, model.target)])
    return matrix(table, model.attributes)


def likelihood(model: Any, target: Attribute, X: ArrayLike, y: NDArray[Any]) -> tuple[Likelihood, bool]:
    """Return how well a fitted model fits each row, and whether that is the logarithm of a chance.

    Of classes it is ln of the chance of the row's own; without chances, 0 where the class is right and −1 elsewhere. Of
    numbers it is minus the error, as a share of the declared range.
    """
    if target.numeric:
        lower, upper = target.bounds()
        error = np.clip(np.asarray(model.predict(X), dtype=np.float64), lower, upper) - y
        return -np.abs(error) / (upper - lower), False
    if not hasattr(model, "predict_proba"):
        return np.where(np.asarray(model.predict(X)) == y, 0.0, -1.0), False
    chances = np.asarray(model.predict_proba(X), dtype=np.float64)[np.arange(len(y)), y.astype(np.int64)]
    return np.log(np.maximum(chances, _LEAST_CHANCE)), True


def retrain(model: OpenedModel, people: People, cancel: CancelToken) -> Retrain | None:
    """Return what trains such a model again, with noise of a study; ``None`` where it was made of a release."""
    card, target = model.card, model.target
    if "made_from" in card:
        return None

    def fits(fitted: Any) -> Likelihood:
        return likelihood(fitted, target, people.X, people.y)[0]

    if "queries" not in card["training"]:
        from workbench.deep.accuracy_study import trained_again  # only a network needs what it loads

        def network(rows: NDArray[np.int64], generator: np.random.Generator) -> Likelihood:
            seed = int(generator.integers(2**32))
            return fits(trained_again(model.model, card, people.X[rows], people.y[rows], seed, cancel))

        return network
    chosen = learners.learner(card["model"])
    parameters = chosen.parameters.from_plain(card["parameters"])

    def learner(rows: NDArray[np.int64], generator: np.random.Generator) -> Likelihood:
        again = chosen.private(model.attributes, target, parameters, Study(generator))
        again.version = model.model.setting.version
        with interruptible(cancel):
            return fits(again.fit(people.X[rows], people.y[rows]))

    return learner


def run(subject: Subject, request: Membership, emit: Emit, cancel: CancelToken) -> Outcome:
    """Guess who was used to train a model, in every way there is."""
    model = subject.model
    assert model is not None
    require_prediction(model.card, model.task)
    people = People.read(model, subject.tables["members"], subject.tables["nonmembers"])
    again = retrain(model, people, cancel) if request.shadows else None
    guesses = infer(model, people, again, request, subject.guarantee, emit, cancel)
    return outcome_of(guesses, subject.guarantee, () if again or not request.shadows else (_NOT_AGAIN,))


_NOT_AGAIN = "The model was trained on a release, so no shadow models were trained."


def infer(
    model: OpenedModel,
    people: People,
    again: Retrain | None,
    request: Membership,
    guarantee: Guarantee,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> tuple[Separation, ...]:
    """Return what each membership attack finds."""
    found, chances = likelihood(model.model, model.target, people.X, people.y)
    shadows = None if again is None else shadows_of(people, again, request, emit, cancel)
    return separations(Seen(found, chances, shadows), people.members, guarantee, request.seed)


def shadows_of(
    people: People, again: Retrain, request: Membership, emit: Emit = ignore, cancel: CancelToken = NEVER
) -> Shadows:
    """Return as many models as are asked for, or as every row needs, each made again of as many rows as members."""
    rows, left = len(people.y), len(people.y) - people.members
    count = max(request.shadows, -(-_ROWS_LEFT_OUT * rows // left))
    return cast_shadows(again, rows, people.members, count, np.random.default_rng(request.seed), emit, cancel)


def separations(seen: Seen, members: int, guarantee: Guarantee, seed: int) -> tuple[Separation, ...]:
    """Return how well each membership attack finds that the first rows are members; all intervals hold together."""
    able = [way for way in GUESSES if way.can(seen)]
    guesses = []
    for way in able:
        scores = way.score(seen)
        alpha = (1 - LEVEL) / len(able)
        guesses.append(separated(way.name, scores[:members], scores[members:], guarantee, seed=seed, alpha=alpha))
    return tuple(guesses)


def outcome_of(
    guesses: tuple[Separation, ...],
    guarantee: Guarantee,
    notes: tuple[str, ...] = (),
    attack: str = NAME,
) -> Outcome:
    """Return the outcome of the membership attack that finds most: its intervals allow for having been chosen."""
    best = max(guesses, key=lambda found: found.auc.value)
    lower = max(guesses, key=lambda found: found.epsilon_lower)
    figures: Mapping[str, Any] = {
        **best.plain(),
        "epsilon_lower": lower.epsilon_lower,
        "epsilon_lower_replaced": lower.epsilon_lower_replaced,
        "confidence": LEVEL,
        "guesses": [found.plain() for found in guesses],
        "allowed_figures": allowed_by(guarantee),
    }
    return Outcome(
        attack=attack,
        main=best.right,
        naive=Rate.known(0.5),
        guarantee=guarantee,
        allowed=most_of_coin(*guarantee.replaced) if guarantee.holds else None,
        figures=figures,
        notes=(*_sentences(best, lower, guarantee), *notes),
        main_sentence=_found(best.right, of_model=attack == NAME),
        base=Rate.known(0.5),
    )


def _found(right: Rate, *, of_model: bool) -> str:
    value, half = percent(right.value), 50 * (right.high - right.low)
    if of_model:
        return (
            "An attacker who guesses whether a person was in the training data is right 50.0 % of the time; "
            f"with the model {value} ± {half:.1f} %."
        )
    return (
        "An attacker who guesses whether a person was in the data is right 50.0 % of the time; with the release "
        f"{value} ± {half:.1f} %."
    )


def _sentences(best: Separation, lower: Separation, guarantee: Guarantee) -> list[str]:
    """Return what a reader needs beside it: the best membership attack, its rates, and what follows for ε."""
    few, more = (percent(best.tpr[share].value) for share in FALSE_SHARES)
    said = [
        f"Of two people, one of whom was in the data, the best method ({guess(best.guess).title}) picks the "
        f"right one in {percent(best.auc.value)} of cases ({percent(best.auc.low)} to {percent(best.auc.high)}).",
        f"At a false positive rate of 0.1 % it identifies {few} of the people in the data, at 1 % {more}.",
    ]
    if lower.epsilon_lower:
        said.append(f"This is a lower bound on ε: at least {lower.epsilon_lower:.3g}, with 95 % confidence.")
    else:
        said.append("No lower bound on ε above 0 follows from this.")
    if guarantee.holds and guarantee.epsilon is not None:
        emptied = most_of_coin(guarantee.epsilon, guarantee.delta)
        said.append(
            f"The bound is for another person in her place; whether her row was there or left empty, "
            f"ε = {guarantee.epsilon:g} lets nobody guess better than {percent(emptied)}."
        )
    return said
