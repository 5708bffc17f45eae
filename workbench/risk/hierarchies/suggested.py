"""A hierarchy to begin with, for a person who has none yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from workbench.data.columns.grid import LONG_RANGE_CELLS
from workbench.params import ParameterError, Parameters
from workbench.risk.hierarchies.builder import Builder
from workbench.risk.hierarchies.dates import DATES
from workbench.risk.hierarchies.intervals import INTERVALS
from workbench.risk.hierarchies.masking import MASKING
from workbench.risk.hierarchies.tree import TREE

_FEWEST_CODES, _SHORTEST_CODE = 5, 3


def suggested(values: Sequence[str]) -> tuple[Builder, Parameters]:
    """Return a way to make a hierarchy of values, by what they look like."""
    lengths = {len(value) for value in values}
    padded = any(value.startswith("0") and value.isdigit() and len(value) > 1 for value in values)
    coded = len(lengths) == 1 and min(lengths) >= _SHORTEST_CODE and all(any(map(str.isdigit, v)) for v in values)
    for builder in (DATES, INTERVALS):
        if builder is INTERVALS and padded:
            continue
        try:
            builder.build(values)
        except ParameterError:
            continue
        return builder, builder.parameters()
    if padded or (coded and len(values) >= _FEWEST_CODES):
        return MASKING, MASKING.parameters()
    return TREE, TREE.parameters()


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
