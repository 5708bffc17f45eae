"""What learners share that make new columns: what is public of these, and how the rows behind them are given."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import PrivateEstimator, checked_classes, checked_numbers
from workbench.learners.tasks import EMPTY

Doubles = NDArray[np.float64]

_STEPS = 1024


class ColumnsModel(Protocol):
    """A fitted model that makes new columns of a row."""

    @property
    def attributes_after(self) -> tuple[Attribute, ...]:
        """The public facts about the new columns: they follow from declared facts and released numbers."""
        ...

    def transform(self, X: ArrayLike) -> Doubles:
        """Return the new columns of each row (n, k); a row's are the same whatever rows stand beside it."""
        ...

    def to_plain(self) -> dict[str, Any]:
        """Return the model as JSON holds it."""
        ...


class Transformer(PrivateEstimator):
    """The part of the scikit-learn protocol that is the same for learners that make new columns.

    Attributes:
        model_: what ``fit`` released.
    """

    model_: ColumnsModel

    @property
    def attributes_after(self) -> tuple[Attribute, ...]:
        """The public facts about the new columns."""
        return self.model_.attributes_after

    def transform(self, X: ArrayLike) -> Doubles:
        """Return the new columns of each row (n, k)."""
        return self.model_.transform(X)

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the new columns of each row (n, k)."""
        return self.transform(X)

    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""
        return self.model_.to_plain()

    @abstractmethod
    def numbers(self, rows: int) -> int:
        """Return how many whole numbers a fit releases."""


def filled_rows(y: ArrayLike, target: Attribute) -> NDArray[np.bool_]:
    """Return which rows are not empty (n,): those with a value of the target, which is used for nothing else.

    Raises:
        InputError: y is not what the target's declaration says; the message names the row.
    """
    filled: NDArray[np.bool_] = (
        ~np.isnan(checked_numbers(y, target)) if target.numeric else checked_classes(y, target) != EMPTY
    )
    return filled


def outward(lower: float, upper: float) -> tuple[float, float]:
    """Return bounds that hold ``lower`` and ``upper`` with room for the last bit of a sum, in steps of 1/1024."""
    return math.floor(lower * _STEPS - 0.5) / _STEPS, math.ceil(upper * _STEPS + 0.5) / _STEPS
