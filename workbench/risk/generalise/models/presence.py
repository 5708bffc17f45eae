"""δ-presence: nobody in a population is in the table with a probability outside two limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.params import ParameterError, real
from workbench.risk.generalise.models.base import ROUNDING, PrivacyModel
from workbench.risk.generalise.problem import Groups, Problem, Truths


@dataclass(frozen=True, kw_only=True)
class Presence(PrivacyModel):
    """Its limits."""

    name = "delta-presence"
    title = "δ-presence"
    help = "the probability that one of a population is in the table is between two limits (Nergiz 2007)"
    needs = "population"

    presence_upto: float | None = real(
        default=None, above=0, upto=1, help="highest probability that one of the population is in the table"
    )
    presence_from: float = real(
        default=0, at_least=0, upto=1, help="lowest probability that one of the population is in the table"
    )

    def __post_init__(self) -> None:
        """Check that the limits are in order."""
        super().__post_init__()
        if self.presence_upto is not None and self.presence_from > self.presence_upto:
            raise ParameterError("presence_from is above presence_upto", hint="swap or correct them")

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have a share of the population within the limits.

        A class with more rows than people of the population is not allowed: the rows are not a part of it.
        """
        assert self.presence_upto is not None
        share = groups.sizes / np.maximum(groups.population, 1e-300)
        found: Truths = (share >= self.presence_from - ROUNDING) & (share <= self.presence_upto + ROUNDING)
        return judged & found

    def whole(self, problem: Problem, groups: Groups, kept: Truths) -> Truths | None:
        """Return ``kept``; ``None`` where people of the population would be in the table with probability 0.

        They are where all rows of a class are suppressed, or where it never had one.
        """
        return None if self.presence_from > 0 and not kept[groups.population > 0].all() else kept
