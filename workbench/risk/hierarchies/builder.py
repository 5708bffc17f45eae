"""What makes a hierarchy: a parameter set with a recipe, from which forms and options follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.params import ParameterError, Parameters
from workbench.risk.hierarchies.hierarchy import ANY, Hierarchy

Levels = Callable[[Any, Sequence[str]], list[Sequence[str]]]


@dataclass(frozen=True, kw_only=True)
class Builder:
    """One way to make a hierarchy of the values of a column; a file of this folder declares one.

    Attributes:
        levels: returns the labels of level 1 and above, without the last ``*``, of values.
    """

    name: str
    title: str
    help: str
    parameters: type[Parameters]
    levels: Levels

    def build(self, values: Sequence[str], parameters: Parameters | None = None) -> Hierarchy:
        """Return the hierarchy of ``values``; levels that change nothing are left out, and the last is ``*``.

        Raises:
            ParameterError: the parameters do not fit, or a value is not such as this builder takes.
            InputError: there is no value.
        """
        given = self.parameters() if parameters is None else parameters
        made = [tuple(values)]
        for level in (*map(tuple, self.levels(given, values)), tuple(ANY for _ in values)):
            if level != made[-1]:
                made.append(level)
        return Hierarchy(tuple(made))


def as_number(value: str) -> float:
    """Return a value as a number.

    Raises:
        ParameterError: it is none.
    """
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"the value {value!r} is not a number", hint="choose another way to make the hierarchy")
    return number


def digits(number: float) -> str:
    """Return a number as a label: 20 for 20.0."""
    return f"{number:.12g}"


def in_order(values: Sequence[str]) -> list[str]:
    """Return values in the order of a hierarchy's file: numbers by size, other values by the alphabet."""
    try:
        return sorted(values, key=lambda value: (as_number(value), value))
    except ParameterError:
        return sorted(values)
