"""Checks of a learner's input: the shape of X and y, values, target, and the parts of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.tasks import CLASSIFICATION, EMPTY, NO_TARGET, has_target, task
from workbench.params import InputError, ParameterError
from workbench.params.remedies import declare


def table_shape(X: ArrayLike, y: ArrayLike, attributes: Sequence[Attribute]) -> int:
    """Return the number of rows (public under zero-out), from the shapes alone.

    Raises:
        InputError: X is not (n, d) with one column for each attribute, y is not (n,), or there is no row.
    """
    shape, length = np.shape(X), np.shape(y)
    if len(shape) != 2 or shape[1] != len(attributes):
        raise InputError(f"X has the shape {shape}, not (rows, {len(attributes)})", hint="use one attribute per column")
    if length != (shape[0],):
        raise InputError(f"y has the shape {length}, not ({shape[0]},)", hint="give one target value for each row")
    if shape[0] < 1:
        raise InputError("the table has no rows", hint="give at least one row")
    return int(shape[0])


def checked_columns(X: ArrayLike, attributes: Sequence[Attribute]) -> NDArray[np.float64]:
    """Return X (n, d) as doubles after checking each cell against what is declared about its column.

    Numeric cells are numbers, NaN where the value is missing; the others are codes 0 … k−1, k where it is missing.

    Raises:
        InputError: a value is infinite, no code of its domain, or missing in a column that refuses it; the message
            names row (from 1) and column.
    """
    try:
        columns = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("X is not numeric", hint="give numbers, and codes for categories") from None
    if columns.ndim != 2 or columns.shape[1] != len(attributes):
        raise InputError(
            f"X has the shape {columns.shape}, not (rows, {len(attributes)})", hint="use one attribute per column"
        )
    finite: list[bool] = np.asarray(np.isfinite(columns).all(axis=0)).tolist()
    for attribute, column, all_of_them in zip(attributes, columns.T, finite, strict=True):
        if attribute.numeric:
            attribute.bounds()
            if all_of_them:
                continue
            missing = np.isnan(column)
            wrong = np.isinf(column)
        else:
            size = len(attribute.values())
            missing = column == size
            wrong = ~missing & ~((column >= 0) & (column < size) & (column == np.floor(column)))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"the value {column[row]:g} is not a value of the column",
                f"row {row + 1}, column {attribute.name}",
                "give a finite number" if attribute.numeric else "give the code of a declared value",
            )
        if attribute.missing == "refuse" and missing.any():
            raise InputError(
                "the value is missing",
                f"row {int(np.argmax(missing)) + 1}, column {attribute.name}",
                ("fill it in", declare("missing", "own-value")),
            )
    return columns


def checked_classes(y: ArrayLike, target: Attribute) -> NDArray[np.int64]:
    """Return y (n,) as codes 0 … k−1 of the declared classes, or :data:`EMPTY`.

    Raises:
        InputError: a code is not one of them; the message names the row (from 1).
    """
    given = np.asarray(y)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise InputError("y is not a list of class codes", f"column {target.name}", "give whole numbers")
    size = len(target.values())
    wrong = ~((given >= EMPTY) & (given < size) & (given == np.floor(given)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{given[row]:g} is not a code of one of the {size} declared classes",
            f"row {row + 1}, column {target.name}",
            f"give 0 to {size - 1}, or {EMPTY} for an empty row",
        )
    return given.astype(np.int64)


def checked_numbers(y: ArrayLike, target: Attribute) -> NDArray[np.float64]:
    """Return y (n,) as doubles; NaN marks an empty row.

    Raises:
        InputError: y is not numeric, or one is infinite; the message names the row (from 1).
    """
    given = np.asarray(y)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise InputError("y is not numeric", f"column {target.name}", "give numbers")
    numbers = given.astype(np.float64)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise InputError(
            f"the value {numbers[row]:g} is not a value of the column",
            f"row {row + 1}, column {target.name}",
            "give a finite number, or NaN for an empty row",
        )
    return numbers


def checked_target(y: ArrayLike, target: Attribute) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return y (n,) as numbers or codes, and which rows have a value of the target (n,); the others are empty.

    Raises:
        InputError: y is not what the target's declaration says; the message names the row.
    """
    found: NDArray[Any] = checked_numbers(y, target) if target.numeric else checked_classes(y, target)
    return found, has_target(found)


def checked_rows(
    X: ArrayLike, y: ArrayLike, attributes: Sequence[Attribute], target: Attribute
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.bool_]]:
    """Return X (n, d) as :func:`checked_columns`, y (n,) and the filled rows (n,) as :func:`checked_target`.

    Without a target a row is filled where it has a value in some column.

    Raises:
        InputError: as these two.
    """
    goal, filled = checked_target(y, target)
    columns = checked_columns(X, attributes)
    if target == NO_TARGET:
        missing = [
            np.isnan(c) if a.numeric else c == len(a.values()) for a, c in zip(attributes, columns.T, strict=True)
        ]
        filled = filled & ~np.all(missing, axis=0)
    return columns, goal, filled


def checked_schema(attributes: Sequence[Attribute], target: Attribute, to_predict: str = CLASSIFICATION) -> None:
    """Check that a model can be learned from these columns.

    Args:
        attributes: the public facts about the columns of X.
        target: the same of y.
        to_predict: the name of the task.

    Raises:
        ParameterError: no attribute, a name given twice, a bound or domain that nobody declared, or a target that does
            not fit the task.
    """
    if not attributes:
        raise ParameterError("there are no columns to learn from", hint="give at least one")
    names = [a.name for a in (*attributes, target)]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError("two columns have the same name", f"column {name}", "rename one of them")
    for attribute in attributes:
        if attribute.numeric:
            attribute.bounds()
        else:
            attribute.values()
    task(to_predict).check(target)


def places_part(values: Mapping[str, Any], key: str, names: Sequence[str], count: int) -> list[int]:
    """Return the places among ``names`` of the ``count`` different ones that ``values[key]`` lists.

    Raises:
        ParameterError: it lists others, one twice, or another number of them.
    """
    given = plain_part(values, key, list)
    known = all(isinstance(name, str) and name in names for name in given)
    if not known or len({*given}) != len(given) or len(given) != count:
        raise ParameterError(f"the key {key!r} does not name {count} columns of this model", "the model")
    return [names.index(name) for name in given]


def plain_part(values: Mapping[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    """Return ``values[key]`` after checking its type; raise :class:`ParameterError` naming the key."""
    if key not in values:
        raise ParameterError(f"the key {key!r} is missing", "the model", "use a model file written by this program")
    value = values[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ParameterError(f"the key {key!r} has a value of the wrong type", "the model", "use the original file")
    return value
