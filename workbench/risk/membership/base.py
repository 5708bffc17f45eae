"""What an attacker sees of a row who asks whether it was used, and what a way to guess is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workbench.risk.roc import Scores
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress, ignore

Likelihood = NDArray[np.float64]
"""How well something fits each row, (n,): ln of the chance that a model gives to the row's class, or minus a distance.

The better it fits, the likelier it is that the row was used."""

Retrain = Callable[[NDArray[np.int64], np.random.Generator], Likelihood]
"""Makes it again of some of the rows, with noise of a study, and says how well it then fits all of them."""


ENOUGH = 32
"""Shadows with a row, and without it, from which a spread of its own is better than one for all (Carlini et al.)."""


@dataclass(frozen=True, eq=False)
class Shadows:
    """The same made again of known halves of the rows.

    Attributes:
        used: which rows each of them was made of; shape (k, n).
        likelihood: how well it fits every row; shape (k, n).
    """

    used: NDArray[np.bool_]
    likelihood: NDArray[np.float64]

    def mean(self, values: NDArray[np.float64], used: bool) -> Likelihood:
        """Return the mean of ``values`` (k, n) of each row over the shadows that were made with it, or without."""
        here = self.used == used
        found: Likelihood = np.where(here, values, 0.0).sum(axis=0) / here.sum(axis=0)
        return found

    def spread(self, values: NDArray[np.float64], used: bool) -> NDArray[np.float64]:
        """Return the standard deviation of ``values`` about those means: of each row, or of all where they are few."""
        here = self.used == used
        squares = np.where(here, (values - self.mean(values, used)) ** 2, 0.0).sum(axis=0)
        left = here.sum(axis=0) - 1
        if left.min() + 1 < ENOUGH:
            return np.full(len(left), np.sqrt(squares.sum() / max(1, int(left.sum()))))
        found: NDArray[np.float64] = np.sqrt(squares / left)
        return found


@dataclass(frozen=True, eq=False)
class Seen:
    """What an attacker sees of the rows, of whom she does not know which were used.

    Attributes:
        likelihood: how well the released thing fits each row.
        chances: whether that is the logarithm of a probability.
        shadows: the same of others of its kind; ``None`` where none were made.
        others: how well the nearest of all other rows, used or not, fits each row; ``None`` where it is not known.
    """

    likelihood: Likelihood
    chances: bool = False
    shadows: Shadows | None = None
    others: Likelihood | None = None


@dataclass(frozen=True)
class Guess:
    """A way to guess membership.

    Attributes:
        score: returns a score of each row, higher where membership is likelier; it does not know who is a member.
        needs: which attribute of what is :class:`Seen` it needs beside the likelihood; empty for none.
    """

    name: str
    title: str
    about: str
    score: Callable[[Seen], Scores]
    needs: Literal["", "shadows", "others"] = ""

    def can(self, seen: Seen) -> bool:
        """Return whether all that it needs is seen."""
        return not self.needs or getattr(seen, self.needs) is not None


def cast_shadows(
    retrain: Retrain,
    rows: int,
    size: int,
    count: int,
    generator: np.random.Generator,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Shadows:
    """Make ``count`` shadows of ``size`` of the rows each; every row is left out about equally often."""
    left = rows - size
    turns = -(-count * left // rows)
    order = np.concatenate([generator.permutation(rows) for _ in range(turns)])[: count * left].reshape(count, left)
    used = np.ones((count, rows), dtype=bool)
    used[np.arange(count)[:, None], order] = False
    if used.all(axis=0).any() or not used.any(axis=0).all():
        raise ValueError(f"{count} shadows of {size} among {rows} rows are too few")
    found = np.empty((count, rows))
    for shadow in range(count):
        if cancel is not None:
            cancel.check()
        emit(Progress(shadow, count, "Shadow models"))
        found[shadow] = retrain(np.flatnonzero(used[shadow]), generator)
    emit(Progress(count, count, "Shadow models"))
    return Shadows(used, found)


def log_odds(likelihood: NDArray[np.float64], chances: bool) -> NDArray[np.float64]:
    """Return ln(p/(1 − p)) of probabilities, which is spread about like a normal; anything else as it is."""
    if not chances:
        return likelihood
    capped = np.clip(likelihood, -_SURE, -np.exp(-_SURE))
    odds: NDArray[np.float64] = capped - np.log(-np.expm1(capped))
    return odds


_SURE = 30.0
"""ln of the odds beyond which one probability is as good as certain: what double precision distinguishes from 1."""
