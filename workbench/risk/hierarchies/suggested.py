"""A hierarchy to begin with, for a person who has none yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from workbench.data.columns.grid import LONG_RANGE_CELLS
from workbench.params import ParameterError, Parameters
from workbench.risk.hierarchies.builder import Builder, as_number
from workbench.risk.hierarchies.dates import DATES
from workbench.risk.hierarchies.intervals import INTERVALS, Intervals
from workbench.risk.hierarchies.masking import MASKING
from workbench.risk.hierarchies.tree import TREE

_FEWEST_CODES, _SHORTEST_CODE = 5, 3
_STEPS = (1.0, 2.0, 5.0, 10.0)


def suggested(values: Sequence[str]) -> tuple[Builder, Parameters]:
    """Return a way to make a hierarchy of values, by what they look like."""
    lengths = {len(value) for value in values}
    padded = any(value.startswith("0") and value.isdigit() and len(value) > 1 for value in values)
    coded = len(lengths) == 1 and min(lengths) >= _SHORTEST_CODE and all(any(map(str.isdigit, v)) for v in values)
    for builder in (DATES, INTERVALS):
        parameters = builder.parameters()
        if builder is INTERVALS and padded:
            continue
        try:
            builder.build(values, parameters)
        except ParameterError:
            continue
        return builder, _widths(values) if builder is INTERVALS else parameters
    if padded or (coded and len(values) >= _FEWEST_CODES):
        return MASKING, MASKING.parameters()
    return TREE, TREE.parameters()


def _widths(values: Sequence[str]) -> Intervals:
    """Return intervals of which the narrowest are some twentieth of the range, each twice as wide as the one before."""
    numbers = [as_number(value) for value in values]
    span = max(numbers) - min(numbers) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 20))
    narrow = next(power * step for step in _STEPS if power * step >= span / 20 * (1 - 1e-9))
    if all(number.is_integer() for number in numbers):
        narrow = max(narrow, 2.0 if span < 20 else 1.0)
    widths = [narrow * 2**i for i in range(4) if i == 0 or narrow * 2**i < span]
    return Intervals(widths=tuple(float(f"{width:.12g}") for width in widths))


class Declared(Protocol):
    """What is declared of a column, in a plan or in the draft of one."""

    @property
    def kind(self) -> str | None:
        """What its values are."""

    @property
    def lower(self) -> float | None:
        """Its lower bound."""

    @property
    def upper(self) -> float | None:
        """Its upper bound."""

    @property
    def domain(self) -> tuple[str, ...] | None:
        """Its values."""


def public_values(column: Declared) -> list[str]:
    """Return the values that a column is declared to have; empty where nobody declared them, or they are too many."""
    if column.domain is not None:
        return list(column.domain)
    if column.kind == "integer" and column.lower is not None and column.upper is not None:
        low, high = math.ceil(column.lower), math.floor(column.upper)
        return [str(n) for n in range(low, high + 1)] if high - low < LONG_RANGE_CELLS else []
    return []
