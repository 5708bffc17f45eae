"""Generalisation hierarchies: a way to make one is its file and a line in this list."""

from __future__ import annotations

from workbench.params.field import named
from workbench.risk.hierarchies.builder import Builder
from workbench.risk.hierarchies.dates import DATES
from workbench.risk.hierarchies.hierarchy import ANY, Hierarchy, file_name, read_hierarchy
from workbench.risk.hierarchies.intervals import INTERVALS
from workbench.risk.hierarchies.masking import MASKING
from workbench.risk.hierarchies.order import ORDER
from workbench.risk.hierarchies.rounding import ROUNDING
from workbench.risk.hierarchies.tree import TREE

BUILDERS: tuple[Builder, ...] = (INTERVALS, DATES, MASKING, ROUNDING, ORDER, TREE)


def builder(name: str) -> Builder:
    """Return the builder called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(BUILDERS, name, "way to make a hierarchy")


__all__ = ["ANY", "BUILDERS", "Builder", "Hierarchy", "builder", "file_name", "read_hierarchy"]
