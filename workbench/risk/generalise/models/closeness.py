"""t-closeness: in every class the sensitive values are distributed nearly as among all rows.

The distance is the earth mover's: how much has to be moved how far (Li, Li and Venkatasubramanian 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from workbench.params import InputError, choice, real
from workbench.risk.generalise.models.base import ROUNDING, PrivacyModel, of_each_sensitive, shares
from workbench.risk.generalise.problem import Groups, Problem, Reals, Sensitive, Truths


def equal_distance(share: Reals, of: Sensitive) -> Reals:
    """Return the distance of each row of shares where all values are equally far from one another."""
    found: Reals = np.abs(share - of.share).sum(axis=1) / 2
    return found


def ordered_distance(share: Reals, of: Sensitive) -> Reals:
    """Return the distance where values are on a line, their neighbours equally far, the first and last one 1."""
    steps = max(len(of.share) - 1, 1)
    found: Reals = np.abs(np.cumsum(share - of.share, axis=1))[:, :-1].sum(axis=1) / steps
    return found


def hierarchical_distance(share: Reals, of: Sensitive) -> Reals:
    """Return the distance where two values are as far as the level that joins them is high, of all levels.

    Raises:
        InputError: the attribute has no hierarchy.
    """
    if of.hierarchy is None:
        hint = f"add {of.name}.csv to the folder of hierarchies, or choose the distance equal"
        raise InputError(f"the sensitive column {of.name} has no hierarchy, which this distance needs", hint=hint)
    total, extra = np.zeros(len(share)), share - of.share
    height = max(of.hierarchy.height, 1)
    places = np.arange(len(of.share))
    for level in range(1, of.hierarchy.height + 1):
        codes = of.hierarchy.codes[level]
        above = np.empty(extra.shape[1], dtype=np.int64)
        above[places] = codes
        labels = len(of.hierarchy.labels[level])
        joins = np.zeros((len(above), labels))
        joins[np.arange(len(above)), above] = 1
        # What one child of a node has too much of goes to those that have too little, over the height of the node.
        total += np.minimum(np.maximum(extra, 0) @ joins, np.maximum(-extra, 0) @ joins).sum(axis=1) * level / height
        extra, places = extra @ joins, codes
    return total


DISTANCES: Mapping[str, Callable[[Reals, Sensitive], Reals]] = {
    "equal": equal_distance,
    "ordered": ordered_distance,
    "hierarchical": hierarchical_distance,
}


@dataclass(frozen=True, kw_only=True)
class Closeness(PrivacyModel):
    """Its t, and what is near."""

    name = "t-closeness"
    title = "t-closeness"
    help = "in every class the sensitive values are distributed nearly as among all rows (earth mover's distance)"
    needs = "sensitive"

    t: float | None = real(
        default=None, at_least=0, upto=1, symbol="T", help="how far a class's sensitive values are from those of all"
    )
    distance: str = choice(
        choices=tuple(DISTANCES), default="equal", help="how far sensitive values are from one another, for --t"
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes are near."""
        assert self.t is not None
        far, most = DISTANCES[self.distance], self.t + ROUNDING
        return of_each_sensitive(problem, groups, judged, lambda counts, of: far(shares(counts), of) <= most)
