"""The parameters of a forest: its budget, its size, and how ε is split."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import Parameters, integer, real

MOST_DEPTH = 10


@dataclass(frozen=True, kw_only=True)
class ForestParameters(Parameters):
    """Budget and size. The defaults were chosen on generated tables and on the public ones of the tests."""

    epsilon: float | None = real(
        default=None,
        at_least=1e-9,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help="how much the model may reveal about one row; smaller is more private and less accurate",
    )
    trees: int | None = integer(
        default=None,
        at_least=1,
        upto=100,
        title="trees",
        help="how many trees share the budget; by default one, and more where ε and the number of rows allow it",
        advanced=True,
    )
    depth: int | None = integer(
        default=None,
        at_least=1,
        upto=MOST_DEPTH,
        title="depth",
        help="how often a tree splits its rows in two; by default deeper where ε and the number of rows allow it",
        advanced=True,
    )
    choice_share: float | None = real(
        default=None,
        above=0,
        below=1,
        title="share of the splits",
        unit="of ε",
        help="the part of ε for choosing the splits; the rest is for the leaves. By default between 0.3 and 0.7",
        advanced=True,
    )
