"""Train/test splits, and a model's predictions, scores, centres or reconstructions of held-out rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import Classifier
from workbench.learners.encoding import Encoding, grid_of
from workbench.params import InputError, counted

HELD_OUT = 0.2


def seed_of(*parts: object) -> int:
    """Return a 128-bit seed that belongs to these parts alone.

    It does not depend on the position of a task in a list, so that a longer list repeats a shorter one's draws.
    """
    text = "|".join(f"{type(part).__name__}:{part!r}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def stratified_split(classes: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (training rows, held-out rows), each class divided 80/20 at random.

    The held-out fifth of all rows is shared over the classes by largest remainder, so that its size is exact and
    each class is within one row of its fifth.

    Raises:
        InputError: there are too few rows to hold any out and train on the rest.
    """
    rows = len(classes)
    codes, sizes = np.unique(classes, return_counts=True)
    held, generator = held_out_sizes(sizes, seed)
    out = np.sort(
        np.concatenate(
            [generator.permutation(np.flatnonzero(classes == c))[:k] for c, k in zip(codes, held, strict=True)]
        )
    )
    training = np.ones(rows, dtype=bool)
    training[out] = False
    return np.flatnonzero(training), out


def held_out_sizes(sizes: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], np.random.Generator]:
    """Return how many rows of each class :func:`stratified_split` holds out, and what draws which ones.

    Raises:
        InputError: there are too few rows to hold any out and train on the rest.
    """
    rows = int(sizes.sum())
    total = round(rows * HELD_OUT)
    if not 1 <= total < rows:
        raise InputError(
            f"{counted(rows, 'row')}: too few to hold a fifth of them out", hint="use a table of 5 rows or more"
        )
    generator = np.random.Generator(np.random.PCG64(seed))
    quota = sizes * (total / rows)
    held = np.floor(quota).astype(np.int64)
    # A random order among equal remainders: otherwise the first class would always give the odd row.
    shuffled = generator.permutation(len(sizes))
    by_remainder = shuffled[np.argsort(-(quota - held)[shuffled], kind="stable")]
    held[by_remainder[: total - held.sum()]] += 1
    return held, generator


Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows and what a model says about them; n ≥ 1."""

    truth: NDArray[Any]  # what was to be predicted (n,)
    predicted: NDArray[Any]  # the model's answers (n,)
    # How much each class is favoured (n, k), higher is more; `None` of a model that gives no scores.
    scores: Doubles | None = None
    # Squared distance of each row to the nearest centre (n,), where the declared range of a column is 1; `None` of a
    # model that has no centres.
    distances: Doubles | None = None
    # The encoded rows (n, D), in half-ranges, and those that the model makes of its answers (n, D); `None` of a model
    # that makes none.
    rebuilt: tuple[Doubles, Doubles] | None = None
    numeric: tuple[int, ...] = ()  # the indices of the columns of X that are numbers

    @classmethod
    def ask(
        cls, model: Any, attributes: Sequence[Attribute], classes: int, X: NDArray[np.float64], truth: NDArray[Any]
    ) -> Self:
        """Ask a fitted model about held-out rows.

        Args:
            model: anything with scikit-learn's ``predict``; scores come from ``predict_proba`` or
                ``decision_function``, centres from ``cluster_centers_``, in the units of X, and rebuilt rows from
                ``rebuild`` of its answers.
            attributes: the columns of X.
            classes: number of declared classes; 0 where classes are not what is predicted.
            X: the rows (n, d).
            truth: what is to be predicted in them (n,).
        """
        scores = scores_of(model, classes, X) if classes else None
        by_score = getattr(type(getattr(model, "model_", model)), "predict", None) is Classifier.predict
        said = scores.argmax(axis=1) if scores is not None and by_score else np.asarray(model.predict(X))
        return cls(
            truth,
            said,
            scores,
            distances_of(model, attributes, X),
            reconstructions_of(model, attributes, X, said),
            tuple(j for j, attribute in enumerate(attributes) if attribute.numeric),
        )


def scores_of(model: Any, classes: int, X: NDArray[np.float64]) -> Doubles | None:
    """Return the score of every declared class (n, k), or ``None`` where the model gives none.

    A class that did not occur among the training rows has no column in the model: its score is the lowest there is.
    """
    asked = getattr(model, "predict_proba", None) or getattr(model, "decision_function", None)
    if asked is None:
        return None
    given = np.asarray(asked(X), dtype=np.float64)
    if given.ndim == 1:  # a decision function of two classes: how much the second is favoured
        given = np.column_stack([-given, given])
    known = np.asarray(getattr(model, "classes_", np.arange(given.shape[1]))).astype(np.int64)
    if np.isnan(given).any() or given.shape[1] != len(known):
        return None
    scores = np.full((len(X), classes), -np.inf)
    scores[:, known] = given
    return scores


def distances_of(model: Any, attributes: Sequence[Attribute], X: NDArray[np.float64]) -> Doubles | None:
    """Return the squared distance of each row to the nearest centre (n,), or ``None`` without centres.

    Numbers are clamped to their bounds and divided by the declared range, so that the figure does not depend on units.
    Categories lie on no line and a missing number lies nowhere: neither counts.
    """
    centres = getattr(model, "cluster_centers_", None)
    numeric = [j for j, attribute in enumerate(attributes) if attribute.numeric]
    if centres is None or not numeric:
        return None
    lower, upper = np.array([attributes[j].bounds() for j in numeric], dtype=np.float64).T
    rows, middles = (
        (np.clip(np.asarray(part, dtype=np.float64)[:, numeric], lower, upper) - lower) / (upper - lower)
        for part in (X, centres)
    )
    nearest = np.full(len(rows), np.inf)
    for middle in middles:  # one centre at a time: all at once would need rows × centres × columns of memory
        nearest = np.minimum(nearest, np.nansum((rows - middle) ** 2, axis=1))
    return nearest


def reconstructions_of(
    model: Any, attributes: Sequence[Attribute], X: NDArray[np.float64], said: NDArray[Any]
) -> tuple[Doubles, Doubles] | None:
    """Return the encoded rows (n, D) and those made of a model's answers, or ``None`` where it makes none."""
    rebuild = getattr(model, "rebuild", None)
    if rebuild is None:
        return None
    size = grid_of(1)
    return Encoding(tuple(attributes)).encode(X, size) / size, np.asarray(rebuild(said))
