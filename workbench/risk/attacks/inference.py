"""Attribute inference: a person's secret is predicted from known columns (Giomi et al. 2023).

The attacker looks for the released row that is nearest to what is known, and says its secret. The naive attacker always
says what is most common in the release. A number is right within a tolerance. Whether the guess is right depends on the
release and her own values alone, so that the bound of :mod:`workbench.risk.attacks.bound` holds with the replace-one
figures. Where a secret was drawn by chance, independently of everything else (a planted coin), the chance of somebody
who never saw her row is known, and needs no control set: the bound then holds with the zero-out figures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError, Parameters, declared_by, real, text, texts
from workbench.risk.attacks.base import CHANCE, PEOPLE, SEED, Subject
from workbench.risk.attacks.common_columns import Matrix, common_columns, require
from workbench.risk.attacks.neighbours import nearest
from workbench.risk.attacks.outcome import Outcome, Rate, bounded
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

_FEW = 20  # up to so many different numbers of a secret, a guess has to name the very one


@dataclass(frozen=True, kw_only=True)
class Inference(Parameters):
    """How a secret is inferred."""

    secret: str | None = text(
        default=None,
        longest=1000,
        title="secret column",
        empty="the last column",
        help="the column to guess (default: the last one)",
    )
    known: tuple[str, ...] | None = texts(
        default=None,
        shortest=1,
        title="known columns",
        empty="all others",
        help="columns that the attacker knows (default: all others)",
    )
    attacks: int = declared_by(PEOPLE, default=2000)
    tolerance: float = real(
        default=0.05,
        at_least=0,
        upto=1,
        title="tolerance",
        help="a numeric guess counts as right within this share of the true value",
        advanced=True,
    )
    chance: float | None = declared_by(CHANCE, default=None)
    seed: int = declared_by(SEED, default=0)


def columns_of(names: tuple[str, ...], secret: str | None, known: tuple[str, ...] | None) -> tuple[str, list[str]]:
    """Return the secret and what is known: the last column and all others, where nobody says so.

    Raises:
        ParameterError: the secret is known, or nothing is, or everything.
    """
    chosen = secret or next((name for name in reversed(names) if name not in (known or ())), None)
    if chosen is None:
        raise ParameterError("every column is known, so none is secret", hint="name other columns", field="known")
    others = list(known or [name for name in names if name != chosen])
    if chosen in others or not others:
        raise ParameterError(f"the secret column {chosen!r} cannot be known", hint="name other columns", field="known")
    return chosen, others


def run(subject: Subject, request: Inference, emit: Emit, cancel: CancelToken) -> Outcome:
    """Run the attack on a released table."""
    tables = subject.attacked()
    require(tables, request.known, request.secret)
    shared = common_columns(tables)
    secret, known = columns_of(shared.names, request.secret, request.known)
    place, rng = shared.place(secret), np.random.default_rng(request.seed)
    released = shared.tables[0]
    # Of all people, so that one who was released and one who was not can change places.
    few = len(np.unique(np.concatenate([people[:, place] for people in shared.tables[1:]]))) <= _FEW
    tolerance = request.tolerance if shared.numeric[place] and not few else 0.0

    def guessed(people: Matrix) -> tuple[Rate, NDArray[np.float64]]:
        chosen = people[rng.permutation(len(people))[: request.attacks]]
        row = nearest(shared, shared.places(known), chosen, released, cancel)
        right = _right(released[row, place], chosen[:, place], tolerance)
        return Rate.counted(int(right.sum()), len(chosen)), chosen[:, place]

    emit(Progress(0, 2, "people"))
    main, truth = guessed(shared.tables[1])
    emit(Progress(1, 2, "people"))
    base = guessed(shared.tables[2])[0] if len(shared.tables) > 2 else None
    usual = _commonest(released[:, place], tolerance)
    chance = None if request.chance is None else Rate.known(request.chance)
    return Outcome(
        attack="inference",
        main=main,
        naive=Rate.counted(int(_right(np.full(len(truth), usual), truth, tolerance).sum()), len(truth)),
        control=base,
        guarantee=subject.guarantee,
        allowed=bounded(subject.guarantee, base, chance),
        base=chance,
        figures={"attacks": main.of, "secret": secret, "known": known},
    )


def _right(guesses: Matrix, truth: Matrix, tolerance: float) -> NDArray[np.bool_]:
    both: NDArray[np.bool_] = np.isnan(guesses) & np.isnan(truth)
    return both | (np.abs(guesses - truth) <= tolerance * np.abs(truth))


def _commonest(values: Matrix, tolerance: float) -> float:
    """Return the guess that is right for most of ``values``."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return float("nan")
    options = np.unique(known)
    reach = tolerance * np.abs(options)
    right = np.searchsorted(known, options + reach, "right") - np.searchsorted(known, options - reach, "left")
    return float(options[right.argmax()])
