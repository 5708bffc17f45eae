"""Model inversion (Fredrikson et al. 2014): a secret is inferred from a model, all other columns and the target.

The attacker asks the model for every value that the secret can have, and says the one under which the target that she
knows is likeliest, weighed by how common the value is. The naive attacker says what is most common. How common values
are she knows from all people together, those who were used and those who were not, so that two of them can change
places and the bound of :mod:`workbench.risk.attacks.bound` holds with the replace-one figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.params import InputError, ParameterError, Parameters, integer, text
from workbench.risk.attacks.base import OpenedModel, Subject
from workbench.risk.attacks.membership import People, likelihood, require_prediction
from workbench.risk.attacks.outcome import Outcome, Rate, bounded
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

NAME = "inversion"
_PARTS = 10
_LEAST_ERROR = 1e-6


@dataclass(frozen=True, kw_only=True)
class Inversion(Parameters):
    """What is inferred."""

    secret: str | None = text(
        default=None, longest=1000, symbol="c", help="the column to infer (default: the last one that the model reads)"
    )
    attacks: int = integer(default=2000, at_least=10, upto=100_000, symbol="N", help="number of people to attack")
    seed: int = integer(default=0, at_least=0, upto=2**63 - 1, help="seed of the sample of people", advanced=True)


def run(subject: Subject, request: Inversion, emit: Emit, cancel: CancelToken) -> Outcome:
    """Infer a column of people who were used, and of people who were not."""
    model = subject.model
    assert model is not None
    require_prediction(model.card, model.task)
    people = People.read(model, subject.tables["members"], subject.tables["nonmembers"])
    if people.X.ndim != 2:
        raise InputError("the model reads images, and no pixel is a secret", hint="use the membership attack instead")
    place, secret = _secret(model, request.secret)
    truth, values = _parts(secret, people.X[:, place])
    known = truth >= 0
    usual = np.bincount(truth[known], minlength=len(values)) + 1.0
    rng, guesses = np.random.default_rng(request.seed), np.zeros(len(truth), dtype=np.int64)
    chosen = [rng.permutation(np.flatnonzero(side))[: request.attacks] for side in _sides(people, known)]
    asked = np.concatenate(chosen)
    guesses[asked] = _inverted(model, people, asked, place, values, np.log(usual), emit, cancel)
    right = guesses == truth
    main, control = (Rate.counted(int(right[rows].sum()), len(rows)) for rows in chosen)
    naive = truth[chosen[0]] == usual.argmax()
    return Outcome(
        attack=NAME,
        main=main,
        naive=Rate.counted(int(naive.sum()), len(naive)),
        control=control,
        guarantee=subject.guarantee,
        allowed=bounded(subject.guarantee, control),
        figures={"secret": secret.name, "values": len(values), "attacks": len(chosen[0])},
    )


def _sides(people: People, known: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    member = np.arange(len(known)) < people.members
    return known & member, known & ~member


def _secret(model: OpenedModel, name: str | None) -> tuple[int, Attribute]:
    """Return the column that is inferred, and where it is."""
    names = [a.name for a in model.attributes]
    if name is not None and name not in names:
        raise ParameterError(
            f"the model reads no column {name!r}", hint=f"choose one of {', '.join(names)}", field="secret"
        )
    place = len(names) - 1 if name is None else names.index(name)
    return place, model.attributes[place]


def _parts(secret: Attribute, column: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the code of each person's value, −1 where it is missing, and the value that each code asks about.

    A number is guessed as one of ten equal parts of its declared range.
    """
    if not secret.numeric:
        count = len(secret.values())
        return np.where(column < count, column, -1).astype(np.int64), np.arange(count, dtype=np.float64)
    lower, upper = secret.bounds()
    width = (upper - lower) / _PARTS
    part = np.clip((np.nan_to_num(column, nan=lower) - lower) / width, 0, _PARTS - 1).astype(np.int64)
    middles = np.asarray(lower + width * (np.arange(_PARTS) + 0.5), dtype=np.float64)
    return np.where(np.isnan(column), -1, part).astype(np.int64), middles


def _inverted(
    model: OpenedModel,
    people: People,
    asked: NDArray[np.int64],
    place: int,
    values: NDArray[np.float64],
    usual: NDArray[np.float64],
    emit: Emit,
    cancel: CancelToken,
) -> NDArray[np.int64]:
    """Return the likeliest code of some people's secret."""
    X, y = people.X[asked].copy(), people.y[asked]
    fits = np.empty((len(values), len(asked)))
    chances = False
    for code, value in enumerate(values):
        cancel.check()
        emit(Progress(code, len(values), "values of the secret"))
        X[:, place] = value
        fits[code], chances = likelihood(model.model, model.target, X, y)
    if not chances:  # errors as they usually are, of Laplace's distribution
        own: NDArray[Any] = likelihood(model.model, model.target, people.X, people.y)[0]
        fits /= max(float(-own.mean()), _LEAST_ERROR)
    return np.asarray((fits + usual[:, None]).argmax(axis=0), dtype=np.int64)
