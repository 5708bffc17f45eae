"""The ways of training that a study compares: without privacy, on a sanitised table, with a private learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.matrix import matrix
from workbench.data.table import Table
from workbench.learners import Learner
from workbench.learners.base import EMPTY, classes_of
from workbench.params import InputError, ParameterError
from workbench.params.field import did_you_mean
from workbench.privacy.central import CentralNoise, NoNoise, StudyNoise
from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.local.mechanisms import GRR, mechanism
from workbench.sanitize.calibrated import ProtectedColumn, protected_columns
from workbench.sanitize.plan import AUTO, Column, Plan
from workbench.studies.splits import seed_of

Kind = Literal["none", "sanitized", "private"]


@dataclass(frozen=True, slots=True)
class Regime:
    """One way of training.

    Attributes:
        name: as the person wrote it, and as it stands in the CSV.
        kind: ``none`` (no privacy), ``sanitized`` (an ordinary model on a sanitised table), ``private``.
        mechanism: the local mechanism of a sanitised table; ``auto`` for the advisor's choice.
    """

    name: str
    kind: Kind
    mechanism: str = ""

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the regime called ``none``, ``private`` or ``sanitized:MECHANISM``.

        Raises:
            ParameterError: there is no such regime or mechanism.
        """
        kind, colon, mechanism_name = name.partition(":")
        if kind == "sanitized":
            if not mechanism_name:
                raise ParameterError(f"the regime {name!r} names no mechanism", mend="write sanitized:staircase")
            if mechanism_name != AUTO:
                mechanism(mechanism_name)
            return cls(name, "sanitized", mechanism_name)
        if colon or kind not in ("none", "private"):
            near = did_you_mean(kind, ("none", "sanitized", "private"))
            raise ParameterError(
                f"the regime {name!r} is not known{near}", mend="choose none, sanitized:MECHANISM or private"
            )
        return cls(name, "none" if kind == "none" else "private")


@dataclass(frozen=True, eq=False)
class StudyData:
    """A table as the tasks of a study read it; everything in it is private.

    Attributes:
        columns: the attributes of X, in order.
        target: the attribute of y.
        X: (n, d) numbers, and codes of categories; NaN or one code beyond the domain where a value is missing.
        y: (n,) class codes.
        cells: (n, d + 1) public grid cells of each attribute and, last, of the target.
    """

    columns: tuple[Column, ...]
    target: Column
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    cells: NDArray[np.uint32]

    @classmethod
    def read(cls, table: Table, bounds: Plan, target: str) -> Self:
        """Take the columns that ``bounds`` declares and does not drop, of the rows that have a class.

        Raises:
            InputError: a column is not in the table, or a value cannot be used; the message names row and column.
            ParameterError: the target is not declared, or is no category; a bound or domain is not declared.
        """
        declared = bounds.column(target)
        if declared.numeric:
            raise ParameterError(
                f"the target is declared as {declared.kind}, not as category or boolean",
                f"column {target}",
                'declare its classes: kind = "category" and domain = [ … ]',
            )
        columns = tuple(
            # A row without a class can neither train nor be asked about: missing targets are refused, or left out
            # where invalid values are replaced.
            replace(
                c,
                action="protect",
                mechanism=AUTO,
                epsilon=None,
                weight=weight,
                missing="refuse" if c.name == target else c.missing,
            )
            for c, weight in zip(bounds.columns, _weights(bounds), strict=True)
            if c.action != "drop" or c.name == target
        )
        attributes = tuple(c for c in columns if c.name != target)
        if not attributes:
            raise ParameterError("the plan leaves no column to learn from", mend="do not drop them all")
        table.require([c.name for c in columns])
        table = bounds.rows_of(table)
        (goal,) = (c for c in columns if c.name == target)
        cells = np.column_stack([c.grid().encode(table).astype(np.uint32) for c in (*attributes, goal)])
        y = classes_of(table, goal)
        known = y != EMPTY  # empty rows, where invalid values are replaced
        if not known.any():
            raise InputError("no row has a class", f"column {target}", "choose another target")
        return cls(attributes, goal, matrix(table, attributes)[known], y[known], cells[known])

    @property
    def classes(self) -> int:
        """Number of declared classes."""
        return len(self.target.values())

    def plan(self, regime: Regime, epsilon: float) -> Plan:
        """Return the plan that sanitises the whole row for ``epsilon``.

        Each column goes through the regime's mechanism where it fits its kind and through grr elsewhere; ε is
        divided over attributes and target as in the plan that declared them.
        """
        return _plan((*self.columns, self.target), regime.mechanism, epsilon)

    def sanitised(self, regime: Regime, epsilon: float, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return one seeded draw of the whole table, as (X, y) on the public grid."""
        entropy = SeededEntropy(seed)
        out = np.empty_like(self.X)
        *attributes, goal = _calibrated((*self.columns, self.target), regime.mechanism, epsilon)
        for j, column in enumerate(attributes):
            drawn = column.randomiser.sample(self.cells[:, j], entropy)
            out[:, j] = column.grid.numbers_of(drawn) if column.column.numeric else drawn
        return out, np.asarray(goal.randomiser.sample(self.cells[:, -1], entropy), dtype=np.int64)


# One: fits come grouped by ε, and a column of 4,096 cells needs 256 MB.
@lru_cache(maxsize=1)
def _calibrated(columns: tuple[Column, ...], chosen: str, epsilon: float) -> tuple[ProtectedColumn, ...]:
    return protected_columns(_plan(columns, chosen, epsilon))


def _plan(columns: tuple[Column, ...], chosen: str, epsilon: float) -> Plan:
    return Plan(epsilon=epsilon, columns=tuple(replace(c, mechanism=_fitting(c, chosen)) for c in columns))


def _fitting(column: Column, chosen: str) -> str:
    if chosen != AUTO and mechanism(chosen).refusal(column.grid().cells):
        return GRR.name
    return chosen


def _weights(bounds: Plan) -> list[float]:
    """Return each column's part of ε; a column published as it is gets the mean of the protected ones'."""
    parts: Mapping[str, float] = {name: float(share) for name, share in bounds.shares().items()}
    usual = sum(parts.values()) / len(parts) if parts else 1.0
    return [parts.get(c.name, usual) for c in bounds.columns]


@dataclass(frozen=True, slots=True)
class Fit:
    """One model to train and to be asked about held-out rows.

    Attributes:
        regime: the way of training.
        epsilon: ε of a whole row; ``None`` without privacy.
        repeat: number of the split.
    """

    regime: Regime
    epsilon: float | None
    repeat: int

    @property
    def name(self) -> str:
        """The fit's name in journals and errors."""
        at = "" if self.epsilon is None else f" at epsilon {self.epsilon:.12g}"
        return f"{self.regime.name}{at}, repeat {self.repeat}"


def predictions(
    fit: Fit,
    data: StudyData,
    model: Learner,
    training: NDArray[np.int64],
    held_out: NDArray[np.int64],
    *,
    seed: int,
    sanitised_truth: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Train as ``fit`` says and return (truth, prediction) on the held-out rows.

    Args:
        fit: the regime, ε and repeat.
        data: the rows.
        model: the learner; without noise it is the ordinary model.
        training: indices of the training rows.
        held_out: indices of the other rows.
        seed: the study's seed; every fit has draws of its own, which no release ever uses.
        sanitised_truth: whether the held-out rows of a sanitised regime are the sanitised ones.
    """
    drawn = seed_of(seed, fit.regime.name, fit.epsilon, fit.repeat)
    X, y = data.X, data.y
    noise: CentralNoise = NoNoise()
    parameters = model.parameters()
    if fit.epsilon is not None and fit.regime.kind == "sanitized":
        X, y = data.sanitised(fit.regime, fit.epsilon, drawn)
    elif fit.epsilon is not None:
        parameters = model.parameters.from_plain({"epsilon": fit.epsilon})
        noise = StudyNoise(np.random.Generator(np.random.PCG64(drawn)))
    estimator: Any = model.estimator(data.columns, data.target, parameters, noise)
    estimator.fit(X[training], y[training])
    asked, truth = (X, y) if sanitised_truth else (data.X, data.y)
    return truth[held_out], np.asarray(estimator.predict(asked[held_out]), dtype=np.int64)
