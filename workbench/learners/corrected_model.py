"""Models trained on sanitised cells, and their files: public facts and figures, checked on reading.

A released table is public, and so is all that follows from it and its public tables: such a model is plain figures,
nothing is charged for it, and whoever has the release can compute it again.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import OWN_VALUE, Attribute
from workbench.learners.base import Fitted
from workbench.learners.checks import checked_schema, plain_part
from workbench.learners.public_tables import PublicTable, checked_answers_of
from workbench.learners.setting import columns_from_plain
from workbench.params import ParameterError

TRAINED_ON = "release"
"""What the key ``trained_on`` of such a model's file says; the file of a charged model has no such key."""

_HEAD = ("learner", "trained_on", "format", "rows", "attributes", "target")
_WHERE = "the model"
_MOST_WHOLE = 2**53


@dataclass(frozen=True)
class SanitisedFacts:
    """What is public about a fit to sanitised rows."""

    attributes: tuple[Attribute, ...]  # the public facts about the columns of X, in order
    target: Attribute  # the same of y; a row with nothing to predict is no class of its own
    rows: int  # number of sanitised rows

    @classmethod
    def of(cls, tables: Sequence[PublicTable], target: PublicTable, rows: int) -> Self:
        """Return the facts that the public tables state."""
        goal = target.attribute
        if goal.missing == OWN_VALUE:
            goal = dataclasses.replace(goal, missing="refuse")
        return cls(tuple(table.attribute for table in tables), goal, rows)

    def to_plain(self) -> dict[str, Any]:
        """Return them as JSON holds them."""
        attributes = [a.to_plain() for a in self.attributes]
        return {"rows": self.rows, "attributes": attributes, "target": self.target.to_plain()}


@dataclass(frozen=True, eq=False)
class CorrectedModel(ABC):
    """What was learned from sanitised cells: it predicts, and cannot be fitted again."""

    name: ClassVar[str]  # of the learner
    task: ClassVar[str]  # what it predicts
    version: ClassVar[int] = 1  # of the file's format
    keys: ClassVar[tuple[str, ...]]  # what the file holds beside the facts
    facts: SanitisedFacts  # what is public about the fit

    @property
    @abstractmethod
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that the model looks at."""

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the prediction for each row (n,) of numbers and codes that no table has changed."""

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """Return what the file holds by :attr:`keys`."""

    @classmethod
    @abstractmethod
    def of_figures(cls, facts: SanitisedFacts, values: Mapping[str, Any]) -> Self:
        """Return the model of what :meth:`figures` wrote, every value checked."""

    def to_plain(self) -> dict[str, Any]:
        """Return the model as JSON holds it: public facts, and figures that come back as the same doubles."""
        head = {"learner": self.name, "trained_on": TRAINED_ON, "format": self.version, **self.facts.to_plain()}
        return {**head, **self.figures()}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Self:
        """Return the model that :meth:`to_plain` wrote; it predicts the same, bit for bit.

        Raises:
            ParameterError: a key is missing or not known, or a value is not what such a model can hold.
        """
        for key, only in (("learner", cls.name), ("trained_on", TRAINED_ON), ("format", cls.version)):
            if plain_part(values, key, type(only)) != only:
                raise ParameterError(f"{key} = {values[key]!r} is not {only}", _WHERE)
        only_keys(values, (*_HEAD, *cls.keys))
        return cls.of_figures(SanitisedFacts(*columns_from_plain(values, cls.task)), values)


class CorrectedEstimator(Fitted, ABC):
    """What learns from sanitised cells, knowing the public tables they went through: ``Learner.corrected``.

    It is fitted to cells of a sanitised table, and asked about rows as they are.

    Attributes:
        tables: the public table of each column of the rows, in order.
        target: the one of what is predicted. It may have a cell for rows that have nothing to predict.
    """

    model_type: ClassVar[type[CorrectedModel]]
    model_: CorrectedModel

    def __init__(self, tables: Sequence[PublicTable], target: PublicTable) -> None:
        checked_schema([table.attribute for table in tables], target.attribute, self.model_type.task)
        self.tables, self.target = tuple(tables), target

    def fit(self, cells: NDArray[np.int64], answers: NDArray[np.int64]) -> Self:
        """Learn from the cells (n, d) of the columns, and of the target (n,): one more where a row may have none.

        Raises:
            InputError: a cell is none of its column's.
        """
        checked_answers_of((*self.tables, self.target), np.column_stack([cells, answers]))
        self.model_ = self._learned(SanitisedFacts.of(self.tables, self.target, len(answers)), cells, answers)
        return self

    @abstractmethod
    def _learned(self, facts: SanitisedFacts, cells: NDArray[np.int64], answers: NDArray[np.int64]) -> CorrectedModel:
        """Return the model of checked cells."""


def only_keys(values: Mapping[str, Any], known: Iterable[str], where: str = _WHERE) -> None:
    """Raise :class:`ParameterError` if ``values`` has a key that is not one of ``known``."""
    unknown = sorted({*values} - {*known})
    if unknown:
        raise ParameterError(f"the key {unknown[0]!r} is not known", where, "use a model file written by this program")


def numbers_part(
    values: Mapping[str, Any],
    key: str,
    shape: tuple[int, ...],
    least: float,
    most: float,
    where: str = _WHERE,
) -> NDArray[np.float64]:
    """Return ``values[key]`` as doubles of this ``shape``, () for one number.

    Raises:
        ParameterError: the key is missing, or what it holds are not so many numbers from ``least`` to ``most``.
    """
    found: list[float] = []
    if key not in values or not _take(values[key], shape, found):
        stated = f"{' × '.join(map(str, shape))} numbers" if shape else "a number"
        raise ParameterError(
            f"the key {key!r} does not have {stated}", where, "use a model file written by this program"
        )
    for value in found:
        if not least <= value <= most:
            raise ParameterError(f"the key {key!r} has {value:g}, which is not from {least:g} to {most:g}", where)
    return np.array(found, dtype=np.float64).reshape(shape)


def _take(value: Any, shape: tuple[int, ...], found: list[float]) -> bool:
    """Append the numbers in ``value`` to ``found``; return whether they have this shape."""
    if not shape:
        # Not isinstance: True is no number. A whole number may be too long for a double.
        if (type(value) is int and abs(value) > _MOST_WHOLE) or type(value) not in (int, float):
            return False
        found.append(float(value))
        return math.isfinite(found[-1])
    return isinstance(value, list) and len(value) == shape[0] and all(_take(v, shape[1:], found) for v in value)
