"""The parameters of boosted trees: their budget, how many there are, and how ε is split."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.learners.forest.parameters import ForestParameters
from workbench.params import integer


@dataclass(frozen=True, kw_only=True)
class BoostedParameters(ForestParameters):
    """Budget and size. The defaults were chosen on public tables and checked on generated ones."""

    trees: int | None = integer(
        default=None,
        at_least=1,
        upto=100,
        title="trees",
        help="how many trees share the budget, one after the other; by default more where ε and the rows allow it",
        advanced=True,
    )
    depth: int | None = integer(
        default=None,
        at_least=1,
        upto=10,
        title="depth",
        help="how often a tree splits its rows in two; by default it splits them once, into eight parts of a column",
        advanced=True,
    )
