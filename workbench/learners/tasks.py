"""Tasks of models (classification, regression, clustering, reduction, scaling), and how each reads its target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.params import ParameterError
from workbench.params.field import named
from workbench.params.remedies import declare

if TYPE_CHECKING:
    from workbench.data.table import Table

EMPTY = -1  # class code of an empty row: it contributes nothing to any sum, and is counted only in the public n

NO_TARGET = Attribute(name="no target", kind="category", domain=("row", "none"))
"""Takes the place of the target where a model that predicts nothing leaves no column out: y is 0 in each row, and a row
is empty where it has no value in any column."""

CLASSIFICATION, REGRESSION, CLUSTERING = "classification", "regression", "clustering"
REDUCTION, SCALING = "reduction", "scaling"


@dataclass(frozen=True)
class Task:
    """What a model makes of a row."""

    name: str  # one word, as descriptors name it
    # Raises `ParameterError` unless a column is declared as the task's target has to be.
    check: Callable[[Attribute], None]
    noun: str  # what a row has to predict, to say that it is absent
    needs: str  # what the table must have, in a sentence
    # What the target is for, to be said of a model, with `{target}` for its name.
    use: str = "trained to predict {target}"
    alone: str = ""  # the same of a model without a target; empty where it needs one
    transforms: bool = False  # whether it makes columns for another model, and not a prediction


def classes_of(table: Table, target: Attribute) -> NDArray[np.int64]:
    """Return y (n,) of a table: the code of each row's class.

    Where the table replaces invalid values, a row whose class is missing or cannot be used is :data:`EMPTY`.

    Raises:
        InputError: a class is missing or not declared, and the table refuses that; row and column are named.
    """
    from workbench.data.columns.values import codes  # loads polars, which the list of learners does not wait for

    y = codes(table, target)
    return np.where(y == len(target.values()), EMPTY, y)


def numbers_of(table: Table, target: Attribute) -> NDArray[np.float64]:
    """Return y (n,) of a table: each row's number, clamped to the declared bounds.

    Where the table replaces invalid values, a row whose number is missing or cannot be used is empty: NaN.

    Raises:
        InputError: a number is missing or cannot be read, and the table refuses that; row and column are named.
    """
    from workbench.data.columns.values import numbers  # loads polars

    return np.clip(numbers(table, target), *target.bounds())


def _needs_one(target: Attribute) -> None:
    if target == NO_TARGET:
        raise ParameterError(
            "no target column is set",
            hint="set a target, or choose a model without a target",
            code="no-target",
        )


def _needs_classes(target: Attribute) -> None:
    _needs_one(target)
    _needs_names(target)


def _needs_names(target: Attribute) -> None:
    if target.numeric:
        raise ParameterError(
            f"the target is declared as {target.kind}, not category or boolean",
            f"column {target.name}",
            (declare("kind", "category", more=" and domain = [ … ]"), "choose another target or model"),
            code="target-kind",
        )
    target.values()


def target_of(table: Table, target: Attribute) -> NDArray[Any]:
    """Return y (n,) of a table, what is to be predicted in each row: its number or the code of its class.

    Raises:
        InputError: as :func:`numbers_of` and :func:`classes_of`.
    """
    if target == NO_TARGET:
        return np.zeros(table.rows, dtype=np.int64)
    return numbers_of(table, target) if target.numeric else classes_of(table, target)


def has_target(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows of y (n,) have something to predict; the others are empty."""
    filled: NDArray[np.bool_] = ~np.isnan(y) if y.dtype.kind == "f" else y != EMPTY
    return filled


def _needs_facts(target: Attribute) -> None:
    if target.numeric:
        target.bounds()
    else:
        target.values()


def _needs_numbers(target: Attribute) -> None:
    _needs_one(target)
    if not target.numeric:
        raise ParameterError(
            f"the target is declared as {target.kind or 'nothing'}, not as numeric",
            f"column {target.name}",
            ("choose a numeric column as the target", "choose a model that predicts classes"),
            code="target-kind",
        )
    target.bounds()


_WITHOUT = "A target column is not used, and a row without a target counts as empty."

TASKS: tuple[Task, ...] = (
    Task(CLASSIFICATION, _needs_classes, "class", "It predicts a categorical column."),
    Task(REGRESSION, _needs_numbers, "number", "It predicts a numeric column with declared bounds."),
    # Groups are found without the target: its classes only show a study how good they are.
    Task(
        CLUSTERING,
        _needs_names,
        "class",
        "It finds clusters of rows.",
        "trained to find clusters of rows, without {target}",
        "trained to find clusters of rows",
    ),
    Task(
        REDUCTION,
        _needs_facts,
        "value",
        f"It reduces all columns to a few. {_WITHOUT}",
        "fitted to all columns but {target}",
        "fitted to all columns",
        transforms=True,
    ),
    Task(
        SCALING,
        _needs_facts,
        "value",
        f"It needs at least one numeric column. {_WITHOUT}",
        "fitted to all columns but {target}",
        "fitted to all columns",
        transforms=True,
    ),
)


def task(name: str) -> Task:
    """Return the task called ``name``.

    Raises:
        ParameterError: there is none.
    """
    return named(TASKS, name, "task")
