"""The parameters of sample-and-aggregate: ε of one prediction, the rows to predict, the blocks and their models."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import Parameters, choice, integer, real, text
from workbench.privacy.central.private_median import AGGREGATES, EPSILON_LEAST, EXPONENTIAL

MOST_BLOCKS = 1000


@dataclass(frozen=True, kw_only=True)
class MedianParameters(Parameters):
    """What both models share. The defaults were chosen on the public tables of the tests."""

    epsilon: float | None = real(
        default=None,
        at_least=EPSILON_LEAST,
        upto=1e6,
        symbol="ε",
        title="cost of each prediction",
        help="how much one prediction may reveal about one row; a release costs this times the rows to predict",
    )
    ask: str | None = text(
        default=None,
        file="table",
        title="rows to predict",
        empty="public rows",
        help="a file of public rows with the columns of the table; a release answers and publishes these and no others",
    )
    blocks: int | None = integer(
        default=None,
        at_least=1,
        upto=MOST_BLOCKS,
        title="blocks",
        help="into how many disjoint blocks the rows are dealt; by default from ε and the number of rows",
    )
    aggregate: str = choice(
        choices=AGGREGATES,
        default=EXPONENTIAL,
        title="median by",
        help="exponential: a cell drawn by its rank among the answers; smooth: noise by smooth sensitivity",
        advanced=True,
    )
    cells: int = integer(
        default=64,
        at_least=2,
        upto=512,
        title="cells of the answer",
        help="into how many values within its bounds the target is divided; fewer cells lose less to noise",
        advanced=True,
    )


@dataclass(frozen=True, kw_only=True)
class MedianForestParameters(MedianParameters):
    """With the size of each block's forest."""

    trees: int = integer(default=10, at_least=1, upto=500, title="trees", help="trees of each block", advanced=True)
    depth: int | None = integer(
        default=None,
        at_least=1,
        upto=30,
        title="depth",
        help="how often a tree splits its rows in two; by default until the rows of a leaf are alike",
        advanced=True,
    )


@dataclass(frozen=True, kw_only=True)
class MedianXgboostParameters(MedianParameters):
    """With the size of each block's boosted trees."""

    trees: int = integer(default=20, at_least=1, upto=1000, title="trees", help="trees of each block", advanced=True)
    depth: int = integer(
        default=3, at_least=1, upto=15, title="depth", help="how often a tree splits its rows in two", advanced=True
    )
