"""Training rows of a study of costs: a table, or generated rows without real data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.schema import OWN_VALUE, Attribute
from workbench.data.table import Table
from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.sanitize.plan import Column, Plan
from workbench.studies.held_out import seed_of
from workbench.studies.regimes import StudyData

Doubles = NDArray[np.float64]

_SPREAD = 0.15  # standard deviation of a generated number within its class, where the declared range is 1

_APART = 1.2
"""The distance of two classes over all columns, in such deviations: they can be distinguished in 7 of 8 rows."""

_CLASS_TILT = 0.9
_NOISE_OF_TARGET = 0.1


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as learners take them."""

    attributes: tuple[Attribute, ...]  # the public facts about the columns of X
    target: Attribute  # the same of y
    X: Doubles  # (n, d) numbers, and codes of categories; NaN or one code beyond the domain where a value is missing
    y: NDArray[Any]  # (n,) what is to be predicted
    generated: bool = False  # whether they contain no real data

    @classmethod
    def of(cls, data: StudyData) -> Self:
        """Return the rows of a study's table."""
        return cls(tuple(c.facts() for c in data.columns), data.target.facts(), data.X, data.y)


def generate(
    attributes: Sequence[Attribute], target: Attribute, task: str, rows: int, seed: int, separate: float | None = None
) -> Rows:
    """Return rows that follow from public facts alone: every column says a little about the target.

    A number is Gaussian about a place in its declared range that depends on the row's class (or, of a number that is
    to be predicted, on a hidden number of the row), 0.15 of the range wide; a category is drawn with chances that
    depend on it. The columns together distinguish two classes in about seven rows of eight; a number that is to be
    predicted is their weighted sum with some noise.

    Args:
        attributes: the public facts about the columns.
        target: the same of what is predicted.
        task: the name of the task.
        rows: how many, at least 5.
        seed: repeats them.
        separate: the mean distance of two classes, in deviations; by default as chance has it, about 1.7.
    """
    draw = np.random.Generator(np.random.PCG64(seed_of(seed, "generated", len(attributes), rows)))
    numeric = task == REGRESSION or target.numeric
    if numeric:
        hidden = draw.standard_normal((rows, len(attributes)))
        kinds = np.zeros(rows, dtype=np.int64)
    else:
        classes = len(target.values())
        kinds = draw.integers(0, classes, rows)
        # The distance between two classes is a length over all columns: many columns say a little each.
        middles = draw.standard_normal((classes, len(attributes))) * _APART / math.sqrt(len(attributes))
        if separate is not None and classes > 1:
            middles -= middles.mean(axis=0)
            # The mean square of the distance of two is 2k/(k − 1) times that of one from the middle of all.
            middles *= separate / math.sqrt(2 * float((middles**2).sum()) / (classes - 1))
        hidden = middles[kinds] + draw.standard_normal((rows, len(attributes)))
    X = np.empty((rows, len(attributes)))
    for j, attribute in enumerate(attributes):
        X[:, j] = _numbers(attribute, hidden[:, j]) if attribute.numeric else _codes(attribute, hidden[:, j], draw)
        if attribute.missing == OWN_VALUE:
            absent = draw.random(rows) < 0.05
            X[absent, j] = math.nan if attribute.numeric else len(attribute.values())
    if not numeric:
        return Rows(tuple(attributes), target, X, kinds, generated=True)
    weights = draw.standard_normal(len(attributes))
    stated = hidden @ weights / math.sqrt(float(weights @ weights))
    lower, upper = target.bounds()
    place = np.clip(0.5 + _SPREAD * stated + _NOISE_OF_TARGET * draw.standard_normal(rows), 0, 1)
    return Rows(tuple(attributes), target, X, lower * (1 - place) + upper * place, generated=True)


def _numbers(attribute: Attribute, hidden: Doubles) -> Doubles:
    lower, upper = attribute.bounds()
    place = np.clip(0.5 + _SPREAD * hidden, 0, 1)
    numbers = lower * (1 - place) + upper * place
    return np.asarray(numbers if attribute.kind == "real" else np.round(numbers))


def _codes(attribute: Attribute, hidden: Doubles, draw: np.random.Generator) -> Doubles:
    """Return codes whose chances rise or fall with the hidden number, by a slope of each value's own."""
    size = len(attribute.values())
    slopes = np.linspace(-_CLASS_TILT, _CLASS_TILT, size)
    weights = np.exp(hidden[:, None] * slopes)
    borders = (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)
    codes = (draw.random(len(hidden))[:, None] > borders).sum(axis=1)
    return np.asarray(np.minimum(codes, size - 1), dtype=np.float64)


MADE_UP = "made-up rows"
SEED = 0
MOST = 20_000  # most rows of made-up columns


def made_up_table(plan: Plan, target: str, task: str, rows: int) -> Table:
    """Return ``rows`` rows of the columns that ``plan`` declares and does not drop; no row of a table is read.

    How the columns go together is made up as well (:func:`workbench.studies.why.rows.generate`), with no cell missing.

    Raises:
        ParameterError: a column is not declared.
    """
    used = [column for column in plan.columns if column.action != "drop" or column.name == target]
    facts = {column.name: replace(column.facts(), missing="refuse") for column in used}
    goal = facts.pop(target)
    made = generate(tuple(facts.values()), goal, task, max(rows, 5), SEED)
    values = {name: made.X[:, j] for j, name in enumerate(facts)} | {target: made.y.astype(np.float64)}
    return Table(pl.DataFrame({c.name: _texts(c, values[c.name]) for c in used}), MADE_UP)


def made_up_columns(plan: Plan, rows: int) -> tuple[Table, Plan]:
    """Return made-up rows of the protected columns, which go together by two hidden groups, and the plan of these.

    Raises:
        ParameterError: a column is not declared.
    """
    names = [column.name for column in plan.protected]
    groups = Column(name=max(names) + "'", kind="category", domain=("0", "1"))  # a name that no column has
    made = made_up_table(replace(plan, columns=(*plan.protected, groups)), groups.name, CLASSIFICATION, min(rows, MOST))
    return Table(made.frame[names], made.source), replace(plan, columns=plan.protected)


def _texts(column: Column, values: NDArray[np.float64]) -> list[str]:
    """Return numbers as the labels of the grid's cells that they are nearest to, and codes as their values."""
    grid = column.grid()
    places = (values - column.facts().bounds()[0]) / grid.step if column.numeric else values
    return [grid.labels[i] for i in np.clip(np.rint(places), 0, len(grid.labels) - 1).astype(np.int64)]
