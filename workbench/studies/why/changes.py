"""Changes to a private model that may improve its accuracy, and how each alters the training rows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.studies.why.rows import Rows

ATTRIBUTES, BOUNDS = "attributes", "bounds"

_TIGHT = (0.02, 0.98)
_WORTH_TIGHTENING = 0.9
_PARTS = 16
_TARGET_PARTS = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Training(Rows):
    """The rows that a private model is trained with."""

    epsilon: float  # ε of the model
    columns: tuple[int, ...]  # which columns of the table those of X are, so that held-out rows are cut alike


@dataclass(frozen=True)
class Change:
    """One thing that a person could change."""

    name: str  # one word, for files
    title: str  # what is changed, as the beginning of a sentence
    how: str  # what is done in the study to find out, in a sentence
    # Returns the changed training, or `None` where there is nothing to change.
    make: Callable[[Training], Training | None]
    absent: str = ""  # why there is nothing to change, in a sentence


def training_of(rows: Rows, chosen: NDArray[np.int64], epsilon: float) -> Training:
    """Return the unchanged training with some rows of a table."""
    columns = tuple(range(len(rows.attributes)))
    facts = rows.attributes, rows.target
    return Training(*facts, rows.X[chosen], rows.y[chosen], rows.generated, epsilon=epsilon, columns=columns)


def _twice_the_rows(training: Training) -> Training:
    return dataclasses.replace(
        training, X=np.concatenate([training.X, training.X]), y=np.concatenate([training.y, training.y])
    )


def _half_of_the_attributes(training: Training) -> Training | None:
    width = len(training.attributes)
    if width < 2:
        return None
    goal = _parts_of(training.target, training.y.astype(np.float64), _TARGET_PARTS)
    stated = [_shared(_parts_of(a, x, _PARTS), goal) for a, x in zip(training.attributes, training.X.T, strict=True)]
    kept = sorted(sorted(range(width), key=lambda j: -stated[j])[: math.ceil(width / 2)])
    return dataclasses.replace(
        training,
        attributes=tuple(training.attributes[j] for j in kept),
        X=training.X[:, kept],
        columns=tuple(training.columns[j] for j in kept),
    )


def _tighter_bounds(training: Training) -> Training | None:
    attributes = tuple(_tightened(a, x) for a, x in zip(training.attributes, training.X.T, strict=True))
    target = _tightened(training.target, training.y) if training.target.numeric else training.target
    if (attributes, target) == (training.attributes, training.target):
        return None
    return dataclasses.replace(training, attributes=attributes, target=target)


def _tightened(attribute: Attribute, values: NDArray[Any]) -> Attribute:
    """Return the attribute with bounds that leave out 2 % of ``values`` at each end, where that is much tighter."""
    if not attribute.numeric or not np.isfinite(values).any():
        return attribute
    lower, upper = attribute.bounds()
    low, high = (float(q) for q in np.quantile(values[np.isfinite(values)], _TIGHT))
    if attribute.kind != "real":
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, lower), min(high, upper)
    if not low < high or high - low > _WORTH_TIGHTENING * (upper - lower):
        return attribute
    return dataclasses.replace(attribute, lower=low, upper=high, cells=None)


def _parts_of(attribute: Attribute, values: NDArray[Any], parts: int) -> NDArray[np.int64]:
    """Return a small code of each value (n,): its part of the declared range, or of the values that occur."""
    if not attribute.numeric:
        return values.astype(np.int64)
    lower, upper = attribute.bounds()
    known = np.isfinite(values)
    place = np.clip((np.where(known, values, lower) - lower) / (upper - lower), 0, 1)
    # By rank among the values that occur: most of a declared range is often empty.
    borders = np.quantile(place[known], np.linspace(0, 1, parts + 1)[1:-1]) if known.any() else np.zeros(0)
    return np.where(known, np.searchsorted(borders, place, side="right"), parts)


def _shared(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return the mutual information of two codes (n,) less what as many cells share by chance, in nats."""
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1.0)
    rows = len(one)
    beside = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / rows
    there = table > 0
    stated = float((table[there] * np.log(table[there] / beside[there])).sum()) / rows
    # Miller & Madow (1955): the bias of the estimate.
    degrees = (np.count_nonzero(table.sum(axis=1)) - 1) * (np.count_nonzero(table.sum(axis=0)) - 1)
    return stated - degrees / (2 * rows)


CHANGES: tuple[Change, ...] = (
    Change(
        "epsilon",
        "Twice the ε",
        "The same model at twice the ε.",
        lambda training: dataclasses.replace(training, epsilon=2 * training.epsilon),
    ),
    Change(
        "rows",
        "Twice the rows",
        "Each training row is used twice, so the same noise is spread over twice as many rows.",
        _twice_the_rows,
    ),
    Change(
        ATTRIBUTES,
        "Half of the attributes",
        "Only the half of the attributes most related to the target, selected on the private rows.",
        _half_of_the_attributes,
        "Fewer attributes were not tried: there is only one, or the model always uses all.",
    ),
    Change(
        BOUNDS,
        "Tighter bounds",
        "Numeric bounds that cut off 2 % of the training rows at each end, computed from the private rows.",
        _tighter_bounds,
        "Tighter bounds were not tried: the declared bounds are already tight, or the model uses none.",
    ),
)
"""What the study tries, one entry each; each is tried alone."""
